"""Collects what is wrong with an experiment file, so that one message tells all of it."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from adducir.study.errors import AdducirError, InputError, MachineError
from adducir.study.recipe import Fault, Reading, Recipe
from adducir.study.yaml import KeyPath

_Opened = TypeVar("_Opened")
_R = TypeVar("_R", bound=Recipe)


class Faults:
    """The faults of a recipe file.

    Args:
        reading: The file, with the faults that validation found.
    """

    def __init__(self, reading: Reading[_R]) -> None:
        self._error = reading.error
        self._are_own = bool(reading.faults or reading.refused)
        self._found: list[Fault] = []
        self._causes: list[AdducirError] = []

    def add(self, path: KeyPath, what: str) -> None:
        """Keep a fault for its place in the file."""
        self._found.append(Fault(path, what))

    def extend(self, faults: Iterable[Fault]) -> None:
        """Keep several."""
        self._found += faults

    def opening(self, path: KeyPath, opener: Callable[[], _Opened]) -> _Opened | None:
        """What ``opener`` returns; None, and a fault for its place, where it raises."""
        try:
            return opener()
        except AdducirError as error:
            self._causes.append(error)
            self.add(path, error.paragraph())
            return None

    def check(self) -> None:
        """Raise them all as one.

        Raises:
            InputError: There are any.
            MachineError: There are, and all of them are the machine's.
        """
        is_machine = (
            not self._are_own
            and len(self._causes) == len(self._found)
            and all(isinstance(cause, MachineError) for cause in self._causes)
        )
        error = self._error(self._found, MachineError if is_machine else InputError)
        if error is not None:
            raise error
