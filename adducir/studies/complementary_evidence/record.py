"""The one shape of a question with its passages, its gold sets and the sets to train on."""

from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from adducir.core.errors import UsageError
from adducir.core.texts import repeated


class Passage(NamedTuple):
    """One candidate: its id (no white space, unique in its question), title (or ``""``), text."""

    id: str
    title: str
    text: str


class LabelledSet(NamedTuple):
    """Passages of a question, by number, and whether they are a gold set together."""

    members: tuple[int, ...]
    label: bool


@dataclass(frozen=True, slots=True)
class EvidenceQuestion:
    """A question, the passages to choose from, and what is known about sets of them.

    Attributes:
        id: Names the question; no white space.
        question: Its text.
        passages: The candidates, numbered from 0.
        gold: The gold sets, as numbers of passages; empty where none is known.
        sets: The sets to train on, with their labels.
        missing: For each gold set how many of its members ``passages`` lack (a pool that retrieval
            made may lack some); empty for none at all. A gold set that lacks a member cannot be
            found, and its size for recall and F1 is ``len(gold[i]) + missing[i]``.
    """

    id: str
    question: str
    passages: tuple[Passage, ...]
    gold: tuple[frozenset[int], ...] = ()
    sets: tuple[LabelledSet, ...] = ()
    missing: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        what = self._error()
        if what is not None:
            raise UsageError(f"question {self.id!r}: {what}")

    @property
    def relevant(self) -> frozenset[int]:
        """The passages of any gold set: P+ of Mou et al. (2020), section 2.1."""
        return frozenset(chain.from_iterable(self.gold))

    @property
    def complete(self) -> tuple[frozenset[int], ...]:
        """The gold sets of which no member is missing."""
        if not self.missing:
            return self.gold
        return tuple(g for g, lacks in zip(self.gold, self.missing, strict=True) if not lacks)

    @property
    def gold_ids(self) -> tuple[frozenset[str], ...]:
        """The gold sets as passages' ids, for measures of selected sets.

        Members that are missing have made-up names, which no passage can have, so that recall
        and F1 count them.
        """
        lacks = self.missing or (0,) * len(self.gold)
        return tuple(
            frozenset(self.passages[number].id for number in members)
            | {f"missing {count}" for count in range(lacking)}
            for members, lacking in zip(self.gold, lacks, strict=True)
        )

    def _error(self) -> str | None:
        """What is wrong, or None."""
        names = [self.id, *(passage.id for passage in self.passages)]
        bad = next((name for name in names if name.split() != [name] or "\0" in name), None)
        if bad is not None:
            return f"an id must be text without white space, not {bad!r}."
        if len(set(names[1:])) < len(self.passages):
            return f"two passages have the id {repeated(names[1:])[0]!r}."
        for members in chain(self.gold, (one.members for one in self.sets)):
            outside = [number for number in members if not 0 <= number < len(self.passages)]
            if outside:
                return f"a set holds passage {outside[0]}, but there are {len(self.passages)}."
            if len(set(members)) < len(members):
                return f"the set {list(members)} holds a passage twice."
        if any(not one.members for one in self.sets):
            return "a labelled set is empty."
        return self._fault_of_missing()

    def _fault_of_missing(self) -> str | None:
        if self.missing and len(self.missing) != len(self.gold):
            return f"{len(self.gold)} gold sets, but {len(self.missing)} counts of what is missing."
        lacks = self.missing or (0,) * len(self.gold)
        if any(count < 0 for count in lacks):
            return "a count of missing passages is negative."
        if any(not gold and not count for gold, count in zip(self.gold, lacks, strict=True)):
            return "a gold set is empty."
        return None
