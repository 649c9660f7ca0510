"""Files of training examples as others publish them: one reader, by the names of columns.

Records have a query and positives, negatives, or documents with scores: JSON objects of Tevatron,
DPR, FlagEmbedding (BGE), PyLate and sentence-transformers, JSON arrays of sentence-transformers and
ColBERT, tables with a header, and MS MARCO's tab-separated pairs and triples, of texts or of ids,
with a teacher's scores in front or without. How a file was understood is noted in one line.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from math import isfinite, nan
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from adducir.core.errors import InputError
from adducir.core.files import read_lines, suffix_of
from adducir.core.json_lines import json_values, read_objects
from adducir.core.many_texts import TextFile
from adducir.core.progress import progress
from adducir.core.texts import counted, listed, shortened
from adducir.corpora.tables import PARQUET, TABLES, cells_of, delimiter_of, table_records
from adducir.training.example_columns import (
    BODY,
    DOCNO,
    HEADLESS,
    TAUGHT,
    as_whole,
    is_id,
    is_of_ids,
    is_series,
    items_of,
    role_of,
    unquoted,
    with_texts,
)
from adducir.training.example_recipe import ExamplesPart

Records = Iterator[tuple[int, Mapping[str, Any]]]
"""Records as mappings of columns, with their lines."""
IDS_HINT = "Set `examples.ids` to what is an id: queries, documents, all or none."
FORMAT_HINT = f"set `examples.format` to one of {', '.join(HEADLESS)}"
_DOCUMENTS = ("positives", "documents", "negatives")
"""The roles of columns with documents; a file has positives or documents."""


class ExampleDocument(NamedTuple):
    """A document to learn from; one without a text is in the corpus."""

    text: str
    docno: str = ""
    score: float = nan  # a teacher's
    is_judged: bool = True


class FileExample(NamedTuple):
    """A record of a file."""

    line: int
    query: str
    is_qid: bool  # whether the topics have the query's text
    positives: Sequence[ExampleDocument]
    negatives: Sequence[ExampleDocument]


def read_examples(
    path: Path, part: ExamplesPart, fields: Sequence[str], qids: Collection[str] | None
) -> Iterator[FileExample]:
    """The examples of a file; what its columns are is decided by its first record.

    ``part`` is what the recipe states of it, ``fields`` those of passages to read (none: title and
    text), ``qids`` what may name queries (None: nothing does).
    """
    return _Reader(path, part, fields, qids).examples()


@dataclass
class _Reader:
    """What is known of a file's columns, and the record that is being read."""

    path: Path
    part: ExamplesPart
    fields: Sequence[str]
    qids: Collection[str] | None
    roles: dict[str, list[str]] = field(default_factory=dict)  # the columns of each role
    by_ids: bool | None = None  # whether documents are named; None before there is one
    by_qids: bool = False  # whether queries are
    line: int = 1
    record: Mapping[str, Any] = field(default_factory=dict)

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        raise InputError(message, path=self.path, line=self.line, hint=hint)

    def examples(self) -> Iterator[FileExample]:
        """The records; pairs of a query and a scored document are put together by query."""
        columns = dict[str, None]()
        scored: dict[tuple[str, bool], list[tuple[int, int, ExampleDocument]]] = defaultdict(list)
        texts = TextFile()
        for line, record in self._records():
            self.line, self.record = line, record
            if self.by_ids is None or any(map(role_of, record.keys() - columns)):
                # What the first record lacks, such as negatives, a later one may have.
                columns |= dict.fromkeys(record)
                self._understand([*columns])
            query = self._query()
            if not self.is_graded:
                yield FileExample(line, *query, *self._sides())
                continue
            role = "labels" if "labels" in self.roles else "scores"
            documents = self._scored(self._of(*_DOCUMENTS), self._scores(role))
            if len(documents) > 1:
                yield self._ranked(line, query, documents)
                continue
            for document in documents:
                scored[query].append((line, len(texts), document._replace(text="")))
                texts.append(document.text)
        if not columns:
            raise InputError("it contains no examples.", path=self.path)
        for query, pairs in scored.items():
            documents = [document._replace(text=texts[number]) for _, number, document in pairs]
            yield self._ranked(pairs[0][0], query, documents)

    def _understand(self, columns: Sequence[str]) -> None:
        """Decide what the columns hold, and whether documents and queries are named."""
        is_first, was_graded = not self.roles, self.is_graded
        self.roles = self._roles_of(columns)
        if is_first:
            self._refuse_incomplete()
        elif self.by_ids is not None and self.is_graded != was_graded:
            shown = listed([f"`{name}`" for name in columns])
            self.fail(f"its columns, {shown}, are read otherwise than those before.")
        if self.by_ids is None:
            self.by_ids = self._names_documents()
        if is_first:
            self.by_qids = self._names_queries()
        progress().note_once(f"{self.path}: {self._described(columns)}")

    def _roles_of(self, columns: Sequence[str]) -> dict[str, list[str]]:
        stated = {str(role): [*names] for role, names in self.part.columns.items()}
        roles = dict(stated)
        for role, names in stated.items():
            if missing := [name for name in names if name not in columns]:
                message = f"`examples.columns.{role}` names {missing[0]!r}, which is absent."
                self.fail(message, self._columns_hint())
        for name in columns:
            role = role_of(name) or ""
            if role and role not in stated and not any(name in some for some in stated.values()):
                roles.setdefault(role, []).append(name)
        # A passage that holds the answer, or is named positive, says more than other columns.
        answers = roles.pop("answers", None)
        if answers and roles.keys().isdisjoint(("positives", "documents")):
            roles["positives"] = answers
        if "positives" in roles:
            roles.pop("documents", None)
        for role, names in roles.items():
            if role in stated:
                continue
            if role in _DOCUMENTS:
                roles[role] = names = with_texts(names)
            if role != "negatives" and len(names) > 1 and not is_series(names):
                both = listed([f"`{name}`" for name in names])
                message = f"{both} may all be the {role.replace('_', ' ')}."
                hint = f"Choose with `examples.columns`, such as {{{role}: {names[0]}}}."
                self.fail(message, hint)
        return roles

    def _refuse_incomplete(self) -> None:
        if self.roles.keys().isdisjoint(("query", "query_id")):
            self.fail("it lacks a query.", self._columns_hint())
        if "query" not in self.roles and self.qids is None:
            hint = "Name the file with their texts: `examples.topics`."
            self.fail(f"it names queries by `{self.roles['query_id'][0]}`.", hint)
        if self.roles.keys().isdisjoint(("positives", "documents")):
            self.fail("it lacks positives or documents.", self._columns_hint())

    def _columns_hint(self) -> str:
        names = ", ".join(f"`{name}`" for name in self.record)
        choices = "name those of each role with `examples.columns`, or set `examples.format`"
        return f"Its columns are {names}; {choices}. Judgements are named by `examples.qrels`."

    def _names_documents(self) -> bool | None:
        """Whether a record's documents are ids; None if it has none."""
        items = [*self._items(*_DOCUMENTS)]
        values = [(name, item) for name, item in items if not isinstance(item, Mapping)]
        if self.part.corpus is None:
            query = ("query", self.record.get(self.roles.get("query", ["query"])[0]))
            are_ids = all(str(value).isdecimal() for _, value in (query, *values))
            are_ids = are_ids or any(is_of_ids(name) for name, _ in values)
            if values and are_ids and self.part.ids != "none":
                hint = "Name the documents, `examples.corpus`, and the queries, `examples.topics`."
                self.fail(f"{values[0][1]!r} seems to be a document's id.", hint)
            return False
        if not items:
            return None
        if self.part.ids is not None:
            return self.part.ids in ("documents", "all")
        kinds = [is_of_ids(name) or is_id(value) for name, value in values]
        if False not in kinds and None in kinds:
            self._refuse_ambiguous(*values[kinds.index(None)], "document's id")
        return False not in kinds

    def _names_queries(self) -> bool:
        """Whether a file's queries are qids, by its first record."""
        if self.part.ids is not None:
            return self.part.ids in ("queries", "all")
        if self.qids is None or "query" not in self.roles:
            return self.qids is not None
        if "query_id" in self.roles:
            return False
        name = self.roles["query"][0]
        value = self.record.get(name)
        kind = is_of_ids(name) or is_id(as_whole(value))
        if kind is None and str(value) in self.qids:
            self._refuse_ambiguous(name, value, "qid of the topics")
        return bool(kind)

    def _refuse_ambiguous(self, name: str, value: Any, other: str) -> NoReturn:
        self.fail(f"`{name}` has {value!r}, which may be a text or a {other}.", IDS_HINT)

    def _described(self, columns: Sequence[str]) -> str:
        """How columns are understood, and those that are not read."""
        shown = list[str]()
        for role, names in self.roles.items():
            if role == "query_id" and self._query_is_text:
                continue
            meaning = ""
            if role == "labels" and self.is_graded:
                meaning = f" ({self.part.grade:g} or more is positive)"
            elif role in ("labels", "scores") and not self.is_graded:
                sides = self._of("positives", "documents"), self._of("negatives")
                is_margin = _are_margins(self._scores("scores", "labels"), *sides)
                meaning = " (margins to the positive)" if is_margin else ""
            quoted = listed([f"`{name}`" for name in names])
            shown.append(f"{role.replace('_', ' ')} {quoted}{meaning}")
        are_named = any(not document.text for document in self._of("positives", "documents"))
        named = are_named, self._query()[1]
        documents, queries = ("ids" if is_named else "texts" for is_named in named)
        both = f"query {queries} and document {documents}"
        understood = f"examples of {documents if queries == documents else both}: "
        used = {name for names in self.roles.values() for name in names}
        unread = [name for name in columns if name not in used]
        # Of scores in passages nobody says that they are a teacher's.
        items = self._items(*_DOCUMENTS, by_ids=self.by_ids)
        scored = (name for name, item in items if isinstance(item, Mapping) and "score" in item)
        unread += dict.fromkeys(f"`score` in {name}" for name in scored)
        return understood + ", ".join(shown) + (f"; not read: {', '.join(unread)}" * bool(unread))

    @property
    def is_graded(self) -> bool:
        """Whether a record is a query and documents with scores or labels."""
        roles = self.roles
        is_scored = "labels" in roles or ("scores" in roles and "documents" in roles)
        return is_scored and "negatives" not in roles

    @property
    def _query_is_text(self) -> bool:
        return any(self.record.get(n) not in (None, "") for n in self.roles.get("query", ()))

    def _query(self) -> tuple[str, bool]:
        """A record's query, or its qid and True."""
        role = "query" if self._query_is_text or "query_id" not in self.roles else "query_id"
        name = self.roles[role][0]
        value = as_whole(self.record.get(name))
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            is_empty = value in (None, "") or str(value).isspace()
            self.fail(f"`{name}` {'is empty' if is_empty else 'is neither a text nor a qid'}.")
        if isinstance(value, int) and self.qids is None:
            self.fail(f"`{name}` is not a text.", "Name the queries: `examples.topics`.")
        return str(value), role == "query_id" or self.by_qids

    def _sides(self) -> tuple[Sequence[ExampleDocument], Sequence[ExampleDocument]]:
        """Positives and negatives, with scores of each if a teacher has them."""
        positives, negatives = self._of("positives", "documents"), self._of("negatives")
        if "documents" in self.roles and len(positives) > 1 and not negatives:
            name = self.roles["documents"][0]
            message = f"which of the documents in `{name}` are positives is unknown."
            self.fail(message, f"If all are, set `examples.columns: {{positives: {name}}}`.")
        best, worse = self._scores("positive_scores"), self._scores("negative_scores")
        if best or worse:
            return self._scored(positives, best), self._scored(negatives, worse)
        scores = self._scores("scores", "labels")
        if _are_margins(scores, positives, negatives):
            scores = [0.0, *(-margin for margin in scores)]
        if scores:
            both = self._scored([*positives, *negatives], scores)
            return both[: len(positives)], both[len(positives) :]
        return positives, negatives

    def _scored(
        self, documents: Sequence[ExampleDocument], scores: Sequence[float]
    ) -> list[ExampleDocument]:
        if len(scores) != len(documents):
            has = counted(len(scores), "score")
            self.fail(f"it has {has} for {counted(len(documents), 'document')}.")
        pairs = zip(documents, scores, strict=True)
        return [document._replace(score=score) for document, score in pairs]

    def _ranked(
        self, line: int, query: tuple[str, bool], documents: Sequence[ExampleDocument]
    ) -> FileExample:
        """The documents labelled ``grade`` or better as positives, or the one a teacher likes best.

        A document that is alone with a score is neither positive nor negative.
        """
        ranked = sorted(documents, key=lambda document: -document.score)
        count = int(len(ranked) > 1)
        if "labels" in self.roles:
            count = sum(document.score >= self.part.grade for document in ranked)
            ranked = [document._replace(score=nan) for document in ranked]
        return FileExample(line, *query, ranked[:count], ranked[count:])

    def _items(self, *roles: str, by_ids: bool | None = None) -> Iterator[tuple[str, Any]]:
        """The items of roles, with the names of their columns."""
        for name in (name for role in roles for name in self.roles.get(role, ())):
            try:
                value = unquoted(self.record.get(name), by_ids=by_ids)
            except ValueError as error:
                hint = "Write lists as JSON, with commas, or save the table as Parquet."
                self.fail(f"`{name}` {error}: {shortened(str(self.record[name]), 60)}.", hint)
            yield from ((name, as_whole(item)) for item in items_of(value))

    def _of(self, *roles: str) -> list[ExampleDocument]:
        return [self._document(*item) for item in self._items(*roles, by_ids=self.by_ids)]

    def _document(self, name: str, value: Any) -> ExampleDocument:
        if isinstance(value, Mapping):
            docno = next((str(value[key]) for key in DOCNO if value.get(key) not in (None, "")), "")
            score = next((self._number(name, value[key]) for key in TAUGHT if key in value), nan)
            texts = [value[k] for k in self.fields or BODY if value.get(k) is not None]
            is_named = not texts and docno and self.part.corpus is not None
            if not is_named and not (texts and all(isinstance(text, str) for text in texts)):
                keys = listed([f"`{key}`" for key in self.fields or ("title", "text")])
                hint = f"It has {listed([*value], 9)}; the recipe's `fields` names what to read."
                self.fail(f"a passage of `{name}` lacks a text ({keys}).", hint)
            text = "" if is_named else "\n".join(filter(None, texts)) or " "
            return ExampleDocument(text, docno, score)
        if isinstance(value, bool) or not isinstance(value, str | int):
            self.fail(f"`{name}` has {value!r}, which is neither a text nor an id.")
        if isinstance(value, int) and not self.by_ids:
            hint = "Name the documents: `examples.corpus`."
            self.fail(f"`{name}` has {value}, which is not a text.", hint)
        text = str(value)
        if self.by_ids and re.search(r"\s", text):
            self.fail(f"`{name}` has a text where the first record has an id.", IDS_HINT)
        return ExampleDocument("", text) if self.by_ids else ExampleDocument(text)

    def _scores(self, *roles: str) -> list[float]:
        return [self._number(name, value) for name, value in self._items(*roles)]

    def _number(self, name: str, value: Any) -> float:
        try:
            is_label = name in self.roles.get("labels", ())
            number = nan if isinstance(value, bool) and not is_label else float(value)
        except (TypeError, ValueError):
            number = nan
        if not isfinite(number):
            self.fail(f"`{name}` has {value!r}, which is not a number.")
        return number

    def _records(self) -> Records:
        if suffix_of(self.path) == PARQUET:
            return table_records(self.path)
        lines = read_lines(self.path)
        self.line, first = next(((n, text) for n, text in lines if text.strip()), (1, ""))
        head = first.lstrip("\ufeff \t")
        if not head:
            return iter(())
        form = self.part.format
        if form in HEADLESS:
            return self._rows(first)
        if form == "lists":
            return self._lists()
        if suffix_of(self.path) in TABLES:
            return table_records(self.path, self.part.quotes)
        if head.startswith("{") or re.match(r"\[\s*(\{|$)", head):
            return read_objects(self.path)
        if head.startswith("[") and "\t" not in head and form is None:
            return self._lists()
        return self._rows(first)

    def _lists(self) -> Records:
        """Of JSON arrays: a query, then texts, ids, or [id, score]."""
        for line, values in json_values(self.path, "Every line must hold one JSON array."):
            self.line = line
            if not isinstance(values, list) or len(values) < 2:
                self.fail("this is not a JSON array of a query and its documents.")
            query, *others = values
            if not isinstance(others[0], list):
                yield line, {"query": query, "positive": others[0], "negatives": others[1:]}
                continue
            if not all(isinstance(pair, list) and len(pair) == 2 for pair in others):
                self.fail("these are not pairs of a document and its score.")
            documents, scores = zip(*others, strict=True)
            yield line, {"query": query, "documents": [*documents], "scores": [*scores]}

    def _rows(self, first: str) -> Records:
        """Of tab-separated lines, with a header or without."""
        form, quotes = self.part.format, self.part.quotes
        cells = [cell.strip() for cell in first.split("\t")]
        stated = {name for names in self.part.columns.values() for name in names}
        words = [re.fullmatch(r"[A-Za-z][\w -]{0,30}", cell) for cell in cells]
        are_names = len(cells) > 1 and all(words)
        roles = [cell for cell in cells if role_of(cell)]
        has_header = stated.issubset(cells) if stated else len(roles) > 1
        if form == "columns" or (form is None and are_names and has_header):
            yield from table_records(self.path, quotes)
            return
        if form is None and are_names and roles:
            self.fail(
                f"this line has {roles[0]!r}, and may be a header or an example.",
                f"Set `examples.format` to columns, and `examples.columns` to each role's, or "
                f"{FORMAT_HINT}.",
            )
        names = HEADLESS.get(str(form)) or self._headless(cells)
        delimiter = delimiter_of(first) if suffix_of(self.path) in TABLES else "\t"
        quotes = quotes or ("literal" if delimiter == "\t" else None)
        for line, row in cells_of(read_lines(self.path), self.path, delimiter, quotes):
            if len(row) != len(names):
                self.line = line
                self.fail(f"this line has {counted(len(row), 'column')}, not {len(names)}.")
            yield line, dict(zip(names, row, strict=True))

    def _headless(self, cells: Sequence[str]) -> tuple[str, ...]:
        """The columns of lines without a header, by the first line's cells."""
        numeric = [re.fullmatch(r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?", cell) for cell in cells]
        is_docno = all(numeric) and re.fullmatch(r"[2-9]|\d\d+", cells[-1])
        if len(cells) == 3 and numeric[2] and not is_docno:
            hint = "Set `examples.format` to triples or scored-pairs."
            self.fail(f"the third column, {cells[2]!r}, may be a negative or a score.", hint)
        if len(cells) < 4 and numeric[0] and self.qids is None and not all(numeric):
            self.fail(
                f"the first column, {cells[0]!r}, may be a query, a qid or a score.",
                "Name the queries of qids, `examples.topics`, or set `examples.format`.",
            )
        fitting = [names for names in HEADLESS.values() if len(names) == len(cells)]
        if not fitting or (len(cells) == 5 and not all(numeric[:2])):
            self.fail(
                f"a line of {counted(len(cells), 'column')} is not known as a training example.",
                "Separate columns by tabs, and name them in a header (query, positive, negative, "
                f"score), or {FORMAT_HINT}. Judgements are named by `examples.qrels`.",
            )
        return fitting[0]


def _are_margins(scores: Sequence[float], positives: Sized, negatives: Sized) -> bool:
    """Whether scores are the positive's margins: there are as many as negatives."""
    return len(positives) == 1 and 0 < len(scores) == len(negatives)
