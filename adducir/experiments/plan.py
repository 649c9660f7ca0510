"""A planned experiment: the steps to its tables, and which of them are to be made."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from adducir.core.artifacts import MISSING, UNKNOWN, clear_up_if_free
from adducir.core.fingerprint import is_known, unread_file
from adducir.core.progress import Progress
from adducir.core.recipe import Recipe
from adducir.core.unread import NotRead, Unread, leaving_unread
from adducir.experiments.code import require_consent
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
        """Why each step has to be made, as things were when this was first asked; None if not.

        Raises:
            ArtifactError: Something else stands where a step's artifact goes.
        """
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

    def prepare(self, progress: Progress, *, allow_code: bool = False) -> list[Step]:
        """The steps to be made, as things are now; what they read is fetched.

        Args:
            progress: Notified of what is kept and of what is fetched.
            allow_code: Whether code of the experiment's author may run.

        Raises:
            UsageError: Code would run that nobody allowed to.
            AdducirError: Something cannot be fetched; all of it in one message.
        """
        needed = self.needed(self.current())
        steps = [step for step in self.goals if step.kept == "keep"]
        kept = sum(step not in needed for step in steps)
        if kept:
            share = f"all {kept}" if kept == len(steps) else f"{kept} of {len(steps)}"
            progress.note(f"{share} {self.study.makes} are there and kept")
        at_work = {place for step in needed for place in (step.path, *step.chunk_places)}
        done = {place for step in self.steps for place in (step.path, *step.chunk_places)}
        for place in done - at_work:
            clear_up_if_free(place)
        code = dict(step.runs_code for step in needed if step.runs_code is not None)
        require_consent(code, self.folder, allow_code)
        self.needs.fetch({place for step in needed for place in step.reads}, progress)
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
