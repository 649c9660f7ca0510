"""A planned experiment: the steps to its tables, which of them are to be made, and making them.

Side by side, each process plans the experiment for itself and is then given the paths of steps to
make, so that nothing else goes from one process to another. What a step makes does not depend
on the process that makes it.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from adducir.core.absent import NotRead, Unread, leaving_unread
from adducir.core.artifacts import MISSING, UNKNOWN, clear_up_if_free
from adducir.core.errors import (
    AdducirError,
    ArtifactError,
    InputError,
    MachineError,
    UsageError,
)
from adducir.core.executors import Processes
from adducir.core.fingerprint import fingerprint, is_known, unread_file
from adducir.core.progress import Progress, progress
from adducir.core.recipe import Recipe
from adducir.experiments.code import require_consent
from adducir.experiments.context import Context
from adducir.experiments.planner import Needs, note
from adducir.experiments.step import Step
from adducir.experiments.study import Study

REBUILD = "everything is built again"


@dataclass(frozen=True)
class Plan:
    """An experiment, checked and opened, and the steps to its tables."""

    path: Path
    folder: Path  # the study's
    recipe: Recipe  # what the file says, overrides applied
    overrides: tuple[str, ...]
    study: Study
    needs: Needs
    goals: tuple[Step, ...]  # the steps whose artifacts are evaluated
    rebuild: bool = False
    unread: Unread | None = None  # None for a plan that can be run

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """All steps, each after those that it is made from."""
        found: dict[Step, None] = {}

        def add(step: Step) -> None:
            if step not in found:
                for one in step.inputs:
                    add(one)
                found[step] = None

        for step in (*self.study.others(), *self.goals):
            add(step)
        return tuple(found)

    @cached_property
    def state(self) -> Mapping[Step, str | None]:
        """Why each step has to be made, as things were when this was first asked; None if not."""
        return self.current()

    @property
    def output(self) -> Path:
        """The folder that takes the tables in all their formats."""
        return self.folder / "experiments" / self.path.stem

    def shown(self, path: Path) -> str:
        """A path as the study's own, where it lies in it."""
        return str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(path)

    def current(self) -> dict[Step, str | None]:
        """:attr:`state` as things are now: another process may have made something."""
        with leaving_unread(self.unread):
            return {step: self._why(step) for step in self.steps}

    def _why(self, step: Step) -> str | None:
        why = step.why()
        if why == UNKNOWN:
            file = unread_file(step.fingerprint)
            return f"{UNKNOWN} until {f'{self.shown(file)} is' if file else 'its data are'} read"
        return REBUILD if self.rebuild and step.kept == "keep" and why != MISSING else why

    def needed(self, state: Mapping[Step, str | None]) -> list[Step]:
        """The steps to be made: goals that are not there, and what these are made from."""
        wanted = {step for step in self.goals if state[step] is not None}
        for step in reversed(self.steps):
            if step in wanted:
                wanted.update(one for one in step.inputs if state[one] is not None)
        return [step for step in self.steps if step in wanted]

    def prepare(self, *, allow_code: bool = False) -> list[Step]:
        """The steps to be made, as things are now; what they read is fetched."""
        needed = self.needed(self.current())
        steps = [step for step in self.goals if step.kept == "keep"]
        kept = sum(step not in needed for step in steps)
        if kept:
            share = f"all {kept}" if kept == len(steps) else f"{kept} of {len(steps)}"
            progress().note(f"{share} {self.study.makes} are there and kept")
        at_work = {place for step in needed for place in (step.path, *step.chunk_places)}
        done = {place for step in self.steps for place in (step.path, *step.chunk_places)}
        for place in done - at_work:
            clear_up_if_free(place)
        code = dict(step.runs_code for step in needed if step.runs_code is not None)
        require_consent(code, self.folder, allow_code)
        self.needs.fetch({place for step in needed for place in step.reads})
        return needed

    def lines(self) -> list[str]:
        """What running it would do, a line per artifact."""
        with leaving_unread(self.unread):
            return [f"{verb:6} {what}" for verb, what in self._lines()]

    def notes(self) -> list[str]:
        """What a dry run lacks or has left unread, a line each."""
        lines = self.needs.lines()
        unread = self.unread.files if self.unread is not None else ()
        notes = [note(NotRead.of(path)).rstrip(".") for path in unread]
        return [*lines, *(one for one in notes if not any(one in line for line in lines))]

    def _lines(self) -> Iterator[tuple[str, str]]:
        needed = set(self.needed(self.state))
        known = all(is_known(step.fingerprint) for step in self.steps)
        for step in sorted(self.steps, key=lambda one: one.stage):
            why = self.state[step]
            verb, reason = (step.kept, None) if why is None else (step.verb, why)
            if why is not None and known and step not in needed:
                verb, reason = "skip", f"every {self.study.makes[:-1]} that needs it is there"
            yield from step.lines(verb, reason, self.shown)
        yield from self.study.warnings()
        yield "write", f"{self.shown(self.output)}/"


PlanAgain = Callable[..., Plan]
"""``plan_experiment``, as another process calls it."""


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
    with (
        progress().doing("making", len(needed), "steps"),
        Processes(min(jobs, len(groups))) as processes,
    ):
        while groups or running:
            for group in [one for one in groups if _is_ready(one, undone)]:
                groups.remove(group)
                paths = [str(step.path) for step in group]
                running[processes.submit(_make, request, plan_again, paths)] = group
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                group = running.pop(future)
                for note in _result(future, running):
                    progress().note(note)
                progress().advance(len(group))
                undone.difference_update(group)


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
class _Notes(Progress):
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
        context = replace(given, shown=plan.shown, steps=plan.steps)
        _planned = {str(step.path): step for step in plan.steps}, context, notes
    steps, context, notes = _planned
    notes.lines.clear()
    with notes:
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
