"""Topics: the queries of a test collection, each with its qid.

A source is ``bundled:topics``, an ir_datasets id, or a file, also compressed, whose format its
content shows (:mod:`adducir.corpora.topic_forms`).

HTML's entities are decoded; a file that declares others is refused. White space within a query
becomes single blanks. An empty query is kept, because its topic counts in every mean.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from adducir.core.errors import InputError, UsageError, worded
from adducir.core.fingerprint import digest_of, fingerprint
from adducir.core.progress import progress
from adducir.core.texts import counted, refuse_half_characters, refuse_unless, repeated, typed
from adducir.corpora.documents import WeightedWords
from adducir.corpora.field_choice import QID_FIELDS, prose_fields
from adducir.corpora.frames import DOCNO, QID, QUERY, Framed, Tabular, columns_of, ids_of, table_of
from adducir.corpora.markup import collapse
from adducir.corpora.sources import resolve
from adducir.corpora.topic_forms import RawTopic, read_forms, without_operators

if TYPE_CHECKING:
    import polars as pl


_DEFAULTS = ("title", "query", "text")
_OTHERS = ("raw_utterance", "utterance", "content", "question", "query_txt")
"""Searched where none of the usual fields is there."""
_WEIGHT = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?|\.[0-9]{1,30}")
_NO_TOPICS = "these are qrels or a run, not topics:"


@dataclass(frozen=True)
class Topics(Framed):
    """Queries in the order of their source.

    Attributes:
        qids: The topics' unique ids.
        queries: One query per topic; may be empty.
        field: The field or fields (``title+description``) of the queries.
        vectors: Token weights, one mapping per topic, searched instead of the queries; or words
            with weights (:class:`WeightedWords`).

    Example:
        >>> ad.Topics.of({"1": "cats", "2": "dogs"}).qids
        ['1', '2']
    """

    qids: list[str]
    queries: list[str]
    source: str
    field: str = "query"
    vectors: list[Mapping[str, float]] | None = None

    def __post_init__(self) -> None:
        for name in ("qids", "queries"):
            refuse_unless(getattr(self, name), f"`{name}`", Sequence[str])
        if len(self.qids) != len(self.queries):
            numbers = f"{counted(len(self.qids), 'qid')} for {len(self.queries):,}"
            raise UsageError(f"topics need a qid per query, not {numbers}.")

    @classmethod
    @typed
    def of(
        cls,
        data: "Tabular | Mapping[str, Any]",
        source: str = "topics",
        *,
        word_weights: bool = False,
    ) -> "Topics":
        """Make topics of a frame (qid, query or query_id, text) or a dict ``{qid: query}``.

        Also of a Series of queries, whose index holds their qids, and of records. A column
        query_toks holds token weights. With ``word_weights``, queries are ``school^2 uniform`` or
        ``{"school": 2, "uniform": 1}``.
        """
        vectors = list[Any]()
        if isinstance(data, Mapping):
            qids_given, queries = list(data), list(data.values())
        else:
            table = table_of(data, "topics", QID, QUERY)
            qids_given, queries = columns_of(table, "topics", QID, QUERY)
            if "query_toks" in table.columns:
                (vectors,) = columns_of(table, "topics", ("query_toks",))
        qids = ids_of(qids_given, "qid").to_list()
        for qid, query in zip(qids, queries, strict=True):
            if not isinstance(query, (str, Mapping) if word_weights else str):
                raise UsageError(f"the query of topic {qid} must be text, not {query!r}.")
        for qid in qids:
            if qid.split() != [qid]:
                raise UsageError(f"the qid {qid!r} is empty or contains white space.")
        for qid in repeated(qids):
            raise UsageError(f"the qid {qid!r} is repeated.")
        refuse_half_characters((query for query in queries if isinstance(query, str)), "a query")
        if word_weights and vectors:
            message = f"{worded('word_weights')} has no effect: the topics have query_toks."
            raise UsageError(message)
        if word_weights:
            return _weighted(qids, queries, source)
        for place, vector in enumerate(vectors):
            refuse_unless(vector, f"query_toks of topic {qids[place]}", Mapping)
            if None in vector.values():  # a term of another row, in polars and Arrow
                stated = {term: weight for term, weight in vector.items() if weight is not None}
                vectors[place] = stated
        return cls(qids, [collapse(query) for query in queries], source, vectors=vectors or None)

    def __len__(self) -> int:
        return len(self.qids)

    @property
    def empty(self) -> list[str]:
        return [qid for qid, query in zip(self.qids, self.queries, strict=True) if not query]

    @property
    def weighs_words(self) -> bool:
        return bool(self.vectors) and isinstance(self.vectors[0], WeightedWords)  # type: ignore[index]

    @property
    def about(self) -> dict[str, Any]:
        """What a run's metadata say about them."""
        words = {"word weights": True} if self.weighs_words else {}
        return {"source": self.source, "field": self.field, **words}

    @property
    def texts(self) -> list[str]:
        """The queries as text; a UsageError for token weights without text."""
        if self.vectors is not None and self.empty and not self.weighs_words:
            message = f"topic {self.empty[0]} of {self.source} has token weights but no text."
            weights = worded("word_weights", "true")
            hint = f"Add its text as `query` or `text`, or read words: {weights}."
            raise UsageError(message, hint=hint)
        return self.queries

    def to_polars(self) -> "pl.DataFrame":
        """Columns qid and query, and query_toks where there are weights: in pandas PyTerrier's."""
        import polars as pl

        columns = {"qid": self.qids, "query": self.queries}
        frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
        if self.vectors is None:
            return frame
        return frame.with_columns(query_toks=pl.Series(self.vectors, dtype=pl.Object))

    def to_dict(self) -> dict[str, str]:
        """The queries by qid."""
        return dict(zip(self.qids, self.queries, strict=True))

    def identity(self) -> dict[str, str]:
        """A fingerprint of qids and what is searched, independent of the source's name."""
        pairs = (text for pair in zip(self.qids, self.queries, strict=True) for text in pair)
        details = {"topics": digest_of(pairs)}
        if self.vectors is None:
            return details
        vectors = fingerprint([sorted(vector.items()) for vector in self.vectors])
        return details | {"words" if self.weighs_words else "vectors": vectors}


