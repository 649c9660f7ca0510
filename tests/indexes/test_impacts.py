"""Token weights against brute force: drawn weights, queries and depths, in up to three windows."""

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_corpus import ListCorpus, best_of, build_index, matrix_index

from adducir.core.errors import ArtifactError, UsageError
from adducir.corpora.documents import LARGEST_WEIGHT
from adducir.indexes.engines import open_index
from adducir.indexes.feedback import RM3
from adducir.indexes.kinds import VERSIONS
from adducir.indexes.memory.impacts import IMPACT_FILES
from adducir.indexes.memory.index import MemoryIndex
from adducir.indexes.models import BM25, DPH, QLD, Impact, Okapi
from adducir.indexes.settings import MemorySettings

READY = MemorySettings(language="pretokenized")
DOCUMENTS = 20_000  # two whole windows of documents and a part of one
Query = Mapping[int, float]


def hold(index: MemoryIndex, matrix: np.ndarray, queries: list[Query], depth: int | None) -> None:
    """Products in doubles, added in the query's order, of every document with a query term."""
    asked = [{f"t{term}": weight for term, weight in query.items()} for query in queries]
    hits = index.search(asked, Impact(), depth=depth, threads=2)
    first = 0
    for query, count in zip(queries, hits.counts.tolist(), strict=True):
        sums, seen = np.zeros(len(matrix)), np.zeros(len(matrix), dtype=bool)
        for term, weight in query.items():
            if term < matrix.shape[1]:
                column = matrix[:, term].astype(np.float32).astype(np.float64)
                sums += np.float64(np.float32(weight)) * column
                seen |= column > 0
        docnos, scores = best_of(sums, seen, depth)
        assert hits.docnos[first : first + count].to_list() == docnos
        assert hits.scores[first : first + count].tolist() == scores.tolist()
        first += count


VALUES = {
    "bytes": st.integers(1, 255).map(float),
    "integers": st.integers(1, 70_000).map(float),
    "reals": st.floats(2**-10, 9, width=32),
    "extremes": st.sampled_from([1e-45, 1e-30, 0.5, 1.0, 255.0, 256.0, 2.0**24, 1e30, 3e38]),
}
MANY = settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)


@st.composite
def cases(draw: st.DrawFn, values: st.SearchStrategy[float]) -> tuple[np.ndarray, list[Query], int]:
    shape = draw(st.integers(1, 60)), draw(st.integers(1, 8))
    levels = np.array(draw(st.lists(values, min_size=1, max_size=9)))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    matrix = random.choice(levels, shape) * (random.random(shape) < draw(st.floats(0.05, 1)))
    weights = values | st.just(0.0) | st.integers(1, 9).map(float)
    queries = st.dictionaries(st.integers(0, shape[1] + 1), weights, max_size=shape[1] + 2)
    depth = draw(st.none() | st.integers(1, 70))
    return matrix, draw(st.lists(queries, min_size=1, max_size=4)), depth


@pytest.mark.parametrize("values", VALUES)
@given(data=st.data())
@MANY
def test_small_indexes(values: str, data: st.DataObject, tmp_path_factory: Any) -> None:
    matrix, queries, depth = data.draw(cases(VALUES[values]))
    if matrix.any():
        hold(matrix_index(matrix, tmp_path_factory.mktemp("i")), matrix, queries, depth)


@pytest.fixture(scope="module", params=["bytes", "reals"])
def large(request: Any, tmp_path_factory: Any) -> tuple[MemoryIndex, np.ndarray]:
    """Terms of all frequencies, from half of the documents to two of them."""
    random = np.random.default_rng(4)
    matrix = np.zeros((DOCUMENTS, 24), dtype=np.float32)
    for term, share in enumerate(np.geomspace(0.5, 2 / DOCUMENTS, 24)):
        held = np.flatnonzero(random.random(DOCUMENTS) < share)
        drawn = random.gamma(1.5, 1.0, len(held)) + 0.01
        matrix[held, term] = drawn if request.param == "reals" else np.ceil(drawn * 20).clip(1, 255)
    matrix[[7, DOCUMENTS - 1], 23] = 3
    index = matrix_index(matrix, tmp_path_factory.mktemp(request.param))
    shape = index._segment.impacts.shape
    assert 0 < shape.columns < shape.placed < 24, "all three layouts are tested"
    return index, matrix


