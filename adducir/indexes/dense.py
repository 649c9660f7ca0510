"""The dense index: an encoded corpus whose vectors are searched by FAISS.

Besides the documents, the artifact contains ``index.faiss``, ``docnos.txt`` in the order of the
vectors and ``dense.json`` (their encoder). FAISS and torch each bring an OpenMP library, and two in
one process may crash on macOS if both start threads (faiss-wheels issue 73), so FAISS gets one
thread there. On every system its threads are set only for a call, so that neither library takes all
cores while the other works.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray
from typing_extensions import TypedDict

from adducir.core.chunks import FinishedChunks
from adducir.core.errors import (
    ArtifactError,
    InputError,
    MachineError,
    UsageError,
    explaining_writes,
    machine_error,
    worded,
)
from adducir.core.files import nameless_file, read_lines
from adducir.core.json_lines import json_document
from adducir.core.manifests import Manifest, checked, open_artifact
from adducir.core.processes import default_threads
from adducir.core.progress import progress
from adducir.core.texts import refuse_half_characters, refuse_unless
from adducir.corpora.documents import Corpus
from adducir.encoders.encoding import (
    CHUNK,
    CUT,
    DOCNOS,
    EncodingWork,
    items_of_corpus,
    read_vectors,
)
from adducir.encoders.kinds import EncoderSource, Floats, TextEncoder, described, encoder_source
from adducir.encoders.settings import EncodingSettings
from adducir.indexes.arrays import damaged
from adducir.indexes.building import new_dense_index
from adducir.indexes.dense_settings import EXACT, DenseSettings
from adducir.indexes.documents import DocumentWriter
from adducir.indexes.feedback import FeedbackMethod
from adducir.indexes.index import Index, Query, Ranked, Scored
from adducir.indexes.kinds import KINDS
from adducir.indexes.models import Model
from adducir.models.artifacts import write_settings
from adducir.models.folders import SIDES, Side
from adducir.models.machine import choose_device, using_threads
from adducir.models.running import Running

if TYPE_CHECKING:
    from adducir.encoders.model import DualEncoder

INDEX = "index.faiss"
DETAILS = "dense.json"
_EQUAL = 1e-5
_TIES = 100
"""Documents read below the depth: FAISS cuts equal scores by position, Adducir by docno."""


class _Details(TypedDict):
    """``dense.json``: how queries are encoded, checked where it is read."""

    encoder: str
    identity: str
    encoding: NotRequired[Any]
    set: NotRequired[dict[str, Any]]


class DenseIndex(Index):
    """An index built by ``adducir index --engine dense``; arguments as in ``open_index``."""

    manifest: Manifest
    default_model = ""  # its encoder is the model

    def __init__(
        self,
        path: Path | str,
        *,
        device: str = "auto",
        encoder: str | None = None,
        tokens: int | None = None,
    ) -> None:
        import faiss

        super().__init__(Path(path), open_artifact(Path(path), KINDS["dense"]))
        self._device, self._named, self._tokens = device, encoder, tokens
        self._details = checked(self.path, _Details, json_document(self.path / DETAILS))
        try:
            self._index: Any = faiss.read_index(str(self.path / INDEX))
        except RuntimeError as error:
            raise damaged(self.path / INDEX, error) from error
        if self._index.ntotal != len(self):
            raise damaged(self.path / INDEX)

    @cached_property
    def docnos(self) -> pl.Series:
        lines = self._read_now(lambda: [text for _, text in read_lines(self.path / DOCNOS)])
        return pl.Series("docno", lines, dtype=pl.String)

    @cached_property
    def source(self) -> EncoderSource:
        """The encoder of these vectors, even if the index was replaced since it was opened."""
        details = self._details
        name = self._named or details["encoder"]
        names = [name]
        if self._named is None:
            names = [",".join(some) for some in product(*map(self._places, name.split(",")))]
        encoding = EncodingSettings(**details.get("set", {}))
        for source in (encoder_source(name_, encoding=encoding) for name_ in names):
            try:
                is_same = source.identity() == details["identity"]
            except MachineError as error:
                if not error.absent or "@" not in source.name:
                    raise
                raise ArtifactError(
                    f"{source.name} encoded these vectors. This commit is not available; its "
                    "branch may have other weights.",
                    path=self.path,
                    hint="Download that commit, or rebuild the index with today's.",
                ) from error
            if is_same:
                return source
        message = "is not the one that encoded these vectors" if names else "does not exist"
        raise ArtifactError(
            f"the encoder {name} {message}.",
            path=self.path,
            hint=f"Work in its study's folder, name it ({worded('encoder')}), or rebuild "
            "the index.",
        )

    def _places(self, name: str) -> list[str]:
        """Where a folder may be that is named relative to the index.

        If either was moved or copied, below the current folder and the index's parent folders.
        """
        if Path(name).parts[:1] != ("..",):
            return [name]
        path = self.path.resolve()
        below = Path(*(part for part in Path(name).parts if part != ".."))
        places = [
            Path(os.path.normpath(path / name)),
            *(around / below for around in (Path.cwd(), *path.parents)),
        ]
        return [str(place) for place in dict.fromkeys(places) if place.is_dir()]

    @cached_property
    def encoder(self) -> "DualEncoder | TextEncoder":
        from adducir.encoders.model import load_encoder

        encoder = load_encoder(self.source).to(choose_device(self._device))
        return cast("DualEncoder | TextEncoder", encoder)

    def _model(self, model: Model | str | None) -> Any:
        """Nothing: the encoder is the model."""

    def _weighted(
        self,
        queries: Sequence[Query],
        model: Any,
        feedback: FeedbackMethod | str | None,
        threads: int | None,
    ) -> Floats:
        """Each query, a text, as a vector."""
        refuse_unless(queries, "queries")
        texts = [query for query in queries if isinstance(query, str)]
        if feedback is not None or len(texts) < len(queries):
            self._refuse_without_vectors()
        refuse_half_characters(texts, "a query")
        encoder = self.encoder
        with using_threads(threads):
            return encoder.encode_queries(texts, Running(tokens=self._tokens))

    def _score(
        self, weighted: Floats, numbers: Sequence[NDArray[Any]], model: Any, threads: int
    ) -> list[Scored]:
        """The inner products of each query's vector and those of its documents."""
        import faiss

        vectors, scores = weighted, list[Scored]()
        index: Any = faiss.downcast_index(self._index)
        if hasattr(index, "chain"):  # PCA16,HNSW8: in the space that is searched
            for place in range(index.chain.size() if len(vectors) else 0):
                vectors = index.chain.at(place).apply(vectors)
            index = faiss.downcast_index(index.index)
        if inverted := faiss.try_extract_index_ivf(self._index):
            inverted.make_direct_map()
        for query, some in zip(vectors, numbers, strict=True):
            documents = index.reconstruct_batch(some) if len(some) else query[None][:0]
            scores.append((documents @ query).astype(np.float64))
        return scores

    def _rank(self, queries: Sequence[Any], model: Any, depth: int | None, threads: int) -> Ranked:
        """By inner product; an approximate index may find fewer hits than requested."""
        vectors = np.array(queries, np.float32) if queries else np.zeros((0, self._index.d), "f4")
        if vectors.shape[1] != self._index.d:
            raise UsageError(
                f"the index has vectors of {self._index.d} numbers, the queries of "
                f"{vectors.shape[1]}."
            )
        depth = len(self) if depth is None else min(depth, len(self))
        is_exact = self.manifest.recipe["kind"] == EXACT  # elsewhere a greater depth finds more
        read = min(depth + _TIES * is_exact, len(self))
        with threads_of_faiss(threads):
            scores, numbers = nearest(self._index, vectors, read)
        order = np.lexsort((self._orders[numbers], -scores, numbers < 0))[:, :depth]
        places = np.take_along_axis(numbers, order, axis=1)
        values = np.take_along_axis(scores, order, axis=1)
        there = places >= 0
        return there.sum(axis=1, dtype=np.int32), places[there], values[there]

    def close(self) -> None:
        self._index.reset()

    def settings(self, model: Model, feedback: FeedbackMethod | None) -> dict[str, Any]:
        details = {key: value for key, value in self.manifest.recipe.items() if key != "fields"}
        stated = {"encoding": self._details["encoding"]} if "encoding" in self._details else {}
        return {"model": "dense", "encoder": self.source.name, **stated, **details}


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
    """Scores and numbers of the best vectors, each (q, depth); -1 if missing."""
    import faiss as untyped

    faiss: Any = untyped
    graph, settings = faiss.downcast_index(index), None
    if is_behind := hasattr(graph, "chain"):  # PCA16,HNSW8
        graph = faiss.downcast_index(graph.index)
    if hasattr(graph, "hnsw"):  # of this call alone
        settings = faiss.SearchParametersHNSW(efSearch=max(graph.hnsw.efSearch, depth))
        if is_behind:
            settings = faiss.SearchParametersPreTransform(index_params=settings)
    return index.search(np.ascontiguousarray(queries), depth, params=settings)


