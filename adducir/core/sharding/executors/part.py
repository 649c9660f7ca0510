"""Shards i, i + n, i + 2n, ... are made here, the others by other machines, or at another time."""

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from adducir.core.errors import UsageError
from adducir.core.sharding.executors.executor import Executor
from adducir.core.sharding.parts import Report
from adducir.core.sharding.plan import Shard
from adducir.core.sharding.worker import Job

Item = TypeVar("Item")

_WRITTEN = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


@dataclass(frozen=True)
class Part:
    """Part ``number`` of ``count``, from 1 to ``count``."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> "Part":
        """A part as it is written on the command line: ``3/8``.

        Raises:
            UsageError: It is none.
        """
        match = _WRITTEN.fullmatch(text.strip())
        number, count = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= number <= count:
            raise UsageError(
                f"{text!r} is no part: it is written i/n, with i from 1 to n.",
                hint="Of 8 jobs of an array, numbered from 1, give --part $SLURM_ARRAY_TASK_ID/8.",
            )
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def has(self, number: int) -> bool:
        """Whether it has the shard, or whatever is divided, with this number from 0."""
        return number % self.count == self.number - 1

    def of(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items of this part; all others are read too."""
        return (item for number, item in enumerate(items) if self.has(number))


@dataclass(frozen=True)
class PartOf:
    """Makes one part of the shards by another executor, and leaves the rest."""

    part: Part
    executor: Executor

    @property
    def at_once(self) -> int:
        """See :class:`.Executor`."""
        return self.executor.at_once

    def run(self, job: Job, shards: Sequence[Shard]) -> Generator[Report, None, None]:
        """See :class:`.Executor`."""
        return self.executor.run(job, [one for one in shards if self.part.has(one.number)])
