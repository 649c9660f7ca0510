"""Searches a dense index: a query's vector against the documents'."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import polars as pl

from adducir.core.artifacts import Manifest, open_artifact
from adducir.core.errors import ArtifactError, UsageError
from adducir.core.files import read_lines
from adducir.core.json_lines import json_document
from adducir.core.texts import refuse_text
from adducir.encoders.kinds import Floats, TextEncoder
from adducir.encoders.model import DualEncoder, load_encoder
from adducir.encoders.sources import EncoderSource, encoder_source
from adducir.encoders.vectors import DOCNOS
from adducir.indexes.dense import engine
from adducir.indexes.dense.builder import DETAILS, INDEX, KIND
from adducir.indexes.feedback import FeedbackMethod
from adducir.indexes.index import Hits, Index, Query, check_search
from adducir.models.machine import choose_device, using_threads

Encoder: TypeAlias = DualEncoder | TextEncoder
_REBUILD = "Build it again with 'adducir index --rebuild'."


class DenseIndex(Index):
    """An index that ``adducir index --engine dense`` built.

    Args:
        device: Where the encoder runs.
        encoder: The encoder's name, where it is not found under the one it had.
        tokens: Padded tokens in a batch of queries; by default what suits the device.

    Raises:
        ArtifactError: There is none, or its files are not those that were written together.
    """

    manifest: Manifest
    default_model = ""  # it has none

    def __init__(
        self,
        path: Path | str,
        *,
        device: str = "auto",
        encoder: str | None = None,
        tokens: int | None = None,
    ) -> None:
        super().__init__(Path(path), open_artifact(Path(path), KIND))
        self._device = device
        self._named, self._tokens = encoder, tokens
        self._index = engine.read(self.path / INDEX)
        if self._index.ntotal != len(self.docnos):
            raise ArtifactError(
                f"{len(self.docnos):,} docnos, but {self._index.ntotal:,} vectors.",
                path=self.path,
                hint=_REBUILD,
            )

    def __len__(self) -> int:
        return len(self.docnos)

    @cached_property
    def docnos(self) -> pl.Series:
        """Every docno, in the order of the vectors."""
        lines = (line.rstrip("\n") for _, line in read_lines(self.path / DOCNOS))
        return pl.Series("docno", list(lines), dtype=pl.String)

    @cached_property
    def source(self) -> EncoderSource:
        """The encoder of the documents, as it is named.

        Raises:
            ArtifactError: It is not there, or what has that name now is another encoder.
        """
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
    def encoder(self) -> Encoder:
        """The encoder itself.

        Raises:
            ArtifactError: As :attr:`source`.
            InputError, MachineError: It cannot be loaded.
        """
        return cast("Encoder", load_encoder(self.source).to(choose_device(self._device)))

    def search(
        self,
        queries: Sequence[Query],
        model: object = None,
        *,
        feedback: FeedbackMethod | None = None,
        fields: object = None,
        depth: int | None = 1000,
        threads: int | None = None,
    ) -> Hits:
        """Rank the documents for each query, a text, by inner product.

        The encoder is the model, and vectors are not expanded by words: ``model`` is not looked at,
        ``feedback`` and weighted terms are refused. Equal scores stand in order of docnos. An
        approximate index may give fewer hits than asked for.

        Raises:
            UsageError: ``depth`` below 1, feedback, or a query of weighted terms.
        """
        refuse_text(queries, "queries")
        texts = [query for query in queries if isinstance(query, str)]
        if feedback is not None or len(texts) < len(queries):
            raise _no_words()
        with using_threads(threads):
            vectors = self.encoder.encode_queries(texts, tokens=self._tokens)
        return self.search_vectors(vectors, depth=depth, threads=threads)

    def search_vectors(
        self, vectors: Floats, *, depth: int | None = 1000, threads: int | None = None
    ) -> Hits:
        """Rank the documents for vectors (q, D); see :meth:`search`.

        Raises:
            UsageError: ``depth`` below 1, or vectors of another width.
        """
        check_search([], depth)
        if len(vectors) and vectors.shape[1] != self._index.d:
            raise UsageError(
                f"the index has vectors of {self._index.d} numbers, the queries of "
                f"{vectors.shape[1]}."
            )
        depth = len(self) if depth is None else min(depth, len(self))
        if not len(vectors):
            none = np.zeros(0, dtype=np.int32)
            return Hits(none, self.docnos[:0], np.zeros(0, dtype=np.float32))
        with engine.threads_of_faiss(threads):
            scores, numbers = engine.search(self._index, vectors, depth)
        rows = np.repeat(np.arange(len(vectors)), depth)
        values, places = scores.ravel(), numbers.ravel()
        there = places >= 0
        rows, values, places = rows[there], values[there], places[there]
        order = np.lexsort((self._orders[places], -values, rows))
        counts = np.bincount(rows, minlength=len(vectors)).astype(np.int32)
        return Hits(counts, self.docnos.gather(places[order]), values[order])

    def expand(
        self,
        queries: Sequence[str],
        model: Any,
        feedback: FeedbackMethod,
        *,
        threads: int | None = None,
    ) -> list[dict[str, float]]:
        """Refused: vectors are not expanded by words."""
        raise _no_words()

    def expand_from(
        self, query: str, documents: Sequence[tuple[str, float]], feedback: FeedbackMethod
    ) -> dict[str, float]:
        """Refused: vectors are not expanded by words."""
        raise _no_words()

    def close(self) -> None:
        """Let go of the vectors."""
        self._index.reset()

    @cached_property
    def _orders(self) -> np.ndarray:
        """(N,) the place of each docno in alphabetical order."""
        return self.docnos.rank("ordinal").to_numpy()

    def settings(self, model: object, feedback: object, fields: object) -> dict[str, Any]:
        """How it is searched, for run metadata: the encoder is the model."""
        del model, feedback, fields
        details = {key: value for key, value in self.manifest.recipe.items() if key != "fields"}
        return {"model": "dense", "encoder": self.source.name, **details}


def _no_words() -> UsageError:
    return UsageError(
        "a dense index has no terms, so feedback and weighted terms mean nothing to it.",
        hint="Use a lexical index, and combine the runs with 'adducir fuse'.",
    )
