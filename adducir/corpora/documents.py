"""Documents and corpora, from which indexes are built, a record's text, and weighted words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from adducir.core.errors import InputError, worded
from adducir.core.registry import Family
from adducir.core.texts import refuse_unless

if TYPE_CHECKING:
    from adducir.corpora.formats import CorpusFormat

FORMATS: "Family[CorpusFormat]" = Family(
    "formats",
    "adducir.corpora.formats:CorpusFormat",
    {
        "jsonl": "adducir.corpora.formats:JSONL",
        "trec": "adducir.corpora.trec:TREC",
        "tsv": "adducir.corpora.formats:TSV",
        "table": "adducir.corpora.formats:Table",
        "text": "adducir.corpora.formats:WholeFile",
        "cacm": "adducir.corpora.formats:CACM",
    },
    what="corpus format",
    synonyms={"csv": "table", "parquet": "table"},
)
"""Packages add some through entry points ``adducir.formats``."""
LONGEST_DOCNO = 1024
"""The maximum bytes of a docno. Lucene's dictionary takes two milliseconds for 10,000 bytes."""
LARGEST_WEIGHT = 3e38
"""The largest weight of a term, in documents and queries; scores are float32."""
_DEEPEST = 8  # levels of nested JSON that have paths
ARGUMENT_FIELDS = ("conclusion", "premise")
"""The fields of args.me that hold an argument's text and are searched."""


class Document(NamedTuple):
    """One document: its docno (no white space in it) and its named texts."""

    docno: str
    fields: dict[str, str]


@runtime_checkable
class Corpus(Protocol):
    """A source of documents that can be read again and again in the same order.

    A malformed record or an empty corpus is an :class:`InputError`.
    """

    @property
    def source(self) -> str:
        """The source as the user named it."""

    @property
    def default_fields(self) -> tuple[str, ...]:
        """The fields to index by default; reads the first documents."""

    def __iter__(self) -> Iterator[Document]: ...

    def identity(self) -> dict[str, Any]:
        """What determines the documents, for fingerprints: digests, not names."""

    def size_hint(self) -> int | None:
        """The number of documents, or None if counting would read them all."""

    def places(self, docno: str) -> list[tuple[Path, int]]:
        """Files and 1-based lines of the documents with this docno; empty if not known."""


def text_of(document: Document, fields: Sequence[str]) -> str:
    """The texts of these fields joined by newlines; empty or missing ones are skipped."""
    if isinstance(fields, str):  # the whole check takes longer than the rest, per document
        refuse_unless(fields, "fields")
    return "\n".join(filter(None, map(document.fields.get, fields)))


def refuse_absent(
    fields: Sequence[str], names: Iterable[Iterable[str]], path: Path | str | None = None
) -> None:
    """Refuse a field that no document has, given each one's; reads no more than needed."""
    names_seen = set[str]()
    for some in names:
        names_seen.update(some)
        if names_seen.issuperset(fields):
            return
    if names_seen:
        absent = ", ".join(map(repr, sorted({*fields} - names_seen)))
        hint = f"The fields are {', '.join(sorted(names_seen))}."
        raise InputError(f"the documents lack the field {absent}.", path=path, hint=hint)


def check_docno(docno: str, path: Path | None = None, line: int | None = None) -> None:
    """Refuse a docno that does not fit a TREC run or is longer than :data:`LONGEST_DOCNO`."""
    if len(docno) > LONGEST_DOCNO / 4 and len(docno.encode(errors="replace")) > LONGEST_DOCNO:
        raise InputError(
            f"the docno {docno[:40]!r}... is longer than {LONGEST_DOCNO:,} bytes.",
            path=path,
            line=line,
            hint=f"Name another field ({worded('docno_field')}), or shorten the docnos.",
        )
    if docno.split() != [docno] or "\0" in docno:
        message = f"{docno!r} contains white space or a NUL" if docno.strip() else "is empty"
        raise InputError(
            f"the docno {message}, so it does not fit a TREC run.",
            path=path,
            line=line,
            hint="Give every document a docno without white space.",
        )


def refuse_duplicates(corpus: Corpus) -> Iterator[Document]:
    """Iterate over a corpus; a repeated docno is an error (Lucene keeps both: anserini#258)."""
    hashes = set[int]()
    for document in corpus:
        docno, count = document.docno, len(hashes)
        hashes.add(hash(docno))
        # Two docnos may have the same hash.
        if len(hashes) == count and sum(document_.docno == docno for document_ in corpus) > 1:
            message, hint = f"duplicate docno {docno!r}", "Keep one of the two documents."
            places = corpus.places(docno)
            if len(places) < 2:
                raise InputError(f"{message} in {corpus.source}.", hint=hint)
            (earlier, first), (path, line) = places[:2]
            message += f", first seen at {earlier}:{first}."
            raise InputError(message, path=path, line=line, hint=hint)
        yield document


def as_text(value: Any) -> str | None:
    """The text of a value, a list's items as lines; None for a value without searchable text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value) if value == value else ""  # NaN: missing in pandas
    if isinstance(value, list | tuple):
        texts = [None if isinstance(item, list | tuple) else as_text(item) for item in value]
        if None not in texts:
            return "\n".join(text for text in texts if text is not None)
    return None


def fields_of(record: Mapping[str, Any]) -> dict[str, str]:
    """A record's fields without the docno; an argument's conclusion, premise, stance, topic.

    The form of args.me (Ajjour et al., 2019) has a list of premises and a context; in the flat
    form, the stance may be a boolean (true: PRO).
    """
    if isinstance(record.get("premises"), list) and "conclusion" in record:
        items = [
            premise if isinstance(premise, dict) else {"text": premise}
            for premise in record["premises"]
        ]
        texts = [text for item in items if (text := as_text(item.get("text"))) is not None]
        stance = next((str(item["stance"]) for item in items if item.get("stance")), "")
        context = record.get("context")
        about = context if isinstance(context, dict) else {}
        topic = about.get("topic") or about.get("discussionTitle") or about.get("sourceTitle")
        return {
            "conclusion": as_text(record["conclusion"]) or "",
            "premise": "\n".join(texts),
            "stance": stance,
            "topic": as_text(record.get("topic") if topic is None else topic) or "",
        }
    fields = dict[str, str]()
    for name, value in record.items():
        kind = type(value)
        if kind is str:
            fields[name] = value
        elif value is None or (kind is dict and not value):  # BEIR's metadata
            continue
        elif (text := as_text(value)) is not None:
            fields[name] = text
        else:
            _add_nested(name, value, fields, _DEEPEST)
    if isinstance(record.get("stance"), bool) and fields.keys() >= set(ARGUMENT_FIELDS):
        fields["stance"] = "PRO" if record["stance"] else "CON"
    return fields


def _add_nested(path: str, value: Any, fields: dict[str, str], depth: int) -> None:
    """Add the texts in an object or a list of objects as ``path.key``, a list's as lines."""
    for part in value if isinstance(value, list | tuple) else (value,):
        text = as_text(part)
        if text is not None:
            fields[path] = f"{fields[path]}\n{text}" if path in fields else text
        elif isinstance(part, dict):
            for key, inner in part.items():
                if inner is not None and depth:
                    _add_nested(f"{path}.{key}", inner, fields, depth - 1)
        elif isinstance(part, list | tuple) and depth:
            _add_nested(path, part, fields, depth - 1)


class WeightedWords(dict[str, float]):
    """A query's words with weights, which an index analyses as it does a text."""
