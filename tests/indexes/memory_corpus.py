"""Texts for small indexes, and a corpus held in memory."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from adducir.core.manifests import Manifest
from adducir.corpora.documents import Document
from adducir.indexes.kinds import INDEXES
from adducir.indexes.memory.index import MemoryIndex
from adducir.indexes.settings import TokenWeightSettings
from adducir.models.running import Running

TEXTS = {
    "D1": "The dogs' owner walks the dog past other dogs",
    "D2": "A cat sleeps; the cats' owner reads about a dog",
    "D3": "Owners of cats and dogs argue about leashes",
    "D4": "",
    "D5": "Nothing here is about pets: taxes, tariffs and trade",
    "D6": "Leash laws protect walkers, owners say",
}


def build_index(
    corpus: Any,
    path: Path,
    settings: Any = "memory",
    *,
    threads: int | None = None,
    rebuild: bool = False,
) -> Manifest:
    return INDEXES.chosen(settings).build(corpus, path, Running(threads=threads), rebuild=rebuild)


def byte_length(length: float) -> int:
    """Lucene's one-byte length: exact below 40, else four significant bits."""
    whole = int(length) - 24
    if whole < 16:
        return int(length)
    shift = whole.bit_length() - 4
    return 24 + (whole >> shift << shift)


class ListCorpus:
    """A corpus held in memory."""

    default_fields = ("text",)

    def __init__(self, texts: dict[str, str] | list[Document]) -> None:
        self.source = "memory"
        self._documents = (
            texts
            if isinstance(texts, list)
            else [Document(docno, {"text": text}) for docno, text in texts.items()]
        )

    def __iter__(self) -> Iterator[Document]:
        return iter(self._documents)

    def places(self, docno: str) -> list[Any]:
        return []

    def size_hint(self) -> int:
        return len(self._documents)

    def identity(self) -> dict[str, Any]:
        return {"documents": [[d.docno, d.fields] for d in self._documents]}


def weighted_index(
    documents: Iterable[tuple[str, Mapping[str, float]]], folder: Path, **settings: Any
) -> MemoryIndex:
    docnos, weights = [], folder / "weights.jsonl"
    with weights.open("w") as file:
        for docno, vector in documents:
            docnos.append(docno)
            file.write(json.dumps({"id": docno, "vector": vector}) + "\n")
    texts = dict.fromkeys(docnos, "")
    own = TokenWeightSettings(weights=weights, **settings)
    build_index(ListCorpus(texts), folder / "index", own)
    return MemoryIndex(folder / "index")


def matrix_index(matrix: np.ndarray, folder: Path, **settings: Any) -> MemoryIndex:
    """Of (documents, terms) weights: ``t0``, ``t1``, ... of ``d000000``, ``d000001``, ..."""

    def rows() -> Iterator[tuple[str, Mapping[str, float]]]:
        for number, row in enumerate(matrix):
            yield f"d{number:06}", {f"t{n}": float(row[n]) for n in np.flatnonzero(row)}

    return weighted_index(rows(), folder, **settings)


def best_of(sums: np.ndarray, seen: np.ndarray, depth: int | None) -> tuple[list[str], np.ndarray]:
    """The docnos and scores of the documents seen; ties in their order."""
    matching = np.flatnonzero(seen)
    best = matching[np.argsort(-sums[matching], kind="stable")][:depth]
    return [f"d{number:06}" for number in best], sums[best]
