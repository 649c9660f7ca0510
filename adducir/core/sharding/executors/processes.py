"""Shards are made in several processes of this machine: one per core, or one per GPU."""

import pickle
from collections.abc import Generator, Sequence
from functools import partial
from typing import Any

from adducir.core.errors import UsageError
from adducir.core.pool import Retiring, WorkerPool
from adducir.core.sharding.parts import Failed, Lost, Outcome, Report
from adducir.core.sharding.plan import Shard
from adducir.core.sharding.work import WorkerPlace
from adducir.core.sharding.worker import Job, Worker


class Processes:
    """See the module's text.

    Args:
        count: How many.
    """

    def __init__(self, count: int) -> None:
        self.at_once = count

    def run(self, job: Job, shards: Sequence[Shard]) -> Generator[Report, None, None]:
        """See :class:`.Executor`.

        Raises:
            UsageError: The work cannot be sent to another process.
        """
        refuse_unsendable(job)
        count = min(self.at_once, len(shards))
        pool: WorkerPool[Shard, Outcome | Failed] = WorkerPool(count, partial(_start, job, count))
        with pool:
            for shard in shards:
                pool.submit(shard)
            for _ in shards:
                done = pool.next()
                if done.error is not None:
                    raise done.error
                yield Lost(done.task) if done.result is None else done.result


def refuse_unsendable(job: Job) -> None:
    """Refuse work that another process cannot be given.

    Raises:
        UsageError: Something in it has no pickle: a corpus of another package, say.
    """
    try:
        pickle.dumps(job)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise UsageError(
            f"this work cannot be given to another process: {error}.",
            hint="Let it be done here: --workers 1.",
        ) from error


class _Making:
    """Makes shards in a process of its own."""

    def __init__(self, job: Job, place: WorkerPlace) -> None:
        self._worker = Worker(job, place)

    def __call__(self, shard: Shard) -> Any:
        report = self._worker.make(shard)
        # After an error that nobody foresaw a GPU's context may fail for every other shard, too.
        if isinstance(report, Failed) and not report.is_final:
            return Retiring(report)
        return report


def _start(job: Job, count: int, number: int) -> _Making:
    return _Making(job, WorkerPlace(number, count, is_alone=True))
