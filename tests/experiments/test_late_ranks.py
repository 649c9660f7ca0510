"""Ranks by late interaction against the reranker's scores of all pairs."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path += [str(Path(__file__).parents[1] / name) for name in ("models", "encoders")]

from some_spans import some_spans
from tiny import tiny_bert

from adducir.core.chunks import Chunking, Local
from adducir.corpora.spans import context
from adducir.encoders.ranking import collection_task
from adducir.encoders.token_work import Making
from adducir.experiments.known_item import late
from adducir.experiments.known_item.data import SpanData
from adducir.experiments.known_item.system import ContextRecipe, DataRecipe
from adducir.models.sources import model_source
from adducir.rerankers.colbert import Reading


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return model_source(str(tiny_bert(tmp_path_factory.mktemp("models") / "tiny")))


@pytest.mark.parametrize(("block", "scores", "least"), [(7, 60, 5), (7, 1, 50), (1 << 15, 300, 1)])
def test_ranks_are_those_of_all_pairs(model, tmp_path, monkeypatch, block, scores, least):
    monkeypatch.setattr(late, "BLOCK", block)
    monkeypatch.setattr(late, "LEAST", least)
    spans = some_spans(40)
    tasks = [collection_task(spans[:15]), collection_task(spans[15:])]
    reading = Reading(24, 20, markers=None, special=False, fill=False)
    how = late.Late(model, reading, "float32", tasks.copy, known=Local(tasks))
    kept, own = (Making(name, Chunking(tmp_path / name, keep=True), "cpu") for name in ("a", "b"))
    found = late.by_late_interaction(how, tasks, ContextRecipe(right=0), kept, own, scores)
    reranker, first = how.load(torch.device("cpu")), 0
    for task in tasks:
        queries = [" ".join(side for side in context(s, None, 0) if side) for s in task.spans]
        pairs = [(query, text) for query in queries for text in task.texts]
        values = np.zeros(len(pairs))
        for which, some in reranker.scored(pairs):
            values[which] = some
        values = values.reshape(len(queries), -1)
        gold = values[np.arange(len(queries)), task.gold][:, None]
        better = found.better[first : first + len(queries)]
        assert (better >= (values > gold + 1e-4).sum(axis=1)).all()
        assert (better <= (values > gold - 1e-4).sum(axis=1)).all()
        assert len(np.unique(better)) > 3
        first += len(queries)


def test_ranks_of_other_vectors_are_other_shards(model, tmp_path, monkeypatch):
    """What is left of a killed study is not taken where its vectors are made otherwise."""
    tasks, works = [collection_task(some_spans(12))], []
    reading = Reading(24, 20, markers=None, special=False, fill=False)
    how = late.Late(model, reading, "float32", tasks.copy, known=Local(tasks))
    monkeypatch.setattr(late, "ranked", lambda work, *_: works.append(work.identity()["key"]))
    for number, tokens in enumerate((2048, 2048, 64)):
        kept, own = (
            Making("k", Chunking(tmp_path / f"{name}{number}", keep=True), "cpu", None, tokens)
            for name in "ab"
        )
        late.by_late_interaction(how, tasks, ContextRecipe(right=0), kept, own)
    assert works[0] == works[1] != works[2]


def test_sets_of_several_blocks_are_said(tmp_path):
    """What was ranked before stays valid where a set's batches are those of one block."""
    spans = tuple(some_spans(6))
    data = SpanData(DataRecipe(spans="x.jsonl"), tmp_path, spans, "x")
    vars(data)["_most"] = 6
    assert (data.blocks(6), data.blocks(5)) == ("", "5")
    unread = SpanData(DataRecipe(spans="x.jsonl"), tmp_path, spans, "x", is_read=False)
    assert unread.blocks(6) == unread.blocks(5) != ""
