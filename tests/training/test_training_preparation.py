"""The arrays of examples of every kind: whoever makes them, they are those of one process."""

import json
import os
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch
from adducir.rerankers.pair_source import PairSource
from kinds_study import KINDS
from tiny import tiny_bert

from adducir.core.artifacts import read_manifest
from adducir.core.errors import ArtifactError, InputError
from adducir.core.executors import Execution
from adducir.corpora.spans import read_spans, write_spans
from adducir.training.artifacts import train_model
from adducir.training.kinds import open_training
from adducir.training.store import Store

CPU = torch.device("cpu")
DOCUMENTS = (
    "cross-encoder",
    "examples={query_field: premise, corpus: {source: pets.jsonl}, negatives: 2}",
)
ALL = [*((kind,) for kind in KINDS), DOCUMENTS]


def name_of(kind):
    return kind[0] if kind != DOCUMENTS else "documents"


@pytest.fixture
def study(study):
    """The same, with hard negatives of spans."""
    spans = [
        replace(one, negatives=(f"the dog {n} .", "no cat"))
        for n, one in enumerate(read_spans(study / "spans.jsonl"))
    ]
    write_spans(spans, study / "spans.jsonl")
    path = study / "dual-encoder.yaml"
    path.write_text(path.read_text() + "batches: {negatives: 2}\n")
    records = [
        {"docno": f"d{n}", "conclusion": f"cats {n}", "premise": f"dogs run {n} times"}
        for n in range(12)
    ]
    lines = "".join(json.dumps(one) + "\n" for one in records)
    (study / "pets.jsonl").write_text(lines, encoding="utf-8")
    return study


def planned(study, kind, *changes):
    return open_training(study / f"{kind}.yaml", changes)


def digests(folder):
    return {name: entry.sha256 for name, entry in read_manifest(folder).files.items()}


def made(plan, folder, size, **how):
    """The digests of the files, made by shards of so many items."""
    preparation = plan.preparation
    work = replace(preparation.work, size=size)
    replace(preparation, work=work).make(folder, execution=Execution(**how))
    return digests(folder)


@pytest.mark.parametrize("kind", ALL, ids=name_of)
def test_the_size_of_chunks_changes_nothing(study, kind):
    plan = planned(study, *kind)
    whole = made(plan, study / "whole", 1000)
    assert sum(name.endswith(".values") for name in whole) >= 4
    assert made(plan, study / "by-one", 1) == whole
    assert not [path for path in study.iterdir() if ".parts-" in path.name]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL, ids=name_of)
def test_workers_change_nothing(study, kind):
    plan = planned(study, *kind)
    assert made(plan, study / "two", 4, workers=2) == made(plan, study / "one", 1000)


@pytest.mark.parametrize("kind", ALL, ids=name_of)
def test_weights_are_those_of_a_training_that_prepares_for_itself(study, kind):
    alone, given = study / "alone", study / "given"
    train_model(planned(study, *kind), alone, device="cpu")
    shared = study / "shared"
    train_model(planned(study, *kind), given, device="cpu", prepared=shared)
    before = read_manifest(shared).started, digests(shared)
    train_model(planned(study, *kind, "training.seed=3"), study / "other", prepared=shared)
    assert (read_manifest(shared).started, digests(shared)) == before
    files = {name: one for name, one in digests(alone).items() if name.endswith(".safetensors")}
    assert files
    assert files.items() <= digests(given).items()
    assert not [path for path in study.iterdir() if ".parts-" in path.name]


def test_examples_take_the_files_of_what_is_prepared(study):
    for kind in KINDS:
        plan = planned(study, kind)
        plan.preparation.make(study / f"{kind}-made")
        task = plan.task(CPU)
        task.prepared = study / f"{kind}-made"
        (study / f"{kind}-examples").mkdir()
        task.write(study / f"{kind}-examples")
        name = "context.values" if kind == "dual-encoder" else "ids.values"
        one, other = (study / f"{kind}-{place}" / name for place in ("made", "examples"))
        assert one.samefile(other)
        task.read(study / f"{kind}-examples")
        with closing(task):
            numbers = np.concatenate([task.training.numbers, task.held_out.numbers])
        with Store(study / f"{kind}-made") as store:
            assert len({*numbers.tolist()}) == len(numbers) == len(store)


SAME = {
    "dual-encoder": ["towers=separate", "similarity=cosine", "temperature=0.2", "batches.by=group"],
    "cross-encoder": ["held_out.share=0.5", "labels=2"],
}
OTHER = {
    "dual-encoder": [
        "context.left=1",
        "lengths.span=5",
        "batches.negatives=1",
        "data={train: spans.jsonl, shares: {train: 0.5, validation: 0.2, test: 0.3}}",
        "data={train: pairs.jsonl, shares: {train: 0.8, validation: 0.2}}",
    ],
    "cross-encoder": ["length=20", "held_out.seed=3", "examples={pairs: spans.jsonl}"],
}


@pytest.mark.parametrize("kind", SAME)
def test_what_determines_what_is_prepared_and_what_does_not(study, kind, tmp_path):
    plain = planned(study, kind).preparation.fingerprint
    for change in [*SAME[kind], "training={epochs: 9, learning_rate: 1, seed: 4}"]:
        assert planned(study, kind, change).preparation.fingerprint == plain, change
    found = {planned(study, kind, change).preparation.fingerprint for change in OTHER[kind]}
    assert len(found - {plain}) == len(OTHER[kind])
    # A network of other weights reads in the same way; one of other positions does not.
    other = tiny_bert(tmp_path / "other")
    (other / "model.safetensors").write_bytes(b"other weights")
    assert planned(study, kind, f"base={other}").preparation.fingerprint == plain
    config = json.loads((other / "config.json").read_text())
    config["max_position_embeddings"] = 64
    (other / "config.json").write_text(json.dumps(config))
    assert planned(study, kind, f"base={other}").preparation.fingerprint != plain


def test_pairs_are_found_once(study, monkeypatch):
    found = []
    examples = PairSource.examples

    def counted(self, *arguments):
        found.append(os.getpid())
        return examples(self, *arguments)

    monkeypatch.setattr(PairSource, "examples", counted)
    plan = planned(study, *DOCUMENTS)
    manifest = train_model(plan, study / "model", device="cpu")
    assert len(found) == 1
    assert manifest.counts["training_pairs"] + manifest.counts["held_out_pairs"] == 36
    made(plan, study / "parts", 5)
    assert len(found) == 2


@pytest.mark.parametrize("change", [slice(1, None), slice(None, None, -1)])
def test_what_is_changed_meanwhile_is_noticed(study, change):
    plan = planned(study, "dual-encoder")
    plan.preparation.make(study / "made")
    task = plan.task(CPU)
    task.prepared = study / "made"
    write_spans([*read_spans(study / "spans.jsonl")][change], study / "spans.jsonl")
    (study / "examples").mkdir()
    with pytest.raises(ArtifactError, match="were changed meanwhile"):
        task.write(study / "examples")


def test_a_kind_without_anything_to_learn_from_says_so(study):
    (study / "pairs.jsonl").write_text("\n")
    with pytest.raises(InputError, match="no pair in it"):
        planned(study, "cross-encoder").preparation.make(study / "made")
    write_spans([], study / "spans.jsonl")
    with pytest.raises(InputError, match="0 spans are left"):
        train_model(planned(study, "dual-encoder"), study / "model")
    assert not (study / "made").exists()
    assert not (study / "model").exists()
