"""A study of ranks: spans, a book, pools; BM25, vectors, late interaction, trained chains."""

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
sys.path.insert(0, str(Path(__file__).parents[1] / "encoders"))

from some_spans import SENTENCES, some_spans
from tiny import tiny_bert, tiny_colbert

from adducir.cli.app import main
from adducir.core.config import load, validate
from adducir.core.errors import InputError
from adducir.corpora.relic import RelicBook, RelicQuote, write_relic
from adducir.corpora.spans import MaskedSpan, context, write_spans
from adducir.encoders.model import DualEncoder
from adducir.encoders.ranking import task_among
from adducir.encoders.reading import ContextPart, LengthPart
from adducir.encoders.sources import encoder_source
from adducir.evaluation.rank_files import read_ranks
from adducir.evaluation.rouge import rouge_l
from adducir.experiments.experiment import plan_experiment
from adducir.experiments.known_item.data import DataRecipe
from adducir.experiments.known_item.encoders import Trained
from adducir.experiments.known_item.late import nearest
from adducir.experiments.known_item.study import KnownItem
from adducir.experiments.known_item.system import (
    RANKING_SYSTEMS,
    ContextRecipe,
    LexicalPart,
    lexical_ranks,
)
from adducir.models.loading import load_tokenizer
from adducir.models.sources import ModelSource
from adducir.training.recipe import listed

ROOT = Path(__file__).parents[2]
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
  zero: {{encoder: tiny}}
  late: {{maxsim: tiny, contexts: [L]}}
  ours: {{train: [encoders/tiny.yaml, encoders/tiny.yaml], set: [training.epochs=1], contexts: [L]}}
by: [length]
comparison: {{baseline: BM25}}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    tiny_bert(folder / "tiny")
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
    (folder / "experiments" / "study.yaml").write_text(FILE)
    return folder


