"""Makes the steps of a plan: one after another, or independent ones side by side.

Side by side, each process plans the experiment for itself and is then given the paths of steps to
make, so that nothing else goes from one process to another. What a step makes does not depend
on the process that makes it.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from adducir.core.cores import share_cores
from adducir.core.errors import InputError, MachineError, UsageError
from adducir.core.fingerprint import fingerprint
from adducir.core.pool import Done, WorkerPool
from adducir.core.progress import Silent
from adducir.core.sharding.executors.part import Part
from adducir.experiments.context import Context, Resources
from adducir.experiments.part import make_in_part
from adducir.experiments.plan import Plan
from adducir.experiments.step import Step
from adducir.experiments.training_processes import make_together

if TYPE_CHECKING:
    from adducir.core.progress import Progress

_Paths = tuple[str, ...]


@dataclass(frozen=True)
class _Report:
    """What became of steps.

    Attributes:
        are_made: Whether all are there; otherwise other parts have to do something first.
        notes: What is to be reported.
    """

    are_made: bool = True
    notes: Sequence[str] = ()


class _Pool(Protocol):
    """Makes groups of steps somewhere."""

    def submit(self, task: _Paths) -> None:
        """Let the steps of some paths be made."""

    def next(self) -> Done[_Paths, _Report]:
        """Wait for the next that are."""

    def close(self) -> None:
        """End."""


class _Here:
    """This process itself, as a pool of one."""

    def __init__(self, make: Callable[[_Paths], _Report]) -> None:
        self._make = make
        self._waiting: deque[_Paths] = deque()

    def submit(self, task: _Paths) -> None:
        """See :class:`_Pool`."""
        self._waiting.append(task)

    def next(self) -> Done[_Paths, _Report]:
        """See :class:`_Pool`; what is raised goes to the caller."""
        task = self._waiting.popleft()
        return Done(task, self._make(task))

    def close(self) -> None:
        """See :class:`_Pool`."""


def make_steps(
    plan: Plan,
    needed: Sequence[Step],
    context: Context,
    jobs: int,
    plan_again: Callable[..., Plan],
) -> "Turns":
    """Make steps of a plan, each after those that it is made from.

    Args:
        plan: The plan.
        needed: The steps, from :meth:`.Plan.prepare`.
        context: How they are made.
        jobs: How many processes make them.
        plan_again: :func:`adducir.experiments.experiment.plan_experiment`, for other processes.

    Returns:
        What was made; all of it, unless the context asks for a part.

    Raises:
        UsageError: There are no jobs.
        AdducirError: A step fails; steps that are being made then are made to their end, others
            are not begun.
    """
    if jobs < 1:
        raise UsageError(f"{jobs} jobs make nothing: take 1 or more.")
    turns = Turns.of(plan, needed, context.part)
    jobs = min(jobs, len(turns.waiting))
    order = _Order.of(plan, context)
    progress = context.progress
    pool: _Pool = _Here(_Maker(plan, order, context, plan_again))
    if jobs > 1:
        progress.start("making", len(needed), "steps")
        pool = WorkerPool(jobs, partial(_start, order, plan_again, jobs))
    try:
        _run(pool, max(1, jobs), turns, progress)
    finally:
        pool.close()
        if jobs > 1:
            progress.finish()
    return turns


@dataclass(frozen=True)
class _Maker:
    """Makes steps in this process."""

    plan: Plan
    order: "_Order"
    context: Context
    plan_again: Callable[..., Plan]

    @cached_property
    def _steps(self) -> dict[str, Step]:
        return {str(step.path): step for step in self.plan.steps}

    def __call__(self, paths: _Paths) -> _Report:
        """Make the steps of these paths, or what falls to the part that is asked for."""
        steps = [self._steps[path] for path in paths]
        if self.context.part is not None:
            return _Report(make_in_part(steps, self.context, self._make))
        for step in steps:
            self._make(step, self.context)
        return _Report()

    def _make(self, step: Step, context: Context) -> None:
        """Make a step here, or a model by several processes that train it together."""
        if context.processes < 2 or not step.trains:
            step.make(context)
            return
        resources = replace(self.order.resources, processes=1, part=None)
        start = partial(_start_together, replace(self.order, resources=resources), self.plan_again)
        for note in make_together(start, step.path, context.processes):
            context.progress.note(note)


def _groups(steps: Iterable[Step]) -> list[list[Step]]:
    """Steps that are made in one process, since they share long work."""
    found: dict[Hashable, list[Step]] = {}
    for step in steps:
        found.setdefault(step if step.shared_work is None else step.shared_work, []).append(step)
    return list(found.values())


@dataclass
class Turns:
    """Which steps are made next, and what became of those before.

    Attributes:
        part: What of the plan is made; None for all.
        waiting: Groups of steps that were not begun, in the plan's order.
        own: Steps that the part makes whole, whatever it made before.
        undone: Steps that are to be made and are not there yet.
        made: Those that were made.
        begun: Those of which shards were made, or looked for.
    """

    part: Part | None
    waiting: list[list[Step]]
    own: set[Step]
    undone: set[Step]
    made: list[Step] = field(default_factory=list)
    begun: list[Step] = field(default_factory=list)

    @classmethod
    def of(cls, plan: Plan, needed: Sequence[Step], part: Part | None) -> "Turns":
        """Those of steps that are needed.

        The steps that are not in shards are dealt to the parts in the order of the whole plan, so
        that each part deals alike, whatever is made.
        """
        if part is None:
            return cls(None, _groups(needed), set(needed), set(needed))
        every, undone = _groups(plan.steps), set(needed)
        whole = [group for group in every if not group[0].in_shards]
        own = {step for group in part.of(whole) for step in group}
        return cls(part, [group for group in every if undone.intersection(group)], own, undone)

    def next(self) -> list[Step] | None:
        """The next group that can be made, which then no longer waits."""
        for group in self.waiting:
            if self._is_ready(group) and self._falls_here(group):
                self.waiting.remove(group)
                return group
        return None

    def ended(self, group: list[Step], *, are_made: bool) -> None:
        """Note what became of a group."""
        steps = [step for step in group if step in self.undone]
        (self.made if are_made else self.begun).extend(steps)
        if are_made:
            self.undone.difference_update(group)

    def _is_ready(self, group: list[Step]) -> bool:
        before = {one for step in group for one in step.inputs} - set(group)
        if self.part is not None:  # others may have made them meanwhile
            self.undone -= {one for one in before & self.undone if one.why() is None}
        return not before & self.undone

    def _falls_here(self, group: list[Step]) -> bool:
        """Whether the part takes it: as its own, as shards, or what soon follows what it made."""
        if self.part is None or group[0].in_shards or self.own.intersection(group):
            return True
        if any(
            step.trains for step in group
        ):  # which takes long: other parts make theirs meanwhile
            return False
        return any(one in self.made for step in group for one in step.inputs)


def _run(pool: _Pool, jobs: int, turns: Turns, progress: "Progress") -> None:
    running: dict[_Paths, list[Step]] = {}
    while True:
        while len(running) < jobs and (group := turns.next()) is not None:
            paths = tuple(str(step.path) for step in group)
            running[paths] = group
            pool.submit(paths)
        if not running:
            return
        done = pool.next()
        if done.is_lost:
            raise MachineError(
                "a process that made a step was killed; the memory may not be enough for so many.",
                hint="Run this again with fewer --jobs: what is made is kept.",
            )
        if done.error is not None:
            raise done.error
        group, report = running.pop(done.task), done.result or _Report()
        for note in report.notes:
            progress.note(note)
        if jobs > 1:
            progress.advance(len(group))
        turns.ended(group, are_made=report.are_made)


@dataclass(frozen=True)
class _Order:
    """What a process needs to know to make steps of a plan."""

    path: Path
    overrides: tuple[str, ...]
    folder: Path
    rebuild: bool
    resources: Resources
    identity: str

    @classmethod
    def of(cls, plan: Plan, context: Context) -> "_Order":
        return cls(
            plan.path.absolute(),
            plan.overrides,
            plan.folder,
            plan.rebuild,
            Resources(**{one.name: getattr(context, one.name) for one in fields(Resources)}),
            _identity(plan),
        )


def _identity(plan: Plan) -> str:
    return fingerprint(plan.recipe.model_dump(mode="json"))


@dataclass
class _Notes(Silent):
    """Keeps what is to be reported."""

    lines: list[str] = field(default_factory=list)

    def note(self, message: str) -> None:
        """Keep it."""
        self.lines.append(message)


class _Worker:
    """A process that makes steps; it plans when it is first asked for one."""

    def __init__(self, order: _Order, plan_again: Callable[..., Plan]) -> None:
        self._order, self._plan_again = order, plan_again
        self._notes = _Notes()

    @cached_property
    def _maker(self) -> _Maker:
        return _Maker(self._plan, self._order, self._context, self._plan_again)

    @cached_property
    def _plan(self) -> Plan:
        order = self._order
        plan = self._plan_again(
            order.path, order.overrides, rebuild=order.rebuild, folder=order.folder
        )
        if _identity(plan) != order.identity:
            raise InputError("the experiment file was changed meanwhile.", path=order.path)
        return plan

    @cached_property
    def _context(self) -> Context:
        order = self._order
        return Context(
            **vars(order.resources),
            shown=self._plan.shown,
            rebuild=order.rebuild,
            progress=self._notes,
        )

    def make(self, paths: _Paths) -> _Report:
        """Make the steps of these paths."""
        self._notes.lines.clear()
        return replace(self._maker(paths), notes=list(self._notes.lines))

    def train(self, paths: _Paths) -> Sequence[str]:
        """Make the step of these paths with other processes, and return what is to be reported."""
        return self.make(paths).notes


def _start(
    order: _Order, plan_again: Callable[..., Plan], jobs: int, number: int
) -> Callable[[_Paths], _Report]:
    """In one of so many new processes: what makes steps there."""
    del number
    share_cores(jobs)
    return _Worker(order, plan_again).make


def _start_together(
    order: _Order, plan_again: Callable[..., Plan], number: int
) -> Callable[[_Paths], Sequence[str]]:
    """In one of several processes that train a model together: what trains it there."""
    del number
    return _Worker(order, plan_again).train
