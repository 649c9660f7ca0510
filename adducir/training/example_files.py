"""Files of training examples as others publish them: one reader, by the names of columns.

Records have a query and positives, negatives, or documents with scores: JSON objects of Tevatron,
DPR, FlagEmbedding (BGE), PyLate and sentence-transformers, JSON arrays of sentence-transformers and
ColBERT, tables with a header, and MS MARCO's tab-separated pairs and triples, of texts or of ids,
with a teacher's scores in front or without. How a file was understood is noted in one line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np

from adducir.core.errors import InputError
from adducir.core.many_texts import TextFile
from adducir.core.progress import progress
from adducir.core.texts import counted, listed, shortened
from adducir.corpora.documents import Document, text_of
from adducir.training.example_columns import (
    BODY,
    DOCNO,
    TAUGHT,
    as_whole,
    columns_hint,
    is_id,
    is_of_ids,
    is_series,
    items_of,
    role_of,
    unquoted,
    unread,
    with_texts,
)
from adducir.training.example_records import RecordFile

Named = Literal["none", "queries", "documents", "all"]
"""Which values of a file are ids."""
IDS_HINT = "Set `examples.ids` to what is an id: queries, documents, all or none."


@dataclass(frozen=True)
class FileExample:
    """A record of a file: texts, or names of what has them."""

    line: int
    query: str
    is_qid: bool
    positives: tuple[Document, ...]
    negatives: tuple[Document, ...]
    scores: tuple[float, ...] = ()


class _Scored(NamedTuple):
    docno: str
    text: int  # its number
    score: float


@dataclass(frozen=True, kw_only=True)
class ExampleFile(RecordFile):
    """A file of examples; what its columns are is decided by its first record.

    Attributes:
        fields: The fields of passages to read; empty for title and text.
        has_corpus: Whether documents may be named by docnos.
        grade: The lowest label of a positive.
        ids: What is named, if the file does not show it.
    """

    fields: tuple[str, ...] = ()
    has_corpus: bool = False
    grade: float = 1
    ids: Named | None = None

    def __iter__(self) -> Iterator[FileExample]:
        """The records; a document without fields is named, and its text is in the corpus.

        Pairs of a query and a document with a score are put together by query.
        """
        layout: _Layout | None = None
        columns = dict[str, Any]()
        scored: dict[tuple[str, bool], list[_Scored]] = {}
        lines, texts = dict[tuple[str, bool], int](), TextFile()
        for line, record in self.records():
            is_new = any(map(role_of, record.keys() - columns))
            if layout is None or layout.by_ids is None or is_new:
                # What the first record lacks, such as negatives, a later one may have.
                columns |= dict.fromkeys(record)
                layout = self._layout(columns | dict(record), line, layout)
            if not layout.is_graded:
                yield layout.example(record, line)
                continue
            query, documents, values = layout.graded(record, line)
            if len(documents) > 1:
                yield layout.ranked(line, query, documents, values)
                continue
            lines.setdefault(query, line)
            for document, value in zip(documents, values, strict=True):
                scored.setdefault(query, []).append(_Scored(document.docno, len(texts), value))
                texts.append(document.fields.get("text", ""))
        if layout is None:
            raise InputError("it contains no examples.", path=self.path)
        for query, pairs in scored.items():
            documents = [
                Document(docno, {} if docno and not texts[number] else {"text": texts[number]})
                for docno, number, _ in pairs
            ]
            yield layout.ranked(lines[query], query, documents, [value for *_, value in pairs])

    def _layout(self, record: Mapping[str, Any], line: int, before: "_Layout | None") -> "_Layout":
        named = {str(role): [*names] for role, names in (self.columns or {}).items()}
        by_role: dict[str, list[str]] = dict(named)
        for name in record:
            role = role_of(name)
            if role and role not in named and not any(name in some for some in named.values()):
                by_role.setdefault(role, []).append(name)
        for role, names in named.items():
            if missing := [name for name in names if name not in record]:
                self.fail(
                    line,
                    f"`examples.columns.{role}` names {missing[0]!r}, which is absent.",
                    columns_hint(record),
                )
        # A passage that holds the answer, or is named positive, says more than other columns.
        for better, other in (("positives", "answers"), ("documents", "answers")):
            if better in by_role:
                by_role.pop(other, None)
        if "answers" in by_role:
            by_role["positives"] = by_role.pop("answers")
        if "positives" in by_role:
            by_role.pop("documents", None)
        for role, names in by_role.items():
            if role in ("positives", "negatives", "documents") and role not in named:
                by_role[role] = names = with_texts(names)
            if role not in ("negatives", *named) and len(names) > 1 and not is_series(names):
                both = listed([f"`{name}`" for name in names])
                self.fail(
                    line,
                    f"{both} may all be the {role.replace('_', ' ')}.",
                    f"Choose with `examples.columns`, such as {{{role}: {names[0]}}}.",
                )
        layout = _Layout(self, by_role)
        if before is None:
            layout = layout.checked(record, line)
        elif layout.is_graded == before.is_graded or before.by_ids is None:
            by_ids = (
                layout.names_documents(record, line) if before.by_ids is None else before.by_ids
            )
            layout = replace(layout, by_ids=by_ids, by_qids=before.by_qids)
        else:
            shown = listed([f"`{name}`" for name in record])
            self.fail(line, f"its columns, {shown}, are read otherwise than those before.")
        others = [name for name in record if not any(name in some for some in by_role.values())]
        others += layout.unread_scores(record, line)
        progress().note_once(f"{self.path}: {layout.described(record, line)}{unread(others)}")
        return layout


@dataclass(frozen=True)
class _Layout:
    """Which columns of a file's records have which role."""

    file: ExampleFile
    by_role: Mapping[str, list[str]]
    by_ids: bool | None = None  # whether documents are named; None before there is one
    by_qids: bool = False  # whether queries are

    def checked(self, record: Mapping[str, Any], line: int) -> "_Layout":
        """The layout, which also knows whether the first record names its documents."""
        roles = self.by_role
        if "query" not in roles and "query_id" not in roles:
            self.file.fail(line, "it lacks a query.", columns_hint(record))
        if "query" not in roles and self.file.qids is None:
            self.file.fail(
                line,
                f"it names queries by `{roles['query_id'][0]}`.",
                "Name the file with their texts: `examples.topics`.",
            )
        if not {"positives", "documents"} & roles.keys():
            self.file.fail(line, "it lacks positives or documents.", columns_hint(record))
        by_ids, by_qids = self.names_documents(record, line), self._names_queries(record, line)
        return replace(self, by_ids=by_ids, by_qids=by_qids)

    def names_documents(self, record: Mapping[str, Any], line: int) -> bool | None:
        """Whether a record's documents are ids; None if it has none."""
        items = [*self._items(record, line, "positives", "negatives", "documents")]
        values = [(name, item) for name, item in items if not isinstance(item, Mapping)]
        if not self.file.has_corpus:
            query = record.get(self.by_role.get("query", ["query"])[0])
            if values and all(str(v).isdecimal() for v in (query, *(item for _, item in values))):
                self.file.fail(
                    line,
                    f"{values[0][1]!r} seems to be a document's id.",
                    "Name the documents, `examples.corpus`, and the queries, `examples.topics`.",
                )
            return False
        if self.file.ids is not None or not items:
            return self.file.ids in ("documents", "all") if items else None
        kinds = [is_of_ids(name) or is_id(value) for name, value in values]
        if False in kinds:
            return False
        if None in kinds:
            name, value = values[kinds.index(None)]
            self._ambiguous(line, name, value, "document's id")
        return True

    def _names_queries(self, record: Mapping[str, Any], line: int) -> bool:
        """Whether a file's queries are qids, by its first record."""
        if self.file.ids is not None:
            return self.file.ids in ("queries", "all")
        if self.file.qids is None or "query" not in self.by_role:
            return self.file.qids is not None
        name = self.by_role["query"][0]
        if "query_id" in self.by_role:
            return False
        kind = is_of_ids(name) or is_id(as_whole(record.get(name)))
        if kind is None and str(record.get(name)) in self.file.qids:
            self._ambiguous(line, name, record.get(name), "qid of the topics")
        return bool(kind)

    def _ambiguous(self, line: int, name: str, value: Any, other: str) -> NoReturn:
        message = f"`{name}` has {value!r}, which may be a text or a {other}."
        self.file.fail(line, message, IDS_HINT)

    def described(self, record: Mapping[str, Any], line: int) -> str:
        sides = [self._of(record, role, line) for role in ("positives", "negatives")]
        said = [
            f"{role.replace('_', ' ')} {listed([f'`{name}`' for name in names])}"
            f"{self._meaning(role, len(sides[0]), len(sides[1]), record, line)}"
            for role, names in self.by_role.items()
            if not (role == "query_id" and self._query_is_text(record))
        ]
        texts = [
            some for name in ("positives", "documents") for some in self._of(record, name, line)
        ]
        documents = "ids" if any(not document.fields for document in texts) else "texts"
        queries = "ids" if self._query(record, line)[1] else "texts"
        both = f"query {queries} and document {documents}"
        return f"examples of {documents if queries == documents else both}: {', '.join(said)}"

    def _meaning(
        self, role: str, positives: int, negatives: int, record: Mapping[str, Any], line: int
    ) -> str:
        """How labels or scores are understood, unless their role says so."""
        if role == "labels" and self.is_graded:
            return f" ({self.file.grade:g} or more is positive)"
        is_one = role in ("labels", "scores") and positives == 1 and not self.is_graded
        if is_one and 0 < len(self._scores(record, role, line)) == negatives:
            return " (margins to the positive)"
        return ""

    def _query_is_text(self, record: Mapping[str, Any]) -> bool:
        return any(record.get(name) not in (None, "") for name in self.by_role.get("query", ()))

    @property
    def is_graded(self) -> bool:
        """Whether a record is a query and documents with scores or labels."""
        roles = self.by_role
        is_scored = "labels" in roles or ("scores" in roles and "documents" in roles)
        return is_scored and "negatives" not in roles

    def _query(self, record: Mapping[str, Any], line: int) -> tuple[str, bool]:
        """A record's query, or its qid."""
        role = "query" if self._query_is_text(record) else "query_id"
        name = (self.by_role.get(role) or self.by_role["query"])[0]
        value = as_whole(record.get(name))
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            is_empty = value in (None, "") or str(value).isspace()
            problem = "is empty" if is_empty else "is neither a text nor a qid"
            self.file.fail(line, f"`{name}` {problem}.")
        if isinstance(value, int) and self.file.qids is None:
            self.file.fail(line, f"`{name}` is not a text.", "Name the queries: `examples.topics`.")
        return str(value), role == "query_id" or self.by_qids

    def graded(
        self, record: Mapping[str, Any], line: int
    ) -> tuple[tuple[str, bool], Sequence[Document], Sequence[float]]:
        role = "documents" if "documents" in self.by_role else "positives"
        documents = self._of(record, role, line)
        scores = self._scores(record, "labels" if "labels" in self.by_role else "scores", line)
        if len(scores) != len(documents):
            self._unequal(line, len(scores), len(documents))
        return self._query(record, line), documents, scores

    def ranked(
        self,
        line: int,
        query: tuple[str, bool],
        documents: Sequence[Document],
        scores: Sequence[float],
    ) -> FileExample:
        """The documents labelled ``grade`` or better as positives, or the one a teacher likes best.

        A document that is alone with a score is neither positive nor negative.
        """
        order = sorted(range(len(scores)), key=lambda n: (-scores[n], n))
        ranked = tuple(documents[n] for n in order)
        if "labels" in self.by_role:
            count = sum(score >= self.file.grade for score in scores)
            return FileExample(line, *query, ranked[:count], ranked[count:])
        count = int(len(documents) > 1)
        taught = tuple(scores[n] for n in order)
        return FileExample(line, *query, ranked[:count], ranked[count:], taught)

    def example(self, record: Mapping[str, Any], line: int) -> FileExample:
        """A record's query, positives, negatives, and scores of each if a teacher has them.

        As many scores as negatives are the positive's margins.
        """
        query = self._query(record, line)
        positives, negatives = (self._of(record, role, line) for role in ("positives", "negatives"))
        if "documents" in self.by_role:
            positives = self._of(record, "documents", line)
        roles = ("positive_scores", "negative_scores")
        sides = [self._scores(record, role, line) for role in roles]
        scores = [
            score for role in ("scores", "labels") for score in self._scores(record, role, line)
        ]
        if any(sides):
            for some, documents in zip(sides, (positives, negatives), strict=True):
                if len(some) != len(documents):
                    self._unequal(line, len(some), len(documents))
            scores = sides[0] + sides[1]
        elif scores and len(positives) == 1 and len(scores) == len(negatives):
            scores = [0.0, *(-margin for margin in scores)]
        elif not scores:
            scores = self._taught(record, line)
        if scores and len(scores) != len(positives) + len(negatives):
            self._unequal(line, len(scores), len(positives) + len(negatives))
        return FileExample(line, *query, positives, negatives, tuple(scores))

    def _unequal(self, line: int, scores: int, documents: int) -> NoReturn:
        message = f"it has {counted(scores, 'score')} for {counted(documents, 'document')}."
        self.file.fail(line, message)

    def _items(
        self, record: Mapping[str, Any], line: int, *roles: str
    ) -> Iterator[tuple[str, Any]]:
        """The documents of roles, with the names of their columns."""
        for name in (name for role in roles for name in self.by_role.get(role, ())):
            try:
                value = unquoted(record.get(name), by_ids=self.by_ids)
            except ValueError as error:
                message = f"`{name}` {error}: {shortened(str(record[name]), 60)}."
                hint = "Write lists as JSON, with commas, or save the table as Parquet."
                self.file.fail(line, message, hint)
            yield from ((name, as_whole(item)) for item in items_of(value))

    def unread_scores(self, record: Mapping[str, Any], line: int) -> list[str]:
        """Scores in passages of which nobody says that they are a teacher's."""
        items = self._items(record, line, "positives", "negatives", "documents")
        scored = [name for name, item in items if isinstance(item, Mapping) and "score" in item]
        return [f"`score` in {name}" for name in dict.fromkeys(scored)]

    def _taught(self, record: Mapping[str, Any], line: int) -> list[float]:
        """The scores in passages by a teacher, NaN where it has none; or nothing."""
        scores = list[float]()
        for name, item in self._items(record, line, "positives", "documents", "negatives"):
            key = next((k for k in TAUGHT if isinstance(item, Mapping) and k in item), None)
            scores.append(np.nan if key is None else self._number(item[key], name, line))
        return [] if np.isnan(scores).all() else scores

    def _scores(self, record: Mapping[str, Any], role: str, line: int) -> list[float]:
        found = list[float]()
        for name in self.by_role.get(role, ()):
            for value in items_of(unquoted(record.get(name), by_ids=None)):
                value = int(value) if isinstance(value, bool) and role == "labels" else value
                found.append(self._number(value, name, line))
        return found

    def _number(self, value: Any, name: str, line: int) -> float:
        try:
            number = np.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = np.nan
        if not np.isfinite(number):
            self.file.fail(line, f"`{name}` has {value!r}, which is not a number.")
        return number

    def _of(self, record: Mapping[str, Any], role: str, line: int) -> tuple[Document, ...]:
        return tuple(
            self._document(name, item, line) for name, item in self._items(record, line, role)
        )

    def _document(self, name: str, value: Any, line: int) -> Document:
        if isinstance(value, Mapping):
            docno = next((str(value[key]) for key in DOCNO if value.get(key) not in (None, "")), "")
            keys = self.file.fields or BODY
            texts = {key: value[key] for key in keys if value.get(key) is not None}
            if not texts and docno and self.file.has_corpus:
                return Document(docno, {})
            if not texts or not all(isinstance(text, str) for text in texts.values()):
                wanted = listed([f"`{key}`" for key in self.file.fields or ("title", "text")])
                self.file.fail(line, f"a passage of `{name}` lacks a text ({wanted}).")
            return Document(docno, {"text": text_of(Document(docno, texts), [*texts])})
        if isinstance(value, bool) or not isinstance(value, str | int):
            self.file.fail(line, f"`{name}` has {value!r}, which is neither a text nor an id.")
        if isinstance(value, int) and not self.by_ids:
            hint = "Name the documents: `examples.corpus`."
            self.file.fail(line, f"`{name}` has {value}, which is not a text.", hint)
        text = str(value)
        if self.by_ids and re.search(r"\s", text):
            message = f"`{name}` has a text where the first record has an id."
            self.file.fail(line, message, IDS_HINT)
        return Document(text, {}) if self.by_ids else Document("", {"text": text})
