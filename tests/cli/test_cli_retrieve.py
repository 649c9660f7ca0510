"""Ranking masked contexts from the command line: runs, RELiC's submission, ROUGE-L."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
sys.path.insert(0, str(Path(__file__).parents[1] / "encoders"))

from some_spans import SENTENCES, some_spans
from tiny import tiny_bert

from adducir.cli.app import main
from adducir.corpora.relic import RelicBook, RelicQuote, read_relic, write_relic
from adducir.corpora.spans import write_spans
from adducir.encoders.model import DualEncoder
from adducir.encoders.ranking import book_tasks, collection_task, rank_task
from adducir.encoders.sources import encoder_source
from adducir.evaluation.rouge import rouge_l
from adducir.runs.read import read_run
from adducir.studies.literary_evidence.submission import read_submission


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("retrieve")
    tiny_bert(folder / "tiny")
    write_spans(some_spans(12, groups=3), folder / "spans.jsonl")
    quotes = {
        "known": RelicQuote(["the cat ran ."], 3, 2, ["a dog ."]),
        "hidden": RelicQuote(["clean energy ."], None, 2, ["a dog ."]),
        "one": RelicQuote([], None, 1, ["cats ."]),
    }
    sentences = [f"{one} {number} {two}" for number in range(20) for one, two in PAIRS]
    write_relic({"a book": RelicBook(quotes, sentences)}, folder / "relic.json")
    return folder


PAIRS = list(zip(SENTENCES, reversed(SENTENCES), strict=True))


def test_the_run_has_the_gold_candidate_where_it_is_ranked(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    arguments = [
        "literary-evidence",
        "retrieve",
        "--model",
        "tiny",
        "--spans",
        "spans.jsonl",
        "-o",
        "tiny.trec",
    ]
    assert main([*arguments, "--depth", "12", "--left", "1", "--right", "0"]) == 0
    assert "the best 12 candidates of 12 contexts" in capsys.readouterr().err
    run = read_run(Path("tiny.trec"))
    encoder = DualEncoder.load(encoder_source("tiny"))
    part = encoder.settings.context.model_copy(update={"left": 1, "right": 0})
    encoder.settings = encoder.settings.model_copy(update={"context": part})
    spans = some_spans(12, groups=3)
    found = rank_task(encoder, collection_task(spans))
    for span, better, tied in zip(spans, found.better, found.tied, strict=True):
        ranked = run.frame.filter(run.frame["qid"] == span.id)["docno"].to_list()
        assert better <= ranked.index(span.candidate or span.id) < better + tied


def test_a_submission_for_the_hidden_quotations(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    arguments = ["literary-evidence", "retrieve", "--model", "tiny", "--relic", "relic.json"]
    assert main([*arguments, "--output", "submission.json"]) == 0
    books = read_relic(Path("relic.json"))
    rankings = read_submission(Path("submission.json"), books)  # checks it as the scorer would
    assert set(rankings) == {"known", "hidden", "one"}
    encoder = DualEncoder.load(encoder_source("tiny"))
    (task,) = book_tasks(books)
    (rank,) = rank_task(encoder, task).better
    if rank < 100:
        texts = [task.texts[number] for number in rankings["known"]]
        assert texts.index(task.texts[3]) == rank
    assert main([*arguments, "--output", "run.trec", "--depth", "5"]) == 0
    docnos = read_run(Path("run.trec")).frame.filter(qid="hidden")["docno"].to_list()
    assert docnos == [f"a_book/{number}+2" for number in rankings["hidden"][:5]]
    assert main([*arguments, "--output", "other.json", "--depth", "5"]) == 2
    assert "100 candidates" in capsys.readouterr().err
    assert main(["literary-evidence", "retrieve", "--model", "tiny", "--output", "x.trec"]) == 2


def test_rouge_of_what_is_ranked_first(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    spans = some_spans(12, groups=3)
    texts = {span.candidate or span.id: span.text for span in spans}
    main(
        [
            "literary-evidence",
            "retrieve",
            "-m",
            "tiny",
            "--spans",
            "spans.jsonl",
            "-o",
            "first.trec",
        ]
    )
    run = read_run(Path("first.trec"))
    wanted, others = [], []
    for span in spans:
        gold = span.candidate or span.id
        ranked = run.frame.filter(qid=span.id)["docno"].to_list()
        wanted.append(rouge_l(span.text, texts[ranked[0]]))
        others.append(rouge_l(span.text, texts[next(one for one in ranked if one != gold)]))
    capsys.readouterr()
    arguments = [
        "exemplification",
        "rouge",
        "first.trec",
        "--spans",
        "spans.jsonl",
        "--format",
        "json",
    ]
    for options, expected in ((), wanted), (("--without-gold",), others):
        assert main([*arguments, *options]) == 0
        (row,) = json.loads(capsys.readouterr().out)["rows"]
        assert row["cells"][0]["mean"] == pytest.approx(np.mean(expected))
    assert main([*arguments, "--depth", "3"]) == 0
    columns = json.loads(capsys.readouterr().out)["columns"]
    assert len(columns) == 3
    run_of_others = Path("first.trec").read_text().replace(next(iter(texts)), "unknown")
    Path("strange.trec").write_text(run_of_others)
    assert main(["exemplification", "rouge", "strange.trec", "--spans", "spans.jsonl"]) == 3
    assert "strange" in capsys.readouterr().err
