"""How often the gold item was chosen, and how far judges agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from adducir.statistics.agreement.ratings import Flags, make_ratings
from adducir.statistics.agreement.summary import Agreement, Drawing, agreement_of
from adducir.studies.literary_evidence.proxy.choices import Choices
from adducir.studies.literary_evidence.proxy.files import Key

MAJORITY = "majority"
CHANCE = "chance"


@dataclass(frozen=True)
class Accuracy:
    """How often the gold item was chosen.

    Attributes:
        name: The judge or the model.
        answered: Items with a choice.
        right: Those of them where it is the gold item.
        low: Lower end of Wilson's interval.
        high: Its upper end; both NaN without an answer.
    """

    name: str
    answered: int
    right: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Right of answered; NaN without an answer."""
        return self.right / self.answered if self.answered else float("nan")


def accuracy(
    choices: Choices, key: Key, *, group: str | None = None, level: float = 0.95
) -> Accuracy:
    """The accuracy of one judge or model.

    Raises:
        UsageError: ``level`` is not between 0 and 1.
    """
    among = _among(key, group)
    answered = int((choices.chosen[among] > 0).sum())
    right = int(_right(choices, key)[among].sum())
    return Accuracy(choices.name, answered, right, *_wilson(right, answered, level))


def _wilson(successes: int, trials: int, level: float) -> tuple[float, float]:
    """Wilson's (1927) score interval of a share; NaN without a trial."""
    from scipy.stats import binomtest

    if trials == 0:
        return nan, nan
    low, high = binomtest(successes, trials).proportion_ci(level, method="wilson")
    return float(low), float(high)


def majority(judges: Sequence[Choices]) -> Choices:
    """What more than half of an item's answers chose; an item without such an option has 0.

    The study of literary evidence counts an item as right where at least two of its three judges
    chose the gold item. To count items without a majority as wrong, take :func:`majority_accuracy`.
    """
    chosen = np.stack([one.chosen for one in judges])
    answers = (chosen > 0).sum(axis=0)
    result = np.zeros(chosen.shape[1], dtype=np.int64)
    for number in range(1, int(chosen.max(initial=0)) + 1):
        result[2 * (chosen == number).sum(axis=0) > answers] = number
    return Choices(MAJORITY, np.where(answers > 0, result, 0))


def majority_accuracy(
    judges: Sequence[Choices], key: Key, *, group: str | None = None, level: float = 0.95
) -> Accuracy:
    """How often more than half of an item's answers are the gold item, of all items with an answer.

    Raises:
        UsageError: ``level`` is not between 0 and 1.
    """
    among = _among(key, group)
    answered = np.asarray((np.stack([one.chosen for one in judges]) > 0).any(axis=0))
    right = int(_right(majority(judges), key)[among].sum())
    number = int(answered[among].sum())
    return Accuracy(MAJORITY, number, right, *_wilson(right, number, level))


def judges_agreement(
    judges: Sequence[Choices], key: Key, drawing: Drawing | None = None
) -> Agreement:
    """How far judges agree, an option's number taken as its category, as the study does.

    Candidates are other ones on every item and are shuffled, so the numbers mean nothing by
    themselves; the free-marginal kappa fits that best.

    Raises:
        UsageError: No judge, or a wrong number in ``drawing``.
    """
    items = list(key.answers)
    rows = [
        (items[place], judge.name, "choice", str(judge.chosen[place]), float("nan"))
        for judge in judges
        for place in np.flatnonzero(judge.chosen)
    ]
    return agreement_of(
        make_ratings(rows, source="the choices"),
        level="nominal",
        categories=key.options,
        drawing=drawing,
    )


def groups_of(key: Key) -> list[str]:
    """The groups of the items in order of appearance; none where items have none."""
    return [name for name in dict.fromkeys(one.group for one in key.answers.values()) if name]


def _right(choices: Choices, key: Key) -> Flags:
    """(I,) where the gold item was chosen."""
    gold_items = np.array([answer.gold for answer in key.answers.values()])
    return np.asarray(np.equal(choices.chosen, gold_items))


def _among(key: Key, group: str | None) -> Flags:
    """(I,) which items are of a group; all where None."""
    return np.array([group in (None, answer.group) for answer in key.answers.values()])
