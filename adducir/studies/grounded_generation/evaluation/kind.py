"""What the measures of generated texts have in common."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from adducir.core.errors import UsageError
from adducir.evaluation.named import NamedMeasure
from adducir.evaluation.scores import Scores
from adducir.studies.grounded_generation.evaluation.texts import Generated, Reference


class TextMeasures(ABC):
    """Measures that are computed together, a value each for every reference.

    A reference that the measures have no meaning for is left out, for every system alike.

    Attributes:
        name: How they are asked for; heads their columns.
        names: The measures.
    """

    name: ClassVar[str]
    names: tuple[str, ...]

    @abstractmethod
    def counts(self, reference: Reference) -> bool:
        """Whether the reference counts."""

    @abstractmethod
    def values(self, reference: Reference, generated: Generated) -> Sequence[float]:
        """The value of each measure for one reference that counts."""

    def scores(
        self, system: str, references: Mapping[str, Reference], found: Mapping[str, Generated]
    ) -> Scores:
        """The values of one system, as comparisons and tables take them.

        Args:
            system: Its name.
            references: All references.
            found: What it wrote. Where it wrote nothing it gets 0, and that is reported.

        Raises:
            UsageError: No reference counts.
        """
        counted = self.counted(references)
        values = np.zeros((len(counted), len(self.names)))
        for row, reference in enumerate(counted):
            if reference.id in found:
                values[row] = self.values(reference, found[reference.id])
        values.setflags(write=False)
        return Scores(
            system,
            tuple(reference.id for reference in counted),
            tuple(map(NamedMeasure, self.names)),
            values,
            missing=tuple(one.id for one in counted if one.id not in found),
            extra=tuple(name for name in found if name not in references),
        )

    def counted(self, references: Mapping[str, Reference]) -> list[Reference]:
        """The references that count, in their order.

        Raises:
            UsageError: There is none.
        """
        counted = [one for one in references.values() if self.counts(one)]
        if not counted:
            raise UsageError(f"no reference has what the measures of {self.name!r} need.")
        return counted

    def collection(
        self, references: Mapping[str, Reference], found: Mapping[str, Generated]
    ) -> dict[str, float]:
        """Measures of all texts at once, which are no means and not tested."""
        del references, found
        return {}

    def notes(self) -> list[str]:
        """What a reader of the table must know, once all systems have been measured."""
        return []


def with_best(names: Iterable[str], depth: int) -> tuple[str, ...]:
    """Names of measures of the first text and, where ``depth`` is above 1, of the best of so many.

    Raises:
        UsageError: ``depth`` is below 1.
    """
    if depth < 1:
        raise UsageError(f"a depth must be 1 or more, not {depth}.")
    names = tuple(names)
    return names if depth == 1 else (*names, *(f"max {name}@{depth}" for name in names))


def first_and_best(rows: Sequence[Sequence[float]], depth: int) -> list[float]:
    """The values of the first text, then the greatest of each measure over the first ``depth``.

    Args:
        rows: The measures' values of each text, by rank; at least one text.
        depth: As for :func:`with_best`.
    """
    best = [max(column) for column in zip(*rows[:depth], strict=True)]
    return [*rows[0], *best] if depth > 1 else list(rows[0])
