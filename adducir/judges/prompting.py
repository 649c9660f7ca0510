"""Prompts: files with what is asked, the answers that are allowed, and how long a text may be.

About one document, ``graded`` (0 to 3) and ``binary`` are bundled: an answer must be one of those
allowed, whole ("I cannot grade this 3" is not a 3). About several, ``listwise`` and ``choice``, and
as published ``rankgpt`` and ``rankzephyr``. Texts are fenced by markers that they cannot contain;
only they are cut.
"""

import re
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from functools import partial
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import Field, ValidationInfo, field_validator, model_validator

from adducir.core.config import load, validate
from adducir.core.errors import UsageError, worded
from adducir.core.fingerprint import fingerprint
from adducir.core.recipe import Recipe
from adducir.core.texts import nearest
from adducir.judges.answers import fitted
from adducir.judges.exchange import Answer, Request

if TYPE_CHECKING:
    from adducir.judges.llm import Answerer

_HERE = Path(__file__).with_name("prompts")
_FENCE = re.compile(r"<(/?)\s*document\s*>", re.IGNORECASE)
_PLACES = re.compile(r"\{(query|description|narrative|text|num|rank|nuggets?)\}")
_BLANK_LINES = re.compile(r"\n{3,}")
_IDENTIFIER = re.compile(r"\[(\w{1,9})\]")
Messages = tuple[tuple[str, str], ...]


class AnyPrompt(Recipe):
    """What the file of every prompt has."""

    places: ClassVar[dict[str, tuple[str, ...]]] = {}  # what its texts must contain
    folder: ClassVar[str] = ""  # of the bundled ones

    kind: str
    """Distinguishes this file from others."""
    version: str
    """Raised when the wording changes."""
    system: str = ""
    """The system message; empty for none."""

    @field_validator("*")
    @classmethod
    def _has_places(cls, value: Any, info: ValidationInfo) -> Any:
        for place in cls.places.get(info.field_name or "", ()):
            if place not in value:
                raise ValueError(f"lacks the place {place}")
        return value

    @property
    def identity(self) -> str:
        return fingerprint(self.model_dump(mode="json"))

    @property
    def facts(self) -> dict[str, Any]:
        """For metadata."""
        return {"digest": self.identity, **self.model_dump(mode="json")}

    def spoken(self, *turns: tuple[str, str]) -> Messages:
        """Turns after the system's message."""
        return ((("system", self.system),) if self.system else ()) + turns


class Reading(NamedTuple):
    """A grade, if the answer is readable, how it ended, and the words that the text could have."""

    grade: int | None
    status: str
    answer: Answer
    words: int


Readings = Generator[Sequence[Request], Sequence[Answer], list[Reading]]


