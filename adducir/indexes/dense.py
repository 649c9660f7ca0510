"""The dense index: vectors in FAISS, searched by a query's vector.

Beside the documents the artifact holds ``index.faiss``, ``docnos.txt`` in the order of the vectors
and ``dense.json`` (what encoded them). FAISS and torch each bring an OpenMP library, and two in one
process may crash on macOS as soon as both start threads (faiss-wheels issue 73): there FAISS gets
one. Everywhere its threads are set for a call and then set back, so that neither takes all cores
while the other works.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.artifacts import Manifest, open_artifact
from adducir.core.errors import ArtifactError, UsageError
from adducir.core.files import read_lines
from adducir.core.json_lines import json_document
from adducir.core.processes import default_threads
from adducir.core.texts import refuse_text
from adducir.encoders.encoding import DOCNOS
from adducir.encoders.kinds import EncoderSource, Floats, TextEncoder, encoder_source
from adducir.indexes.arrays import damaged
from adducir.indexes.feedback import FeedbackMethod
from adducir.indexes.index import FieldWeights, Hits, Index, Query
from adducir.indexes.models import Model
from adducir.models.machine import choose_device, using_threads
from adducir.models.work import Running

if TYPE_CHECKING:
    from adducir.encoders.model import DualEncoder

KIND = "dense-index"
INDEX = "index.faiss"
DETAILS = "dense.json"


class DenseIndex(Index):
    """An index that ``adducir index --engine dense`` built; the arguments are ``open_index``'s."""

    manifest: Manifest
    default_model = ""  # its encoder is one

    def __init__(
        self,
        path: Path | str,
        *,
        device: str = "auto",
        encoder: str | None = None,
        tokens: int | None = None,
    ) -> None:
        import faiss

        super().__init__(Path(path), open_artifact(Path(path), KIND))
        self._device, self._named, self._tokens = device, encoder, tokens
        try:
            self._index: Any = faiss.read_index(str(self.path / INDEX))
        except RuntimeError as error:
            raise damaged(self.path / INDEX) from error
        if self._index.ntotal != len(self):
            raise damaged(self.path / INDEX)

    @cached_property
    def docnos(self) -> pl.Series:
        lines = (line.rstrip("\n") for _, line in read_lines(self.path / DOCNOS))
        return pl.Series("docno", list(lines), dtype=pl.String)

    @cached_property
    def source(self) -> EncoderSource:
        details = json_document(self.path / DETAILS)
        name = self._named or details["encoder"]
        names = [name]
        if self._named is None and Path(name).parts[:1] == ("..",):
            # A folder, as it lay from the index. Where one of the two was moved or copied, it is
            # looked for below the current folder and below those around the index.
            path = self.path.resolve()
            below = Path(*(part for part in Path(name).parts if part != ".."))
            places = [path / name, *(around / below for around in (Path.cwd(), *path.parents))]
            names = [str(place) for place in dict.fromkeys(places) if place.is_dir()]
        for found in map(encoder_source, names):
            if found.identity() == details["identity"]:
                return found
        what = "is not the one that made these vectors" if names else "is not there"
        raise ArtifactError(
            f"the encoder {name} {what}.",
            path=self.path,
            hint="Work in the folder of its study, name it (--encoder; in Python `encoder`), or "
            "build the index again.",
        )

    @cached_property
    def encoder(self) -> "DualEncoder | TextEncoder":
        from adducir.encoders.model import load_encoder

        encoder = load_encoder(self.source).to(choose_device(self._device))
        return cast("DualEncoder | TextEncoder", encoder)

    def search(
        self,
        queries: Sequence[Query],
        model: Model | None = None,
        *,
        feedback: FeedbackMethod | None = None,
        fields: FieldWeights | None = None,
        depth: int | None = 1000,
        threads: int | None = None,
    ) -> Hits:
        """Rank the documents for each query, a text, by inner product; equal scores by docno.

        The encoder is the model: ``model`` is not read, ``feedback``, ``fields`` and weighted terms
        are refused. An approximate index may give fewer hits than asked for.
        """
        refuse_text(queries, "queries")
        texts = [query for query in queries if isinstance(query, str)]
        if feedback is not None or fields is not None or len(texts) < len(queries):
            self._refuse_without_vectors()
        with using_threads(threads):
            vectors = self.encoder.encode_queries(texts, Running(tokens=self._tokens))
        return self.search_vectors(vectors, depth=depth, threads=threads)

    def search_vectors(
        self, vectors: Floats, *, depth: int | None = 1000, threads: int | None = None
    ) -> Hits:
        """Rank the documents for (q, D) vectors."""
        if depth is not None and depth < 1:
            raise UsageError(f"a depth must be 1 or more, not {depth}.")
        if len(vectors) and vectors.shape[1] != self._index.d:
            raise UsageError(
                f"the index has vectors of {self._index.d} numbers, the queries of "
                f"{vectors.shape[1]}."
            )
        depth = len(self) if depth is None else min(depth, len(self))
        if not len(vectors):
            vectors = np.zeros((0, self._index.d), dtype=np.float32)
        with threads_of_faiss(threads):
            scores, numbers = nearest(self._index, vectors, depth)
        rows = np.repeat(np.arange(len(vectors)), depth)
        values, places = scores.ravel(), numbers.ravel()
        there = places >= 0
        rows, values, places = rows[there], values[there], places[there]
        order = np.lexsort((self._orders[places], -values, rows))
        counts = np.bincount(rows, minlength=len(vectors)).astype(np.int32)
        return Hits(counts, self.docnos.gather(places[order]), values[order])

    def close(self) -> None:
        self._index.reset()

    @cached_property
    def _orders(self) -> np.ndarray:
        """(N,) the place of each docno in alphabetical order."""
        return self.docnos.rank("ordinal").to_numpy()

    def settings(
        self, model: Model, feedback: FeedbackMethod | None, fields: FieldWeights | None
    ) -> dict[str, Any]:
        del model, feedback, fields
        details = {key: value for key, value in self.manifest.recipe.items() if key != "fields"}
        return {"model": "dense", "encoder": self.source.name, **details}


@contextmanager
def threads_of_faiss(count: int | None) -> Iterator[None]:
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1 if sys.platform == "darwin" else count or default_threads())
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def nearest(index: Any, queries: Floats, depth: int) -> tuple[Floats, NDArray[np.int64]]:
    """Scores and numbers of the best vectors, each (q, depth); -1 where there is none."""
    if hasattr(index, "hnsw"):
        index.hnsw.efSearch = max(index.hnsw.efSearch, depth)
    return index.search(np.ascontiguousarray(queries), depth)
