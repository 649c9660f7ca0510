"""Shards are made in this process, one after another."""

from collections.abc import Generator, Sequence

from adducir.core.sharding.parts import Report
from adducir.core.sharding.plan import Shard
from adducir.core.sharding.work import WorkerPlace
from adducir.core.sharding.worker import Job, Worker


class Here:
    """See the module's text."""

    at_once = 1

    def run(self, job: Job, shards: Sequence[Shard]) -> Generator[Report, None, None]:
        """See :class:`.Executor`."""
        worker = Worker(job, WorkerPlace())
        for shard in shards:
            yield worker.make(shard)