class Prompt(AnyPrompt):
    """The keys of a prompt's file."""

    places: ClassVar = {"user": ("{query}", "{text}")}

    kind: Literal["prompt"] = "prompt"
    user: str
    """The user's message, with the places {query}, {description}, {narrative} and {text}."""
    answers: dict[str, int]
    """The grade of each answer that is allowed."""
    words: int = Field(300, ge=1)
    """The longest text, in words; longer ones are cut there, and counted."""

    @field_validator("answers")
    @classmethod
    def _are_distinct(cls, value: dict[str, int]) -> dict[str, int]:
        if len(value) < 2 or any(text != text.strip() or not text for text in value):
            raise ValueError("must be at least two texts without blanks around them")
        return value

    def messages(self, topic: Mapping[str, str], text: str, words: int | None = None) -> Messages:
        """The messages for a topic (query, description, narrative) and a text, cut if longer."""
        cut = cut_text(text, words or self.words)
        user = _filled(self.user, {**topic, "text": _FENCE.sub(r"(\1document)", cut)})
        return self.spoken(("user", _BLANK_LINES.sub("\n\n", user)))

    def grade(self, answer: str) -> int | None:
        """The grade of an answer that is, whole, one of those allowed; quotes are JSON's."""
        return self.answers.get(answer.strip().strip('"'))

    def read(self, answer: Answer) -> tuple[int | None, str]:
        """The grade of an answer, None without a readable one, and how it ended."""
        if answer.status not in ("ok", "cut"):
            return None, answer.status
        grade = self.grade(answer.text)
        return grade, "unparsed" if grade is None else "ok"

    def grades(
        self,
        model: "Answerer",
        rows: Sequence[tuple[Mapping[str, str], str]],
        statuses: Counter[str],
        repeat: int = 0,
    ) -> Readings:
        """Ask for the grade of each topic and text; counts how answers ended."""
        numbers = all(text == str(grade) for text, grade in self.answers.items())
        limited = one_of(list(self.answers.values() if numbers else self.answers), model)

        def request(topic: Mapping[str, str], text: str, words: int) -> Request:
            return Request(self.messages(topic, text, words), limited, repeat)

        builders = [partial(request, *row) for row in rows]
        answers = yield from fitted(builders, self.words, statuses)
        readings = [Reading(*self.read(answer), answer, words) for answer, words in answers]
        statuses.update(reading.status for reading in readings)
        return readings


