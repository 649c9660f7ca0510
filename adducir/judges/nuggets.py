"""Nuggets: facts that an answer should contain, whether texts contain them, and the scores of it.

A model lists the nuggets of a topic from retrieved texts, a few texts at a time (nuggetizer's way;
Pradeep et al., 2025), says which are vital, and whether a text supports each of them. Each of these
is asked for alone, so that an answer is one of those allowed, whole. What is unreadable, refused or
failed is counted: a nugget whose assignment failed leaves a text's score, where nuggetizer counts
it as not supported; a nugget without a readable importance is not vital.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from adducir.core.errors import UsageError
from adducir.judges.answers import AnswerCache, Asked, Talk, converse, fitted
from adducir.judges.exchange import EMPTY, Request
from adducir.judges.llm import Answerer
from adducir.judges.prompting import NuggetPrompt, Prompt, open_prompt

PROMPTS = Path(__file__).with_name("prompts") / "nuggets"
"""create.yaml, importance.yaml and assign.yaml."""
VITAL, OKAY, FAILED = "vital", "okay", "failed"
ASSIGNMENTS = ("not_support", "partial_support", "support")
SCORES = {
    "strict_vital_score": (True, (0.0, 0.0, 1.0)),
    "strict_all_score": (False, (0.0, 0.0, 1.0)),
    "vital_score": (True, (0.0, 0.5, 1.0)),
    "all_score": (False, (0.0, 0.5, 1.0)),
    "coverage": (False, (0.0, 1.0, 1.0)),
}
"""nuggetizer's four, and the share of nuggets with at least partial support (AutoJudge): whether
only vital nuggets count, and what each assignment does."""


@dataclass(frozen=True)
class Nugget:
    """A fact, its importance (vital, okay, failed), and perhaps whether a text contains it."""

    text: str
    importance: str
    assignment: str = ""


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


def parsed_nuggets(answer: str, most: int) -> list[str] | None:
    """The nuggets of an answer that is, whole, a JSON array of texts; None if it is not."""
    try:
        listed = json.loads(answer.strip())
    except ValueError:
        return None
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        return None
    return [*dict.fromkeys(text for one in listed if (text := " ".join(one.split())))][:most]


@dataclass(frozen=True)
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

    def listing(
        self, topic: Mapping[str, str], texts: Sequence[str], nuggets: Sequence[str], words: int
    ) -> Request:
        shown = json.dumps(list(nuggets), ensure_ascii=False)
        return Request(self.lists.messages(topic, texts, shown, words))

    def weighing(self, topic: Mapping[str, str], nugget: str, words: int) -> Request:
        messages = self.importance.messages(topic, nugget, words)
        return Request(messages, self.importance.constraint(self.model))

    def windows(self, texts: Sequence[str]) -> list[Sequence[str]]:
        some = [*filter(str.strip, texts)]
        return [some[at : at + self.window] for at in range(0, len(some), self.window)]

    def most_requests(
        self, topics: Mapping[str, Mapping[str, str]], texts: Mapping[str, Sequence[str]]
    ) -> list[Request]:
        """As many requests as creating nuggets takes at most, of about their lengths."""
        longest = [f"{number} " + "fact " * 11 for number in range(self.most)]
        words, weighed = self.lists.words, self.importance.words
        listings = [
            self.listing(topics[qid], window, longest, words)
            for qid, some in texts.items()
            for window in self.windows(some)
        ]
        weighings = [self.weighing(topics[qid], one, weighed) for qid in texts for one in longest]
        return listings + weighings

    def create(
        self,
        topics: Mapping[str, Mapping[str, str]],
        texts: Mapping[str, Sequence[str]],
        cache: AnswerCache,
        **asking: Any,
    ) -> tuple[list[Bank], Counter[str], Asked]:
        """List the nuggets of each topic, and say which are vital.

        Args:
            topics: ``query``, ``description`` and ``narrative`` by qid.
            texts: The texts to look at by qid, the best first.
            cache: Where answers are kept.
            asking: As of :func:`adducir.judges.answers.converse`.

        Returns:
            The banks, how often answers had each status, and what it took.
        """
        statuses = Counter[str]()
        talks = [self._talk(topics[qid], texts[qid], statuses) for qid in texts]
        results, record = converse(self.model, talks, cache, **asking)
        banks = [
            Bank(qid, topics[qid]["query"], nuggets)
            for qid, nuggets in zip(texts, results, strict=True)
        ]
        return banks, statuses, record

    def _talk(self, topic: Mapping[str, str], texts: Sequence[str], statuses: Counter[str]) -> Talk:
        nuggets = list[str]()
        if empty := sum(not text.strip() for text in texts):
            statuses[EMPTY] += empty
        for window in self.windows(texts):
            builder = partial(self.listing, topic, window, nuggets)
            ((answer, _),) = yield from fitted([builder], self.lists.words, statuses)
            new = parsed_nuggets(answer.text, self.most) if answer.status == "ok" else None
            statuses["unparsed" if new is None and answer.status == "ok" else answer.status] += 1
            nuggets = nuggets if new is None else new
        builders = [partial(self.weighing, topic, nugget) for nugget in nuggets]
        answers = yield from fitted(builders, self.importance.words, statuses)
        weighed = list[Nugget]()
        for nugget, (answer, _) in zip(nuggets, answers, strict=True):
            grade, status = self.importance.read(answer)
            statuses[status] += 1
            weighed.append(Nugget(nugget, {1: VITAL, 0: OKAY, None: FAILED}[grade]))
        return tuple(weighed)


def assignment_requests(
    item: Assigned, model: Answerer, prompt: Prompt
) -> list[Callable[[int], Request]]:
    """What makes the request for each nugget of a text, given a number of words."""

    def asked(nugget: str, words: int) -> Request:
        topic = {"query": item.query, "nugget": nugget}
        return Request(prompt.messages(topic, item.text, words), prompt.constraint(model))

    return [partial(asked, nugget.text) for nugget in item.nuggets]


def assign_nuggets(
    items: Sequence[Assigned],
    model: Answerer,
    prompt: Prompt,
    cache: AnswerCache,
    **asking: Any,
) -> tuple[list[Assigned], Counter[str], Asked]:
    """Say of each text which of its nuggets it contains; see :meth:`NuggetWriter.create`."""
    statuses = Counter[str]()

    def talk(item: Assigned) -> Talk:
        if not item.text.strip():
            statuses[EMPTY] += 1
            absent = [replace(nugget, assignment=ASSIGNMENTS[0]) for nugget in item.nuggets]
            return replace(item, nuggets=tuple(absent))
        builders = assignment_requests(item, model, prompt)
        answers = yield from fitted(builders, prompt.words, statuses)
        nuggets = []
        for nugget, (answer, _) in zip(item.nuggets, answers, strict=True):
            grade, status = prompt.read(answer)
            statuses[status] += 1
            said = FAILED if grade is None else ASSIGNMENTS[grade]
            nuggets.append(replace(nugget, assignment=said))
        return replace(item, nuggets=tuple(nuggets))

    results, record = converse(model, [talk(item) for item in items], cache, **asking)
    return results, statuses, record


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