@dataclass(frozen=True, kw_only=True)
class DenseWork(EncodingWork):
    """Encodes a corpus, then builds the index of the vectors.

    ``threads`` apply to torch, then to FAISS: HNSW graphs built by several threads may differ. The
    manifest counts ``documents``, ``width`` and, for an approximate index, ``recall`` against
    ``Flat``. Settings that do not fit the vectors are a UsageError.
    """

    corpus: Corpus
    index: Path
    settings: DenseSettings

    @classmethod
    def of(
        cls, corpus: Corpus, index: Path, settings: DenseSettings, running: Running
    ) -> "DenseWork":
        return cls(
            source=settings.source,
            texts=items_of_corpus(corpus, tuple(settings.fields)),
            size=CHUNK,
            running=running,
            corpus=corpus,
            index=index,
            settings=settings,
        )

    @property
    def sides(self) -> tuple[Side, ...]:
        return SIDES

    def finish(self, folder: Path, chunks: FinishedChunks) -> dict[str, Any]:
        docnos = [name for names in chunks.names for name in names]
        counts = self.counted(folder, chunks)
        with DocumentWriter(folder) as store:
            for document, docno in zip(self.corpus, docnos, strict=True):
                if document.docno != docno:
                    raise InputError(
                        f"{docno!r} changed while the index was being built.",
                        path=self.corpus.source,
                    )
                store.add(document)
        source, names, sides = self.source, list[str](), [self.source.query, self.source.document]
        if source.texts is not None:  # of another kind
            kind, base = source.name.partition(":")[0], source.texts.base
            names, sides = [f"{kind}:{base}" if base else source.name], []
        for name, side in zip(source.parts, sides, strict=False):
            home = source.folder or side.folder
            if home is not None and name != "minilm":  # a folder, relative to the index
                name = os.path.relpath(home.resolve(), self.index.resolve())
            if home is None and side.commit and "@" not in name:  # whatever the branch is later
                name = f"{name}@{side.commit}"
            names.append(name)
        details: dict[str, Any] = {"encoder": ",".join(names), "identity": source.identity()}
        if source.texts is None:
            stated = source.encoding.model_dump(mode="json", exclude_none=True)
            details |= {"encoding": described(source), "set": stated}
        write_settings(folder / DETAILS, details)
        totals = {key: counts[key] for key in ("width", "shards", "shard", CUT) if key in counts}
        shards = map(read_vectors, chunks.files)
        shape = len(docnos), int(counts["width"])
        with threads_of_faiss(self.running.threads):
            recall = put_together(shards, shape, self.settings, folder)
        return {"documents": counts["vectors"], **totals, **recall}


