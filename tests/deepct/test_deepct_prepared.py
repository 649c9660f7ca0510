"""Passages that models share: whoever makes them, they are those of documents cut as read."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny import tiny_bert

from adducir.core.artifacts import read_manifest
from adducir.core.errors import ArtifactError, InputError
from adducir.core.executors import Execution
from adducir.corpora.sources import open_corpus
from adducir.deepct.examples import Counts, Example
from adducir.deepct.prepared import Prepared
from adducir.deepct.training import DeepCTPlan
from adducir.deepct.words import words
from adducir.models.arrays import read_shard
from adducir.training.artifacts import train_model
from adducir.training.kinds import open_training
from adducir.training.store import Store

PARTS = ["passages={length: 20}", "passages={length: 7, overlap: 2}", "keys=original"]


def planned(study: Path, *changes: str) -> DeepCTPlan:
    plan = open_training(study / "deepct" / "tiny.yaml", changes)
    assert isinstance(plan, DeepCTPlan)
    return plan


def digests(folder: Path) -> dict[str, str]:
    return {name: entry.sha256 for name, entry in read_manifest(folder).files.items()}


def made(study: Path, folder: Path, size: int, *changes: str, **how: Any) -> dict[str, str]:
    """The digests of the files, made by shards of so many documents."""
    preparation = planned(study, *changes).preparation
    work = replace(preparation.work, size=size)  # type: ignore[type-var]
    replace(preparation, work=work).make(folder, execution=Execution(**how))
    return digests(folder)


@pytest.mark.parametrize("change", PARTS)
def test_the_size_of_chunks_changes_nothing(study: Path, change: str) -> None:
    whole = made(study, study / "whole", 1000, change)
    assert made(study, study / "by-one", 1, change) == whole
    assert made(study, study / "by-five", 5, change) == whole


@pytest.mark.parametrize(
    "change", [*PARTS, "keep_empty=false", "held_out.by=topic", "stopwords=none", "most=3"]
)
def test_examples_are_those_of_documents_cut_as_they_are_read(study: Path, change: str) -> None:
    opened = planned(study, change).opened
    planned(study, change).preparation.make(study / "made")
    counts, others, weighter = Counts(), Counts(), opened.untrained()
    with Prepared(study / "made") as passages, Store(study / "made") as store:
        found = list(opened.examples(passages.cuts, counts))
        wanted = list(opened.examples(opened.cutter, others))
        assert wanted
        assert counts == others
        for one, other in zip(found, wanted, strict=True):
            text = store.get(one.row, ["text"])["text"].tobytes().decode()
            assert Example(*one[:2], text, *one[3:6]) == other
            whole = opened.recipe.keys == "words"
            (read,) = weighter.encode([text], [words(text, whole=whole)])
            kept = store.get(one.row, ["ids", "firsts"])
            assert kept["ids"].tolist() == read.ids.tolist()
            assert kept["firsts"].tolist() == read.firsts.tolist()


def test_what_determines_passages_and_what_does_not(study: Path, tmp_path: Path) -> None:
    plain = planned(study).preparation.fingerprint
    (study / "out.txt").write_text("1 0 d1 1\n")
    same = [
        "reference=[topic, conclusion]",
        "without={qrels: [out.txt]}",
        "held_out={share: 0, by: topic}",
        "keep_empty=false",
        "most=5",
        "stop_words_in_loss=true",
        "activation=none",
        "training={epochs: 9, learning_rate: 1, seed: 4}",
    ]
    for change in same:
        assert planned(study, change).preparation.fingerprint == plain, change
    others = [
        "text=topic",
        "passages={length: 19}",
        "stopwords=lucene",
        "keys=original",
        "training_length=9",
    ]
    found = {planned(study, change).preparation.fingerprint for change in others}
    assert len(found - {plain}) == len(others)
    # A network of other weights reads in the same way; one of other positions does not.
    other = tiny_bert(tmp_path / "other")
    assert planned(study, f"base={other}").preparation.fingerprint == plain
    (other / "model.safetensors").write_bytes(b"other weights")
    assert planned(study, f"base={other}").preparation.fingerprint == plain
    config = json.loads((other / "config.json").read_text())
    config["max_position_embeddings"] = 64
    (other / "config.json").write_text(json.dumps(config))
    assert planned(study, f"base={other}").preparation.fingerprint != plain


def test_models_that_share_passages_have_the_weights_that_they_have_alone(study: Path) -> None:
    (study / "out.txt").write_text("1 0 d1 1\n")
    shared = study / "deepct" / "shared"
    for number, change in enumerate(("reference=[topic]", "without={qrels: [out.txt]}")):
        plan = planned(study, change)
        train_model(plan, study / f"alone{number}")
        if number:
            before = read_manifest(shared).started, digests(shared)
        train_model(plan, study / f"with{number}", prepared=shared)
        name = "model.safetensors"
        assert digests(study / f"alone{number}")[name] == digests(study / f"with{number}")[name]
    assert (read_manifest(shared).started, digests(shared)) == before
    # Nothing else is left beside the models.
    assert not [path for path in study.glob(".*") if "parts" in path.name]


def test_examples_take_the_files_of_passages(study: Path) -> None:
    task = planned(study).task(torch.device("cpu"))
    planned(study).preparation.make(study / "made")
    task.prepared = study / "made"
    (study / "examples").mkdir()
    task.write(study / "examples")
    for name in ("ids", "text", "firsts"):
        one, other = (study / place / f"{name}.values" for place in ("made", "examples"))
        assert one.samefile(other)
    assert not (study / "examples" / "terms.values").exists()
    task.read(study / "examples")
    values = [one["values"] for one in map(task.training.store.get, range(3))]
    assert all(value.dtype == np.float64 for value in values)
    task.close()


def test_passages_of_another_corpus_are_refused(study: Path) -> None:
    planned(study).preparation.make(study / "made")
    lines = (study / "corpus.jsonl").read_text().splitlines()
    (study / "corpus.jsonl").write_text("\n".join(lines[1:]))
    opened = planned(study).opened
    with Prepared(study / "made") as passages, pytest.raises(ArtifactError, match="from 'd1' on"):
        list(opened.examples(passages.cuts, Counts()))
    (study / "corpus.jsonl").write_text("\n".join([*lines, lines[0].replace("d0", "new")]))
    opened = planned(study).opened
    with Prepared(study / "made") as passages, pytest.raises(ArtifactError, match="from 'new' on"):
        list(opened.examples(passages.cuts, Counts()))


def test_passages_that_cannot_be_made(study: Path) -> None:
    with pytest.raises(InputError, match="do not fit the model"):
        planned(study, "passages={length: 5000}").preparation.make(study / "made")
    lines = (study / "corpus.jsonl").read_text().splitlines()
    (study / "corpus.jsonl").write_text("\n".join([*lines, lines[3]]))
    with pytest.raises(InputError, match="the docno 'd3' was there before"):
        planned(study).preparation.make(study / "made")
    assert list(open_corpus(str(study / "corpus.jsonl")))
    assert not read_shards(study)


def read_shards(study: Path) -> list[Any]:
    return [read_shard(path) for path in study.glob(".made.parts-*/0*-*")]
