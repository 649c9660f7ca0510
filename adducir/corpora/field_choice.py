"""Which fields of a corpus are its text, and which is the id, by known names and what they hold.

People mean titles and prose by text, never offsets, ids, dates, links or numbers. Names that
collections share come first: args.me's, Anserini's ``contents``, MS MARCO v2's and TREC RAG's,
CORD-19's, ``title`` with ``text`` or ``body``. A field without such a name is prose if the median
of its values has three or more words of letters.

Which field or column holds the id follows a like rule. Of several known names, the id is the one
that is unique: of MS MARCO v2's ``pid`` and ``docid``, the parent's, the passage's. A field of
another name is one if it reads like an id's (``cord_uid``, ``topic_id``) and each record has a
value of its own without blanks.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from adducir.core.errors import InputError, worded
from adducir.core.progress import progress
from adducir.corpora.documents import ARGUMENT_FIELDS

DOCNO_FIELDS = ("docno", "docid", "doc_id", "_id", "id", "pid")
QID_FIELDS = ("qid", "query_id", "query-id", "q_id", "_id", "id", "number")
TEXT_NAMES = ("text", "title", "body", "contents", "query", "question")
_ID_NAME = re.compile(
    r"topic|(?:.*[_\s.-])?(?:u?id|guid|uuid|key|no|nr|num|number|identifier)"
    r"|(?:doc|query|topic|question|turn|q|cord_?u|paper|passage)_?(?:id|no|number|num)",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"[a-z]\w*(?:Id|ID|Number|No)")
_COLUMN = re.compile(r"[A-Za-z_][\w.-]*+(?: [\w.-]++){0,2}")
SAMPLE = 100
"""The number of documents that are looked at."""
_MAIN = ("text", "body", "passage", "segment")
_TITLES = ("title", "headline")
_INNER = ("text", "contents", "content", "body", "passage", "abstract", "paragraphs", "sentences")
_PEOPLE = re.compile(r"(?:.*[._])?(?:authors?|creators?|editors?|contributors?|affiliations?)")
_PROSE_WORDS = 3
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0e7f"
_CHARACTER = re.compile(f"[{_CJK}]")  # written without blanks
_WORD = re.compile(r"[\W_]*+[^\W\d_]++(?:['\u2019.-][^\W\d_]++)*+[\W_]*+")
_NUMBER = re.compile(r"\s*[+-]?(?:\d[\d,_ ]*+\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?%?\s*")
_DATE = re.compile(r"\s*\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?(?:[T ][\d:.]++(?:Z|[+-][\d:]++)?)?\s*")
_LINK = re.compile(r"\s*(?:[a-z]++:/?/?\S++|www\.\S++|10\.\d{4,9}/\S++)\s*", re.IGNORECASE)


class FieldChoice(NamedTuple):
    """The fields to index, and those left out, each with the reason, or "" if its name says it."""

    indexed: tuple[str, ...]
    left_out: Mapping[str, str]


def default_fields_of(sample: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """The fields to search by default, judged by the first documents' fields."""
    values = _values(sample)
    names = list(values)
    if set(ARGUMENT_FIELDS) <= set(names):
        return ARGUMENT_FIELDS
    if "contents" in names:
        return ("contents",)
    title = [name for name in ("title", "metadata.title") if name in names][:1]
    main = next((name for name in _MAIN if name in names), None)
    if main is not None:
        msmarco = ("url", "title", "headings", main)
        is_msmarco = main != "text" and (main == "passage" or set(msmarco) <= set(names))
        if is_msmarco:  # Anserini indexes all of them
            return tuple(name for name in msmarco if name in names)
        return (*title, main)
    if "body_text.text" in names:  # CORD-19 and S2ORC
        abstract = [name for name in ("abstract", "abstract.text") if name in names]
        return (*title, *abstract, "body_text.text")
    inner = [name for name in names if "." in name]
    for main in ("contents", *_MAIN):
        if under := [name for name in inner if name.startswith(f"{main}.")]:
            known = [name for name in under if name.rpartition(".")[2] in _INNER]
            texts = [name for name in under if _is_text(name, values[name])]
            return (*title, *(known or texts or under))
    outer = [name for name in names if "." not in name]
    texts = [name for name in outer if _is_text(name, values[name])]
    texts += [
        name for name in inner if name.rpartition(".")[2] in _INNER and _is_prose(values[name])
    ]
    if any(_is_prose(values[name]) for name in texts):
        return tuple(dict.fromkeys([*(name for name in title if "." in name), *texts]))
    if texts_inside := [name for name in inner if _is_prose(values[name])]:
        return tuple(dict.fromkeys([*title, *texts_inside]))
    rest = [name for name in outer if not _reason(name, values[name])]
    return tuple(texts or rest or outer or names)


def prose_fields(sample: Iterable[Mapping[str, str]]) -> list[str]:
    return [name for name, texts in _values(sample).items() if _is_prose(texts)]


def choice_of(sample: Sequence[Mapping[str, str]], indexed: Sequence[str]) -> FieldChoice:
    """Which fields of a sample are indexed, and why the others are not."""
    values = _values(sample)
    left = {name: _reason(name, texts) for name, texts in values.items() if name not in indexed}
    return FieldChoice(tuple(indexed), left)