def put_together(
    shards: Iterator[Floats], shape: tuple[int, int], settings: DenseSettings, folder: Path
) -> dict[str, Any]:
    """Index all shards, one at a time in memory; returns ``recall`` if approximate."""
    import faiss

    try:
        index = new_dense_index(settings.kind, settings.parameters, shape[1])
        if settings.kind == EXACT:
            index.codes.resize(shape[0] * index.code_size)  # allocate once; growing would copy
            for vectors in shards:
                index.add(np.ascontiguousarray(vectors))
            recall = {}
        else:
            # In an unlinked file, whose pages the system may drop.
            with nameless_file(folder) as file:
                with explaining_writes(folder):
                    for vectors in shards:
                        file.write(np.ascontiguousarray(vectors, dtype=np.float32).data)
                    file.flush()
                mapped: Floats = np.memmap(file, dtype=np.float32, mode="r", shape=shape)
                if not index.is_trained:
                    progress().note(f"training the lists and codes of {len(mapped):,} vectors")
                    index.train(mapped)
                index.add(mapped)  # at once: several calls would build another graph
                recall = {"recall": recall_of(index, mapped, settings.sample, settings.seed)}
    except RuntimeError as error:
        raise UsageError(
            f"FAISS cannot make {settings.kind!r} of {shape[0]:,} vectors of {shape[1]:,} numbers: "
            f"{str(error).splitlines()[0]}",
            hint="'Flat' is exact, and fast for few vectors.",
        ) from error
    try:
        faiss.write_index(index, str(folder / INDEX))
    except RuntimeError as error:
        fault = machine_error(error, folder)
        raise fault or MachineError(f"FAISS cannot write it: {error}.", path=folder) from error
    return recall


def recall_of(
    index: Any, vectors: Floats, sample: int, seed: int, *, at: int = 10
) -> dict[str, Any]:
    """The mean share of ``at`` exact neighbours that an index finds for some vectors.

    The queries are random vectors of the index; a vector is not its own neighbour. A neighbour tied
    with the last exact one counts as found. With fewer than two vectors, empty.
    """
    import faiss

    count = len(vectors)
    at = min(at, count - 1)
    if at < 1:
        return {}
    draw = np.random.default_rng(seed)
    chosen = np.sort(draw.choice(count, size=min(sample, count), replace=False))
    _, neighbours = nearest(index, vectors[chosen], at + 1)
    exact, numbers = faiss.knn(vectors[chosen], vectors, at + 1, faiss.METRIC_INNER_PRODUCT)
    good = 0
    for number, row, scores, places in zip(chosen, neighbours, exact, numbers, strict=True):
        bound = scores[places != number][at - 1]
        others = row[(row >= 0) & (row != number)][:at]
        good += int((vectors[others] @ vectors[number] >= bound - _EQUAL * abs(bound)).sum())
    return {"at": at, "queries": len(chosen), "recall": round(good / (at * len(chosen)), 4)}
