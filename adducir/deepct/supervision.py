"""Where a document's queries come from: its own fields, or topics that it was judged to answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from adducir.core.errors import InputError
from adducir.corpora.documents import Document, text_of
from adducir.corpora.qrels import Qrels
from adducir.corpora.topics import Topics


class Supervision(Protocol):
    """Gives documents the queries that say which of their words matter."""

    def queries(self, document: Document) -> Sequence[str]:
        """The queries of a document; none where nothing is known about it."""

    def identity(self) -> dict[str, Any]:
        """What the queries depend on, for fingerprints."""


@dataclass(frozen=True)
class FromFields:
    """The one query of a document is a field of its own, or several joined.

    Attributes:
        fields: Such as ``conclusion`` (C in the paper), or ``topic`` and ``conclusion`` (T&C).
    """

    fields: tuple[str, ...]

    def queries(self, document: Document) -> Sequence[str]:
        """The fields' text, or nothing where they are empty."""
        reference = text_of(document, self.fields)
        return [reference] if reference.strip() else []

    def identity(self) -> dict[str, Any]:
        """The fields' names."""
        return {"reference": list(self.fields)}


@dataclass(frozen=True)
class FromTopics:
    """The queries of a document are those of the topics that it was judged to answer.

    Attributes:
        by_docno: The queries of each document.
        digest: Of the topics, the judgements and the grade.
    """

    by_docno: dict[str, tuple[str, ...]]
    digest: dict[str, Any]

    @classmethod
    def of(cls, topics: Topics, qrels: Qrels, *, grade: int = 1) -> "FromTopics":
        """Take the queries of the judgements of ``grade`` or better, in the order of the qrels.

        Raises:
            InputError: No judgement is so good, or no such topic is among the topics.
        """
        texts = dict(zip(topics.qids, topics.queries, strict=True))
        found: dict[str, list[str]] = {}
        for qid, docno, given in qrels.frame.iter_rows():
            if given >= grade and qid in texts:
                found.setdefault(docno, []).append(texts[qid])
        if not found:
            raise InputError(
                f"{qrels.source} judges no document {grade} or better for a topic of "
                f"{topics.source}.",
                hint="Give the judgements that belong to the topics, or a lower grade.",
            )
        digest = {**topics.identity(), **qrels.identity(), "grade": grade}
        return cls({docno: tuple(queries) for docno, queries in found.items()}, digest)

    def queries(self, document: Document) -> Sequence[str]:
        """The queries that the document answers."""
        return self.by_docno.get(document.docno, ())

    def identity(self) -> dict[str, Any]:
        """Digests of topics and judgements, and the grade."""
        return self.digest
