"""Compiled search against plain NumPy: every document scored, all sorted, nothing skipped."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from random_arrays import arrays_of, random_arrays, random_queries

from adducir.indexes.memory import compiled
from adducir.indexes.memory.files import Arrays
from adducir.indexes.memory.kernels_numpy import best
from adducir.indexes.memory.searching import Searcher, Terms
from adducir.indexes.models import BM25, QLD, Model

DOCUMENTS = 70_000
MODELS = [(BM25(), False), (BM25(k1=2.0, b=0.9), True), (QLD(mu=300.0), False)]


@pytest.fixture(scope="module")
def arrays() -> Arrays:
    return random_arrays(DOCUMENTS, 60, np.uint8)


def hold_to_numpy(
    arrays: Arrays, terms: Terms, model: Model, *, accurate: bool, depth: int | None
) -> Any:
    wanted = Searcher(arrays, "numpy").rank(
        terms, model.compiled(), accurate=accurate, depth=depth, threads=1
    )
    found = Searcher(arrays, "numba").rank(
        terms, model.compiled(), accurate=accurate, depth=depth, threads=2
    )
    assert found.counts.tolist() == wanted.counts.tolist()
    # NumPy's and the C library's logarithms may differ in the last bit of a double.
    tolerance = 1e-6 if isinstance(model, QLD) else 0
    np.testing.assert_allclose(found.scores, wanted.scores, rtol=tolerance, atol=tolerance)
    assert (found.docs != wanted.docs).sum() <= tolerance * 100 * len(wanted.docs)
    return found


@pytest.mark.parametrize(("model", "accurate"), MODELS)
@pytest.mark.parametrize("depth", [1, 10, 100, 1000, DOCUMENTS, None])
def test_all_depths_and_models(arrays: Arrays, model: Model, accurate: bool, depth: Any) -> None:
    few = 4 if depth is None or depth > 1000 else 40
    hold_to_numpy(arrays, random_queries(few, 60, 8), model, accurate=accurate, depth=depth)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.float32])
@pytest.mark.parametrize(("model", "accurate"), MODELS)
def test_other_frequencies(dtype: Any, model: Model, accurate: bool) -> None:
    arrays = random_arrays(40_000, 20, dtype)
    hold_to_numpy(arrays, random_queries(20, 20, 6), model, accurate=accurate, depth=50)


def test_long_queries(arrays: Arrays) -> None:
    hold_to_numpy(arrays, random_queries(3, 60, 60), BM25(), accurate=False, depth=1000)


@pytest.mark.parametrize("k1", [0.0, 1e12])
def test_no_saturation_and_nothing_but_zeros(arrays: Arrays, k1: float) -> None:
    terms = random_queries(5, 60, 4)
    found = hold_to_numpy(arrays, terms, BM25(k1=k1), accurate=False, depth=2000)
    if k1 > 1:  # the documents still hold a term, so they are hits
        assert found.scores.max() == 0


@pytest.mark.parametrize("depth", [3, 40, 20_000])
def test_ties_go_to_the_lower_number(depth: int) -> None:
    docs = np.arange(5, 60_000)
    arrays = arrays_of([(docs, np.ones(len(docs), np.uint8))], 60_000, np.full(60_000, 9))
    terms = Terms(np.array([0, 1]), np.array([0]), np.array([1.0], np.float32))
    found = hold_to_numpy(arrays, terms, BM25(), accurate=False, depth=depth)
    assert found.docs.tolist() == list(range(5, 5 + depth))


def test_scored_stripes_that_mislead() -> None:
    # All that score high lie in the stripes that are scored first: their scores promise far more
    # such documents than there are.
    documents, stripes = 70_000, 70_000 // (16 * 512)
    high = np.concatenate(
        [stripe * (documents // stripes) + np.arange(20) for stripe in range(stripes)]
    )
    low = np.arange(1, documents, 2)
    arrays = arrays_of(
        [(high, np.full(len(high), 9, np.uint8)), (low, np.ones(len(low), np.uint8))],
        documents,
        np.random.default_rng(0).integers(1, 400, documents),
    )
    terms = Terms(np.array([0, 2]), np.array([0, 1]), np.array([5, 1], np.float32))
    found = hold_to_numpy(arrays, terms, BM25(), accurate=False, depth=1000)
    assert set(high) < set(found.docs)


def test_one_score_far_above_many_close_together() -> None:
    rng = np.random.default_rng(4)
    docs = np.arange(60_000)
    close = (1 + rng.random(60_000) * 1e-4).astype(np.float32)
    far = np.array([3]), np.array([1.0], np.float32)
    arrays = arrays_of([(docs, close), far], 60_000, np.full(60_000, 9))
    terms = Terms(np.array([0, 2]), np.array([0, 1]), np.array([1e-6, 1e6], np.float32))
    hold_to_numpy(arrays, terms, BM25(), accurate=False, depth=100)


def test_rising_scores_change_the_kept_documents_all_the_time() -> None:
    documents = 60_000
    tfs = (1 + np.arange(documents)).astype(np.float32)
    arrays = arrays_of([(np.arange(documents), tfs)], documents, np.full(documents, 9))
    terms = Terms(np.array([0, 1]), np.array([0]), np.array([1.0], np.float32))
    hold_to_numpy(arrays, terms, BM25(k1=5000.0), accurate=False, depth=100)


@pytest.mark.parametrize("documents", [1, 63, 64, 16_383, 16_384, 16_385])
def test_edges_of_windows(documents: int) -> None:
    docs = np.unique([0, documents // 2, documents - 1])
    arrays = arrays_of([(docs, np.ones(len(docs), np.uint8))], documents, np.full(documents, 3))
    terms = Terms(np.array([0, 1]), np.array([0]), np.array([1.0], np.float32))
    found = hold_to_numpy(arrays, terms, BM25(), accurate=False, depth=10)
    assert found.docs.tolist() == docs.tolist()


def test_no_queries_and_queries_without_terms(arrays: Arrays) -> None:
    none = Terms(np.array([0]), np.zeros(0, np.int64), np.zeros(0, np.float32))
    assert len(hold_to_numpy(arrays, none, BM25(), accurate=False, depth=10).docs) == 0
    empty = Terms(np.array([0, 0, 1]), np.array([3]), np.array([1.0], np.float32))
    found = hold_to_numpy(arrays, empty, BM25(), accurate=False, depth=10)
    assert found.counts.tolist() == [0, 10]


def test_best_of_ties() -> None:
    docs, scores = best(np.arange(6), np.array([1, 3, 2, 3, 2, 2], np.float32), 4)
    assert docs.tolist() == [1, 3, 2, 4]
    assert scores.tolist() == [3, 3, 2, 2]


def test_code_is_compiled_anew_when_any_of_its_files_changes() -> None:
    from adducir.indexes.memory import adding, keeping, kernels, scoring

    watched = compiled._SOURCES[kernels.__file__]
    assert {kernels.__file__, adding.__file__, keeping.__file__} <= watched
    assert scoring.__file__ not in watched  # nothing in it is compiled
    stamp = kernels.search._cache._cache_file._source_stamp
    assert len(stamp) == len(watched)


def test_where_nothing_can_be_written_kernels_are_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import numba

    def njit(cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    real = numba.njit
    monkeypatch.setattr(numba, "njit", njit)
    assert compiled.kernel(lambda x: x + 1)(2) == 3


def test_without_numba_the_engine_works(tmp_path: Any) -> None:
    code = f"""
import sys
sys.modules["numba"] = None
from pathlib import Path
sys.path.insert(0, {str(__file__).rsplit("/", 1)[0]!r})
from memory_corpus import TEXTS, ListCorpus
from adducir.indexes import MemoryIndex, build_memory_index
from adducir.indexes.feedback import RM3
from adducir.indexes.models import BM25
from adducir.indexes.memory import engine_backend
build_memory_index(ListCorpus(TEXTS), Path({str(tmp_path / "index")!r}))
index = MemoryIndex({str(tmp_path / "index")!r})
hits = index.search(["dog owners"], BM25(), feedback=RM3())
print(engine_backend(), index.backend, *hits.docnos)
from adducir.cli.app import main
Path("topics.tsv").write_text("1\\tdog owners")
main(["search", "--index", "index", "--topics", "topics.tsv", "--output", "x.trec",
      "--feedback", "rm3"])
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == ["numpy", "numpy", "D1", "D3", "D2", "D6"]
    assert "numba is not there: memory indexes are built and searched by NumPy" in done.stderr
