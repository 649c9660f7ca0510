"""What is to be done, in which order, and how little of it suffices."""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from adducir.study.errors import InputError
from adducir.study.nearest import nearest
from adducir.study.products import is_current


@dataclass(frozen=True)
class Step:
    """One piece of work.

    Attributes:
        name: Its name, unique in a plan.
        kind: What it makes, in a word or two, for people.
        path: What it makes; None where it makes no file.
        needs: The names of the steps whose results it works on.
        fingerprint: What :func:`adducir.study.products.is_current` compares;
            None for a step that is always done.
        action: Does the work.
        current: Tells whether the work is done already, for results that are
            no products (run files, say); None asks the product at ``path``.
    """

    name: str
    kind: str
    path: Path | None
    needs: tuple[str, ...]
    fingerprint: str | None
    action: Callable[[], Any]
    current: Callable[[], bool] | None = None

    def is_done(self) -> bool:
        """Whether the result is there, made from what it would be made from now."""
        if self.current is not None:
            return self.current()
        if self.path is None or self.fingerprint is None:
            return False
        return is_current(self.path, self.fingerprint)


def order(steps: Sequence[Step]) -> list[Step]:
    """The steps so that each comes after those it needs, else as they were given.

    Raises:
        InputError: Two steps share a name, one needs a step that is not
            there, or steps need each other in a circle.
    """
    places = _places(steps)
    sorter = TopologicalSorter({step.name: step.needs for step in steps})
    try:
        sorter.prepare()
    except CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        raise InputError(f"these need each other in a circle: {circle}.") from error
    ready: list[int] = []
    found: list[Step] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(ready, places[name])
        step = steps[heapq.heappop(ready)]
        found.append(step)
        sorter.done(step.name)
    return found


def missing(steps: Sequence[Step], goals: Sequence[str] | None = None) -> list[Step]:
    """The steps that have to be carried out to reach the goals, in order.

    A step is left out if its result is current, or if only such steps need it:
    where all runs are there, a deleted index is not built again.

    Args:
        steps: The whole plan.
        goals: The names of the steps whose results are wanted; by default
            those that no other step needs.

    Raises:
        InputError: As :func:`order`, or a goal is no step.
    """
    ordered = order(steps)
    places = _places(steps)
    needed = {need for step in steps for need in step.needs}
    wanted = set(goals) if goals is not None else set(places) - needed
    for goal in sorted(wanted - set(places)):
        raise InputError(f"`{goal}` is no step of the plan{nearest(goal, places) or '.'}")
    found: list[Step] = []
    for step in reversed(ordered):
        if step.name in wanted and not step.is_done():
            found.append(step)
            wanted.update(step.needs)
    return found[::-1]


def _places(steps: Sequence[Step]) -> dict[str, int]:
    """Where each step stands, by name; checks names and needs."""
    places: dict[str, int] = {}
    for place, step in enumerate(steps):
        if step.name in places:
            raise InputError(f"two steps are called `{step.name}`.")
        places[step.name] = place
    for step in steps:
        for need in step.needs:
            if need not in places:
                guess = nearest(need, places) or "."
                raise InputError(f"`{step.name}` needs `{need}`, which is not there{guess}")
    return places
