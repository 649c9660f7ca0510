"""Makes the steps of a plan: one after another, or independent ones side by side.

Side by side, each process plans the experiment for itself and is then given the paths of steps to
make, so that nothing else goes from one process to another. What a step makes does not depend
on the process that makes it.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from adducir.core.errors import InputError, MachineError, UsageError
from adducir.core.fingerprint import fingerprint
from adducir.core.pool import WorkerPool
from adducir.core.progress import Silent
from adducir.experiments.context import Context, Resources
from adducir.experiments.plan import Plan
from adducir.experiments.step import Step
from adducir.experiments.training_processes import make_together

if TYPE_CHECKING:
    from adducir.core.progress import Progress

_Paths = tuple[str, ...]
_Pool = WorkerPool[_Paths, list[str]]


def make_steps(
    plan: Plan,
    needed: Sequence[Step],
    context: Context,
    jobs: int,
    plan_again: Callable[..., Plan],
) -> None:
    """Make steps of a plan, each after those that it is made from.

    Args:
        plan: The plan.
        needed: The steps, from :meth:`.Plan.prepare`.
        context: How they are made.
        jobs: How many processes make them.
        plan_again: :func:`adducir.experiments.experiment.plan_experiment`, for other processes.

    Raises:
        UsageError: There are no jobs.
        AdducirError: A step fails; steps that are being made then are made to their end, others
            are not begun.
    """
    if jobs < 1:
        raise UsageError(f"{jobs} jobs make nothing: take 1 or more.")
    groups = _groups(needed)
    jobs = min(jobs, len(groups))
    order = _Order.of(plan, context)
    if jobs < 2:
        for step in needed:
            _make(step, order, context, plan_again)
        return
    progress = context.progress
    progress.start("making", len(needed), "steps")
    pool: _Pool = WorkerPool(jobs, partial(_start, order, plan_again))
    try:
        _run(pool, groups, progress)
    finally:
        pool.close()
        progress.finish()


def _make(step: Step, order: "_Order", context: Context, plan_again: Callable[..., Plan]) -> None:
    """Make a step here, or a model by several processes that train it together."""
    count = context.processes
    if count < 2 or not step.trains:
        step.make(context)
        return
    alone = replace(order, resources=replace(order.resources, processes=1))
    for note in make_together(partial(_start, alone, plan_again), step.path, count):
        context.progress.note(note)


def _groups(needed: Sequence[Step]) -> list[list[Step]]:
    """Steps that are made in one process, since they share long work."""
    found: dict[Hashable, list[Step]] = {}
    for step in needed:
        found.setdefault(step if step.shared_work is None else step.shared_work, []).append(step)
    return list(found.values())


def _run(pool: "_Pool", groups: Sequence[list[Step]], progress: "Progress") -> None:
    waiting = list(groups)
    undone = {step for group in groups for step in group}
    running: dict[_Paths, list[Step]] = {}
    while waiting or running:
        for group in list(waiting):
            before = {one for step in group for one in step.inputs} - set(group)
            if not before & undone:
                waiting.remove(group)
                paths = tuple(str(step.path) for step in group)
                running[paths] = group
                pool.submit(paths)
        done = pool.next()
        if done.is_lost:
            raise MachineError(
                "a process that made a step was killed; the memory may not be enough for so many.",
                hint="Run this again with fewer --jobs: what is made is kept.",
            )
        if done.error is not None:
            raise done.error
        group = running.pop(done.task)
        for note in done.result or ():
            progress.note(note)
        progress.advance(len(group))
        undone.difference_update(group)


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

    def make(self, paths: Sequence[str]) -> list[str]:
        """Make the steps of these paths, and return what is to be reported."""
        steps = {str(step.path): step for step in self._plan.steps}
        self._notes.lines.clear()
        for path in paths:
            _make(steps[path], self._order, self._context, self._plan_again)
        return list(self._notes.lines)


def _start(
    order: _Order, plan_again: Callable[..., Plan], number: int
) -> Callable[[_Paths], list[str]]:
    """In a new process: what makes steps there."""
    del number
    return _Worker(order, plan_again).make
