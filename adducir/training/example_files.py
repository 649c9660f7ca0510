"""Files of training examples as others publish them: one reader, by the names of columns.

Records have a query and positives, negatives, or documents with scores: JSON objects of Tevatron,
DPR, FlagEmbedding (BGE), PyLate and sentence-transformers, JSON arrays of sentence-transformers and
ColBERT, tables with a header, and MS MARCO's tab-separated pairs and triples, of texts or of ids,
with a teacher's scores in front or without. How a file was understood is noted in one line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np

from adducir.core.errors import InputError
from adducir.core.files import read_lines, suffix_of
from adducir.core.json_lines import json_values, read_objects
from adducir.core.many_texts import TextFile
from adducir.core.progress import progress
from adducir.core.texts import counted, listed
from adducir.corpora.documents import Document, text_of
from adducir.corpora.tables import PARQUET, TABLES, Quotes, cells_of, table_records
from adducir.training.example_columns import (
    BODY,
    DOCNO,
    HEADLESS,
    TAUGHT,
    columns_hint,
    is_series,
    items_of,
    role_of,
    unquoted,
    unread,
    with_texts,
)

FileFormat = Literal["columns", "lists", "pairs", "triples", "scored-pairs", "scored-triples"]
Role = Literal["query", "positives", "negatives", "documents", "labels", "scores"]


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


@dataclass(frozen=True)
class ExampleFile:
    """A file of examples; what its columns are is decided by its first record.

    Attributes:
        path: The file.
        format: Its layout, if the file does not show it.
        columns: The columns of some roles, if their names are unusual.
        fields: The fields of passages to read; empty for title and text.
        quotes: What quotes are in tables.
        has_topics: Whether queries may be named by qids.
        has_corpus: Whether documents may be named by docnos.
        grade: The lowest label of a positive.
    """

    path: Path
    format: FileFormat | None = None
    columns: Mapping[Role, Sequence[str]] | None = None
    fields: tuple[str, ...] = ()
    quotes: Quotes | None = None
    has_topics: bool = False
    has_corpus: bool = False
    grade: int = 1

    def __iter__(self) -> Iterator[FileExample]:
        """The records; a document without fields is named, and its text is in the corpus.

        Pairs of a query and a document with a score are put together by query.
        """
        layout: _Layout | None = None
        columns = dict[str, Any]()
        scored: dict[tuple[str, bool], list[_Scored]] = {}
        lines, texts = dict[tuple[str, bool], int](), TextFile()
        for line, record in self._records():
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

    def _records(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        if suffix_of(self.path) == PARQUET:
            return table_records(self.path)
        first = next(((n, text) for n, text in read_lines(self.path) if text.strip()), (1, ""))
        head = first[1].lstrip("\ufeff \t")
        if not head:
            return iter(())
        if self.format in HEADLESS:
            return self._rows(first)
        if self.format == "lists":
            return self._lists()
        if suffix_of(self.path) in TABLES:
            return table_records(self.path, self.quotes)
        if head.startswith("{") or re.match(r"\[\s*(\{|$)", head):
            return read_objects(self.path)
        if head.startswith("[") and self.format is None:
            return self._lists()
        return self._rows(first)

    def _lists(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Of JSON arrays: a query, then texts, ids, or [id, score]."""
        for line, values in json_values(self.path, "Every line must hold one JSON array."):
            if not isinstance(values, list) or len(values) < 2:
                self._fail(line, "this is not a JSON array of a query and its documents.")
            query, *others = values
            if isinstance(others[0], list):
                if not all(isinstance(pair, list) and len(pair) == 2 for pair in others):
                    self._fail(line, "these are not pairs of a document and its score.")
                documents, scores = zip(*others, strict=True)
                yield line, {"query": query, "documents": [*documents], "scores": [*scores]}
            else:
                yield line, {"query": query, "positive": others[0], "negatives": others[1:]}

    def _rows(self, first: tuple[int, str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Of tab-separated lines, with a header or without."""
        cells = [cell.strip() for cell in first[1].split("\t")]
        stated = {name for names in (self.columns or {}).values() for name in names}
        are_names = len(cells) > 1 and all(
            re.fullmatch(r"[A-Za-z][\w -]{0,30}", cell) for cell in cells
        )
        known = [cell for cell in cells if role_of(cell)]
        has_header = stated.issubset(cells) if stated else len(known) > 1
        if self.format == "columns" or (self.format is None and are_names and has_header):
            yield from table_records(self.path, self.quotes)
            return
        if self.format is None and are_names and known:
            self._fail(
                first[0],
                f"this line has {known[0]!r}, and may be a header or an example.",
                "Set `examples.format` to columns, and `examples.columns` to each role's, or to "
                f"one of {', '.join(HEADLESS)}.",
            )
        names = HEADLESS.get(str(self.format)) or self._headless(cells, first[0])
        lines = read_lines(self.path)
        for line, row in cells_of(lines, self.path, "\t", self.quotes or "literal"):
            if len(row) != len(names):
                self._fail(line, f"this line has {counted(len(row), 'column')}, not {len(names)}.")
            yield line, dict(zip(names, row, strict=True))

    def _headless(self, cells: Sequence[str], line: int) -> tuple[str, ...]:
        numeric = [re.fullmatch(r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?", cell) for cell in cells]
        fitting = [kind for kind, names in HEADLESS.items() if len(names) == len(cells)]
        if len(cells) == 3 and numeric[2] and (not all(numeric) or cells[2] in "01"):
            self._fail(
                line,
                f"the third column, {cells[2]!r}, may be a negative or a score.",
                "Set `examples.format` to triples or scored-pairs.",
            )
        if len(cells) < 4 and numeric[0] and not self.has_topics and not all(numeric):
            self._fail(
                line,
                f"the first column, {cells[0]!r}, may be a query, a qid or a score.",
                "Name the queries of qids, `examples.topics`, or set `examples.format`.",
            )
        if not fitting or (len(cells) == 5 and not all(numeric[:2])):
            self._fail(
                line,
                f"a line of {counted(len(cells), 'column')} is not known as a training example.",
                "Separate columns by tabs, and name them in a header (query, positive, negative, "
                f"score), or set `examples.format` to one of {', '.join(HEADLESS)}.",
            )
        return HEADLESS[fitting[0]]

    def _layout(self, record: Mapping[str, Any], line: int, before: "_Layout | None") -> "_Layout":
        named = {str(role): [*names] for role, names in (self.columns or {}).items()}
        by_role: dict[str, list[str]] = dict(named)
        for name in record:
            role = role_of(name)
            if role and role not in named and not any(name in some for some in named.values()):
                by_role.setdefault(role, []).append(name)
        for role, names in named.items():
            if missing := [name for name in names if name not in record]:
                self._fail(
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
                self._fail(
                    line,
                    f"{both} may all be the {role.replace('_', ' ')}.",
                    f"Choose with `examples.columns`, such as {{{role}: {names[0]}}}.",
                )
        layout = _Layout(self, by_role)
        if before is None or before.by_ids is None:
            layout = layout.checked(record, line)
        elif layout.is_graded == before.is_graded:
            layout = replace(layout, by_ids=before.by_ids)
        else:
            shown = listed([f"`{name}`" for name in record])
            self._fail(line, f"its columns, {shown}, are read otherwise than those before.")
        others = [name for name in record if not any(name in some for some in by_role.values())]
        others += layout.unread_scores(record)
        progress().note_once(f"{self.path}: {layout.described(record, line)}{unread(others)}")
        return layout

    def _fail(self, line: int | None, message: str, hint: str | None = None) -> NoReturn:
        raise InputError(message, path=self.path, line=line, hint=hint)


@dataclass(frozen=True)
class _Layout:
    """Which columns of a file's records have which role."""

    file: ExampleFile
    by_role: Mapping[str, list[str]]
    by_ids: bool | None = None  # whether documents are named; None before there is one

    def checked(self, record: Mapping[str, Any], line: int) -> "_Layout":
        """The layout, which also knows whether the first record names its documents."""
        roles = self.by_role
        if "query" not in roles and "query_id" not in roles:
            self.file._fail(line, "it lacks a query.", columns_hint(record))
        if "query" not in roles and not self.file.has_topics:
            self.file._fail(
                line,
                f"it names queries by `{roles['query_id'][0]}`.",
                "Name the file with their texts: `examples.topics`.",
            )
        if not {"positives", "documents"} & roles.keys():
            self.file._fail(line, "it lacks positives or documents.", columns_hint(record))
        items = [item for _, item in self._items(record, "positives", "negatives", "documents")]
        values = [str(item) for item in items if not isinstance(item, Mapping)]
        if self.file.has_corpus:
            is_text = any(re.search(r"\s", value) for value in values)
            return replace(self, by_ids=not is_text if items else None)
        query = record.get(roles.get("query", ["query"])[0])
        if values and all(value.isdecimal() for value in (str(query), *values)):
            self.file._fail(
                line,
                f"{values[0]!r} seems to be a document's id.",
                "Name the documents, `examples.corpus`, and the queries, `examples.topics`.",
            )
        return replace(self, by_ids=False)

    def described(self, record: Mapping[str, Any], line: int) -> str:
        said = [
            f"{role.replace('_', ' ')} {listed([f'`{name}`' for name in names])}"
            for role, names in self.by_role.items()
            if not (role == "query_id" and self._query_is_text(record))
        ]
        texts = [
            some for name in ("positives", "documents") for some in self._of(record, name, line)
        ]
        kind = "ids" if any(not document.fields for document in texts) else "texts"
        return f"examples of {kind}: {', '.join(said)}"

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
        value = record.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            is_empty = value in (None, "") or str(value).isspace()
            problem = "is empty" if is_empty else "is neither a text nor a qid"
            self.file._fail(line, f"`{name}` {problem}.")
        if isinstance(value, int) and not self.file.has_topics:
            self.file._fail(
                line, f"`{name}` is not a text.", "Name the queries: `examples.topics`."
            )
        query = str(value)
        may_be_qid = self.file.has_topics and "query_id" not in self.by_role
        return query, role == "query_id" or (may_be_qid and not re.search(r"\s", query))

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
        self.file._fail(line, message)

    def _items(self, record: Mapping[str, Any], *roles: str) -> Iterator[tuple[str, Any]]:
        """The documents of roles, with the names of their columns."""
        for name in (name for role in roles for name in self.by_role.get(role, ())):
            value = record.get(name)
            value = value if self.by_ids is False else unquoted(value)
            yield from ((name, item) for item in items_of(value))

    def unread_scores(self, record: Mapping[str, Any]) -> list[str]:
        """Scores in passages of which nobody says that they are a teacher's."""
        items = self._items(record, "positives", "negatives", "documents")
        scored = [name for name, item in items if isinstance(item, Mapping) and "score" in item]
        return [f"`score` in {name}" for name in dict.fromkeys(scored)]

    def _taught(self, record: Mapping[str, Any], line: int) -> list[float]:
        """The scores in passages by a teacher, NaN where it has none; or nothing."""
        scores = list[float]()
        for name, item in self._items(record, "positives", "documents", "negatives"):
            key = next((k for k in TAUGHT if isinstance(item, Mapping) and k in item), None)
            scores.append(np.nan if key is None else self._number(item[key], name, line))
        return [] if np.isnan(scores).all() else scores

    def _scores(self, record: Mapping[str, Any], role: str, line: int) -> list[float]:
        found = list[float]()
        for name in self.by_role.get(role, ()):
            for value in items_of(unquoted(record.get(name))):
                value = int(value) if isinstance(value, bool) and role == "labels" else value
                found.append(self._number(value, name, line))
        return found

    def _number(self, value: Any, name: str, line: int) -> float:
        try:
            number = np.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = np.nan
        if not np.isfinite(number):
            self.file._fail(line, f"`{name}` has {value!r}, which is not a number.")
        return number

    def _of(self, record: Mapping[str, Any], role: str, line: int) -> tuple[Document, ...]:
        return tuple(self._document(name, item, line) for name, item in self._items(record, role))

    def _document(self, name: str, value: Any, line: int) -> Document:
        if isinstance(value, Mapping):
            docno = next((str(value[key]) for key in DOCNO if value.get(key) not in (None, "")), "")
            keys = self.file.fields or BODY
            texts = {key: value[key] for key in keys if value.get(key) is not None}
            if not texts and docno and self.file.has_corpus:
                return Document(docno, {})
            if not texts or not all(isinstance(text, str) for text in texts.values()):
                wanted = listed([f"`{key}`" for key in self.file.fields or ("title", "text")])
                self.file._fail(line, f"a passage of `{name}` lacks a text ({wanted}).")
            return Document(docno, {"text": text_of(Document(docno, texts), [*texts])})
        if isinstance(value, bool) or not isinstance(value, str | int):
            self.file._fail(line, f"`{name}` has {value!r}, which is neither a text nor an id.")
        if isinstance(value, int) and not self.by_ids:
            hint = "Name the documents: `examples.corpus`."
            self.file._fail(line, f"`{name}` has {value}, which is not a text.", hint)
        text = str(value)
        if self.by_ids and re.search(r"\s", text):
            self.file._fail(line, f"`{name}` has a text where the first record has an id.")
        return Document(text, {}) if self.by_ids else Document("", {"text": text})