class ListPrompt(AnyPrompt):
    """The keys of a prompt about several passages; rank_llm's templates are read as well."""

    places: ClassVar = {"passage": ("{rank}", "{text}")}
    folder: ClassVar[str] = "lists"

    kind: Literal["list-prompt"] = "list-prompt"
    before: str
    """What is said first, with the places {query} and {num}."""
    passage: str
    """Each passage, with the places {rank} and {text}."""
    after: str
    """What is said last."""
    ready: str | None = None
    """The model's reply to ``before``: with it, each passage is a turn of its own."""
    received: str = "Received."
    """The model's reply to a passage, with the place {rank}."""
    words: int = Field(300, ge=1)
    """The longest text, in words; longer ones are cut there, and counted."""

    @model_validator(mode="before")
    @classmethod
    def _of_rank_llm(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or "method" not in data:
            return data
        if data["method"] not in ("singleturn_listwise", "multiturn_listwise"):
            raise ValueError(f"rank_llm's method {data['method']} is not listwise")
        names = {new: key for key, new in _RANK_LLM.items() if key in data}
        values = {
            new: str(data[key]).replace("{candidate}", "{text}") for new, key in names.items()
        }
        others = {key: data[key] for key in data if key not in _RANK_LLM and key not in _UNUSED}
        return {"version": "rank_llm", **values, **others}

    def messages(
        self, query: str, texts: Sequence[str], labels: Sequence[str], words: int | None = None
    ) -> Messages:
        """The messages for a query and labelled texts, cut if longer."""
        cuts = [cut_text(text, words or self.words) for text in texts]
        values = {"query": _unlabelled(query), "num": str(len(texts))}
        before, after = _filled(self.before, values), _filled(self.after, values)
        passages = [
            (label, _filled(self.passage, {"rank": label, "text": _unlabelled(text)}))
            for label, text in zip(labels, cuts, strict=True)
        ]
        if self.ready is None:
            # As in rank_llm, a file's line breaks are the prompt's.
            return self.spoken(("user", "".join([before, *(text for _, text in passages), after])))
        turns = [("user", before), ("assistant", self.ready)]
        for label, text in passages:
            turns += [("user", text), ("assistant", _filled(self.received, {"rank": label}))]
        return self.spoken(*turns, ("user", after))


class NuggetPrompt(AnyPrompt):
    """The keys of a prompt that lists nuggets of several texts."""

    kind: Literal["nugget-prompt"] = "nugget-prompt"
    user: str
    """The user's message, with the places {query}, {text} and {nuggets}."""
    words: int = Field(300, ge=1)
    """The longest text, in words; longer ones are cut there."""

    def messages(
        self, topic: Mapping[str, str], texts: Sequence[str], nuggets: str, words: int
    ) -> Messages:
        """The messages for a topic, texts and the nuggets so far, as JSON."""
        cuts = (_FENCE.sub(r"(\1document)", cut_text(text, words)) for text in texts)
        fenced = "\n\n".join(f"<document>\n{text}\n</document>" for text in cuts)
        user = _filled(self.user, {**topic, "text": fenced, "nuggets": nuggets})
        return self.spoken(("user", _BLANK_LINES.sub("\n\n", user)))


class QueryPrompt(AnyPrompt):
    """The keys of a prompt about a query alone."""

    places: ClassVar = {"user": ("{query}",)}
    folder: ClassVar[str] = "queries"

    kind: Literal["query-prompt"] = "query-prompt"
    user: str
    """The user's message, with the place {query}; examples may stand before it."""

    def messages(self, query: str) -> Messages:
        return self.spoken(("user", self.user.replace("{query}", query)))


_RANK_LLM = {
    "system_message": "system",
    "prefix": "before",
    "prefix_user": "before",
    "body": "passage",
    "body_user": "passage",
    "suffix": "after",
    "suffix_user": "after",
    "prefix_assistant": "ready",
    "body_assistant": "received",
}
_UNUSED = ("method", "output_validation_regex", "output_extraction_regex")


def cut_text(text: str, words: int) -> str:
    """A text, or the first words of a longer one."""
    split = text.split()
    return " ".join(split[:words]) if len(split) > words else text


def _unlabelled(text: str) -> str:
    """A text on one line that does not contain a passage's identifier."""
    return _IDENTIFIER.sub(r"(\1)", " ".join(text.split()))


def _filled(template: str, values: Mapping[str, str]) -> str:
    def value(place: re.Match[str]) -> str:
        optional = place[1] in ("description", "narrative")
        return values.get(place[1], "" if optional else place[0])

    return _PLACES.sub(value, template)


def one_of(answers: Sequence[Any], model: "Answerer") -> dict[str, Any]:
    """The parameters that ask for one of these answers, if the model takes them."""
    if not model.constrains:
        return {}
    schema = {"name": "answer", "strict": True, "schema": {"enum": [*answers]}}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def masses(grades: Mapping[str, int], top: Mapping[str, float]) -> dict[int, float]:
    """The probability of each grade's answers among a first token's spellings."""
    folded = {answer.lower(): grade for answer, grade in grades.items()}
    sums = dict[int, float]()
    for spelling, value in top.items():
        grade = folded.get(spelling.strip(" \n\t▁Ġ").lower())
        if grade is not None:
            sums[grade] = sums.get(grade, 0.0) + exp(value)
    return sums


def refuse_empty_queries(queries: Mapping[str, str]) -> None:
    """Refuse a topic, by qid, without a query: a model would answer all the same."""
    for qid, query in queries.items():
        if not query.strip():
            topic = f"topic {qid} has no query" if qid else "a query is empty"
            raise UsageError(
                f"{topic}, so that a model's answers about it mean nothing.",
                hint="Leave it out of the topics, or name the field to read: "
                f"{worded('query_field')}.",
            )


P = TypeVar("P", bound=AnyPrompt)


def open_prompt(source: str, kind: type[P], folder: Path | None = None) -> P:
    """A bundled prompt by name, or a file."""
    inside = _HERE / kind.folder
    bundled = sorted(path.stem for path in inside.glob("*.yaml"))
    if source in bundled:
        return validate(load(inside / f"{source}.yaml"), kind)
    path = (folder or Path()) / source
    if not path.is_file():
        raise UsageError(
            f"{source!r} is neither a prompt's file nor one of the bundled prompts"
            f"{nearest(source, bundled) or '.'}",
            hint=f"Bundled are {', '.join(bundled)}.",
        )
    return validate(load(path), kind)
