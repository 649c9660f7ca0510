"""Figures with a line for each system: names on the left, one scale of values for all."""

from collections.abc import Sequence
from itertools import chain

from adducir.tables.report.drawing import (
    figure,
    label,
    line,
    room_for,
    shortened,
    shown,
    ticks,
)

NAME = 34
"""Characters of a name that are shown."""
OPEN = 40
"""Figures of more systems are folded."""
TOP = 8


class Rows:
    """Lines of systems over a scale.

    Attributes:
        left: Where the scale begins, in pixels.
        right: Where it ends; figures of a system stand to the right of it.
        bottom: Below the last line.
    """

    def __init__(
        self,
        names: Sequence[str],
        ends: tuple[float, float],
        *,
        width: float = 420,
        high: float = 24,
        inset: float = 0,
    ) -> None:
        """Lines of these systems.

        Args:
            names: From the top.
            ends: The values at both ends of the scale.
            width: Pixels of the scale.
            high: Pixels of a line.
            inset: Pixels that the scale's ends keep from those of the grid.
        """
        self._names = names
        self._low, self._high = ends
        self._line, self._inset = high, inset
        self.left = room_for(names, NAME) + 14
        self.right = self.left + width
        self.bottom = TOP + high * len(names)

    def x(self, value: float) -> float:
        """The place of a value."""
        share = (value - self._low) / (self._high - self._low)
        return float(self.left + self._inset + share * (self.right - self.left - 2 * self._inset))

    def y(self, number: float) -> float:
        """The middle of a line, counted from 0."""
        return TOP + self._line * (number + 0.5)

    def figure(
        self,
        name: str,
        title: str,
        marks: Sequence[str],
        *,
        texts: Sequence[str] = (),
        room: float = 20,
        below: Sequence[str] = (),
        at: Sequence[float] = (),
        axis: str = "",
        signed: bool = False,
        foot: float = 0,
    ) -> str:
        """The ``svg`` element with names, grid and marks.

        Args:
            name: Its id.
            title: What it shows.
            marks: What stands on the lines.
            texts: The figures of each system, to the right of the scale.
            room: Pixels right of the scale.
            below: Marks below the grid.
            at: Values with a line of the grid; tidy numbers if there are none.
            axis: What the scale is of.
            signed: Whether its numbers have a plus sign.
            foot: Height of the figure, where more stands below the scale than its numbers.
        """
        own = []
        for tick in at or ticks(self._low, self._high):
            own.append(line(self.x(tick), TOP, self.x(tick), self.bottom, "grid"))
            text = shown(tick, signed=signed)
            own.append(label(self.x(tick), self.bottom + 12, text, "tick", "middle"))
        if axis:
            middle = (self.left + self.right) / 2
            own.append(label(middle, self.bottom + 28, axis, "tick", "middle"))
        for number, one in enumerate(self._names):
            own.append(label(self.left - 10, self.y(number), shortened(one, NAME), "name", "end"))
        own += [label(self.right + 12, self.y(number), text) for number, text in enumerate(texts)]
        height = max(foot, self.bottom + (40 if axis else 26))
        return figure(name, self.right + room, height, title, list(chain(below, own, marks)))


def rank_ticks(count: int) -> list[float]:
    """Ranks for a scale from 1 to ``count``: 1 and tidy numbers."""
    return [1.0, *(one for one in ticks(1, count, 10) if one == int(one) and one > 1)]
