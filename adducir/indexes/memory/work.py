"""The building of a memory index in shards: each is the index of a range of documents, in a file.

A shard has the statistics of its own documents alone; those of all are known when it is put
together with the others (:mod:`.joining`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from adducir.core.progress import Progress
from adducir.core.sharding.made import Made
from adducir.core.sharding.work import ANY, WorkerPlace
from adducir.corpora.documents import Corpus
from adducir.corpora.token_weights import read_token_weights
from adducir.indexes.documents import DocumentWriter, line_of
from adducir.indexes.feeding import documents_with, fed
from adducir.indexes.lucene_builder import IndexSettings, engine_versions
from adducir.indexes.memory.files import SHARD
from adducir.indexes.memory.filling import fill, fill_of_weights
from adducir.indexes.memory.joining import join, pack_part
from adducir.indexes.memory.weights import by_term, read_weights


@dataclass(frozen=True)
class TextWork:
    """The index of a corpus's texts; see :class:`adducir.core.sharding.work.ArtifactWork`.

    Attributes:
        settings: With the fields named.
        threads: Of each worker; by default its share of the cores.
        keep: Keep the shards as parts of the index.
    """

    corpus: Corpus
    settings: IndexSettings
    threads: int | None = None
    keep: bool = False
    size: int = SHARD
    doing: str = "indexing"
    unit: str = "documents"
    name: str = ""

    @property
    def total(self) -> int | None:
        """See :class:`.Work`."""
        return self.corpus.size_hint()

    def identity(self) -> Mapping[str, Any]:
        """See :class:`.Work`."""
        return {"versions": engine_versions()}

    def check(self) -> None:
        """See :class:`.Work`."""
        engine_versions()

    def items(self, *, check: bool) -> Iterator[Any]:
        """See :class:`.Work`."""
        return documents_with(self.corpus, self.settings.fields) if check else iter(self.corpus)

    def describe(self, item: Any) -> tuple[str, bytes]:
        """See :class:`.Work`."""
        return item.docno, line_of(item)

    def builder(self, place: WorkerPlace) -> "_Builder":
        """See :class:`.Work`."""
        del place
        self.check()
        return _Builder(self)

    def fill(self, items: Iterable[Any], folder: Path) -> dict[str, int]:
        """Fill a folder with the index of some items; its counts."""
        return fill(items, folder, self.settings, self.threads)

    def at_once(self, folder: Path, progress: Progress) -> dict[str, Any]:
        """Fill the folder of the index without shards; its counts."""
        documents = documents_with(self.corpus, self.settings.fields)
        return fill(documents, folder, self.settings, self.threads, self.total, progress)

    def finish(self, folder: Path, made: Made, progress: Progress) -> dict[str, Any]:
        """See :class:`.ArtifactWork`."""
        if not made.files:
            return self.at_once(folder, progress)
        with DocumentWriter(folder) as store:
            counts = join(folder, made, self.keep, store, progress)
            without = self.write_texts(store) - counts["documents"]
        counts["documents"] += without
        counts["empty"] += without
        return counts | ({"parts": len(made.files)} if self.keep else {})

    def write_texts(self, store: DocumentWriter) -> int:
        """Write the texts that shards have not; how many documents there are in all."""
        return len(store)


@dataclass(frozen=True)
class WeightWork(TextWork):
    """The index of a corpus's token weights: items are the documents that have any.

    Attributes:
        weights: Where they are.
    """

    weights: Path = field(kw_only=True)

    @property
    def total(self) -> int | None:
        """See :class:`.Work`."""
        return None

    def items(self, *, check: bool) -> Iterator[Any]:
        """See :class:`.Work`."""
        if not check:
            return read_token_weights(self.weights)
        documents = documents_with(self.corpus, self.settings.fields)
        return read_weights(self.weights, {document.docno for document in documents})

    def describe(self, item: Any) -> tuple[str, bytes]:
        """See :class:`.Work`."""
        return item[0], orjson.dumps(item[1])

    def fill(self, items: Iterable[Any], folder: Path) -> dict[str, int]:
        """See :meth:`TextWork.fill`."""
        return fill_of_weights(by_term(items, self.settings.analysis), folder)

    def at_once(self, folder: Path, progress: Progress) -> dict[str, Any]:
        """See :meth:`TextWork.at_once`."""
        with DocumentWriter(folder) as store:
            docnos = set(self._texts(store))
        weighted = by_term(read_weights(self.weights, docnos), self.settings.analysis)
        counts = fill_of_weights(weighted, folder, progress)
        without = len(docnos) - counts["documents"]
        return counts | {"documents": len(docnos), "empty": counts["empty"] + without}

    def write_texts(self, store: DocumentWriter) -> int:
        """See :meth:`TextWork.write_texts`."""
        return sum(1 for _ in self._texts(store))

    def _texts(self, store: DocumentWriter) -> Iterator[str]:
        """The docnos of all documents, whose texts go to the store."""
        fields = self.settings.fields
        return (docno for docno, _ in fed(documents_with(self.corpus, fields), fields, store))


def work_of(
    corpus: Corpus,
    settings: IndexSettings,
    threads: int | None,
    *,
    keep: bool = False,
    size: int = SHARD,
) -> TextWork:
    """What builds the index of a corpus with these settings."""
    if settings.weights is None:
        return TextWork(corpus, settings, threads, keep, size)
    return WeightWork(corpus, settings, threads, keep, size, weights=settings.weights)


class _Builder:
    """See :class:`adducir.core.sharding.work.Builder`."""

    device = ANY

    def __init__(self, work: TextWork) -> None:
        self._work = work

    def make(self, items: Sequence[Any], path: Path) -> None:
        """Write the packed index of some items."""
        with TemporaryDirectory(prefix=f"{path.name}-", dir=path.parent) as name:
            pack_part(Path(name), self._work.fill(items, Path(name)), path)
