"""Nuggets: facts that an answer should contain, whether texts contain them, and the scores of it.

A model lists the nuggets of a topic from retrieved texts, a few texts at a time (nuggetizer's way;
Pradeep et al., 2025), says which are vital, and whether a text supports each of them. Each of these
is asked for alone, so that an answer is one of those allowed, whole. What is unreadable, refused or
failed is counted: a nugget whose assignment failed leaves a text's score, where nuggetizer counts
it as not supported; a nugget without a readable importance is not vital.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator
from pydantic.dataclasses import dataclass

from adducir.core.errors import UsageError
from adducir.judges.answers import Talk, fitted
from adducir.judges.exchange import EMPTY, Request
from adducir.judges.llm import Answerer
from adducir.judges.prompting import NuggetPrompt, Prompt, open_prompt

PROMPTS = Path(__file__).with_name("prompts") / "nuggets"
"""create.yaml, importance.yaml and assign.yaml."""
VITAL: Literal["vital"] = "vital"
OKAY: Literal["okay"] = "okay"
FAILED: Literal["failed"] = "failed"
Support = Literal["not_support", "partial_support", "support"]
ASSIGNMENTS: tuple[Support, ...] = ("not_support", "partial_support", "support")
SCORES = {
    "strict_vital_score": (True, (0.0, 0.0, 1.0)),
    "strict_all_score": (False, (0.0, 0.0, 1.0)),
    "vital_score": (True, (0.0, 0.5, 1.0)),
    "all_score": (False, (0.0, 0.5, 1.0)),
    "coverage": (False, (0.0, 1.0, 1.0)),
}
"""nuggetizer's four, and the share of nuggets with at least partial support (AutoJudge): whether
only vital nuggets count, and what each assignment does."""


Importance = Annotated[
    Literal["vital", "okay", "failed"],  # without one, nothing says that a nugget is not vital
    BeforeValidator(lambda stated: VITAL if stated is None else str(stated).lower()),
]


@dataclass(frozen=True)
class Nugget:
    """A fact, its importance, and perhaps whether a text contains it."""

    text: str
    importance: Importance = VITAL
    assignment: Literal[Support, "", "failed"] = ""


@dataclass(frozen=True)
class Bank:
    """The nuggets of a topic."""

    qid: str
    query: str
    nuggets: tuple[Nugget, ...]


@dataclass(frozen=True)
class Assigned:
    """The nuggets of a topic as a text has them: a system's answer, or a document."""

    qid: str
    query: str
    text: str
    nuggets: tuple[Nugget, ...]
    system: str = ""
    docno: str = ""

    @property
    def name(self) -> str:
        return f"document {self.docno}" if self.docno else self.system


def parsed_nuggets(answer: str, most: int) -> list[str] | None:
    """The nuggets of an answer that is, whole, a JSON array of texts; None if it is not."""
    try:
        listed = json.loads(answer.strip())
    except ValueError:
        return None
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        return None
    return [*dict.fromkeys(text for one in listed if (text := " ".join(one.split())))][:most]


@plain_dataclass(frozen=True)
class NuggetWriter:
    """Asks a model for the nuggets of topics.

    Attributes:
        model: Who is asked.
        folder: Has create.yaml and importance.yaml.
        window: How many texts are looked at together.
        most: How many nuggets a topic has, at most.
    """

    model: Answerer
    folder: Path = PROMPTS
    window: int = 5
    most: int = 30

    @cached_property
    def lists(self) -> NuggetPrompt:
        return open_prompt("create.yaml", NuggetPrompt, self.folder)

    @cached_property
    def importance(self) -> Prompt:
        return open_prompt("importance.yaml", Prompt, self.folder)

    def talk(
        self, qid: str, topic: Mapping[str, str], texts: Sequence[str], statuses: Counter[str]
    ) -> Talk:
        """List the nuggets of a topic from its best texts, and say which are vital: a bank.

        ``topic`` has ``query``, ``description`` and ``narrative``; ``statuses`` counts how answers
        ended.
        """
        nuggets = list[str]()
        if empty := sum(not text.strip() for text in texts):
            statuses[EMPTY] += empty
        for window in self._windows(texts):
            builder = partial(self._listing, topic, window, nuggets)
            ((answer, _),) = yield from fitted([builder], self.lists.words, statuses)
            new = parsed_nuggets(answer.text, self.most) if answer.status == "ok" else None
            statuses["unparsed" if new is None and answer.status == "ok" else answer.status] += 1
            nuggets = nuggets if new is None else new
        rows = [(topic, nugget) for nugget in nuggets]
        readings = yield from self.importance.grades(self.model, rows, statuses)
        named: dict[int | None, Importance] = {1: VITAL, 0: OKAY, None: FAILED}
        weighed = zip(nuggets, readings, strict=True)
        listed = tuple(Nugget(nugget, named[reading.grade]) for nugget, reading in weighed)
        return Bank(qid, topic["query"], listed)

    def bound(self, topic: Mapping[str, str], texts: Sequence[str]) -> list[Request]:
        """As many requests as a topic takes at most, of about their lengths."""
        longest = [f"{number} " + "fact " * 11 for number in range(self.most)]
        windows, words = self._windows(texts), self.importance.words
        listings = [self._listing(topic, some, longest, self.lists.words) for some in windows]
        weighings = [Request(self.importance.messages(topic, text, words)) for text in longest]
        return listings + weighings

    def _listing(
        self, topic: Mapping[str, str], texts: Sequence[str], nuggets: Sequence[str], words: int
    ) -> Request:
        shown = json.dumps(list(nuggets), ensure_ascii=False)
        return Request(self.lists.messages(topic, texts, shown, words))

    def _windows(self, texts: Sequence[str]) -> list[Sequence[str]]:
        some = [*filter(str.strip, texts)]
        return [some[at : at + self.window] for at in range(0, len(some), self.window)]


