"""A planned experiment: the steps to its tables, which of them are to be made, and making them.

Side by side, each process plans the experiment for itself and is then told which steps to make, so
that nothing else goes from one process to another. What a step makes does not depend on the process
that makes it.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from adducir.core.absent import NotRead, Unread, leaving_unread
from adducir.core.artifacts import MISSING, UNKNOWN, clear_up_if_free
from adducir.core.errors import AdducirError, ArtifactError, InputError, MachineError, UsageError
from adducir.core.executors import Processes
from adducir.core.fingerprint import fingerprint, is_known, unread_file
from adducir.core.progress import Progress, progress
from adducir.experiments.code import require_consent
from adducir.experiments.context import Context, shown
from adducir.experiments.planner import Planner, note
from adducir.experiments.step import Step
from adducir.experiments.study import Study

REBUILD = "everything is built again"


@dataclass(frozen=True)
class Plan:
    """An experiment, checked and opened, and the steps to its tables."""

    study: Study
    planner: Planner
    rebuild: bool = False
    unread: Unread | None = None  # None for a plan that can be run

    @property
    def output(self) -> Path:
        """The folder that takes the tables in all their formats."""
        return self.planner.output

    @cached_property
    def goals(self) -> tuple[Step, ...]:
        """The steps whose artifacts are evaluated."""
        return tuple(self.study.goals())

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

    def shown(self, path: Path) -> str:
        """A path as the study's own, where it lies in it."""
        return shown(path, self.planner.folder)

    def state(self) -> dict[Step, str | None]:
        """Why each step has to be made, as things are now; None if not."""
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
        needed = self.needed(self.state())
        made = [step for step in self.goals if step.kept == "keep"]
        kept = sum(step not in needed for step in made)
        if kept:
            share = f"all {kept}" if kept == len(made) else f"{kept} of {len(made)}"
            progress().note(f"{share} {self.study.makes} are there and kept")
        clear_up(set(self.steps) - set(needed), needed)
        code = dict(step.runs_code for step in needed if step.runs_code is not None)
        require_consent(code, self.planner.folder, allow_code)
        self.planner.fetch({place[:2] for step in needed for place in step.reads})
        return needed

    def lines(self) -> list[str]:
        """What running it would do, a line per artifact."""
        with leaving_unread(self.unread):
            return [f"{verb:6} {what}" for verb, what in self._lines()]

    def _lines(self) -> Iterator[tuple[str, str]]:
        state = self.state()
        needed = set(self.needed(state))
        known = all(is_known(step.fingerprint) for step in self.steps)
        for step in sorted(self.steps, key=lambda one: one.stage):
            why, title = state[step], step.title(self.shown)
            if why is None:
                yield step.kept, title
            elif known and step not in needed:
                yield "skip", f"{title}: every {self.study.makes[:-1]} that needs it is there"
            else:
                yield step.verb, title + ("" if why == MISSING else f": {why}")
        yield from self.study.warnings()
        yield "write", f"{self.shown(self.output)}/"

    def notes(self) -> list[str]:
        """What a dry run lacks or has left unread, a line each."""
        lines = self.planner.notes()
        unread = self.unread.files if self.unread is not None else ()
        notes = [note(NotRead.of(path)) for path in unread]
        return [*lines, *(one for one in notes if not any(one in line for line in lines))]

    @property
    def identity(self) -> str:
        """Of the file's content with the overrides."""
        return fingerprint(self.study.recipe.model_dump(mode="json"))


def clear_up(steps: Iterable[Step], but: Iterable[Step] = ()) -> None:
    """Remove what killed or finished work left beside steps that are not at work."""

    def places(steps: Iterable[Step]) -> set[Path]:
        return {place for step in steps for place in (step.path, *step.chunk_places)}

    for place in places(steps) - places(but):
        clear_up_if_free(place)


def make_steps(
    needed: Sequence[Step], context: Context, jobs: int, identity: str, again: Callable[[], Plan]
) -> None:
    """Make steps of a plan, each after those that it is made from.

    When a step fails, those that are being made are made to their end, and no others are begun.

    Args:
        identity: That of the plan.
        again: Makes the same plan in another process.
    """
    if jobs < 1:
        raise UsageError(f"--jobs is {jobs}; it must be 1 or more.")
    groups: dict[Hashable, list[Step]] = {}
    for step in needed:
        key = step if step.shared_work is None else step.shared_work
        groups.setdefault(key, []).append(step)
    jobs = min(jobs, len(groups))
    if jobs < 2:
        for step in needed:
            _make_one(step, context)
        return
    bare = replace(context)  # what this process has opened is not sent
    undone, running = set(needed), dict[Future[list[str]], list[Step]]()
    with progress().doing("making", len(needed), "steps"), Processes(jobs) as processes:
        while groups or running:
            for key, group in list(groups.items()):
                if not undone & {one for step in group for one in step.inputs} - set(group):
                    del groups[key]
                    paths = [str(step.path) for step in group]
                    running[processes.submit(_make, again, bare, identity, paths)] = group
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                group = running.pop(future)
                try:
                    notes = future.result()
                except AdducirError:
                    wait(running)
                    raise
                except BrokenExecutor as error:
                    raise MachineError(
                        "a process that made a step was killed; the memory may not be enough for "
                        "so many.",
                        hint="Run this again with fewer --jobs: what is made is kept.",
                    ) from error
                for line in notes:
                    progress().note(line)
                progress().advance(len(group))
                undone.difference_update(group)


class _Notes(Progress):
    """Keeps what is to be reported."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, message: str) -> None:
        self.lines.append(message)


_planned: tuple[Plan, Context] | None = None
"""In a process that makes steps: its plan."""


def _make(
    again: Callable[[], Plan], context: Context, identity: str, paths: Sequence[str]
) -> list[str]:
    """In another process: make the steps of these paths; returns what is to be reported."""
    global _planned
    if _planned is None:
        plan = again()
        if plan.identity != identity:
            raise InputError("the experiment file was changed meanwhile.", path=plan.planner.path)
        _planned = plan, context
    plan, context = _planned
    steps = {str(step.path): step for step in plan.steps}
    with _Notes() as notes:
        for path in paths:
            _make_one(steps[path], context)
    return notes.lines


def _make_one(step: Step, context: Context) -> None:
    """Make a step, from the inputs whose fingerprints its own covers."""
    for one in step.inputs:
        if why := one.why():
            raise ArtifactError(
                f"this is not what was planned ({why}): its data have changed since, or another "
                "experiment has made its own here.",
                path=one.path,
                hint="Run this again; give what two experiments make differently different names.",
            )
    step.make(context)
