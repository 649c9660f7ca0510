"""Vectors of shards put into FAISS: the bytes of all at once, without all of them in memory."""

import tracemalloc
from types import SimpleNamespace

import faiss
import numpy as np
import pytest

from adducir.encoders.vectors import write_shard
from adducir.indexes.dense import engine
from adducir.indexes.dense.builder import _DenseWork
from adducir.indexes.dense.settings import dense_settings

KINDS = [
    ("flat", ()),
    ("hnsw", ("links=4", "build=20")),
    ("ivf-pq", ("lists=6", "parts=4", "bits=4")),
]
SHARD = 500


def shards_of(folder, vectors):
    """Files of the vectors, and their docnos."""
    docnos = [f"d{n}" for n in range(len(vectors))]
    files = []
    for first in range(0, len(vectors), SHARD):
        files.append(folder / f"{first}.safetensors")
        here = slice(first, first + SHARD)
        write_shard(files[-1], docnos[here], vectors[here])
    return SimpleNamespace(files=files), docnos


def put_together(folder, made, docnos, settings, width):
    work = SimpleNamespace(size=SHARD, settings=settings, threads=1)
    (folder / "made").mkdir()
    counts = _DenseWork._indexed(work, folder / "made", made, docnos, width)
    assert [path.name for path in (folder / "made").iterdir()] == ["index.faiss"]
    assert set(counts) == (set() if settings.kind == "flat" else {"recall"})
    return folder / "made" / "index.faiss"


@pytest.mark.parametrize(("kind", "changes"), KINDS)
def test_bytes_are_those_of_all_vectors_at_once(kind, changes, tmp_path):
    vectors = np.random.default_rng(3).normal(size=(3 * SHARD + 7, 16)).astype(np.float32)
    settings = dense_settings(kind, changes)
    index = engine.new_index(settings, len(vectors), 16)
    with engine.threads_of_faiss(1):
        index.train(vectors)
        index.add(vectors)
    found = put_together(tmp_path, *shards_of(tmp_path, vectors), settings, 16)
    assert found.read_bytes() == faiss.serialize_index(index).tobytes()


@pytest.mark.parametrize(("kind", "changes"), KINDS)
def test_not_all_vectors_are_held_beside_the_index(kind, changes, tmp_path):
    vectors = np.random.default_rng(3).normal(size=(24 * SHARD, 64)).astype(np.float32)
    made, docnos = shards_of(tmp_path, vectors)
    settings = dense_settings(kind, (*changes, *(() if kind == "flat" else ("sample=5",))))
    size = vectors.nbytes
    del vectors
    tracemalloc.start()
    try:
        put_together(tmp_path, made, docnos, settings, 64)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < size / 2
