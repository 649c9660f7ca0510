"""From a corpus to a memory index.

Java tokenises blocks of documents in several threads (:class:`BulkTokens` in the bridge), each
block is reduced to distinct terms, and :mod:`.inverting` turns the blocks into postings. The
result is the same for any number of threads.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import local
from typing import Any

import numpy as np

from adducir.core.artifacts import Make, Manifest, Sources, artifact_fingerprint, build
from adducir.core.checking import checked
from adducir.core.cores import default_threads
from adducir.core.fingerprint import fingerprint
from adducir.core.progress import SILENT, Progress
from adducir.corpora.documents import Corpus
from adducir.indexes import jvm
from adducir.indexes.analysis import Analysis
from adducir.indexes.arrays import Array
from adducir.indexes.documents import DocumentWriter
from adducir.indexes.feeding import Choice, Fed, fed, is_blank, packed
from adducir.indexes.java_errors import translated
from adducir.indexes.lucene_builder import IndexSettings, engine_versions, settled
from adducir.indexes.memory import SLOWER, engine_backend
from adducir.indexes.memory.fields import field_folders
from adducir.indexes.memory.inverting import distinct
from adducir.indexes.memory.weights import read_terms, take_weights
from adducir.indexes.memory.writing import ArrivedDocuments, write_arrays

KIND = "memory-index"
BUILDER_VERSION = 1


@checked
def build_memory_index(
    corpus: Corpus,
    path: Path,
    settings: IndexSettings | None = None,
    *,
    threads: int | None = None,
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> Manifest:
    """Build the index, unless ``path`` already holds the one that would be built.

    The arguments, counts and errors are those of
    :func:`adducir.indexes.lucene_builder.build_index`. A memory index has no positions, and always
    has document vectors and both kinds of length;
    ``accurate_length`` says which of them searches read. Where the settings name ``weights``,
    documents' terms are these; the corpus has the texts, and documents without weights are
    counted as ``empty``.
    """
    settings = settled(corpus, settings)
    return build(
        path,
        kind=KIND,
        recipe=settings.recipe(),
        inputs={"corpus": fingerprint(corpus.identity())},
        builder_version=BUILDER_VERSION,
        make=builder(corpus, settings, threads, progress),
        rebuild=rebuild,
        versions=engine_versions(),
        sources={"corpus": [corpus.source]},
        progress=progress,
    )


def fingerprint_of(corpus: Corpus, settings: IndexSettings) -> str:
    """The fingerprint of the index that :func:`build_memory_index` would build.

    Args:
        settings: With the fields named.
    """
    inputs = {"corpus": fingerprint(corpus.identity())}
    return artifact_fingerprint(KIND, settings.recipe(), inputs, BUILDER_VERSION)


def builder(
    corpus: Corpus,
    settings: IndexSettings,
    threads: int | None,
    progress: Progress,
    choose: Choice = iter,
) -> Make:
    """What fills a folder with the index of a corpus, or of some documents of it.

    Args:
        settings: With the fields named.
        choose: Chooses the documents.
    """

    def make(folder: Path) -> dict[str, Any]:
        if settings.weights is not None:
            return _make_of_weights(corpus, folder, settings, settings.weights, progress, choose)
        return _make(corpus, folder, settings, threads or default_threads(), progress, choose)

    return make


def _make_of_weights(
    corpus: Corpus,
    folder: Path,
    settings: IndexSettings,
    weights: Path,
    progress: Progress,
    choose: Choice,
) -> dict[str, Any]:
    with ArrivedDocuments(folder) as arrived:
        with DocumentWriter(folder) as store:
            docnos = {docno for docno, _ in fed(corpus, settings.fields, store, (), choose)}
        with translated(folder):
            every = docnos if choose is iter else {document.docno for document in corpus}
            terms = read_terms(weights, settings.analysis, docnos, every)
            without = len(docnos) - take_weights(terms, arrived, progress)
        counts = write_arrays(folder, arrived)
        return {"documents": len(docnos), **counts, "empty": counts["empty"] + without}


def build_from_weights(
    documents: Iterable[tuple[str, Mapping[str, float]]],
    path: Path,
    settings: IndexSettings,
    *,
    identity: Mapping[str, Any],
    sources: Sources | None = None,
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> Manifest:
    """Build an index of ready terms and weights, DeepCT's for example.

    Args:
        documents: Docnos, each once, and the weight of each term; weights of 0 or less are left
            out. Terms are taken as they are: ``settings.analysis`` must give the same for
            queries.
        identity: What the documents depend on, for the fingerprint.
        sources: The names of what they come from.

    Raises:
        InputError: A docno comes twice.
        ArtifactError: ``path`` holds something that is not ours.
    """

    def make(folder: Path) -> dict[str, Any]:
        with ArrivedDocuments(folder) as arrived:
            count = take_weights(documents, arrived, progress)
            return {"documents": count, **write_arrays(folder, arrived)}

    return build(
        path,
        kind=KIND,
        recipe=settings.recipe() | {"weights": True},
        inputs={"weights": fingerprint(identity)},
        builder_version=BUILDER_VERSION,
        make=make,
        rebuild=rebuild,
        versions=engine_versions(),
        sources=sources,
        progress=progress,
    )


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


def _make(
    corpus: Corpus,
    folder: Path,
    settings: IndexSettings,
    threads: int,
    progress: Progress,
    choose: Choice,
) -> dict[str, Any]:
    with translated(folder), ExitStack() as open_spools:
        folders = [folder, *(folder / place for place, _ in field_folders(settings.separate))]
        for one in folders[1:]:
            one.mkdir(parents=True)
        arrived = [open_spools.enter_context(ArrivedDocuments(one)) for one in folders]
        with DocumentWriter(folder) as store:
            if engine_backend() == "numpy":
                progress.note(SLOWER)
            analyser = Analyser(settings.analysis, 1 + len(settings.separate))
            empty: Counter[bool] = Counter()
            progress.start("indexing", corpus.size_hint() if choose is iter else None, "documents")
            try:
                documents = fed(corpus, settings.fields, store, settings.separate, choose)
                texts = _counted(documents, empty)
                blocks = packed(texts, with_docnos=False)
                for block in _in_order(analyser, blocks, threads):
                    for place, spools in enumerate(arrived):
                        spools.add(*block.texts(place))
                    progress.advance(len(block.docnos))
            finally:
                progress.finish()
        for one, spools in zip(folders[1:], arrived[1:], strict=True):
            spools.terms = analyser.terms()
            write_arrays(one, spools)
        arrived[0].terms = analyser.terms()
        return {"documents": arrived[0].count, **write_arrays(folder, arrived[0], empty[True])}


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
