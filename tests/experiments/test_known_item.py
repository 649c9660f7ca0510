"""A study of known-item search: spans, a book, pools; BM25, vectors, late interaction, trained."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from experiment_studies import notes_of
from some_spans import SENTENCES, some_spans
from tiny import tiny_bert, tiny_colbert

from adducir.cli.app import main
from adducir.core.manifests import read_manifest
from adducir.corpora.spans import MaskedSpan, context, context_text, write_spans
from adducir.encoders.kinds import encoder_source
from adducir.encoders.model import DualEncoder
from adducir.encoders.ranking import task_among
from adducir.encoders.reading import ContextPart, ContextRecipe
from adducir.encoders.settings import EncodingSettings
from adducir.evaluation.gold_ranks import median_rank, read_ranks, recall
from adducir.evaluation.rouge import rouge_l
from adducir.experiments.experiment import plan_experiment, run_experiment
from adducir.experiments.known_item.system import LexicalPart, open_data
from adducir.experiments.known_item.vectors import nearest
from adducir.models.loading import load_tokenizer
from adducir.models.sources import ModelSource
from adducir.statistics.equivalence import two_level
from adducir.studies.literary_evidence.relic import RelicBook, RelicQuote, write_relic
from adducir.training.data import same_number
from adducir.training.leaks import queries_of

MEAN = EncodingSettings(pooling="mean", similarity="dot")

SHARES = "{train: 0.4, validation: 0.2, test: 0.4}"
FILE = f"""task: known-item
description: A study.
data:
  A: {{spans: spans.jsonl, candidates: more.jsonl, part: test, shares: {SHARES}}}
  B: {{relic: relic.json, groups: [a book], sentences: [1, 2]}}
contexts:
  L: {{right: 0}}
  1/1: {{left: 1, right: 1}}
systems:
  BM25: {{bm25: {{}}}}
  zero: {{encoder: tiny, pooling: mean, similarity: dot}}
  late: {{maxsim: tiny, contexts: [L]}}
  ours: {{train: [encoders/tiny.yaml, encoders/tiny.yaml], set: [training.epochs=1], contexts: [L]}}
by: [length]
comparison: {{baseline: BM25}}
"""
SEEDED = f"""task: known-item
data: {{A: {{spans: spans.jsonl, part: test, shares: {SHARES}}}}}
contexts: {{L: {{right: 0}}}}
systems:
  BM25: {{bm25: {{}}}}
  ours: {{train: encoders/tiny.yaml, seeds: [0, 4]}}
cutoffs: [1, 5]
by: [length]
comparison: {{baseline: BM25}}
table: {{system_names: {{ours: Our encoder}}}}
"""
ROUGE = """task: known-item
data: {A: {spans: spans.jsonl, candidates: more.jsonl}}
contexts: {L: {right: 0}}
systems:
  BM25: {bm25: {}}
  zero: {encoder: tiny, pooling: mean, similarity: dot}
  late: {maxsim: tiny}
rouge: true
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    tiny_bert(folder / "tiny")
    tiny_colbert(folder / "tiny", folder / "tiny-colbert")
    for room in ("encoders", "experiments"):
        (folder / room).mkdir()
    write_spans(some_spans(30, groups=9), folder / "spans.jsonl")
    write_spans([MaskedSpan("m", "other", (), ("a slow dog .",), ())], folder / "more.jsonl")
    quotes = {
        "q1": RelicQuote(["the cat ran ."], 3, 2, ["a dog ."]),
        "q2": RelicQuote(["clean energy ."], 6, 1, []),
        "q3": RelicQuote(["fast ."], 0, 3, []),
    }
    other = RelicBook({"q4": RelicQuote(["x"], 0, 1, [])}, SENTENCES)
    books = {"a book": RelicBook(quotes, [*SENTENCES, *SENTENCES]), "another": other}
    write_relic(books, folder / "relic.json")
    (folder / "encoders" / "tiny.yaml").write_text(
        f"base: tiny\ndata: {{train: spans.jsonl, shares: {SHARES}}}\n"
        "training: {epochs: 2, batch_size: 5, learning_rate: 0.001, patience: null}\n"
    )
    for name, text in (("study", FILE), ("seeded", SEEDED), ("rouge", ROUGE)):
        (folder / "experiments" / f"{name}.yaml").write_text(text)
    return folder


@pytest.fixture
def here(study, monkeypatch):
    monkeypatch.chdir(study)
    return study


