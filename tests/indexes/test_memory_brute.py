"""Search of many windows against brute force: every document scored, all sorted, none skipped."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memory_corpus import best_of, byte_length, matrix_index

from adducir.indexes.hits import Hits
from adducir.indexes.models import BM25, QLD, Model

DOCUMENTS = 66_000  # two whole windows of documents and a part of one
Matrix = np.ndarray  # (documents, terms) float32 frequencies


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> Iterator[None]:
    """Compiled code for all that is searched here; elsewhere NumPy answers a process's first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("adducir.indexes.memory.index._FEW", -1)
        yield
    sys.modules.pop("adducir.indexes.memory.kernels", None)


class Brute:
    """Lucene's scores as its classes compute them, of all documents."""

    def __init__(self, folder: Path, tfs: Matrix, *, exact: bool = False) -> None:
        own: dict[str, Any] = {"language": "en", "stemmer": "none", "stopwords": "none"}
        own["accurate_length"] = exact
        self.index = matrix_index(tfs, folder, **own)
        self.exact, self.tfs = exact, tfs
        sums = tfs.astype(np.float64).sum(axis=1)
        self.filled, self.tokens = int((sums > 0).sum()), sums.sum()
        lengths = sums if exact else [byte_length(one) for one in sums]
        self.lengths = np.array(lengths, dtype=np.float32)

    def scores(self, query: Mapping[int, float], model: Model) -> tuple[np.ndarray, np.ndarray]:
        one, sums = np.float32(1), np.zeros(len(self.tfs))
        seen = np.zeros(len(self.tfs), dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            for term, boost in query.items():
                tf = self.tfs[:, term]
                n, held = np.count_nonzero(tf), tf > 0
                if isinstance(model, QLD):
                    share = (tf.astype(np.float64).sum() + 1) / (self.tokens + 1)
                    logs = np.log(1 + tf.astype(np.float64) / (model.mu * share))
                    logs += np.log(model.mu / (self.lengths.astype(np.float64) + model.mu))
                    added = np.maximum(np.float64(np.float32(boost)) * logs, 0).astype(np.float32)
                else:
                    idf = np.float32(np.log(1 + (self.filled - n + 0.5) / (n + 0.5)))
                    weight = np.float32(boost) * idf
                    added = self._bm25(weight, tf, model, one)
                sums[held] += added[held]
                seen |= held
        return sums.astype(np.float32), seen

    def _bm25(self, weight: Any, tf: np.ndarray, model: Any, one: Any) -> np.ndarray:
        k1, b = np.float32(model.k1), np.float32(model.b)
        average = np.float32(self.tokens / self.filled)
        if self.exact:
            part = k1 * b / average * self.lengths
            return weight * tf / ((tf + k1 * (one - b)) + part)
        inverse = one / (k1 * ((one - b) + b * self.lengths / average))
        return weight - weight / (one + tf * inverse)

    def by_numpy(self, queries: list[dict[str, float]], model: Model, depth: int) -> Hits:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("adducir.indexes.memory.index._KERNELS", "none")
            patch.setattr("adducir.indexes.memory.index._FEW", 1 << 62)
            return self.index.search(queries, model, depth=depth, threads=2)

    def hold(self, queries: list[dict[int, float]], model: Model, depth: int | None) -> Any:
        asked = [{f"t{term}": boost for term, boost in query.items()} for query in queries]
        found = self.index.search(asked, model, depth=depth, threads=2)
        if depth is not None:  # the same by NumPy, as the first queries of a process
            few = self.by_numpy(asked, model, depth)
            assert found.docnos.to_list() == few.docnos.to_list()
            assert found.scores.tolist() == few.scores.tolist()
        start = 0
        for query, count in zip(queries, found.counts.tolist(), strict=True):
            sums, seen = self.scores(query, model)
            expected, scores = best_of(sums, seen, depth)
            assert count == len(expected)
            ours = found.scores[start : start + count]
            docnos = found.docnos[start : start + count].to_list()
            if isinstance(model, QLD):  # NumPy's and C's logarithms may differ in the last bit
                np.testing.assert_allclose(ours, scores, rtol=1e-6, atol=1e-6)
                same = sum(map(str.__eq__, docnos, expected))
                assert same >= count * 0.999
            else:
                assert ours.tolist() == scores.tolist()
                assert docnos == expected
            start += count
        return found


def frequencies(documents: int, terms: int, *, whole: bool = True) -> Matrix:
    """Terms of all frequencies from a third of the documents down to one document."""
    draw = np.random.default_rng(0)
    tfs = np.zeros((documents, terms), dtype=np.float32)
    for term, share in enumerate(np.geomspace(0.33, 1 / documents, terms)):
        docs = np.flatnonzero(draw.random(documents) < share)
        docs = docs if len(docs) else np.array([documents // 2])
        own = draw.geometric(0.6, len(docs)) if whole else draw.random(len(docs)) * 9
        own[draw.random(len(docs)) < 0.002] = 250
        tfs[docs, term] = own
    tfs[:, 0] += draw.lognormal(2, 1, documents).astype(int) * (draw.random(documents) < 0.2)
    return tfs.clip(max=255)  # each type of frequencies takes ten seconds to compile


def random_queries(count: int, terms: int, length: int) -> list[dict[int, float]]:
    draw = np.random.default_rng(1)
    found = []
    for _ in range(count):
        picked = draw.choice(terms, draw.integers(1, length + 1), replace=False)
        weights = draw.random(len(picked)) * 3 * (draw.random(len(picked)) > 0.1)
        found.append(dict(zip(picked.tolist(), weights.astype(np.float32).tolist(), strict=True)))
    return found


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Brute:
    return Brute(tmp_path_factory.mktemp("large"), frequencies(DOCUMENTS, 60))


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Brute:
    return Brute(tmp_path_factory.mktemp("exact"), frequencies(34_000, 30), exact=True)


@pytest.mark.parametrize("depth", [1, 10, 100, 1000, DOCUMENTS, None])
@pytest.mark.parametrize("model", [BM25(), BM25(k1=2.0, b=0.9), QLD(mu=300.0)])
def test_all_depths_and_models(large: Brute, model: Model, depth: int | None) -> None:
    few = 3 if depth is None or depth > 1000 else 25
    large.hold(random_queries(few, 60, 8), model, depth)


def test_long_queries_and_exact_lengths(large: Brute, exact: Brute) -> None:
    large.hold(random_queries(3, 60, 60), BM25(), 1000)
    for depth in (1, 50, 1000):
        exact.hold(random_queries(20, 30, 6), BM25(k1=1.2, b=0.6), depth)


@pytest.mark.parametrize("k1", [0.0, 1e12])
def test_no_saturation_and_nothing_but_zeros(large: Brute, k1: float) -> None:
    found = large.hold(random_queries(5, 60, 4), BM25(k1=k1), 2000)
    if k1 > 1:  # the documents still hold a term, so they are hits
        assert found.scores.max() == 0


@pytest.mark.slow
def test_weights_that_are_not_whole(tmp_path: Path) -> None:
    brute = Brute(tmp_path, frequencies(34_000, 20, whole=False))
    for model in (BM25(), QLD(mu=300.0)):
        brute.hold(random_queries(20, 20, 6), model, 50)


def test_ties_go_to_the_lower_docno(tmp_path: Path) -> None:
    tfs = np.zeros((34_000, 2), dtype=np.float32)
    tfs[5:, 0], tfs[:5, 1] = 1, 1
    brute = Brute(tmp_path, tfs)
    for depth in (3, 40, 20_000):
        brute.hold([{0: 1.0}], BM25(), depth)


@pytest.mark.slow
def test_samples_that_mislead(tmp_path: Path) -> None:
    # All that score high stand at the beginning of evenly spread ranges, where samples of the
    # documents begin, of which there are four from this size on: they promise too much.
    documents, ranges = 132_000, 4
    tfs = np.zeros((documents, 3), dtype=np.float32)
    high = [n * (documents // ranges) + i for n in range(ranges) for i in range(20)]
    tfs[high, 0], tfs[1::2, 1] = 9, 1
    tfs[:, 2] = np.random.default_rng(0).integers(1, 400, documents)
    brute = Brute(tmp_path, tfs)
    found = brute.hold([{0: 5.0, 1: 1.0}], BM25(), 1000)
    assert {f"d{place:06}" for place in high} < set(found.docnos)


@pytest.mark.slow
def test_scores_that_rise_or_lie_close_together(tmp_path: Path) -> None:
    draw, tfs = np.random.default_rng(4), np.zeros((34_000, 4), dtype=np.float32)
    tfs[:, 0] = 1 + draw.random(34_000) * 1e-4
    tfs[3, 1], tfs[:, 2] = 1, 1 + np.arange(34_000)
    brute = Brute(tmp_path, tfs)
    brute.hold([{0: 1e-6, 1: 1e6}, {2: 1.0}], BM25(), 100)
    brute.hold([{2: 1.0}], BM25(k1=5000.0), 100)


@pytest.mark.parametrize("documents", [1, 64, 32_768])
def test_edges_of_windows(tmp_path: Path, documents: int) -> None:
    tfs = np.zeros((documents, 2), dtype=np.float32)
    tfs[[0, documents // 2, documents - 1], 0], tfs[:, 1] = 1, 2
    Brute(tmp_path, tfs).hold([{0: 1.0}, {}, {0: 1.0, 1: 1.0}], BM25(), 10)
