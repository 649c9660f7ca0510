"""``adducir rerank`` and ``adducir train`` of a reranker, from files to files."""

import pytest

from adducir.cli.app import main
from adducir.runs.metadata import read_metadata
from adducir.runs.read import read_run


@pytest.fixture
def arguments(study, classifier):
    """The words of a command that reranks."""
    return [
        *("rerank", "--run", str(study / "runs" / "bm25.trec")),
        *("--topics", str(study / "topics.tsv"), "--model", str(classifier)),
    ]


def test_the_same_from_corpus_and_from_index(study, arguments, capsys):
    index = study / "indexes" / "small"
    corpus = str(study / "corpus.jsonl")
    assert main(["index", corpus, "--output", str(index), "--engine", "memory"]) == 0
    one, other = study / "runs" / "one.trec", study / "runs" / "other.trec.gz"
    arguments += ["--depth", "4"]
    capsys.readouterr()
    assert main([*arguments, "--corpus", corpus, "--output", str(one)]) == 0
    message = capsys.readouterr().err
    assert "3 topics, 12 pairs" in message
    assert "score: log-probability of class relevant" in message
    assert main([*arguments, "--index", str(index), "--output", str(other)]) == 0
    assert read_run(one).frame.equals(read_run(other).frame)
    assert read_run(one).tag == "one"
    assert read_metadata(one)["method"]["reranking"][0]["depth"] == 4


def test_how_the_candidates_were_found_is_handed_on(study, arguments):
    index, run = study / "indexes" / "small", study / "runs" / "bm25.trec"
    topics = str(study / "topics.tsv")
    main(["index", str(study / "corpus.jsonl"), "--output", str(index), "--engine", "memory"])
    assert main(["search", "-i", str(index), "-t", topics, "-o", str(run), "--force"]) == 0
    output = study / "runs" / "two.trec"
    assert main([*arguments, "--index", str(index), "--output", str(output)]) == 0
    facts = read_metadata(output)
    assert facts["method"]["retrieval"] == read_metadata(run)["method"]["retrieval"]
    assert facts["data"]["topics"]["source"].endswith("topics.tsv")
    again = study / "runs" / "three.trec"
    arguments[arguments.index("--run") + 1] = str(output)
    assert main([*arguments, "--index", str(index), "--depth", "2", "--output", str(again)]) == 0
    stages = read_metadata(again)["method"]["reranking"]
    assert [stage["depth"] for stage in stages] == [facts["method"]["reranking"][0]["depth"], 2]


@pytest.mark.slow
def test_workers_read_queries_and_texts_from_files_that_go(study, arguments, capsys):
    runs = study / "runs"
    words = [*arguments, "--corpus", str(study / "corpus.jsonl")]
    assert main([*words, "--output", str(runs / "a.trec")]) == 0
    assert main([*words, "--workers", "2", "--output", str(runs / "b.trec")]) == 0
    one, other = (read_run(runs / name).frame for name in ("a.trec", "b.trec"))
    assert one.equals(other)
    assert not list(runs.glob(".*.parts-*"))
    (study / "topics.tsv").write_text("1\tother\n")
    capsys.readouterr()
    assert main([*words, "--output", str(runs / "c.trec")]) == 3
    assert "topic 2, which is not in" in capsys.readouterr().err
    assert not list(runs.glob(".*.parts-*"))
