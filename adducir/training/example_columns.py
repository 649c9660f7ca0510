"""What the columns of training examples hold, by the names that their publishers use."""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_PART = (
    r"(_?(passage|ctx|context|document|doc|psg|text|example|id|pid|document_id|doc_id)s?)?(_?\d+)?"
)
_ROLES = {
    "query": r"query|queries|anchor|question|query_text|(sentence|text)_?(1|a)",
    "query_id": r"(query|question|q)_?id",
    "positives": rf"(pos|positive)s?{_PART}",
    "answers": r"answers?|response",
    "negatives": rf"(hard_)?(neg|negative)s?{_PART}",
    "documents": r"(document|doc|passage|psg|text|candidate|context|ctx)s?|(sentence|text)_?(2|b)"
    r"|(document|doc|passage|p)_?ids?",
    "labels": r"(label|relevance|grade)s?",
    "scores": r"(score|similarity|similarity_score|margin)s?",
    "positive_scores": r"(pos|positive)s?_scores?",
    "negative_scores": r"(neg|negative)s?_scores?",
}
HEADLESS = {
    "pairs": ("query", "positive"),
    "triples": ("query", "positive", "negative"),
    "scored-pairs": ("query", "document", "score"),
    "scored-triples": ("pos_score", "neg_score", "query", "positive", "negative"),
}
"""The columns of tab-separated files without a header."""
_ID = re.compile(r"ids?$|docnos?$", re.IGNORECASE)
BODY = ("title", "text", "body", "contents", "content", "passage", "passage_text")
DOCNO = ("docid", "doc_id", "docno", "passage_id", "document_id", "id", "_id", "pid")
TAUGHT = ("ce-score", "ce_score", "teacher_score")
"""A passage's score by a teacher; its `score` may be of the search that found it, as DPR's is."""


def role_of(name: str) -> str | None:
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    return next((role for role, names in _ROLES.items() if re.fullmatch(names, plain)), None)


def is_series(names: Sequence[str]) -> bool:
    """Whether names differ in their numbers only: positive_1, positive_2."""
    return len({re.sub(r"_?\d+$", "", name) for name in names}) == 1


def with_texts(names: Sequence[str]) -> list[str]:
    """The columns without those of the same documents' ids: `neg` and `neg_id`."""
    return [name for name in names if not is_of_ids(name)] or [*names]


def is_of_ids(name: str) -> bool:
    """Whether a column is named after what it names: `document_ids`."""
    return bool(_ID.search(name))


def is_id(value: Any) -> bool | None:
    """Whether a value is an id, a text, or may be both (None): a word is in either.

    Ids are in ASCII, with a digit and without white space; Chinese texts lack white space, too.
    """
    text = str(value)
    if isinstance(value, int) or re.fullmatch(r"[!-~]*\d[!-~]*", text):
        return True
    return False if re.search(r"\s", text) else None


def as_whole(value: Any) -> Any:
    """An id that a table with missing values made a fraction, 10.0, as an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def items_of(value: Any) -> list[Any]:
    """The items of a value: itself, a list's, or those of lists by name.

    Such names are of systems that found negatives, or of a passage's parts, listed side by side.
    """
    if value is None or value == "":
        return []
    if isinstance(value, list | tuple | np.ndarray):
        return [*value]
    if isinstance(value, Mapping) and value and all(isinstance(v, list) for v in value.values()):
        if {*BODY, *DOCNO}.isdisjoint(value):
            return [*{repr(item): item for some in value.values() for item in some}.values()]
        if len({len(some) for some in value.values()}) == 1:
            return [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)]
    return [value]


def unquoted(value: Any, *, by_ids: bool | None) -> Any:
    """A list that was written as text: of anything where ids are, of texts elsewhere.

    Raises:
        ValueError: numpy wrote it, without commas.
    """
    if not isinstance(value, str) or value[:1] != "[" or value[-1:] != "]":
        return value
    try:
        parsed = ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value
    is_list = isinstance(parsed, list) and bool(parsed)
    if not is_list or (by_ids is False and not all(isinstance(item, str) for item in parsed)):
        return value
    if re.search(r"""['"]\s+['"]""", value):
        raise ValueError("has a list without commas")
    return parsed