def test_a_study_from_one_file(place, capsys, monkeypatch):
    monkeypatch.chdir(place)
    file = "experiments/study.yaml"
    assert main(["experiment", file, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["train  encoders/study/ours/L-1", "train  encoders/study/ours/L"]
    assert sum(line.startswith("rank ") for line in lines) == 2 * 6
    assert main(["experiment", file, "--output", "one.md"]) == 2
    assert "2 tables" in capsys.readouterr().err
    assert main(["experiment", file, "--threads", "1", "--format", "csv"]) == 0
    assert "zero" in capsys.readouterr().out
    table = json.loads((place / "experiments/study/A/table.json").read_text())
    named = [(row["section"], row["system"]) for row in table["rows"]]
    assert named == [
        *(("L", name) for name in ("random", "BM25", "zero", "late", "ours")),
        *(("1/1", name) for name in ("random", "BM25", "zero")),
    ]
    kept = table["provenance"]["epochs kept"]
    assert kept == {f"encoders/study/ours/{name}": "1 of 1" for name in ("L", "L-1")}
    ranks = read_ranks(place / "runs/study/A/ours/L/ranks.tsv", "x")["ours"]
    assert set(ranks.candidates) == {31}
    means = [cell["mean"] for cell in table["rows"][4]["cells"]]
    assert means[0] == pytest.approx(np.mean(ranks.better + ranks.tied <= 1))
    assert means[-2] == pytest.approx(np.mean(ranks.better + ranks.tied))
    # Every context of the test part and no other, in the file's order.
    tested = plan_experiment(place / file).study.data["A"].spans
    assert list(ranks.qids) == [span.id for span in tested]
    assert ranks.keys["group"] == tuple(span.group for span in tested)
    book = read_ranks(place / "runs/study/B/zero/1_1/ranks.tsv", "x")["zero"]
    assert dict(zip(book.qids, book.candidates.tolist(), strict=True)) == {"q1": 13, "q2": 14}
    text = (place / "experiments/study/B/by-length.md").read_text()
    assert "L, length 1 (1)" in text
    assert "1/1, length 2 (1)" in text
    settings = json.loads((place / "encoders/study/ours/L/encoder.json").read_text())
    assert (settings["context"]["left"], settings["context"]["right"]) == (None, 0)
    # What is there is not made again.
    made = [
        path
        for room in ("encoders", "runs")
        for path in place.glob(f"{room}/study/**/manifest.json")
    ]
    assert len(made) == 2 + 2 * 6
    before = [path.stat().st_mtime_ns for path in made]
    assert main(["experiment", file]) == 0
    assert [path.stat().st_mtime_ns for path in made] == before
    capsys.readouterr()
    assert main(["experiment", file, "--dry-run"]) == 0
    assert capsys.readouterr().out.count("keep   encoders") == 2


def test_bm25_against_a_plain_loop():
    """Ties as counted from whole scores of rank_bm25's formula, over the candidates alone."""
    spans = some_spans(25)
    spans.append(MaskedSpan("none", "g", ("zebra",), ("unheard",), ()))
    task = task_among(spans, spans)
    part, read = LexicalPart(k1=0.5, b=0.9), ContextRecipe(left=1, right=0)
    (found,) = lexical_ranks(part, [task], read)
    texts = [text.lower().split() for text in task.texts]
    lengths = np.array([len(text) for text in texts])
    words = sorted({word for text in texts for word in text})
    held = {word: sum(word in text for text in texts) for word in words}
    idf = {w: np.log(len(texts) - n + 0.5) - np.log(n + 0.5) for w, n in held.items()}
    floor = 0.25 * np.mean(list(idf.values()))
    idf = {word: floor if value < 0 else value for word, value in idf.items()}
    for number, span in enumerate(spans):
        scores = np.zeros(len(texts))
        for word in " ".join(context(span, 1, 0)).lower().split():
            tf = np.array([text.count(word) for text in texts])
            norm = 0.5 * (0.1 + 0.9 * lengths / lengths.mean())
            scores += idf.get(word, 0) * tf * 1.5 / (tf + norm)
        rounded = np.round(scores, 9)
        gold = rounded[task.gold[number]]
        assert found.better[number] == (rounded > gold).sum(), span.id
        assert found.tied[number] == (rounded == gold).sum(), span.id
    assert found.tied[-1] == len(texts)  # no word is known: all candidates tie


def test_what_is_nearest_to_the_mask_is_read(place):
    tokenizer = load_tokenizer(ModelSource("tiny", place / "tiny"))
    left, right = "cat dog school energy", "run fast nuclear power"
    assert nearest(tokenizer, left, right, 99) == f"{left} {right}"
    cut = nearest(tokenizer, left, right, 4).split()
    assert cut == ["school", "energy", "run", "fast"]
    assert nearest(tokenizer, left, "", 2) == "school energy"
    assert nearest(tokenizer, "", right, 1) in ("run", "")


def test_all_errors_are_reported_at_once(place):
    file = place / "experiments" / "other.yaml"
    text = FILE.replace("spans: spans.jsonl", "spans: none.jsonl")
    text = text.replace("maxsim: tiny", "maxsim: ./x")
    file.write_text(text.replace("relic: relic.json", "relic: none.json"))
    with pytest.raises(InputError) as error:
        plan_experiment(file)
    assert {int(n) for n in re.findall(r"other\.yaml:(\d+):", str(error.value))} == {4, 5, 12}


FILES = [
    path
    for path in sorted((ROOT / "experiments").glob("*.yaml"))
    if load(path).data.get("task") == "known-item"
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_that_come_along_are_right(path):
    study = validate(load(path), KnownItem)
    for system in study.systems.values():
        for recipe in listed(system.train) if isinstance(system, Trained) else ():
            assert (ROOT / recipe).exists()


def keys_of(model):
    """The keys of a model and of those below it that are of this kind of file."""
    for name, field in model.model_fields.items():
        yield name, field
        for part in PARTS:
            if part.__name__ in repr(field.annotation):
                yield from keys_of(part)
        if "RankingSystem" in repr(field.annotation):
            for kind in RANKING_SYSTEMS:
                yield from keys_of(RANKING_SYSTEMS.kind(kind))


PARTS = (DataRecipe, ContextRecipe, LexicalPart, LengthPart)


def test_every_key_is_documented_with_its_default():
    page = (ROOT / "docs" / "ranks.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|([^|]*)\|", page, re.M)
    found = dict(keys_of(KnownItem))
    assert {"k1", "sentences", "maxsim", "left", "span", "cutoffs"} <= set(found)
    assert {key for key, _ in rows} == set(found)
    for name, field in keys_of(KnownItem):
        stated = [value.strip(" `") for key, value in rows if key == name]
        default = field.default
        if field.is_required():
            assert {"required", ""} & {*stated}, name
        elif isinstance(default, bool | int | float):
            wanted = str(default).lower() if isinstance(default, bool) else f"{default:g}"
            assert wanted in stated, name


def test_late_interaction_in_half_precision(place, tmp_path, monkeypatch):
    monkeypatch.chdir(place)
    text = """task: known-item
data: {A: {spans: spans.jsonl}}
contexts: {L: {right: 0}}
systems: {late: {maxsim: tiny}, colbert: {colbert: tiny-colbert, lengths: {context: 12}}}
"""
    tiny_colbert(place / "tiny", place / "tiny-colbert")
    found = {}
    for precision in ("float32", "bfloat16"):
        file = place / "experiments" / f"{precision}.yaml"
        file.write_text(f"{text}precision: {precision}\n")
        assert main(["experiment", str(file)]) == 0
        path = place / "runs" / precision / "A" / "colbert" / "L" / "ranks.tsv"
        found[precision] = read_ranks(path, "x")["colbert"]
    half, exact = found["bfloat16"], found["float32"]
    assert np.abs((half.better + half.tied) - (exact.better + exact.tied)).mean() < 1


def test_tokens_of_each_side(place):
    tokenizer = load_tokenizer(ModelSource("tiny", place / "tiny"))
    text = "the cat ran fast ."
    assert nearest(tokenizer, text, text, 99, 2) == "fast . the cat"
    assert nearest(tokenizer, text, text, 3, 2) == "fast . the"
    assert nearest(tokenizer, text, text, 99, 0) == ""
    spans = [
        MaskedSpan("1", "g", ("the cat ran fast .",), ("a dog .",), ("dogs run slow .",)),
        MaskedSpan("2", "g", ("slow .",), ("cats run .",), ("cats",)),
    ]
    reads, tasks = (ContextRecipe(tokens=2), ContextRecipe(words=2)), [task_among(spans, spans)]
    two, same = (found for read in reads for found in lexical_ranks(LexicalPart(), tasks, read))
    assert two.better.tolist() == same.better.tolist()


def test_models_are_fetched_before_anything_is_ranked(place, monkeypatch, capsys, tmp_path):
    study = shutil.copytree(place, tmp_path / "study")
    for made in ("runs", "experiments/study"):
        shutil.rmtree(study / made, ignore_errors=True)
    monkeypatch.chdir(study)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    arguments = ["experiment", "experiments/study.yaml", "--set", "systems.zero.encoder=no/such"]
    assert main([*arguments, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "not available: the model no/such, " in out
    assert out.count("systems.zero") == 1
    assert main(arguments) == 4
    assert "no/such" in capsys.readouterr().err
    assert not list((study / "runs").rglob("ranks.tsv"))


def test_rouge_of_what_is_ranked_first(place, monkeypatch):
    monkeypatch.chdir(place)
    (place / "experiments" / "rouge.yaml").write_text(
        """task: known-item
data: {A: {spans: spans.jsonl, candidates: more.jsonl}}
contexts: {L: {right: 0}}
systems: {BM25: {bm25: {}}, zero: {encoder: tiny}, late: {maxsim: tiny}}
rouge: true
"""
    )
    assert main(["experiment", "experiments/rouge.yaml"]) == 0
    table = json.loads((place / "experiments/rouge/table.json").read_text())
    assert [one["measure"] for one in table["columns"]][-2:] == ["ROUGE-L", "Median rank"]
    assert table["rows"][0]["cells"][-2]["mean"] is None  # random
    plan = plan_experiment(Path("experiments/rouge.yaml"))
    (task,) = plan.study.data["A"].tasks()
    encoder = DualEncoder.load(encoder_source("tiny"), context=ContextPart(right=0, mask=False))
    vectors = encoder.encode_contexts(task.spans), encoder.encode_documents(task.texts)
    numbers = (vectors[0] @ vectors[1].T).argsort(axis=1)[:, -1:]
    wanted = [
        rouge_l(task.texts[gold], task.texts[first])
        for gold, (first,) in zip(task.gold, numbers, strict=True)
    ]
    found = {
        name: read_ranks(place / f"runs/rouge/A/{name}/L/ranks.tsv", "x")[name]
        for name in ("BM25", "zero")
    }
    np.testing.assert_array_equal(found["zero"].rouge, wanted)
    # Where the gold candidate is alone in the first place, its ROUGE-L is 1.
    for one in found.values():
        assert (one.rouge[(one.better == 0) & (one.tied == 1)] == 1).all()
