"""What tasks open their data with: one message shows all that is wrong with an experiment file.

Beside mistakes there is what is not available (:mod:`adducir.core.planning`): data that nobody has
put there yet, models that nobody has fetched. A dry run keeps those as notes; otherwise they are
errors like the others, and what can be fetched is fetched before anything is built.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from adducir.core.config import Reading
from adducir.core.errors import AdducirError, InputError, MachineError
from adducir.core.planning import Later, NotRead, planning
from adducir.core.progress import progress
from adducir.core.recipe import ErrorDetail, KeyPath
from adducir.core.texts import nearest
from adducir.corpora.sources import source_path

T = TypeVar("T")

_ENTRIES = {"corpora": "corpus", "indexes": "index", "topics": "topic set", "systems": "system"}


class Known(AdducirError):  # noqa: N818
    """Something cannot be opened, and what is wrong or missing is kept already."""

    def __init__(self) -> None:
        super().__init__("this cannot be opened.")


class Planner:
    """Opens what an experiment file names, and keeps what is wrong and what is missing.

    ``folder`` is the study's, where relative paths start, ``output`` that of the tables; ``names``
    are the entries of the file by section, which may have errors of their own.
    """

    def __init__(
        self,
        reading: Reading[Any],
        folder: Path,
        overrides: tuple[str, ...] = (),
        *,
        dry_run: bool = False,
    ) -> None:
        self.path, self.folder, self.overrides = reading.document.path, folder, overrides
        self.name = self.path.stem
        self.output = folder / "experiments" / self.name
        sections = {key: value or {} for key, value in reading.data.items() if key in _ENTRIES}
        self.names = {key: [*one] for key, one in sections.items() if isinstance(one, Mapping)}
        self._reading, self._dry_run = reading, dry_run
        self._is_broken = bool(reading.errors or reading.refused)
        self._errors: dict[ErrorDetail, AdducirError | None] = {}  # each with its cause
        self._missing: list[tuple[KeyPath, AdducirError]] = []
        self._later: list[tuple[KeyPath, Later]] = []

    def add(self, place: KeyPath, what: str) -> None:
        """Keep an error at its place in the file."""
        self._errors.setdefault(ErrorDetail(place, what), None)

    def refer(self, place: KeyPath, section: str, name: str) -> None:
        known = self.names.get(section, [])
        if name not in known:
            what = f"there is no {_ENTRIES[section]} `{name}` in this file"
            self.add(place, what + nearest(name, known))

    @contextmanager
    def at(self, *place: str | int) -> Iterator[None]:
        """Open what a place of the file names; an error is kept, and raised as :class:`Known`.

        A file with errors is planned as in a dry run: nothing is downloaded, no large file read.
        """
        with planning(is_dry=self._dry_run or self._is_broken) as later:
            try:
                yield
            except Known:
                raise
            except AdducirError as error:
                if error.absent:
                    self._missing += [(place, part) for part in error.parts]
                else:
                    self._errors[ErrorDetail(place, error.paragraph())] = error
                raise Known from error
            finally:
                self._later += [(place, need) for need in later]

    def opening(self, place: KeyPath, opener: Callable[[], T]) -> T | None:
        with suppress(Known), self.at(*place):
            return opener()
        return None

    def source(self, source: str) -> str:
        """A source with its variables replaced, starting at the study's folder."""
        return source_path(source, self.folder)

    def check(self) -> None:
        """Raise everything that is wrong as one error; except in a dry run also what is missing."""
        found, is_machine = dict(self._errors), not self._is_broken
        for place, cause in () if self._dry_run else self._missing:
            is_known = is_machine or not isinstance(cause, MachineError)
            if is_known and not isinstance(cause, NotRead):
                found[ErrorDetail(place, cause.paragraph())] = cause
        is_machine &= all(isinstance(cause, MachineError) for cause in found.values())
        if error := self._reading.error(found, MachineError if is_machine else InputError):
            raise error

    def notes(self) -> list[str]:
        """A line for each thing that is not available, with the entries that need it."""
        places: dict[str, dict[str, None]] = {}

        def add(what: str, place: KeyPath) -> None:
            places.setdefault(what, {})[".".join(map(str, place[:2]))] = None

        for place, error in self._missing:
            what = "not read" if isinstance(error, NotRead) else "not available"
            add(f"{what}: {error.paragraph()}".rstrip("."), place)
        for place, (what, is_here, _) in self._later:
            if not is_here():
                add(f"not available: {what}", place)
        return [f"{what}; needed by {', '.join(by)}" for what, by in places.items()]

    def fetch(self, places: Collection[KeyPath]) -> None:
        """Fetch what some entries of the file need, before anything is built."""
        needed = {need[0]: need for place, need in self._later if place[:2] in places}
        failed: list[AdducirError] = []
        for what, is_here, fetch in needed.values():
            try:
                if not is_here():
                    progress().note(f"fetching {what}")
                    fetch()
            except AdducirError as error:
                failed.append(error)
        if failed:
            raise AdducirError.united(failed)
