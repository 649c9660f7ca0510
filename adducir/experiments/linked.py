"""Entries of an experiment file that name other entries."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import SerializerFunctionWrapHandler, model_serializer

from adducir.core.recipe import KeyPath, Recipe
from adducir.experiments.sections import Seeds


class Linked(Recipe):
    """An entry that may name others.

    Attributes:
        references: Its keys that name entries, each with the section that these stand in.
    """

    references: ClassVar[Mapping[str, str]] = {}

    def named(self) -> Iterator[tuple[str, str]]:
        """Section and name of each entry that it names."""
        for key, section in self.references.items():
            value = getattr(self, key)
            for name in (value,) if isinstance(value, str) else value or ():
                yield section, name

    def renamed(self, new: Callable[[str, str], str]) -> Self:
        """The same with other names; ``new`` takes a section and a name in it."""
        changes: dict[str, Any] = {}
        for key, section in self.references.items():
            value = getattr(self, key)
            if isinstance(value, str):
                changes[key] = new(section, value)
            elif value:
                changes[key] = tuple(new(section, name) for name in value)
        return self.model_copy(update=changes)

    def is_trained(self, folder: Path) -> bool:
        """Whether it names the recipe of a model that is trained for it.

        Args:
            folder: The study's, where relative paths start.

        Raises:
            InputError: The recipe cannot be read.
        """
        del folder
        return False


class SystemEntry(Linked):
    """A system: a row of the tables.

    Attributes:
        seeds: Of the trainings of what it is made with: a run for each.
    """

    seeds: Seeds = ()

    @model_serializer(mode="wrap")
    def _without_nothing(self, rest: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Empty keys of these names are refused, so that what is written can be read.
        return {k: value for k, value in rest(self).items() if k not in ("tune", "seeds") or value}

    @property
    def members(self) -> tuple[str, ...]:
        """The systems whose runs it is made from."""
        return ()

    def place_of(self, member: int) -> KeyPath:
        """Where a member is named, below the system."""
        raise NotImplementedError
