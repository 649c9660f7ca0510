"""Commands that are disturbed, beside what they make when nobody disturbs them."""

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from attack_builds import differences, outputs, snapshot
from attack_commands import Command
from attack_process import Ended, Order, Running, run

FRESH, REPLACING = "fresh", "replacing"
"""Where a trial begins: without the artifacts, or with others at their places."""


@dataclass(frozen=True)
class Undisturbed:
    """What a command makes when it is left alone.

    Attributes:
        start: The folder that a trial begins with.
        kind: Fresh, or with other artifacts in their places.
        first: What stood there before it, beside the study itself.
        made: What stood there after it.
        ended: How it ended.
    """

    start: Path
    kind: str
    first: dict[str, bytes]
    made: dict[str, bytes]
    ended: Ended


class Bench:
    """Trials of one command, each in a copy of the study.

    Args:
        study: The study; it is copied, never changed.
        command: The command.
        room: An empty folder for the copies.
    """

    def __init__(self, study: Path, command: Command, room: Path) -> None:
        self.command = command
        self._study = study
        self._room = room
        self._known: dict[str, Undisturbed] = {}

    @cached_property
    def given(self) -> dict[str, bytes]:
        """The study's own files."""
        return snapshot(self._study)

    @property
    def starts(self) -> list[str]:
        """The starts that this command has."""
        return [FRESH, REPLACING] if self.command.other else [FRESH]

    def undisturbed(self, start: str) -> Undisturbed:
        """What the command makes from this start; run once."""
        if start not in self._known:
            folder = self._prepared(start)
            work = self.copy(folder, start)
            first = outputs(work, self.given)
            ended = run(self.command.argv(), work)
            assert ended.code == 0, f"{self.command.name}: {ended.last}"
            made = outputs(work, self.given)
            self._known[start] = Undisturbed(folder, start, first, made, ended)
            shutil.rmtree(work)
        return self._known[start]

    def copy(self, folder: Path, start: str) -> Path:
        """A copy of a start, where a trial may do what it likes.

        Other artifacts are made in it anew: who made a file is known by its place and inode.
        """
        work = self._room / "work"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(folder, work, copy_function=shutil.copy)
        if start == REPLACING:
            ended = run(self.command.argv(is_other=True), work)
            assert ended.code == 0, f"{self.command.name}, the other way: {ended.last}"
        return work

    def begin(self, work: Path, stop: int | None = None, is_before: bool = True) -> Running:
        """Start the command in a copy."""
        return Running(Order(self.command.argv(), work, stop, is_before))

    def finished(self, work: Path, wanted: Undisturbed) -> list[str]:
        """Run the command again where it was killed; what is then wrong, one text per error."""
        ended = run(self.command.argv(), work)
        wrong = differences(outputs(work, self.given), wanted.made)
        is_there = self.command.is_refused_when_there and ended.code == 5
        if ended.code != 0 and not is_there:
            wrong.insert(0, f"the next call ended with {ended.code}: {ended.last}")
        return wrong

    def _prepared(self, start: str) -> Path:
        folder = shutil.copytree(self._study, self._room / start)
        for line in self.command.before:
            ended = run(line.split(), folder)
            assert ended.code == 0, f"{line}: {ended.last}"
        return folder