def assigning(item: Assigned, model: Answerer, prompt: Prompt, statuses: Counter[str]) -> Talk:
    """Say which of its nuggets a text contains: the item, with assignments."""
    grades: list[int | None] = [0] * len(item.nuggets)
    if item.text.strip():
        rows = [({"query": item.query, "nugget": one.text}, item.text) for one in item.nuggets]
        readings = yield from prompt.grades(model, rows, statuses)
        grades = [reading.grade for reading in readings]
    else:
        statuses[EMPTY] += 1
    assigned = [
        replace(nugget, assignment=FAILED if grade is None else ASSIGNMENTS[grade])
        for nugget, grade in zip(item.nuggets, grades, strict=True)
    ]
    return replace(item, nuggets=tuple(assigned))


def nugget_scores(nuggets: Sequence[Nugget]) -> dict[str, float] | None:
    """The scores of :data:`SCORES`; None if no assignment is readable, or no vital nugget's."""
    known = [nugget for nugget in nuggets if nugget.assignment != FAILED]
    vital = [nugget for nugget in known if nugget.importance == VITAL]
    if not vital:
        return None
    values = dict[str, float]()
    for measure, (of_vital, credit) in SCORES.items():
        counted = vital if of_vital else known
        said = (ASSIGNMENTS.index(nugget.assignment) for nugget in counted)
        values[measure] = sum(credit[number] for number in said) / len(counted)
    return values


def of_documents(documents: Sequence[Sequence[Nugget]]) -> tuple[Nugget, ...]:
    """The nuggets of a topic as a ranking's documents have them together.

    The best assignment of any document counts; where none supports a nugget in full and one failed,
    it is not known.
    """
    merged = []
    for column in zip(*documents, strict=True):
        said = [nugget.assignment for nugget in column]
        best = max(said, key=lambda one: ASSIGNMENTS.index(one) if one != FAILED else -1)
        if best != ASSIGNMENTS[-1] and FAILED in said:
            best = FAILED
        merged.append(Nugget(column[0].text, column[0].importance, best))
    return tuple(merged)


def scored(
    systems: Mapping[str, Mapping[str, Sequence[Nugget]]], banks: Mapping[str, Sequence[Nugget]]
) -> tuple[list[tuple[str, str, str, float]], list[str], int]:
    """System, qid, measure and value of each; topics left out; and failed assignments.

    A topic that a system did not answer counts 0. Left out is a topic without a readable assignment
    of a vital nugget in any system: its vital scores are undefined.

    Args:
        systems: Assigned nuggets by system and qid.
        banks: Nuggets of all topics.
    """
    if not any(systems.values()):
        raise UsageError("there are no assignments to score.")
    values: dict[tuple[str, str], dict[str, float] | None] = {}
    failed = 0
    for system, by_topic in systems.items():
        for qid, nuggets in banks.items():
            mine = by_topic.get(qid)
            if mine is None:
                mine = [Nugget(one.text, one.importance, ASSIGNMENTS[0]) for one in nuggets]
            failed += sum(nugget.assignment == FAILED for nugget in mine)
            values[system, qid] = nugget_scores(mine)
    left_out = [qid for qid in banks if any(values[system, qid] is None for system in systems)]
    rows = [
        (system, qid, measure, value)
        for (system, qid), scores in values.items()
        if scores is not None and qid not in left_out
        for measure, value in scores.items()
    ]
    return rows, left_out, failed
