"""The files of a memory index, from documents as they come.

Java tokenises blocks of documents in several threads (:class:`BulkTokens` in the bridge), each
block is reduced to distinct terms, and :mod:`.inverting` turns the blocks into postings. The
result is the same for any number of threads.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import local

import numpy as np

from adducir.core.processes import default_threads
from adducir.core.progress import progress
from adducir.corpora.documents import Document
from adducir.indexes import jvm
from adducir.indexes.analysis import Analysis
from adducir.indexes.arrays import Array
from adducir.indexes.documents import DocumentWriter
from adducir.indexes.feeding import Fed, fed, is_blank, packed
from adducir.indexes.jvm import translated
from adducir.indexes.lucene_builder import IndexSettings
from adducir.indexes.memory import SLOWER, engine_backend
from adducir.indexes.memory.fields import field_folders
from adducir.indexes.memory.inverting import distinct
from adducir.indexes.memory.weights import Weighted, take_weights
from adducir.indexes.memory.writing import ArrivedDocuments, write_arrays


def fill(
    documents: Iterable[Document],
    folder: Path,
    settings: IndexSettings,
    threads: int | None = None,
    total: int | None = None,
) -> dict[str, int]:
    """Fill a folder with the index of documents and their texts.

    Args:
        settings: With the fields named.
        threads: By default one per core.
        total: How many documents there are, where that is known.

    Returns:
        The counts of :func:`.write_arrays`, and ``documents``.
    """
    with translated(folder), ExitStack() as open_spools:
        folders = [folder, *(folder / place for place, _ in field_folders(settings.separate))]
        for one in folders[1:]:
            one.mkdir(parents=True)
        arrived = [open_spools.enter_context(ArrivedDocuments(one)) for one in folders]
        analyser = Analyser(settings.analysis, len(folders))
        if engine_backend() == "numpy":
            progress().note(SLOWER)
        empty: Counter[bool] = Counter()
        with DocumentWriter(folder) as store:
            texts = _counted(fed(documents, settings.fields, store, settings.separate), empty)
            with progress().doing("indexing", total, "documents"):
                _spool(texts, analyser, arrived, threads or default_threads())
        for one, spools in zip(folders[1:], arrived[1:], strict=True):
            spools.terms = analyser.terms()
            write_arrays(one, spools)
        arrived[0].terms = analyser.terms()
        return {"documents": arrived[0].count, **write_arrays(folder, arrived[0], empty[True])}


def fill_of_weights(documents: Iterable[Weighted], folder: Path) -> dict[str, int]:
    """Fill a folder with the index of documents of ready terms and weights.

    Returns:
        The counts of :func:`.write_arrays`, and ``documents``.

    Raises:
        InputError: A docno comes twice.
    """
    with translated(folder), ArrivedDocuments(folder) as arrived:
        count = take_weights(documents, arrived)
        return {"documents": count, **write_arrays(folder, arrived)}


def _spool(
    texts: Iterator[Fed], analyser: "Analyser", arrived: Sequence[ArrivedDocuments], threads: int
) -> None:
    """Take all texts; where each is of several fields, each field by itself."""
    for block in _in_order(analyser, packed(texts, with_docnos=False), threads):
        for place, spools in enumerate(arrived):
            spools.add(*block.texts(place))
        progress().advance(len(block.docnos))


@dataclass(frozen=True)
class _Reduced:
    """A block: its docnos, and the distinct terms and frequencies of each document's texts."""

    docnos: list[str]
    starts: Array
    terms: Array
    tfs: Array

    def texts(self, place: int) -> tuple[list[str], Array, Array, Array]:
        """Of each document the text at ``place``, as :meth:`.ArrivedDocuments.add` takes it."""
        each = (len(self.starts) - 1) // len(self.docnos)
        if each == 1:
            return self.docnos, self.starts, self.terms, self.tfs
        sizes = np.diff(self.starts)
        mine = np.repeat(np.arange(len(sizes)) % each == place, sizes)
        starts = np.concatenate(([0], np.cumsum(sizes[place::each])))
        return self.docnos, starts, self.terms[mine], self.tfs[mine]


def _counted(documents: Iterator[Fed], empty: Counter[bool]) -> Iterator[Fed]:
    """The same, counting whether each whole text is blank."""
    for docno, texts in documents:
        empty[is_blank(texts[0])] += 1
        yield docno, texts


def _in_order(
    analyser: "Analyser", blocks: Iterator[tuple[list[str], bytes]], threads: int
) -> Iterator[_Reduced]:
    """Reduce blocks in ``threads`` threads, a few ahead, and yield them in their order."""
    pending: deque[Future[_Reduced]] = deque()
    reduce = jvm.released(analyser.reduce)
    with ThreadPoolExecutor(threads) as pool:
        for docnos, block in blocks:
            pending.append(pool.submit(reduce, docnos, block))
            if len(pending) > 2 * threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


class Analyser:
    """Texts to terms by number; any number of threads may use it.

    Args:
        each: How many texts a document has.
    """

    def __init__(self, analysis: Analysis, each: int = 1) -> None:
        self._java = analysis.in_bulk()
        self._each = each
        self._room = local()

    def tokens(self, texts: int, block: bytes) -> tuple[Array, Array]:
        """All tokens of a block's texts, and (n + 1,) where each text's tokens begin."""
        answer = np.frombuffer(jvm.bytes_of(self._java.analyze(block)), dtype="<i4")
        starts = np.zeros(texts + 1, dtype=np.int64)
        np.cumsum(answer[:texts], out=starts[1:])
        return answer[texts:], starts

    def reduce(self, docnos: list[str], block: bytes) -> _Reduced:
        """The distinct terms of each text of a block."""
        tokens, starts = self.tokens(len(docnos) * self._each, block)
        terms = np.empty(len(tokens), dtype=np.int32)
        tfs = np.empty(len(tokens), dtype=np.int32)
        out_starts = np.empty_like(starts)
        counts = self._counts(int(tokens.max(initial=0)) + 1)
        seen = np.empty(int(np.diff(starts).max(initial=0)), dtype=np.int32)
        distinct(starts[:-1], starts[1:], tokens, counts, seen, terms, tfs, out_starts)
        used = out_starts[-1]
        return _Reduced(docnos, out_starts, terms[:used], tfs[:used])

    def terms(self, first: int = 0) -> list[str]:
        """The terms by provisional number, from ``first`` on."""
        return jvm.bytes_of(self._java.terms(first)).decode().split("\n")[:-1]

    def _counts(self, size: int) -> Array:
        """Zeros of at least that length, one array a thread: ``distinct`` leaves them zero."""
        counts: Array | None = getattr(self._room, "counts", None)
        if counts is None or len(counts) < size:
            counts = np.zeros(max(1 << 17, 2 * size), dtype=np.int32)
            self._room.counts = counts
        return counts