WEIGHTS = {
    "integers": st.integers(1, 12).map(float),
    "reals": st.floats(2**-7, 3, width=32),
    "with zeros": st.sampled_from([0.0, 1.0, 0.25]),
    "large": st.integers(1, 5000).map(float),
    "beyond 32 bits": st.integers(1, 2**24).map(float),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@given(data=st.data())
@MANY
def test_three_windows(
    weights: str, data: st.DataObject, large: tuple[MemoryIndex, np.ndarray]
) -> None:
    queries = st.dictionaries(st.integers(0, 24), WEIGHTS[weights], max_size=24)
    depth = data.draw(st.sampled_from([1, 10, 100, 1000, 12_000, DOCUMENTS, None]))
    hold(*large, data.draw(st.lists(queries, min_size=1, max_size=3)), depth)


def test_ties_go_to_the_lower_docno_and_the_first_window_may_suggest_too_much(
    tmp_path: Path,
) -> None:
    matrix = np.ones((DOCUMENTS, 3), dtype=np.float32)
    matrix[5::2, 1] = 2
    matrix[:900, 2] = 50 + np.arange(900) % 200
    index = matrix_index(matrix, tmp_path)
    for depth in (3, 40, 9_999):
        for weight in (1.0, 0.3):
            hold(index, matrix, [{0: weight}, {1: weight, 0: weight}], depth)
    for depth in (899, 900, 901, 1500):
        hold(index, matrix, [{2: 1.0}, {0: 0.3, 2: 1.0}, {2: 3.0, 0: 2.0**24}], depth)


def test_numbers_from_other_files_are_compiled_anew(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    source = "from adducir_sizes import SIZE\nfrom adducir.indexes.compiled import inner\n"
    (tmp_path / "adducir_loops.py").write_text(f"{source}\n@inner\ndef size():\n    return SIZE\n")
    for size in (3, 4):
        (tmp_path / "adducir_sizes.py").write_text(f"SIZE = {size}{' ' * size}\n")
        for name in ("adducir_sizes", "adducir_loops"):
            sys.modules.pop(name, None)
        assert importlib.import_module("adducir_loops").size() == size


def test_what_other_code_cached_is_compiled_anew(tmp_path: Path, monkeypatch: Any) -> None:
    """Names of arguments' classes are in the cache: those of an older version may be gone."""
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("Older", "Newer"):
        (tmp_path / "adducir_pairs.py").write_text(
            "from typing import NamedTuple\nfrom adducir.indexes.compiled import inner\n"
            f"class {name}(NamedTuple):\n    first: int\n"
            f"pair = {name}(2)\n@inner\ndef first(pair):\n    return pair.first\n"
        )
        sys.modules.pop("adducir_pairs", None)
        pairs = importlib.import_module("adducir_pairs")
        assert pairs.first(pairs.pair) == 2


def test_queries_of_more_terms_than_sums_are_accurate_for(tmp_path: Path) -> None:
    matrix = np.ones((3, 17_000), dtype=np.float32)
    matrix[1, :9000] = 0
    index = matrix_index(matrix, tmp_path)
    for size in (2, 16_000, 17_000):
        hold(index, matrix, [dict.fromkeys(range(size), 0.5)], 2)


@pytest.mark.parametrize("model", [BM25(), QLD(), Okapi(), DPH(), BM25(k1=2, b=0.9)])
def test_other_models_see_weights_as_frequencies(tmp_path: Path, model: Any) -> None:
    """The same as an index of texts that repeat each token as often."""
    random = np.random.default_rng(3)
    matrix = random.integers(0, 4, (50, 9)) * (random.random((50, 9)) < 0.4)
    texts = {
        f"d{number:06}": " ".join(f"t{term}" for term, tf in enumerate(row) for _ in range(tf))
        for number, row in enumerate(matrix)
    }
    index = matrix_index(matrix, tmp_path)
    build_index(ListCorpus(texts), tmp_path / "texts", READY)
    theirs = MemoryIndex(tmp_path / "texts")
    queries = ["t0 t3 t8", "t1 t1 t2", "none", ""]
    for feedback in (None, RM3(fb_terms=4, fb_docs=3, original_query_weight=0.3)):
        ours, other = (
            one.search(queries, model, feedback=feedback, depth=20) for one in (index, theirs)
        )
        assert ours.to_polars([*"abcd"]).equals(other.to_polars([*"abcd"]))


def test_real_weights_refuse_feedback_and_negative_ones_are_refused(tmp_path: Path) -> None:
    index = matrix_index(np.array([[0.5]]), tmp_path)
    with pytest.raises(UsageError, match="frequencies"):
        index.search(["t0"], Impact(), feedback=RM3())
    weights: Any = -1.0, float("nan"), 2 * LARGEST_WEIGHT, "1", None
    for weight in weights:
        with pytest.raises(UsageError):
            index.search([{"t0": 1.0, "t1": weight}], Impact())


def test_bytes_on_disk(tmp_path: Path) -> None:
    """At most 4 bytes a posting where weights fit a byte, and 8 where they do not."""
    random = np.random.default_rng(2)
    shares = 0.5 * np.arange(1, 901) ** -0.4
    matrix = random.integers(1, 200, (3000, 900)) * (random.random((3000, 900)) < shares)
    for factor, most in ((1, 4), (0.37, 8), (300, 8)):
        (folder := tmp_path / str(factor)).mkdir()
        index = matrix_index(matrix * factor, folder)
        files = [index.path / name for name in IMPACT_FILES.values()]
        assert sum(path.stat().st_size for path in files) <= most * np.count_nonzero(matrix)


def test_an_index_of_another_version_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("adducir.indexes.settings.IMPACTS_VERSION", VERSIONS["memory"])
        patch.setattr("adducir.indexes.memory.index.IMPACTS_VERSION", VERSIONS["memory"])
        path = matrix_index(np.array([[1]]), tmp_path).path
    with pytest.raises(ArtifactError, match="another version"):
        open_index(path)
