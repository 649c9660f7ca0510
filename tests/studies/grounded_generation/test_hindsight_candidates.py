"""Candidates of contexts: the best of BM25 and of vectors, against all scores and a stable sort."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.append(str(Path(__file__).parents[2] / "models"))

from tiny import tiny_bert

from adducir.core.names import TextFile
from adducir.indexes.candidates import CandidateSet
from adducir.indexes.models import BM25
from adducir.studies.grounded_generation.contexts import GroundedContext
from adducir.studies.grounded_generation.hindsight import candidates
from adducir.studies.grounded_generation.hindsight.building import Problem
from adducir.studies.grounded_generation.hindsight.candidates import (
    Candidates,
    bm25_ranking,
    candidates_of,
    texts_of,
    vector_ranking,
)
from adducir.studies.grounded_generation.hindsight.recipe import (
    ClosedRecipe,
    GuideRecipe,
    RetrieverRecipe,
)
from adducir.studies.grounded_generation.hindsight.token_work import Making
from adducir.studies.grounded_generation.hindsight.vectors import Live, Network

WORDS = ["cats", "dogs", "energy", "power", "school", "uniforms"]
PASSAGES = [f"{one} and {other} run fast" for one in WORDS for other in WORDS] + ["", "cats"] * 3
QUERIES = ["cats dogs", "fast power", "cats dogs", "nothing", "school uniforms | energy"]


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> Network:
    folder = tmp_path_factory.mktemp("models")
    tiny_bert(folder / "tiny")
    return Network(RetrieverRecipe(base="tiny"), folder).eval()


def by_vectors(network, passages, queries, depth, how=Making(), **sizes) -> np.ndarray:  # noqa: B008
    def load(device):
        return texts_of(network, passages, queries)

    return vector_ranking(passages, queries, depth, load, how, **sizes)


@pytest.mark.parametrize("depth", [1, 5, 100])
def test_bm25_gives_the_first_of_all_scores(depth, monkeypatch) -> None:
    scores = CandidateSet.of_texts(PASSAGES).scores(QUERIES, BM25())
    order = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    best = np.take_along_axis(scores, order, axis=1).astype(np.float32)
    for size in (1 << 16, 10):
        monkeypatch.setitem(candidates.rank_parts.__kwdefaults__, "size", size)
        found, values = bm25_ranking(PASSAGES, QUERIES, depth)
        assert np.array_equal(found, order)
        assert np.array_equal(values, best)


@pytest.mark.parametrize("sizes", [{"block": 3, "part": 2}, {}])
def test_vectors_give_the_first_of_all_products(network, sizes, monkeypatch) -> None:
    monkeypatch.setattr(candidates, "_PRODUCTS", 60)

    def vectors(texts, side) -> torch.Tensor:
        with torch.inference_mode():
            return torch.cat([network([one], side)[0][:, 0] for one in network.read(texts, side)])

    products = (vectors(QUERIES, "query") @ vectors(PASSAGES, "document").T).numpy()
    for depth in (1, 5, 100):
        found = by_vectors(network, PASSAGES, QUERIES, depth, **sizes)
        assert found.shape == (len(QUERIES), min(depth, len(PASSAGES)))
        # Vectors of other batches may differ in the last bit.
        taken = np.take_along_axis(products, found.astype(np.int64), 1)
        assert np.allclose(taken, -np.sort(-products, axis=1)[:, :depth], atol=1e-5)
        assert all(len(set(row)) == len(row) for row in found.tolist())


def test_equal_passages_stand_in_the_order_of_the_corpus(network) -> None:
    found = by_vectors(network, ["cats"] * 9, ["cats"], 5)
    assert found.tolist() == [[0, 1, 2, 3, 4]]


def test_how_many_blocks_are_held_moves_no_score(network) -> None:
    """Passages that score the same may change places: a product's last bit depends on its place."""
    passages, block = PASSAGES * 4, len(PASSAGES)
    texts = np.array(
        [
            network([one], "document")[0][0, 0].detach().numpy()
            for one in network.read(passages, "document")
        ]
    )
    queries = np.array(
        [
            network([one], "query")[0][0, 0].detach().numpy()
            for one in network.read(QUERIES, "query")
        ]
    )
    scores = queries @ texts.T
    for part in (1, 2, 4):
        found = by_vectors(network, passages, QUERIES, 20, block=block, part=part)
        taken = np.take_along_axis(scores, found.astype(np.int64), 1)
        assert np.allclose(taken, -np.sort(-scores, axis=1)[:, :20], atol=1e-5)


@pytest.mark.parametrize("order", ["input-target", "target-input"])
def test_retriever_and_guide_have_candidates_of_their_own(tmp_path, order) -> None:
    contexts = [GroundedContext(str(n), "cats", WORDS[n]) for n in range(4)]
    everyone = np.arange(4)
    parts = {"train": everyone, "validation": everyone[:0], "test": everyone[:0]}
    problem = Problem(contexts, parts, list(map(str, range(len(PASSAGES)))), PASSAGES, {})
    recipe = ClosedRecipe(depth=3, candidates="bm25", candidate_depth=6)
    guide = GuideRecipe(order=order)
    found = candidates_of(recipe, problem, guide, lambda device: {}, Making())
    assert np.array_equal(found.retriever, bm25_ranking(PASSAGES, problem.inputs, 6)[0])
    assert np.array_equal(found.guide, bm25_ranking(PASSAGES, problem.hindsight(guide), 6)[0])
    found.save(tmp_path / "candidates.safetensors")
    of_p, of_q = Candidates.load(tmp_path / "candidates.safetensors").of(np.array([2, 0]))
    assert np.array_equal(of_p, found.retriever[[2, 0]])
    assert np.array_equal(of_q, found.guide[[2, 0]])


@pytest.mark.parametrize("vectors", ["one", "tokens"])
def test_texts_in_a_file_are_read_as_those_in_memory(tmp_path, vectors) -> None:
    tiny_bert(tmp_path / "tiny")
    network = Network(RetrieverRecipe(base="tiny", vectors=vectors), tmp_path).eval()
    held, filed = (Live(network, one, "document") for one in (PASSAGES, TextFile(None, PASSAGES)))
    assert isinstance(held.inputs, list)
    assert not isinstance(filed.inputs, list)
    assert len(filed) == len(held)
    numbers = np.array([3, 41, 0, 36])
    with torch.inference_mode():
        for one, other in zip(held.batch(numbers), filed.batch(numbers), strict=True):
            assert torch.equal(one, other)
