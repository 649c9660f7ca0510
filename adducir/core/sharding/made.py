"""The shards of an artifact, all made and checked, from which it is put together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
        devices: How many shards each kind of device made.
        seconds: How long making them took, all together.
    """

    plan: Plan
    files: Sequence[Path]
    name: str
    devices: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def names(self) -> Iterator[list[str]]:
        """The names of the items of each shard, one shard after another."""
        return self.plan.names()

    def keep(self, folder: Path) -> None:
        """Put the files into an artifact's folder; they stay where they are until it is there."""
        for number, path in enumerate(self.files):
            link_or_copy(path, folder / self.name.format(number))
