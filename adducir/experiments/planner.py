"""What tasks open their data with: one message shows all that is wrong with an experiment file.

Beside mistakes there is what is not available (:mod:`adducir.core.absent`): data that nobody has
put there yet, models that nobody has fetched. A dry run keeps those as notes; otherwise they are
errors like the others, and what can be fetched is fetched before anything is built.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from adducir.core.absent import Later, NotRead, watching, without_downloads
from adducir.core.config import Document, Reading
from adducir.core.errors import AdducirError, InputError, MachineError
from adducir.core.progress import progress
from adducir.core.recipe import ErrorDetail, KeyPath, Recipe
from adducir.corpora.references import source_path

_Opened = TypeVar("_Opened")
_R = TypeVar("_R", bound=Recipe)


@dataclass(frozen=True)
class Needs:
    """What an experiment needs and does not build itself."""

    missing: Sequence[tuple[KeyPath, AdducirError]] = ()  # a dry run's notes, with their places
    later: Sequence[tuple[KeyPath, Later]] = ()
    origins: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """A line for each thing that is not here, with the places of the file that need it."""
        messages = [(note(error), path) for path, error in self.missing]
        messages += [
            (f"not at hand: {need.what}", path) for path, need in self.later if not need.is_here()
        ]
        places: dict[str, dict[str, None]] = {}
        for what, path in messages:
            place = as_written(path, self.origins)
            places.setdefault(what.rstrip("."), {})[".".join(map(str, place[:2]))] = None
        return [f"{what}; needed by {', '.join(by)}" for what, by in places.items()]

    def fetch(self, places: Collection[KeyPath]) -> None:
        """Fetch what the places of the file need, before anything is built."""
        needed = {need.what: need for path, need in self.later if tuple(path[:2]) in places}
        failed: list[AdducirError] = []
        for need in needed.values():
            try:
                if not need.is_here():
                    progress().note(f"fetching {need.what}")
                    need.fetch()
            except AdducirError as error:
                failed.append(error)
        if failed:
            raise AdducirError.united(failed)


def note(error: AdducirError) -> str:
    """A dry run's line for what is not at hand, or is left unread."""
    what = "not read" if isinstance(error, NotRead) else "not at hand"
    return f"{what}: {error.paragraph()}"


class ErrorList:
    """The errors of a recipe file."""

    def __init__(self, reading: Reading[_R], *, dry_run: bool = False) -> None:
        self._error = reading.error
        self._are_own = bool(reading.errors or reading.refused)
        self._dry_run = dry_run
        # Where the file has errors of its own nothing is downloaded, and that is no error.
        self._is_offline = dry_run or self._are_own
        # The entry of the file for each that it does not have, such as one of a seed.
        self.origins: Mapping[tuple[str, str], str] = {}
        self._found: list[ErrorDetail] = []
        self._causes: list[AdducirError] = []
        self._missing: list[tuple[KeyPath, AdducirError]] = []
        self._later: list[tuple[KeyPath, Later]] = []

    def add(self, path: KeyPath, what: str) -> None:
        """Keep an error at its place in the file."""
        self.extend([ErrorDetail(path, what)])

    def extend(self, errors: Iterable[ErrorDetail]) -> None:
        """Keep several."""
        self._found += (replace(e, path=as_written(e.path, self.origins)) for e in errors)

    def opening(self, path: KeyPath, opener: Callable[[], _Opened]) -> _Opened | None:
        """What ``opener`` returns; None where it raises, and the error is kept.

        In a dry run nothing is downloaded.
        """
        with without_downloads(self._is_offline), watching() as later:
            try:
                return opener()
            except AdducirError as error:
                self._keep(path, error)
                return None
            finally:
                self._later += [(path, need) for need in later]

    def _keep(self, path: KeyPath, error: AdducirError) -> None:
        if error.absent:
            self._missing += [(path, part) for part in error.parts]
        else:
            self._causes.append(error)
            self.add(path, error.paragraph())

    def check(self) -> Needs:
        """What the file needs; raises where something is wrong, all of it as one error."""
        found, causes = list(self._found), list(self._causes)
        if not self._dry_run:
            missing = [
                (path, error)
                for path, error in self._missing
                if not (self._are_own and isinstance(error, MachineError))
            ]
            found += [
                ErrorDetail(as_written(path, self.origins), error.paragraph())
                for path, error in missing
            ]
            causes += [error for _, error in missing]
        is_machine = (
            not self._are_own
            and len(causes) == len(found)
            and all(isinstance(cause, MachineError) for cause in causes)
        )
        found = list({(problem.path, f"{problem}"): problem for problem in found}.values())
        error = self._error(found, MachineError if is_machine else InputError)
        if error is not None:
            raise error
        return Needs(tuple(self._missing), tuple(self._later), self.origins)


def as_written(path: KeyPath, origins: Mapping[tuple[str, str], str]) -> KeyPath:
    """A place in the file, of an entry that the file may not have."""
    key = tuple(map(str, path[:2]))
    return (path[0], origins[key], *path[2:]) if len(key) == 2 and key in origins else path


@dataclass(frozen=True)
class Planner:
    """What a task is given to open its data with."""

    document: Document
    data: dict[str, object]  # what the file says after the overrides, not validated
    folder: Path  # the study's, where relative paths start
    overrides: tuple[str, ...]
    errors: ErrorList

    @property
    def path(self) -> Path:
        """The experiment file."""
        return self.document.path

    @property
    def name(self) -> str:
        """The name of the folders that it gets."""
        return self.path.stem

    @property
    def output(self) -> Path:
        """The folder that takes the tables in all their formats."""
        return self.folder / "experiments" / self.name

    def refuse_files_for_folders(self) -> None:
        """Refuse what would only fail when the table is written."""
        for folder in (self.output, self.folder / "runs" / self.name):
            for place in (folder.parent, folder):
                if place.exists() and not place.is_dir():
                    what = f"{place}: a file stands where a folder is needed"
                    if place.samefile(self.path):
                        what = f"{what}: the experiment file's name needs an ending, such as .yaml"
                    self.errors.add((), what)

    def opening(self, place: KeyPath, opener: Callable[[], _Opened]) -> _Opened | None:
        """What ``opener`` returns; None where it raises, and the error is kept."""
        return self.errors.opening(place, opener)

    def source(self, place: KeyPath, source: str) -> str | None:
        """The source to open; None where there is none."""
        return self.opening(place, partial(source_path, source, self.folder))
