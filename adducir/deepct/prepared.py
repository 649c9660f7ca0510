"""The passages of a corpus with their token ids, made by shards: what targets are laid on.

They hang on the corpus, on how it is cut, on stop words and tokenizer. References, leak control,
held-out parts and weights do not matter: a training lays its own targets on the passages, and takes
those of its documents. A store (:mod:`adducir.training.store`) has of each passage:

``docno``, ``number``, ``text``  whose passage it is
``ids``      int32, what the network reads
``firsts``   int32, of each word the place of its first piece; see :class:`.reading.Encoded`
``terms``    uint64, of each word the number of its stem
``is_stop``  bool
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from adducir.core.errors import ArtifactError, InputError
from adducir.core.progress import Progress
from adducir.core.sharding.made import Made
from adducir.core.sharding.work import ANY, WorkerPlace
from adducir.corpora.documents import Corpus, Document, refuse_duplicates
from adducir.deepct.cutting import Cut, CutSettings, cutter
from adducir.deepct.passages import remembering
from adducir.deepct.reading import Reader
from adducir.deepct.stopwords import StopWords
from adducir.deepct.targets import Matcher
from adducir.models.shards import read_shard, write_shard
from adducir.models.sources import ModelSource
from adducir.training.store import Array, Store, StoreWriter, packed, unpacked

KIND = "term-passages"
VERSION = 1
SHARD = 1000
"""Documents in a shard."""
SHARED = ("docno", "text", "ids", "firsts", "is_stop")
"""The columns that examples have from here."""
_LENGTHS = ".lengths"


def versions() -> dict[str, str]:
    """The versions of the libraries that cut texts and words."""
    return {name: version(name) for name in ("nltk", "regex", "tokenizers")}


@dataclass(frozen=True)
class PassageWork:
    """The passages of a corpus; see :class:`adducir.core.sharding.work.Work`.

    Attributes:
        base: Whose tokenizer reads them.
        longest: Tokens of an input, where it is fewer than the base can read.
    """

    corpus: Corpus
    base: ModelSource
    settings: CutSettings
    stop_words: StopWords
    longest: int | None = None
    size: int = SHARD
    doing: str = "cutting passages"
    unit: str = "documents"
    name: str = ""

    @property
    def total(self) -> int | None:
        """See :class:`.Work`."""
        return self.corpus.size_hint()

    def identity(self) -> Mapping[str, Any]:
        """See :class:`.Work`."""
        return {"versions": versions()}

    def reader(self) -> Reader:
        """The tokenizer.

        Raises:
            InputError: It cannot be loaded, or passages do not fit the model.
        """
        found, settings = Reader.of(self.base), self.settings
        if settings.unit == "pieces" and settings.length > found.most_pieces:
            raise InputError(
                f"passages of {settings.length} pieces do not fit the model {self.base.name}, "
                f"which reads {found.most_pieces}.",
                hint="Lower `passages.length`.",
            )
        return found

    def check(self) -> None:
        """See :class:`.Work`."""
        self.reader()

    def items(self, *, check: bool) -> Iterator[Document]:
        """See :class:`.Work`."""
        return refuse_duplicates(self.corpus) if check else iter(self.corpus)

    def describe(self, item: Document) -> tuple[str, bytes]:
        """See :class:`.Work`."""
        fields = {name: item.fields.get(name) for name in self.settings.text_fields}
        return item.docno, json.dumps(fields).encode("ascii")

    def builder(self, place: WorkerPlace) -> "_Builder":
        """See :class:`.Work`."""
        del place
        return _Builder(self)

    def finish(self, folder: Path, made: Made, progress: Progress) -> dict[str, Any]:
        """See :class:`.Work`."""
        totals = dict.fromkeys(("ids", "terms"), 0)
        with StoreWriter(folder) as writer:
            for path in made.files:
                arrays = read_shard(path)
                names = [name for name in arrays if not name.endswith(_LENGTHS)]
                columns = {name: (arrays[name], arrays.get(name + _LENGTHS)) for name in names}
                writer.extend(len(arrays["number"]), columns)
                for name in totals:
                    totals[name] += len(arrays[name])
            passages = len(writer)
        return {
            "documents": made.plan.items,
            "passages": passages,
            "tokens": totals["ids"],
            "words": totals["terms"],
        }


class _Builder:
    """A tokenizer that makes shards of passages."""

    device = ANY

    def __init__(self, work: PassageWork) -> None:
        self._reader, self._longest = work.reader(), work.longest
        matcher = Matcher(work.stop_words, keys=work.settings.keys)
        self._cut = cutter(work.settings, matcher, remembering(self._reader.count_pieces))

    def make(self, items: Sequence[Document], path: Path) -> None:
        """See :class:`adducir.core.sharding.work.Builder`."""
        cuts = [(one.docno, cut) for one in items for cut in self._cut(0, one)]
        read = self._reader.encode(
            [cut.text for _, cut in cuts], [cut.words for _, cut in cuts], self._longest
        )
        write_shard(
            path,
            {
                "number": np.array([cut.number for _, cut in cuts], dtype=np.int32),
                **_ragged("docno", [packed(docno) for docno, _ in cuts], np.uint8),
                **_ragged("text", [packed(cut.text) for _, cut in cuts], np.uint8),
                **_ragged("ids", [one.ids for one in read], np.int32),
                **_ragged("firsts", [one.firsts for one in read], np.int32),
                **_ragged("terms", [cut.terms for _, cut in cuts], np.uint64),
                **_ragged("is_stop", [cut.is_stop for _, cut in cuts], np.bool_),
            },
        )


def _ragged(name: str, arrays: Sequence[Any], kind: Any) -> dict[str, Array]:
    """Arrays of different lengths one behind the other, and their lengths."""
    none: list[Array] = [np.zeros(0, dtype=kind)]
    values = np.concatenate([*none, *(np.asarray(one, dtype=kind) for one in arrays)])
    return {name: values, name + _LENGTHS: np.array([len(one) for one in arrays], dtype=np.int64)}


class Prepared:
    """The passages of a folder that :class:`PassageWork` filled.

    Raises:
        ArtifactError: They cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._store = folder, Store(folder)
        begins = np.flatnonzero(self._store.column("number") == 0)
        self._starts = np.append(begins, len(self._store))

    def __enter__(self) -> "Prepared":
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def __len__(self) -> int:
        """How many passages there are."""
        return len(self._store)

    def cuts(self, place: int, document: Document) -> Iterator[Cut]:
        """The passages of a document, without their texts; a :data:`.cutting.Cutter`.

        Raises:
            ArtifactError: They are those of another document.
        """
        first, end = self._starts[place : place + 2] if place + 1 < len(self._starts) else (0, 0)
        for row in range(first, end):
            one = self._store.get(row, ("docno", "number", "terms", "is_stop"))
            if unpacked(one["docno"]) != document.docno:
                first = end
                break
            yield Cut(
                int(one["number"]),
                "",
                one["terms"].tolist(),
                one["is_stop"].tolist(),
                row=row,
            )
        if first == end:
            raise ArtifactError(
                f"these passages are of another corpus: they differ from {document.docno!r} on.",
                path=self._folder,
                hint="Delete the folder: it is made again.",
            )


def settings_of(work: PassageWork) -> dict[str, Any]:
    """The settings that determine passages, for fingerprints."""
    cut = {name: asdict(work.settings)[name] for name in CutSettings.__dataclass_fields__}
    return {**cut, "longest": work.longest}
