"""Passages of long texts: as many whole sentences as fit into a number of words.

A sentence ends at ``.``, ``!`` or ``?``, unless that ends an abbreviation or the next word is in
lower case, and at a blank line. One longer than a passage is cut between words. Words are separated
by blanks; each Chinese or Japanese character is a word. Joined passages equal the text, except for
white space between them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adducir.core.texts import refuse_unless
from adducir.corpora.documents import Corpus, Document

_NO_ENDS = """
    al. approx. Aug. Bart. Bros. cf. Cor. dept. Dr. e.g. E.g. ed. eds. esp. Esq. etym. Eccl. Gen.
    Geo. Hon. i.e. I.e. ibid. Jas. Jno. Jun. M. Matt. Messrs. MM. Mlle. Mme. Mr. Mrs. Ms. MS. MSS.
    n. nat. op. Pres. Rev. Revs. Rom. sc. scil. sp. spp. St. Supt. Thos. transl. v. viz. Viz. vs.
    Wm.
"""
ABBREVIATIONS = frozenset(_NO_ENDS.split())
"""Words whose full stop does not end a sentence."""
_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}][^\s\w]*|[^\s{_CJK}]+")
_SENTENCE_END = re.compile(r"""[.!?。！？]["'”’)\]」』]*$""")


@dataclass(frozen=True)
class Passages:
    """A corpus's documents cut into passages ``DOCNO#1``, ``DOCNO#2``, ... of at most ``words``.

    Texts that fit, such as a title, are repeated in each passage; each of the others is cut. The
    ``fields`` that are indexed, by default the corpus's, determine the number of passages; the last
    has the rest of other fields.
    """

    documents: Corpus
    words: int
    fields: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        return self.documents.source

    @property
    def default_fields(self) -> tuple[str, ...]:
        return self.documents.default_fields

    def __iter__(self) -> Iterator[Document]:
        fields = self.fields or self.default_fields
        for document in self.documents:
            yield from _cut(document, self.words, fields)

    def identity(self) -> dict[str, Any]:
        fields = {"cut by": list(self.fields)} if self.fields else {}
        return {**self.documents.identity(), "words": self.words, **fields}

    def size_hint(self) -> None:
        """Counting would cut them all."""

    def places(self, docno: str) -> list[tuple[Path, int]]:
        return self.documents.places(docno.rpartition("#")[0])


def read_by(corpus: Corpus, fields: Sequence[str]) -> Corpus:
    """The corpus for a reader of these fields, which determine its passages, if it has any."""
    refuse_unless(fields, "fields")
    if not isinstance(corpus, Passages) or not fields:
        return corpus
    return replace(corpus, fields=tuple(fields))


def _cut(document: Document, words: int, fields: Sequence[str]) -> list[Document]:
    texts = {name: cut(text, words) for name, text in document.fields.items()}
    names = [name for name in fields if name in texts] or texts
    count = max((len(texts[name]) for name in names), default=1)
    for name, some in texts.items():
        texts[name] = [*some[: count - 1], "\n".join(some[count - 1 :])] if some[count:] else some
    columns = {name: some * (count if len(some) == 1 else 1) for name, some in texts.items()}
    rows = [
        {name: some[n] for name, some in columns.items() if n < len(some)} for n in range(count)
    ]
    return [Document(f"{document.docno}#{number}", row) for number, row in enumerate(rows, 1)]


def cut(text: str, words: int) -> list[str]:
    """The passages of a text, each of at most ``words`` words; a blank text is one passage."""
    tokens, sentences, first = list(_WORD.finditer(text)), list[tuple[int, int]](), 0
    for number, word in enumerate(tokens, 1):
        following = tokens[number] if number < len(tokens) else None
        if (
            following is None
            or number - first == words
            or text.count("\n", word.end(), following.start()) > 1
            or (
                _SENTENCE_END.search(word[0])
                and word[0] not in ABBREVIATIONS
                and not following[0][0].islower()
            )
        ):
            sentences.append((tokens[first].start(), number - first))
            first = number
    starts = filled(sentences, words)
    ends = [*starts[1:], len(text)]
    return [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]


def filled(pieces: Iterable[tuple[int, int]], most: int) -> list[int]:
    """The starts of passages with as many pieces as fit; ``pieces`` are starts and sizes.

    A piece larger than ``most`` is its own passage. The first passage begins at 0.
    """
    starts, held = [0], 0
    for number, (start, size) in enumerate(pieces):
        if number and held + size > most:
            starts.append(start)
            held = 0
        held += size
    return starts