@typed
def load_topics(
    source: str | os.PathLike[str],
    *,
    field: str | None = None,
    qid_field: str | None = None,
    quotes: Literal["csv", "literal"] | None = None,
    word_weights: bool = False,
) -> Topics:
    """Read topics.

    Args:
        source: A file or an ir_datasets id.
        field: What to search with, by default token weights or ``title``. Join several with
            ``+``; a topic that lacks one is searched with the others.
        qid_field: The field or column of the qid, if its name is unusual.
        quotes: What quotes are in a CSV or TSV; None: as the file shows.
        word_weights: Queries are words with weights: ``school^2 uniform``, or JSON's objects.

    Raises:
        AdducirError: With the file and line of what is malformed or ambiguous.

    Example:
        >>> topics = ad.load_topics("bundled:topics", field="title")
        >>> len(topics) == len(topics.to_dict())
        True
    """
    place, source = resolve(source), os.fspath(source)
    if isinstance(place, Path):
        raw = read_forms(place, qid_field, quotes)
    elif qid_field or quotes:
        key = "qid_field" if qid_field else "quotes"
        raise UsageError(f"{worded(key)} has no effect on topics of ir_datasets.")
    else:
        raw = _from_dataset(place)
    for topic in raw[:1]:
        foreign = [n for n in topic.fields if n in DOCNO and n not in QID_FIELDS]
        if foreign and not topic.is_tagged:
            raise InputError(f"{_NO_TOPICS} it has a column {foreign[0]}.", path=place)
    lines, present = dict[str, int | None](), dict[str, str]()
    vectors: list[Mapping[str, float]] = []
    for topic in raw:
        if topic.qid.split() != [topic.qid] or topic.qid in lines:
            wrong = "repeated" if topic.qid in lines else "empty or contains white space"
            raise InputError(f"the qid {topic.qid!r} is {wrong}.", path=place, line=topic.line)
        lines[topic.qid] = topic.line
        present |= {name: present.get(name) or text for name, text in topic.fields.items()}
        if (field is None or word_weights) and topic.vector is not None:
            vectors.append(topic.vector)
    if not raw:
        raise InputError("it contains no topics.", path=source)
    if vectors and len(vectors) < len(raw):
        lacks = next(topic for topic in raw if topic.vector is None)
        message = f"topic {lacks.qid!r} lacks token weights, but others have them."
        hint = "Add them to all topics, or name a field to search with."
        raise InputError(message, path=place, line=lacks.line, hint=hint)
    filled = [name for name, text in present.items() if text]
    if vectors and word_weights:
        return _weighted(list(lines), vectors, str(source))
    if vectors and not filled:
        return Topics(list(lines), [""] * len(raw), str(source), "vector", vectors)
    names, queries = _fields(raw, list(present), filled, field, place), list[str]()
    for topic in raw:
        text = collapse(" ".join(filter(None, map(topic.fields.get, names))))
        queries.append(without_operators(text, topic, source))
    if word_weights:
        return _weighted(list(lines), queries, str(source), "+".join(names), lines)
    return Topics(list(lines), queries, str(source), "+".join(names), vectors or None)