def field_line(choice: FieldChoice, more: Iterable[str] = ()) -> str:
    """``fields: title, text; left out: year (a number), url``, with at most 20 names."""
    named = [f"{name} ({reason})" if reason else name for name, reason in choice.left_out.items()]
    named += [name for name in more if name not in choice.left_out]
    shown = ", ".join(named[:20]) + (f" and {len(named) - 20} more" if len(named) > 20 else "")
    return f"fields: {', '.join(choice.indexed)}" + (f"; left out: {shown}" if named else "")


def _values(sample: Iterable[Mapping[str, str]]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for fields in islice(sample, SAMPLE):
        for name, text in fields.items():
            filled = values.setdefault(name, [])
            if text and not text.isspace():
                filled.append(text)
    return values


def _is_text(name: str, texts: Sequence[str]) -> bool:
    is_people = _PEOPLE.fullmatch(name.lower()) is not None
    return name.rpartition(".")[2] in _TITLES or (_is_prose(texts) and not is_people)


def _is_prose(texts: Sequence[str]) -> bool:
    return bool(texts) and median(map(_words, texts)) >= _PROSE_WORDS


def _words(text: str) -> int:
    """The words of letters at a text's beginning; each character, where blanks are not used."""
    count = 0
    for token in text[:500].split():
        count += len(_CHARACTER.findall(token)) or (_WORD.fullmatch(token) is not None)
    return count


def _reason(name: str, texts: Sequence[str]) -> str:
    """Why a field is not text: what it holds instead."""
    if not texts:
        return ""
    if _PEOPLE.fullmatch(name.lower()):
        return "people"
    first = [text.split("\n", 1)[0] for text in texts]
    for pattern, reason in ((_DATE, "a date"), (_NUMBER, "a number"), (_LINK, "a link")):
        if all(map(pattern.fullmatch, first)):
            is_named = reason.split()[-1] in name.lower() or name.lower() in ("url", "doi", "uri")
            return "" if is_named else reason
    if all(len(text.split()) == 1 for text in texts):
        is_id = reads_like_id(name) or len(set(texts)) == len(texts) > 1
        return "an id" if is_id else "one word"
    return "" if _is_prose(texts) else "few words"


def reads_like_id(name: str) -> bool:
    return _ID_NAME.fullmatch(name.strip()) is not None or bool(_CAMEL.fullmatch(name.strip()))


def id_field(
    sample: Sequence[Mapping[str, Any]], usual: Sequence[str], path: Path, kind: str
) -> str | None:
    """The id's field of records; a choice among several is noted, and None if no field is one.

    ``kind`` is ``docno`` or ``qid``. Two unknown fields that both could be ids are an InputError.
    """
    first = sample[0]
    named = [name for name in usual if name in first]
    if "pid" in named and "docid" in named:  # of MS MARCO v2's passages
        named.remove("pid")
        named.insert(named.index("docid"), "pid")
    if len(named) > 1 and named[0] not in ("docno", "qid"):
        unique = [name for name in named if _is_unique(name, sample)]
        chosen = (unique or named)[0]
        others = [f"{name}{'' if name in unique else ' (repeated)'}" for name in named]
        others = [text for text, name in zip(others, named, strict=True) if name != chosen]
        if chosen != next(name for name in usual if name in named):
            _tell(path, kind, chosen, f", not {', '.join(others)}")
        return chosen
    if named:
        return named[0]
    alike = [name for name in first if reads_like_id(name) and _is_unique(name, sample)]
    if len(alike) > 1:
        message = f"several fields may be the {kind}: {', '.join(alike)}."
        raise InputError(message, path=path, hint=f"Choose one: {worded(f'{kind}_field')}.")
    if alike:
        _tell(path, kind, alike[0], "")
    return alike[0] if alike else None


def _tell(path: Path, kind: str, name: str, more: str) -> None:
    progress().note_once(
        f"{path}: the {kind} is {name}{more} ({worded(f'{kind}_field')} names another)"
    )


def _is_unique(name: str, sample: Sequence[Mapping[str, Any]]) -> bool:
    values = [record.get(name) for record in sample]
    ids = {str(v) for v in values if isinstance(v, str | int) and not isinstance(v, bool)}
    return len(ids) == len(values) and all(value.split() == [value] for value in ids)


def id_column_of(names: Sequence[str], usual: Sequence[str]) -> int:
    """The place of the id in a header: a known name, one that reads like an id's, or the first."""
    for name in usual:
        if name in names:
            return names.index(name)
    return next((at for at, name in enumerate(names) if reads_like_id(name)), 0)


def is_header(rows: Sequence[Sequence[str]], usual: Sequence[str]) -> bool:
    """Whether the first row names columns, by known names or by its shape beside the others.

    It does if each cell is a name of a column, and one reads like an id's where the next line's
    does not, or if it has no digit where every other row's first cell has one.
    """
    names = [cell.strip() for cell in rows[0]]
    lower = [name.lower() for name in names]
    if lower[0] in usual or not ({*lower}.isdisjoint(usual) or {*lower}.isdisjoint(TEXT_NAMES)):
        return True
    body = [cells for cells in rows[1:] if len(cells) == len(names)]
    is_named = all(_COLUMN.fullmatch(name) for name in names) and len({*lower}) == len(names) > 1
    if not is_named or not body:
        return False
    key = id_column_of(lower, usual)
    if reads_like_id(names[key]) and not reads_like_id(body[0][key]):
        return all(len(name.split()) == 1 for name in names)
    numbered = all(re.search("[0-9]", cells[0]) for cells in body)
    is_short = all(len(name.split()) == 1 for name in names)
    return len(body) > 2 and numbered and is_short and not re.search("[0-9]", names[0])
