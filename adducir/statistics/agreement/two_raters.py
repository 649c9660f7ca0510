"""Agreement of two raters: Cohen's kappa of categories, and the overlap of texts that they mark.

Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20
(1960): kappa = (P - P_e) / (1 - P_e), where P is the share of units on which the two agree, and
P_e = sum_j a_j b_j, with a_j and b_j the shares of category j among each rater's own ratings.
(Fleiss' kappa takes one share for all raters.)

Unigram overlap is that of two bags of words A and B, 2 |A and B| / (|A| + |B|): the F1 of the one
against the other, whichever is which. Two empty texts agree. The study of exemplification (Wang et
al., NAACL 2022, section 2.3) gives an overlap without its formula; words are those of ROUGE.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from adducir.statistics.agreement.ratings import Floats, Integers, Ratings, What

_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, eq=False)
class Pairs:
    """The units that both of two raters rated.

    Attributes:
        first: (U,) the category that the first rater gave.
        second: (U,) that of the second.
        items: (U,) the item of each unit.
        categories: How many there are.
    """

    first: Integers
    second: Integers
    items: Integers
    categories: int

    def kappas(self, weights: Floats) -> Floats:
        """(B,) Cohen's kappa of samples that hold each unit ``weights`` (B, U) times.

        NaN where both raters gave one category alone, which leaves no chance to disagree.
        """
        total = weights.sum(axis=1)
        own, other = (
            weights @ np.eye(self.categories)[rater] / total[:, None]
            for rater in (self.first, self.second)
        )
        expected = (own * other).sum(axis=1)
        observed = weights @ (self.first == self.second) / total
        return np.asarray((observed - expected) / np.where(expected < 1, 1 - expected, np.nan))


def pairs_of(ratings: Ratings, what: What, system: str | None = None) -> Pairs | None:
    """The units of a system, or of all, with the ratings of the two raters; None of others."""
    if len(ratings.raters) != 2:
        return None
    values = _labels(ratings, what)
    units: dict[int, dict[int, str]] = {}
    for place in np.flatnonzero(ratings.chosen(system)).tolist():
        if values[place]:
            unit = int(ratings.units()[place])
            units.setdefault(unit, {})[int(ratings.rater[place])] = values[place]
    both = {unit: some for unit, some in units.items() if len(some) == 2}
    if not both:
        return None
    names = {
        label: n for n, label in enumerate(sorted({x for s in both.values() for x in s.values()}))
    }
    first, second = (np.array([names[some[rater]] for some in both.values()]) for rater in (0, 1))
    items = np.array(list(both), dtype=np.int64) // len(ratings.systems)
    return Pairs(first, second, items, len(names))


def overlaps(ratings: Ratings, system: str | None = None) -> tuple[Floats, Integers]:
    """The mean unigram overlap of each two raters of a unit, and the unit's item: (U,) each.

    Ratings are texts. Units with one rating are left out.
    """
    texts: dict[int, list[str]] = {}
    for place in np.flatnonzero(ratings.chosen(system)).tolist():
        texts.setdefault(int(ratings.units()[place]), []).append(ratings.labels[place])
    several = {unit: some for unit, some in texts.items() if len(some) > 1}
    values = [
        np.mean([unigram_overlap(one, two) for one, two in combinations(some, 2)])
        for some in several.values()
    ]
    items = np.array(list(several), dtype=np.int64) // len(ratings.systems)
    return np.array(values, dtype=np.float64), items


def unigram_overlap(one: str, two: str) -> float:
    """How far two texts have the same words: 0 to 1."""
    first, second = (Counter(_WORD.findall(text.lower())) for text in (one, two))
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 1.0


def mean_overlaps(values: Floats, weights: Floats) -> Floats:
    """(B,) means of samples that hold each unit ``weights`` (B, U) times."""
    return np.asarray(weights @ values / weights.sum(axis=1))


def _labels(ratings: Ratings, what: What) -> Sequence[str]:
    if what == "rating":
        return ratings.labels
    return [f"{rank:g}" if np.isfinite(rank) else "" for rank in ratings.rank]
