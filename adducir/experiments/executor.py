"""Makes the steps of a plan: one at a time, or independent ones side by side.

Side by side, each process plans the experiment for itself and is then given the paths of steps to
make, so that nothing else goes from one process to another. What a step makes does not depend
on the process that makes it.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, field, replace
from pathlib import Path

from adducir.core.errors import AdducirError, ArtifactError, InputError, MachineError, UsageError
from adducir.core.executors import Processes
from adducir.core.fingerprint import fingerprint
from adducir.core.progress import Silent
from adducir.experiments.context import Context
from adducir.experiments.plan import Plan
from adducir.experiments.step import Step

PlanAgain = Callable[..., Plan]


def make_steps(
    plan: Plan, needed: Sequence[Step], context: Context, jobs: int, plan_again: PlanAgain
) -> None:
    """Make steps of a plan, each after those that it is made from.

    When a step fails, those that are being made are made to their end, and no others are begun.
    """
    if jobs < 1:
        raise UsageError(f"--jobs is {jobs}; it must be 1 or more.")
    groups = _groups(needed)
    if min(jobs, len(groups)) < 2:
        for step in needed:
            _make_one(step, context)
        return
    bare = Context(context.threads, context.device, context.batch_tokens, context.execution)
    request = _Request(
        plan.path.absolute(),
        plan.overrides,
        plan.folder,
        replace(bare, rebuild=plan.rebuild),
        _identity(plan),
    )
    undone, running = set(needed), dict[Future[list[str]], list[Step]]()
    progress = context.progress
    progress.start("making", len(needed), "steps")
    try:
        with Processes(min(jobs, len(groups))) as processes:
            while groups or running:
                for group in [one for one in groups if _is_ready(one, undone)]:
                    groups.remove(group)
                    paths = [str(step.path) for step in group]
                    running[processes.submit(_make, request, plan_again, paths)] = group
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    group = running.pop(future)
                    for note in _result(future, running):
                        progress.note(note)
                    progress.advance(len(group))
                    undone.difference_update(group)
    finally:
        progress.finish()


def _groups(steps: Iterable[Step]) -> list[list[Step]]:
    """Steps that are made in one process, since they share long work."""
    found: dict[Hashable, list[Step]] = {}
    for step in steps:
        found.setdefault(step if step.shared_work is None else step.shared_work, []).append(step)
    return list(found.values())


def _is_ready(group: Sequence[Step], undone: set[Step]) -> bool:
    before = {one for step in group for one in step.inputs} - set(group)
    return not before & undone


def _result(future: "Future[list[str]]", others: Iterable["Future[list[str]]"]) -> list[str]:
    """What a process reports; when a step failed, the others are made to their end first."""
    try:
        return future.result()
    except AdducirError:
        wait(others)
        raise
    except BrokenExecutor as error:
        raise MachineError(
            "a process that made a step was killed; the memory may not be enough for so many.",
            hint="Run this again with fewer --jobs: what is made is kept.",
        ) from error


@dataclass(frozen=True)
class _Request:
    """What a process needs to know to make steps of a plan."""

    path: Path
    overrides: tuple[str, ...]
    folder: Path
    context: Context
    identity: str


def _identity(plan: Plan) -> str:
    return fingerprint(plan.recipe.model_dump(mode="json"))


@dataclass
class _Notes(Silent):
    """Keeps what is to be reported."""

    lines: list[str] = field(default_factory=list)

    def note(self, message: str) -> None:
        """Keep it."""
        self.lines.append(message)


_planned: tuple[dict[str, Step], Context, _Notes] | None = None
"""In a process that makes steps: those of its plan."""


def _make(request: _Request, plan_again: PlanAgain, paths: Sequence[str]) -> list[str]:
    """In another process: make the steps of these paths; returns what is to be reported."""
    global _planned
    if _planned is None:
        given = request.context
        plan = plan_again(
            request.path, request.overrides, rebuild=given.rebuild, folder=request.folder
        )
        if _identity(plan) != request.identity:
            raise InputError("the experiment file was changed meanwhile.", path=request.path)
        notes = _Notes()
        context = replace(given, shown=plan.shown, progress=notes, steps=plan.steps)
        _planned = {str(step.path): step for step in plan.steps}, context, notes
    steps, context, notes = _planned
    notes.lines.clear()
    for path in paths:
        _make_one(steps[path], context)
    return list(notes.lines)


def _make_one(step: Step, context: Context) -> None:
    """Make a step, from the inputs whose fingerprints its own covers."""
    for one in step.inputs:
        why = one.why()
        if why is not None:
            raise ArtifactError(
                f"this is not what was planned ({why}): its data have changed since, or another "
                "experiment has made its own here.",
                path=one.path,
                hint="Run this again; give what two experiments make differently different names.",
            )
    step.make(context)
