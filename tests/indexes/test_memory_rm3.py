"""RM3 over memory indexes expands as Anserini does, term by term."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memory_corpus import ListCorpus

from adducir.core.errors import UsageError
from adducir.indexes import IndexSettings, LuceneIndex, MemoryIndex, build_memory_index
from adducir.indexes.feedback import RM3
from adducir.indexes.models import BM25, QLD

Pair = tuple[MemoryIndex, LuceneIndex]


def single(weights: dict[str, float]) -> dict[str, np.float32]:
    return {term: np.float32(weight) for term, weight in weights.items()}


@pytest.fixture(scope="module")
def pair(
    tmp_path_factory: pytest.TempPathFactory, make_index: Callable[..., LuceneIndex]
) -> Callable[[dict[str, str]], Pair]:
    def make(texts: dict[str, str]) -> Pair:
        path = tmp_path_factory.mktemp("memory") / "index"
        build_memory_index(ListCorpus(texts), path, IndexSettings())
        return MemoryIndex(path), make_index(texts)

    return make


@pytest.fixture(scope="module")
def topical(pair: Any) -> Pair:
    """Texts with many terms of equal frequency, and of every kind that RM3 leaves out."""
    rng = np.random.default_rng(8)
    words = [f"w{n:03d}" for n in range(400)]
    odd = [
        "a1",
        "x",
        "3.14",
        "naïve",
        "l'été",
        "o'neill",
        "z" * 20,
        "z" * 21,
        "東京",
        "u.s.a",
        "99",
    ]
    texts = {}
    for n in range(300):
        picked = list(rng.choice(words, int(rng.integers(3, 60))))
        picked += ["everywhere"] + (["leash", *rng.choice(odd, 3)] if n % 10 == 0 else [])
        texts[f"D{n:03d}"] = " ".join(picked)
    return pair(texts)


QUERIES = ["leash", "leash w001 w001 unknown", "w010 w200 3.14 naïve", "unknown", "", "everywhere"]
SETTINGS = [
    RM3(),
    RM3(fb_terms=1, fb_docs=1),
    RM3(fb_terms=100, fb_docs=40, original_query_weight=0.2),
    RM3(fb_terms=7, fb_docs=3, original_query_weight=0.0),
    RM3(fb_terms=7, fb_docs=3, original_query_weight=1.0),
    RM3(fb_terms=4, fb_docs=1000, original_query_weight=0.9),
]


@pytest.mark.parametrize("rm3", SETTINGS)
@pytest.mark.parametrize("model", [BM25(), QLD(mu=50)])
def test_expansions_are_anserinis(topical: Pair, model: Any, rm3: RM3) -> None:
    memory, lucene = topical
    ours, theirs = memory.expand(QUERIES, model, rm3), lucene.expand(QUERIES, model, rm3)
    for found, wanted in zip(ours, theirs, strict=True):
        assert single(found) == single(wanted)
        assert list(found.values()) == sorted(found.values(), reverse=True)


@pytest.mark.parametrize("rm3", SETTINGS)
@pytest.mark.parametrize("model", [BM25(), QLD(mu=50)])
def test_rankings_are_anserinis(topical: Pair, model: Any, rm3: RM3) -> None:
    memory, lucene = topical
    ours = memory.search(QUERIES, model, feedback=rm3, depth=None)
    theirs = lucene.search(QUERIES, model, feedback=rm3, depth=None)
    assert ours.counts.tolist() == theirs.counts.tolist()
    assert ours.docnos.to_list() == theirs.docnos.to_list()
    np.testing.assert_allclose(ours.scores, theirs.scores, rtol=1e-6)


def test_terms_that_are_left_out(topical: Pair) -> None:
    (weights,) = topical[0].expand(["leash"], BM25(), RM3(fb_terms=500, fb_docs=100))
    assert {"z" * 20, "a1", "99"} & set(weights)
    assert not {"x", "3.14", "naïve", "z" * 21, "everywher", "東京"} & set(weights)
    assert all(term.isascii() and term.isalnum() for term in weights)


def test_of_equals_the_first_in_the_alphabet_stay(pair: Any) -> None:
    noise = {f"N{n}": f"noise{n} filler{n}" for n in range(40)}
    memory, lucene = pair(noise | {"P": "leash zebra apple mango apple"})
    (ours,) = memory.expand(["leash"], BM25(), RM3(fb_terms=2, fb_docs=1))
    assert set(ours) == {"leash", "appl"}
    assert single(ours) == single(lucene.expand(["leash"], BM25(), RM3(fb_terms=2, fb_docs=1))[0])
    (ours,) = memory.expand(["leash"], BM25(), RM3(fb_terms=3, fb_docs=1))
    assert set(ours) == {"leash", "appl", "mango"}


def test_feedback_from_given_documents(topical: Pair) -> None:
    memory, lucene = topical
    feedback = [("D010", 3.5), ("D000", 2.0), ("D007", 0.0), ("D200", 9.0)]
    for rm3 in (
        RM3(fb_terms=5, fb_docs=3, original_query_weight=0.4),
        RM3(fb_terms=50, fb_docs=10, original_query_weight=0.4),
    ):
        ours = memory.expand_from("leash unknown", feedback, rm3)
        assert single(ours) == single(lucene.expand_from("leash unknown", feedback, rm3))
    assert memory.expand_from("leash", [], RM3()) == {"leash": 0.5}


def test_feedback_documents_that_score_zero_add_nothing(topical: Pair) -> None:
    assert topical[0].expand_from("leash", [("D010", 0.0)], RM3()) == {"leash": 0.5}


def test_feedback_that_cannot_be(topical: Pair) -> None:
    with pytest.raises(UsageError, match="no document 'P99'"):
        topical[0].expand_from("leash", [("P99", 1.0)], RM3())
    with pytest.raises(UsageError, match="0 or more"):
        topical[0].expand_from("leash", [("D010", -1.0)], RM3())


def test_any_model_can_find_the_feedback(topical: Pair) -> None:
    from adducir.indexes.models import ATIRE

    memory, _ = topical
    assert len(memory.expand(["leash"], ATIRE(), RM3())[0]) > 1


def test_a_numpy_backend_expands_alike(topical: Pair) -> None:
    memory = MemoryIndex(Path(topical[0].path), backend="numpy")
    assert memory.expand(QUERIES, QLD(), RM3()) == topical[0].expand(QUERIES, QLD(), RM3())