def as_topics(topics: "Topics | str | os.PathLike[str] | Tabular | Mapping[str, Any]") -> Topics:
    """Topics of all that users have: objects, files or ids, frames, dicts or records."""
    if isinstance(topics, Topics):
        return topics
    if isinstance(topics, str | os.PathLike):
        return load_topics(topics)
    return Topics.of(topics)


def weighted_words(query: str | Mapping[str, float]) -> WeightedWords:
    """Read ``school^2 uniform``, ``{"school": 2, "uniform": 1}`` or that as text.

    Raises:
        ValueError: A weight is not a number, negative or too large, or of a phrase.
    """
    from adducir.core.json_lines import json_value
    from adducir.corpora.token_weights import weights_in

    if isinstance(query, str) and query.startswith("{"):
        query = json_value(query, Path("query"))
    if isinstance(query, Mapping):
        return WeightedWords(weights_in({"query": query}, Path("query"), None, ("query",)) or {})
    words = WeightedWords()
    for part in query.split():
        word, sign, number = part.partition("^")
        matched = _WEIGHT.fullmatch(number) if sign else _WEIGHT.fullmatch("1")
        if not word or matched is None or (sign and set(word) & set('"()')):
            raise ValueError(f"{part!r} is not a word with a weight, such as school^2.")
        words[word] = words.get(word, 0.0) + float(matched[0])
    return words


def _weighted(
    qids: list[str],
    queries: Iterable[str | Mapping[str, float]],
    source: str,
    field: str = "query",
    lines: Mapping[str, int | None] = MappingProxyType({}),
) -> Topics:
    words = list[Mapping[str, float]]()
    for qid, query in zip(qids, queries, strict=True):
        try:
            words.append(weighted_words(query))
        except (ValueError, InputError) as error:
            message = error.what if isinstance(error, InputError) else error
            line = lines.get(qid)
            raise InputError(f"topic {qid}: {message}", path=source, line=line) from error
    return Topics(qids, [" ".join(word_weights) for word_weights in words], source, field, words)


def _from_dataset(name: str) -> list[RawTopic]:
    from adducir.corpora import irds
    from adducir.corpora.documents import fields_of

    dataset = irds.open_dataset(name, "queries")
    topics = []
    for query in irds.records(dataset, name, "queries"):
        names = getattr(query, "_fields", ("query_id", "text"))
        fields = fields_of({name: getattr(query, name) for name in names if name != "query_id"})
        if not any(default in fields for default in _DEFAULTS) and hasattr(query, "default_text"):
            fields["query"] = query.default_text()
        topics.append(RawTopic(query.query_id, fields, None))
    return topics


def _fields(
    raw: Sequence[RawTopic],
    present: Sequence[str],
    filled: Sequence[str],
    field: str | None,
    source: str | Path,
) -> Sequence[str]:
    """The fields to search with: those the user names, a usual one, or the only one of prose."""
    reason = "it is not clear which field to search with."
    if field is not None:
        names = [name.strip() for name in field.split("+")]
        unknown = [name for name in names if name not in present]
        reason = f"none of the topics has a field {', '.join(map(repr, unknown))}."
        names = [] if unknown else names
    else:
        usual = [name for name in (*_DEFAULTS, *_OTHERS) if name in present]
        alone = next((list(names_) for names_ in (filled, present) if len(names_) == 1), [])
        names = usual[:1] or alone
        if names == ["docid"] or (not names and "docid" in present):
            names, reason = [], "the topics are documents, which are named by docid, not queries."
        elif not names and (texts := prose_fields([topic.fields for topic in raw])):
            names = texts if len(texts) == 1 else []
        if names and names[0] not in _DEFAULTS and len(filled) > 1:
            others = ", ".join(name for name in present if name != names[0])
            message = f"queries are the field {names[0]}, not {others}"
            message += f" ({worded('query_field')} names others)"
            progress().note_once(f"{source}: {message}")
    if not names:
        hint = f"The topics' fields are: {', '.join(present) or 'none'}."
        hint += f" Name one: {worded('query_field')}." if present else ""
        raise InputError(reason, path=source, hint=hint)
    return names