def ranks_of(folder, name):
    (ranks,) = read_ranks(folder / "runs" / name / "ranks.tsv", "x").values()
    return ranks


def test_a_study_from_one_file(here, capsys):
    file = "experiments/study.yaml"
    assert main(["experiment", file, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["train  encoders/study/ours/L-1", "train  encoders/study/ours/L"]
    assert sum(line.startswith("rank ") for line in lines) == 2 * 6
    assert main(["experiment", file, "--output", "one.md"]) == 2  # two tables
    assert main(["experiment", file, "--threads", "1", "--format", "csv"]) == 0
    table = json.loads((here / "experiments/study/A/table.json").read_text())
    named = [(row["section"], row["system"]) for row in table["rows"]]
    assert named == [
        *(("L", name) for name in ("random", "BM25", "zero", "late", "ours")),
        *(("1/1", name) for name in ("random", "BM25", "zero")),
    ]
    kept = table["provenance"]["epochs kept"]
    assert kept == {f"encoders/study/ours/{name}": "1 of 1" for name in ("L", "L-1")}
    ranks = ranks_of(here, "study/A/ours/L")
    assert set(ranks.candidates) == {31}
    means = [cell["mean"] for cell in table["rows"][4]["cells"]]
    assert means[0] == pytest.approx(np.mean(ranks.better + ranks.tied <= 1))
    assert means[-2] == pytest.approx(np.mean(ranks.better + ranks.tied))
    # Every context of the test part and no other, in the file's order.
    tested = (data := plan_experiment(here / file).study.data["A"]).spans
    recipe = data.recipe.model_copy(
        update={"spans": ("spans.jsonl", "more.jsonl"), "candidates": ()}
    )
    assert open_data(recipe, here).identity != data.identity
    assert list(ranks.qids) == [span.id for span in tested]
    assert ranks.keys["group"] == tuple(span.group for span in tested)
    book = ranks_of(here, "study/B/zero/1_1")
    assert dict(zip(book.qids, book.candidates.tolist(), strict=True)) == {"q1": 13, "q2": 14}
    text = (here / "experiments/study/B/by-length.md").read_text()
    assert "L, length 1 (1)" in text
    assert "1/1, length 2 (1)" in text
    settings = json.loads((here / "encoders/study/ours/L/encoder.json").read_text())
    assert (settings["context"]["left"], settings["context"]["right"]) == (None, 0)
    # Another study that uses the model is told what it has seen.
    kept, known = queries_of(here / "encoders/study/ours/L"), "{encoder: encoders/study/ours/L}"
    alone = ("comparison=null", "data.A.part=null", "data.A.shares=null")
    plan = plan_experiment(here / file, (f"systems={{known: {known}}}", *alone))
    seen = sum(same_number(context_text(span)) in kept for span in plan.study.data["A"].spans)
    told = f"warn   encoders/study/ours/L was trained on {seen} of the 30 queries of A: train it on"
    assert f"{told} others" in plan.lines()
    assert seen >= 12
    # What is there is not made again.
    made = [
        *here.glob("encoders/study/**/manifest.json"),
        *here.glob("runs/study/**/manifest.json"),
    ]
    assert len(made) == 2 + 2 * 6
    before = [path.stat().st_mtime_ns for path in made]
    assert main(["experiment", file]) == 0
    assert [path.stat().st_mtime_ns for path in made] == before


def test_a_row_is_of_all_seeds(here):
    outcome = run_experiment(plan_experiment(here / "experiments" / "seeded.yaml"))
    for seed in (0, 4):
        made = read_manifest(here / f"encoders/seeded/ours.seed{seed}/L")
        assert made.recipe["training"]["seed"] == seed
    names = ["BM25", "ours.seed0", "ours.seed4"]
    base, *own = [ranks_of(here, f"seeded/A/{name}/L") for name in names]
    assert (own[0].better != own[1].better).any()
    rows = {row.system: row for row in outcome.table.rows}
    cells = dict(zip((c.measure for c in outcome.table.columns), rows["ours"].cells, strict=True))
    by_hand = {
        "R@5": (np.stack([recall(one, 5) for one in own]), recall(base, 5)),
        "Rank": (
            np.stack([1.0 * (one.better + one.tied) for one in own]),
            1.0 * (base.better + base.tied),
        ),
    }
    for measure, (ours, other) in by_hand.items():
        assert cells[measure].mean == pytest.approx(ours.mean())
        expected = two_level(ours, other[None])
        tests = outcome.table.comparison.tests.filter(system="ours", measure=measure)
        assert tests["statistic"][0] == pytest.approx(expected.t, rel=1e-12)
        assert tests.select("p", "verdict").row(0) == (None, None)  # two runs
    assert cells["Median rank"].mean == np.mean([median_rank(one) for one in own])
    footer = notes_of(outcome.table)
    assert "Runs of a system: Our encoder 2." in footer
    assert "Seeds of the trainings of Our encoder: 0, 4." in footer
    with (here / "experiments/seeded/per-context.csv").open() as handle:
        assert {row["system"] for row in csv.DictReader(handle)} >= set(names)


def test_bm25_counts_ties_of_rank_bm25s_scores():
    peers = pytest.importorskip("rank_bm25", reason="rank_bm25 is not installed")
    spans = some_spans(25)
    spans.append(MaskedSpan("none", "g", ("zebra",), ("unheard",), ()))
    task = task_among(spans, spans)
    part, read = LexicalPart(k1=0.5, b=0.9), ContextRecipe(left=1, right=0)
    (found,) = part.ranks([task], read, 1, rouge=False)
    texts = [text.lower().split() for text in task.texts]
    okapi = peers.BM25Okapi(texts, k1=0.5, b=0.9, epsilon=0.25)
    for number, span in enumerate(spans):
        query = " ".join(context(span, 1, 0)).lower().split()
        scores = np.round(okapi.get_scores(query), 9)
        gold = scores[task.gold[number]]
        assert found.better[number] == (scores > gold).sum(), span.id
        assert found.tied[number] == (scores == gold).sum(), span.id
    assert found.tied[-1] == len(texts)  # no word is known: all candidates tie


def test_words_nearest_to_the_mask_are_read(study):
    tokenizer = load_tokenizer(ModelSource("tiny", study / "tiny"))
    left, right = "cat dog school energy", "run fast nuclear power"
    assert nearest(tokenizer, left, right, 99) == f"{left} {right}"
    assert nearest(tokenizer, left, right, 4) == "school energy run fast"
    assert nearest(tokenizer, left, "", 2) == "school energy"
    text = "the cat ran fast ."
    assert nearest(tokenizer, text, text, 99, 2) == "fast . the cat"
    assert nearest(tokenizer, text, text, 3, 2) == "fast . the"
    assert nearest(tokenizer, text, text, 99, 0) == ""


def test_candidates_are_encoded_once_for_all_contexts(here, monkeypatch):
    encoded, encode = [], DualEncoder.encode_documents

    def counted(encoder, texts, *more):
        encoded.extend(texts)
        return encode(encoder, texts, *more)

    monkeypatch.setattr(DualEncoder, "encode_documents", counted)
    changes = (
        "contexts.R={left: 0}",
        "systems={zero: {encoder: tiny, pooling: mean, similarity: dot}}",
    )
    plan = plan_experiment(Path("experiments/rouge.yaml"), changes, rebuild=True)
    run_experiment(plan)
    (task,) = plan.study.data["A"].tasks()
    assert sorted(encoded) == sorted(set(task.texts))
    assert not list(here.glob("runs/rouge/**/.*.parts-*"))


def test_rouge_of_what_is_ranked_first(here):
    assert main(["experiment", "experiments/rouge.yaml"]) == 0
    table = json.loads((here / "experiments/rouge/table.json").read_text())
    assert [one["measure"] for one in table["columns"]][-2:] == ["ROUGE-L", "Median rank"]
    assert table["rows"][0]["cells"][-2]["mean"] is None  # random
    (task,) = plan_experiment(Path("experiments/rouge.yaml")).study.data["A"].tasks()
    encoder = DualEncoder.load(
        encoder_source("tiny", encoding=MEAN), context=ContextPart(right=0, mask=False)
    )
    vectors = encoder.encode_contexts(task.spans), encoder.encode_documents(task.texts)
    numbers = (vectors[0] @ vectors[1].T).argsort(axis=1)[:, -1:]
    wanted = [
        rouge_l(task.texts[gold], task.texts[first])
        for gold, (first,) in zip(task.gold, numbers, strict=True)
    ]
    found = {name: ranks_of(here, f"rouge/A/{name}/L") for name in ("BM25", "zero")}
    np.testing.assert_array_equal(found["zero"].rouge, wanted)
    # Where the gold candidate is alone in the first place, its ROUGE-L is 1.
    for one in found.values():
        assert (one.rouge[(one.better == 0) & (one.tied == 1)] == 1).all()
