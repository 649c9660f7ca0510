"""The shards of an artifact, all made and checked, from which it is put together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from adducir.core.files import link_or_copy
from adducir.core.sharding.plan import Plan


@dataclass(frozen=True)
class Made:
    """All shards of a plan.

    Attributes:
        plan: How items were cut.
        files: The file of each shard, in order.
        name: How the files are called in the artifact, with a place for the number.
    """

    plan: Plan
    files: Sequence[Path]
    name: str

    def names(self) -> Iterator[list[str]]:
        """The names of the items of each shard, one shard after another."""
        return self.plan.names()

    def keep(self, folder: Path) -> None:
        """Put the files into an artifact's folder; they stay where they are until it is there."""
        for number, path in enumerate(self.files):
            link_or_copy(path, folder / self.name.format(number))
