"""Ratings that people gave: who rated which system's answer to which item, and how.

A rated answer (one system's for one item) is the *unit* that raters agree on or not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import UsageError

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
What: TypeAlias = Literal["rating", "rank"]
WHATS: tuple[What, ...] = get_args(What)
"""What raters give an answer: a rating, or a rank among the answers to the item."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """N judgements of S systems' answers to I items by R raters.

    Attributes:
        items: The I items, in order of first appearance.
        raters: The R raters, likewise.
        systems: The S systems, likewise.
        item: (N,) each judgement's item, as its place in ``items``.
        rater: (N,) each judgement's rater.
        system: (N,) each judgement's system.
        labels: (N,) the ratings as they stand in the file; empty where there is none.
        rating: (N,) the ratings as numbers; NaN where there is none, or one that is no number.
        rank: (N,) the ranks; NaN where there is none.
        source: What to call the ratings in a message.
        line: (N,) the line of the source that each stands in; 0 where there is no file.
    """

    items: tuple[str, ...]
    raters: tuple[str, ...]
    systems: tuple[str, ...]
    item: Integers
    rater: Integers
    system: Integers
    labels: tuple[str, ...]
    rating: Floats
    rank: Floats
    source: str
    line: Integers

    def has(self, what: What) -> bool:
        """Whether there is any rating, or any rank."""
        return any(self.labels) if what == "rating" else bool(np.isfinite(self.rank).any())

    def numbers(self, what: What) -> Floats:
        """(N,) ratings or ranks, NaN where missing."""
        return self.rating if what == "rating" else self.rank

    def chosen(self, system: str | None) -> Flags:
        """(N,) which judgements are of a system; all where None.

        Raises:
            UsageError: No such system.
        """
        if system is None:
            return np.ones(self.item.size, dtype=bool)
        if system not in self.systems:
            raise UsageError(
                f"there is no rating of a system {system!r}.",
                hint=f"Rated are {', '.join(self.systems)}.",
            )
        return np.asarray(self.system == self.systems.index(system))

    def units(self) -> Integers:
        """(N,) the unit of each judgement: its pair of item and system."""
        return self.item * len(self.systems) + self.system


def make_ratings(
    rows: Sequence[tuple[str, str, str, str, float]],
    *,
    source: str = "the ratings",
    lines: Sequence[int] = (),
) -> Ratings:
    """Number the names of rows (item, rater, system, rating, rank).

    Args:
        rows: An empty rating and a rank of NaN are missing ones.

    Raises:
        UsageError: No row.
    """
    if not rows:
        raise UsageError(f"there is no rating in {source}.")
    (items, item), (raters, rater), (systems, system) = (
        _numbered([str(row[column]) for row in rows]) for column in range(3)
    )
    return Ratings(
        items,
        raters,
        systems,
        item,
        rater,
        system,
        labels=tuple(row[3] for row in rows),
        rating=np.array([number_of(row[3]) for row in rows]),
        rank=np.array([row[4] for row in rows], dtype=np.float64),
        source=source,
        line=np.array(lines if lines else [0] * len(rows), dtype=np.int64),
    )


def number_of(text: Any) -> float:
    """A finite number, or NaN where the text is none."""
    try:
        value = float(text)
    except ValueError:
        return float("nan")
    return value if np.isfinite(value) else float("nan")


def _numbered(names: Sequence[str]) -> tuple[tuple[str, ...], Integers]:
    """The different names in order of appearance, and each one's place among them."""
    places: dict[str, int] = {}
    numbers = [places.setdefault(name, len(places)) for name in names]
    return tuple(places), np.array(numbers, dtype=np.int64)
