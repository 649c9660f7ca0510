"""How many raters gave each unit each value: what all statistics of agreement are made of."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from adducir.core.errors import InputError
from adducir.statistics.agreement.ratings import Flags, Floats, Integers, Ratings, What

Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""What may be said of values: only that they differ; which is greater; by how much; how many
times."""


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each of C values was given to each of U units.

    Attributes:
        table: (U, C) counts, as floats; units without any rating are left out.
        values: (C,) the values in rising order; 0 to C - 1 where they are mere categories.
        items: (U,) the item that each unit belongs to.
        labels: The values as people write them.
    """

    table: Floats
    values: Floats
    items: Integers
    labels: tuple[str, ...]

    @property
    def raters(self) -> Floats:
        """(U,) how many ratings each unit has."""
        return np.asarray(self.table.sum(axis=1))


def count(
    ratings: Ratings, what: What = "rating", level: Level = "ordinal", system: str | None = None
) -> Counts:
    """Count ratings or ranks by unit and value.

    Args:
        level: ``nominal`` takes ratings as the texts they are; all others need numbers.

    Raises:
        UsageError: No such system.
        InputError: A rating that is no number, or below 0 at the level ``ratio``; with the line.
    """
    chosen = ratings.chosen(system)
    if what == "rating" and level == "nominal":
        labels = np.array(ratings.labels)
        chosen &= labels != ""
        names, codes = np.unique(labels[chosen], return_inverse=True)
        values = np.arange(names.size, dtype=np.float64)
        return _counted(ratings, chosen, codes, values, names.tolist())
    numbers = ratings.numbers(what)
    _refuse_unfit(ratings, what, level, chosen)
    chosen &= np.isfinite(numbers)
    values, codes = np.unique(numbers[chosen], return_inverse=True)
    return _counted(ratings, chosen, codes, values, [f"{value:g}" for value in values])


def _counted(
    ratings: Ratings, chosen: Flags, codes: Integers, values: Floats, labels: list[str]
) -> Counts:
    """The counts of the chosen judgements, of which ``codes`` are the places in ``values``."""
    units, rows = np.unique(ratings.units()[chosen], return_inverse=True)
    shape = units.size, values.size
    flat = np.bincount(rows * values.size + codes, minlength=shape[0] * shape[1])
    table = flat.reshape(shape).astype(np.float64)
    return Counts(table, values, units // len(ratings.systems), tuple(labels))


def _refuse_unfit(ratings: Ratings, what: What, level: Level, chosen: Flags) -> None:
    """Refuse what is no number, and at the level ``ratio`` what is below 0."""
    numbers = ratings.numbers(what)
    given = np.array([bool(label) for label in ratings.labels])
    wrong = chosen & given & np.isnan(numbers) if what == "rating" else np.zeros_like(chosen)
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"the rating {ratings.labels[place]!r} is no number, which the level {level} needs.",
            path=ratings.source,
            line=int(ratings.line[place]) or None,
            hint="Take the level nominal for categories.",
        )
    if level == "ratio" and (chosen & (numbers < 0)).any():
        place = int(np.flatnonzero(chosen & (numbers < 0))[0])
        raise InputError(
            f"{numbers[place]:g} is below 0, where the level ratio has its zero.",
            path=ratings.source,
            line=int(ratings.line[place]) or None,
            hint="Take the level interval.",
        )
