"""Questions whose answer needs several passages, and the sets of passages selected for them.

Both are JSONL, gzipped if the name ends in ``.gz``. One question per line; passages are numbered
from 0 in list order, and ``gold``, ``sets`` and ``missing`` are optional::

    {"id": "5a71", "question": "Who ...?",
     "passages": [{"id": "Kansas_Song", "title": "Kansas Song", "text": "..."}, ...],
     "gold": [[0, 3]], "sets": [{"members": [0, 3], "label": true}, ...], "missing": [0]}

A selected set has ids of the question's passages, in order of selection::

    {"id": "5a71", "chosen": ["Kansas_Song", "University_of_Kansas"], "score": 2.31}
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields, replace
from itertools import chain, combinations
from math import comb
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StrictInt
from pydantic.dataclasses import dataclass

from adducir.corpora.records import Id, all_different, parsed_as, read_records, write_records

NEGATIVES = 8
_SHAPE = ConfigDict(extra="forbid", allow_inf_nan=False)
Members = Annotated[tuple[StrictInt, ...], AfterValidator(all_different)]


@dataclass(frozen=True, slots=True, config=_SHAPE)
class EvidencePassage:
    """A candidate: its id (unique in its question), title (or ``""``) and text."""

    id: Id
    title: str
    text: str

    @property
    def titled(self) -> str:
        """The text that models read: its title, a full stop, its text."""
        return f"{self.title}. {self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True, config=_SHAPE)
class LabelledSet:
    """Passages of a question, by number, and whether together they are a gold set."""

    members: Annotated[Members, Field(min_length=1)]
    label: StrictBool


@dataclass(frozen=True, slots=True, config=_SHAPE)
class EvidenceQuestion:
    """A question, the passages to select from, and what is known about sets of their numbers.

    ``missing`` is, per gold set, how many of its members are not in ``passages``. Such a set cannot
    be found, but F1 counts its full size.
    """

    id: Id
    question: str
    passages: tuple[EvidencePassage, ...]
    gold: tuple[Members, ...] = ()
    sets: tuple[LabelledSet, ...] = ()
    missing: tuple[Annotated[StrictInt, Field(ge=0)], ...] = ()

    def __post_init__(self) -> None:
        all_different(tuple(passage.id for passage in self.passages))
        for members in chain(self.gold, (labelled.members for labelled in self.sets)):
            outside = [number for number in members if not 0 <= number < len(self.passages)]
            if outside:
                raise ValueError(f"the passage {outside[0]} is not one of {len(self.passages)}")
        if self.missing and len(self.missing) != len(self.gold):
            raise ValueError("`missing` must have a number per gold set")
        if not all(len(gold) + lacks for gold, lacks in self._counted):
            raise ValueError("a gold set is empty")

    @property
    def _counted(self) -> Iterator[tuple[tuple[int, ...], int]]:
        return zip(self.gold, self.missing or (0,) * len(self.gold), strict=True)

    @property
    def relevant(self) -> frozenset[int]:
        """The passages of any gold set: P+ of Mou et al. (2020), section 2.1."""
        return frozenset(chain.from_iterable(self.gold))

    @property
    def gold_ids(self) -> tuple[frozenset[str], ...]:
        """The gold sets as passage ids; missing members have ids that no passage can have."""
        return tuple(
            frozenset(self.passages[number].id for number in members)
            | {f"missing {count}" for count in range(lacks)}
            for members, lacks in self._counted
        )

    def with_sets(self, *, negatives: int = NEGATIVES, seed: int = 0) -> "EvidenceQuestion":
        """The question with labelled sets to train on; unchanged if no gold set is known.

        Negative sets have as many members as the first gold set, including missing ones.
        """
        if not self.gold:
            return self
        whole = [members for members, lacks in self._counted if not lacks]
        size, draw = len(self.gold_ids[0]), drawing(seed, "sets", self.id)
        sets = sample_sets(len(self.passages), whole, draw, size=size, negatives=negatives)
        return replace(self, sets=sets)


@dataclass(frozen=True, slots=True, config=_SHAPE)
class SelectedSet:
    """The passages selected for a question, in the order of selection, and the set's score."""

    id: Annotated[str, Field(min_length=1)]
    chosen: Annotated[tuple[str, ...], AfterValidator(all_different)]
    score: float | None = None


def read_questions(*paths: Path) -> Iterator[EvidenceQuestion]:
    """The questions of files, in order; ids are unique within a file."""
    for path in paths:
        yield from read_records(path, parsed_as(EvidenceQuestion))


def write_questions(questions: Iterable[EvidenceQuestion], path: Path) -> int:
    def record_of(question: EvidenceQuestion) -> dict[str, Any]:
        record = {item.name: getattr(question, item.name) for item in fields(question)}
        record["gold"] = [sorted(members) for members in question.gold]
        return {key: value for key, value in record.items() if value or key != "missing"}

    return write_records(questions, path, record_of)


def read_selected(path: Path) -> Iterator[SelectedSet]:
    hint = 'A line has the form {"id": "q1", "chosen": ["p3", "p7"], "score": 1.5}.'
    return read_records(path, parsed_as(SelectedSet), hint)


def write_selected(sets: Iterable[SelectedSet], path: Path) -> int:
    return write_records(
        sets, path, lambda selected: {k: v for k, v in asdict(selected).items() if v is not None}
    )


def drawing(seed: int, purpose: str, name: str) -> random.Random:
    """A random generator for one purpose, so that other draws do not affect it."""
    return random.Random(f"{seed}:{purpose}:{name}")  # noqa: S311  (no secret)


def sample_sets(
    passages: int,
    gold: Sequence[Iterable[int]],
    draw: random.Random,
    *,
    size: int = 2,
    negatives: int = NEGATIVES,
) -> tuple[LabelledSet, ...]:
    """The gold sets and sampled negative ones, in this order, members ascending.

    Mou et al. (2020), appendix B: a pair of one gold and one other passage is negative. So
    distinct negatives are drawn from all sets that contain a passage that is not gold.
    """
    relevant = frozenset[int]().union(*gold)
    possible = comb(passages, size) - comb(len(relevant), size)
    if possible <= 4 * negatives:
        candidates = [m for m in combinations(range(passages), size) if not relevant.issuperset(m)]
        drawn = draw.sample(candidates, min(negatives, possible))
    else:
        sampled: dict[tuple[int, ...], None] = {}
        while len(sampled) < negatives:
            members = tuple(sorted(draw.sample(range(passages), size)))
            if not relevant.issuperset(members):
                sampled[members] = None
        drawn = list(sampled)
    positives = [LabelledSet(tuple(sorted(members)), True) for members in gold]
    return (*positives, *(LabelledSet(members, False) for members in drawn))
