"""What every executor does."""

from collections.abc import Generator, Sequence
from typing import Protocol

from adducir.core.sharding.parts import Report
from adducir.core.sharding.plan import Shard
from adducir.core.sharding.worker import Job


class Executor(Protocol):
    """Makes shards somewhere."""

    @property
    def at_once(self) -> int:
        """How many shards are given out at a time, and so may be lost together."""

    def run(self, job: Job, shards: Sequence[Shard]) -> Generator[Report, None, None]:
        """Make shards; report each as soon as it is made, failed or lost, in any order.

        No shard is tried twice: the caller gives those again that are worth it. When the caller
        closes the generator, all work ends.

        Raises:
            AdducirError: The work cannot be begun or continued at all.
        """
