"""Which field or column holds the id of a document or topic, and whether a line is a header.

Known names come first. Of several, the id is the one that is unique: of MS MARCO v2's ``pid`` and
``docid``, the parent's, the passage's. A field of another name is one if it reads like an id's
(``cord_uid``, ``topic_id``) and each record has another value without blanks.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from adducir.core.errors import InputError, worded
from adducir.core.progress import progress

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
