"""Which fields of a corpus are its text, by known names and by what they hold.

People mean titles and prose by text, never offsets, ids, dates, links or numbers. Names that
collections share come first: args.me's, Anserini's ``contents``, MS MARCO v2's and TREC RAG's,
CORD-19's, ``title`` with ``text`` or ``body``. A field without such a name is prose if the median
of its values has three or more words of letters.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from statistics import median
from typing import NamedTuple

from adducir.corpora.documents import ARGUMENT_FIELDS
from adducir.corpora.ids import reads_like_id

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
