"""BM25's candidates, against all scores and a stable sort; passages that lie in a file."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.append(str(Path(__file__).parents[2] / "models"))

from tiny import tiny_bert

from adducir.core.names import TextFile
from adducir.indexes.candidates import CandidateSet, rank_parts
from adducir.indexes.models import BM25
from adducir.studies.grounded_generation.hindsight.closed import bm25_ranking
from adducir.studies.grounded_generation.hindsight.model import Live, Network
from adducir.studies.grounded_generation.hindsight.recipe import RetrieverRecipe

WORDS = ["cats", "dogs", "energy", "power", "school", "uniforms"]
PASSAGES = [f"{one} and {other} run fast" for one in WORDS for other in WORDS] + ["", "cats"] * 3
QUERIES = ["cats dogs", "fast power", "cats dogs", "nothing", "school uniforms | energy"]


@pytest.mark.parametrize("depth", [1, 5, 100])
def test_bm25_gives_the_first_of_all_scores(depth, monkeypatch) -> None:
    scores = CandidateSet.of_texts(PASSAGES).scores(QUERIES, BM25())
    order = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    best = np.take_along_axis(scores, order, axis=1).astype(np.float32)
    for size in (1 << 16, 10):
        monkeypatch.setitem(rank_parts.__kwdefaults__, "size", size)
        found, values = bm25_ranking(PASSAGES, QUERIES, depth)
        assert np.array_equal(found, order)
        assert np.array_equal(values, best)


def test_texts_in_a_file_are_read_as_those_in_memory(tmp_path) -> None:
    tiny_bert(tmp_path / "tiny")
    network = Network(RetrieverRecipe(base="tiny"), tmp_path).eval()
    held, filed = (Live(network, one, "document") for one in (PASSAGES, TextFile(None, PASSAGES)))
    assert not isinstance(filed.inputs, list)
    numbers = np.array([3, 41, 0, 36])
    with torch.inference_mode():
        for one, other in zip(held.batch(numbers), filed.batch(numbers), strict=True):
            assert torch.equal(one, other)
