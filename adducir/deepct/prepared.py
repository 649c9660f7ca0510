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
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from adducir.core.errors import ArtifactError, InputError
from adducir.core.executors import Place
from adducir.corpora.documents import Corpus, Document, refuse_duplicates
from adducir.deepct.cutting import Cut, CutSettings, cutter
from adducir.deepct.passages import remembering
from adducir.deepct.reading import Encoded, Reader
from adducir.deepct.stopwords import StopWords
from adducir.deepct.targets import Matcher
from adducir.models.sources import ModelSource
from adducir.training.example_work import Encode, ExampleWork
from adducir.training.store import Array, Store, packed, unpacked

KIND = "term-passages"
VERSION = 1
SHARED = ("docno", "text", "ids", "firsts", "is_stop")
"""The columns that examples have from here."""


@dataclass(frozen=True)
class PassageWork(ExampleWork[Document]):
    """The passages of a corpus.

    Attributes:
        base: Whose tokenizer reads them.
        longest: Tokens of an input, where it is fewer than the base can read.
    """

    corpus: Corpus
    base: ModelSource
    settings: CutSettings
    stop_words: StopWords
    longest: int | None = None
    doing = "cutting passages"
    unit = "documents"
    makes = "passages"
    counted = MappingProxyType({"tokens": "ids", "words": "terms"})

    @property
    def total(self) -> int | None:
        return self.corpus.size_hint()

    def versions(self) -> dict[str, str]:
        """The versions of the libraries that cut texts and words."""
        return {name: version(name) for name in ("nltk", "regex", "tokenizers")}

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
        self.reader()

    def items(self, *, check: bool) -> Iterator[Document]:
        return refuse_duplicates(self.corpus) if check else iter(self.corpus)

    def describe(self, item: Document) -> tuple[str, bytes]:
        fields = {name: item.fields.get(name) for name in self.settings.text_fields}
        return item.docno, json.dumps(fields).encode("ascii")

    def encode(self, place: Place) -> Encode[Document]:
        del place
        reader = self.reader()
        matcher = Matcher(self.stop_words, keys=self.settings.keys)
        cut = cutter(self.settings, matcher, remembering(reader.count_pieces))

        def examples(items: Sequence[Document]) -> list[dict[str, Array | np.generic]]:
            """The passages of documents."""
            cuts = [(one.docno, some) for one in items for some in cut(0, one)]
            words = [some.words for _, some in cuts]
            read = reader.encode([some.text for _, some in cuts], words, self.longest)
            both = zip(cuts, read, strict=True)
            return [_example(docno, some, one) for (docno, some), one in both]

        return Encode(examples)


def _example(docno: str, cut: Cut, read: Encoded) -> dict[str, Array | np.generic]:
    return {
        "number": np.int32(cut.number),
        "docno": packed(docno),
        "text": packed(cut.text),
        "ids": read.ids.astype(np.int32),
        "firsts": read.firsts.astype(np.int32),
        "terms": np.array(cut.terms, dtype=np.uint64),
        "is_stop": np.array(cut.is_stop, dtype=np.bool_),
    }


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
