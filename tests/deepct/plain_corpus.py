"""A corpus held in memory, and word pieces that can be counted by hand."""

from collections.abc import Iterator
from typing import Any

from adducir.corpora.documents import Document
from adducir.deepct.words import basic_words


class PlainCorpus:
    """A corpus held in memory: fields by docno."""

    source = "memory"
    default_fields = ("text",)

    def __init__(self, *documents: tuple[str, dict[str, str]]) -> None:
        self._documents = [Document(docno, fields) for docno, fields in documents]

    def __iter__(self) -> Iterator[Document]:
        return iter(self._documents)

    def places(self, docno: str) -> list[Any]:
        return []

    def size_hint(self) -> int:
        return len(self._documents)

    def identity(self) -> dict[str, Any]:
        return {"documents": [[d.docno, d.fields] for d in self._documents]}


def pieces_of_three(chunks: list[str]) -> list[int]:
    """A word piece for every three characters of a basic word, or part of them, as if by BERT."""
    return [sum(-(-len(word.text) // 3) for word in basic_words(chunk)) for chunk in chunks]
