"""A page on which people rate: one file, offline, by keyboard, blind to systems and to a model.

Its items come from a sheet of ``adducir sample`` (or any CSV of that form), from the task of
``annotations proxy-make``, or from a CSV of answers (``item``, ``text``, perhaps ``context``
and ``system``, which is not shown), for the raters' files of ``annotations agreement``. Choices
stay in the browser; they are saved as TREC qrels, as JSON, which names the page, and as CSV.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from adducir.core.errors import InputError, UsageError, worded
from adducir.core.files import writing_text
from adducir.core.json_lines import json_object
from adducir.corpora.tables import text_records
from adducir.tables.report.data import block
from adducir.tables.report.page import self_contained

FORMAT = "adducir ratings 1"
GRADES = "0=off the topic,1=related,2=answers in part,3=answers fully"
_QUESTION = "How well does the text answer the search?"
FACT = "fact"
"""The column of a sheet of nuggets, in the place of the query."""
_OF_FACTS = "0=not,1=in part,2=in full"
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Item:
    """What is rated at a time.

    Attributes:
        ids: What a choice is saved with, such as qid and docno; not shown.
        heading: Such as the query.
        about: Named texts below it, such as a narrative.
        text: What is rated.
        options: Texts to choose among, instead of the page's choices.
    """

    ids: Mapping[str, str]
    heading: str
    text: str = ""
    about: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class RatingPage:
    """Items, the question, and the choices for each: a value and a label."""

    title: str
    question: str
    choices: tuple[tuple[int, str], ...]
    items: Sequence[Item]
    column: str = "grade"
    is_judgement: bool = True

    @property
    def digest(self) -> str:
        text = json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def write(self, path: Path) -> None:
        items = []
        for item in self.items:
            content = asdict(item) | {"options": item.options or None}
            content["about"] = [(name, _shown(text)) for name, text in item.about]
            content |= {"heading": _shown(item.heading), "text": _shown(item.text)}
            items.append(content)
        data = {
            "format": FORMAT,
            "digest": self.digest,
            "stem": path.name.partition(".")[0],
            "title": self.title,
            "question": self.question,
            "column": self.column,
            "choices": [{"value": value, "label": label} for value, label in self.choices],
            "items": items,
        }
        forms = {"qrels": "TREC qrels"} if self.is_judgement else {}
        forms |= {"json": "JSON", "csv": "CSV"}
        page = self_contained("ratings", title=self.title, forms=forms, block=block(data))
        with writing_text(path) as file:
            file.write(page)


def _shown(text: str) -> str:
    """A text without what would change its direction or is invisible."""
    return _UNSEEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text.replace("\r\n", "\n"))


def parse_choices(text: str) -> tuple[tuple[int, str], ...]:
    """``0=no,1=yes`` as values with labels."""
    choices: dict[int, str] = {}
    for part in text.split(","):
        value, _, label = (piece.strip() for piece in part.partition("="))
        if not re.fullmatch(r"-?\d{1,4}", value) or int(value) in choices:
            raise UsageError(
                f"{worded('choices')}: {part.strip()!r} is not a new grade with its label.",
                hint=f"Write {GRADES}.",
            )
        choices[int(value)] = label
    most = 10 if all(0 <= value <= 9 for value in choices) else 9
    if not 2 <= len(choices) <= most:
        message = f"a page has 2 to {most} choices, not {len(choices)}."
        raise UsageError(f"{worded('choices')}: {message}")
    return tuple(choices.items())


def page_for(sheet: Path, choices: str | None, question: str | None, title: str) -> RatingPage:
    """The page for a sheet, a task or a table of answers."""
    rows = list(text_records(sheet))
    if not rows:
        raise InputError("it has no rows to rate.", path=sheet)
    header = rows[0][1].keys()
    options = [name for name in header if re.fullmatch(r"candidate_\d+", name)]
    is_judgement = {"qid", "docno", "text"} <= header
    if not is_judgement and ("item" not in header or not ("text" in header or options)):
        raise InputError(
            "this is not a sheet to rate: it has neither the columns qid, docno and text nor item "
            "and text.",
            path=sheet,
            line=1,
            hint="Draw one with adducir sample.",
        )
    column = "grade" if is_judgement else "choice" if options else "rating"
    shown = ("text", FACT, "query", "context", "grade", "choice", "rating", "rater", *options)
    about = ("description", "narrative")
    ids = [name for name in header if name not in (*shown, *about)]
    items, seen = list[Item](), dict[tuple[str, ...], int]()
    for line, row in rows:
        key = tuple(row[name] for name in ids)
        if (first := seen.setdefault(key, line)) != line:
            raise InputError(
                f"{' '.join(key)} is repeated from line {first}.", path=sheet, line=line
            )
        if is_judgement and re.search(r"\s", row["qid"] + row["docno"]):
            message = f"qrels cannot hold an id with a blank, {row['docno']!r}."
            raise InputError(message, path=sheet, line=line)
        named = tuple((name.capitalize(), row[name]) for name in about if row.get(name))
        heading = (
            row.get(FACT) or row.get("query") or row.get("context") or f"Item {len(items) + 1}"
        )
        texts = tuple(row[name] for name in options)
        items.append(
            Item({name: row[name] for name in ids}, heading, row.get("text", ""), named, texts)
        )
    asked = _QUESTION if is_judgement else "Which one fills the gap?" if options else ""
    usual = GRADES if is_judgement else "1,2,3,4,5"
    if FACT in header:
        asked, usual = "Does the text contain the fact?", _OF_FACTS
    if options and not choices:
        usual = ",".join(str(number + 1) for number in range(len(options)))
    return RatingPage(
        title,
        question or asked or "How good is this text?",
        parse_choices(choices or usual),
        items,
        column,
        is_judgement,
    )


def read_ratings(path: Path) -> tuple[str, list[tuple[str, str, int, int]]]:
    """Who judged, and (qid, docno, grade, characters) of the JSON that a page saved."""
    facts = json_object(path)
    try:
        rows = [
            (str(one["qid"]), str(one["docno"]), int(one["grade"]), int(one.get("characters", -1)))
            for one in facts["ratings"]
            if facts["format"] == FORMAT
        ]
        judge = str(facts["judge"])
    except (KeyError, TypeError, ValueError, AttributeError):
        rows = []
    if not rows:
        raise InputError(
            "this is not what a page of `adducir judge --by-hand` saves, or it has no grades.",
            path=path,
            hint="Save the choices as JSON on the page.",
        )
    return judge, rows
