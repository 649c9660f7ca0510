"""Makes shards of some work, wherever an executor lets it: reads, computes, publishes."""

import os
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from adducir.core.cores import share_cores
from adducir.core.errors import ArtifactError, InputError, MachineError, UsageError
from adducir.core.sharding.parts import Failed, Outcome, Parts
from adducir.core.sharding.plan import Shard, digest_of
from adducir.core.sharding.work import Builder, Work, WorkerPlace
from adducir.core.system_errors import is_disk_full, machine_error


@dataclass(frozen=True)
class Job:
    """What a worker needs to know; it can be pickled.

    Attributes:
        work: What is made.
        folder: Where shards are kept, absolute.
        here: The folder from which relative paths start.
    """

    work: Work
    folder: Path
    here: Path


class Worker:
    """Makes one shard after another; loads what that takes when it is first asked for one."""

    def __init__(self, job: Job, place: WorkerPlace) -> None:
        self._job, self._place = job, place
        self._items = _Reading(job.work)
        self._builder: Builder | None = None
        if place.is_alone:
            share_cores(place.count)
            with suppress(OSError):  # another machine may not have it: paths may be absolute
                os.chdir(job.here)

    def make(self, shard: Shard) -> Outcome | Failed:
        """Make a shard.

        Raises:
            InputError: The items cannot be read, or are not those that were planned.
            MachineError: No space or memory is left.
            AdducirError: The work cannot be begun at all.
        """
        if self._builder is None:
            self._builder = self._job.work.builder(self._place)
        builder, items = self._builder, self._items.of(shard)
        try:
            return Parts(self._job.folder).add(
                shard, builder.device, lambda path: builder.make(items, path), time.monotonic
            )
        except (MachineError, ArtifactError, UsageError):
            raise
        except Exception as error:
            if is_disk_full(error) or machine_error(error) is not None:
                raise
            is_final = isinstance(error, InputError)
            reason = str(error) if is_final else f"{type(error).__name__}: {error}"
            trace = "".join(traceback.format_exception(error))
            return Failed(shard, reason, trace, is_final)


class _Reading:
    """Items of shards, read by streaming: the next shard's are read on, an earlier one's anew."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._rest: Iterator[Any] | None = None
        self._next = 0

    def of(self, shard: Shard) -> list[Any]:
        if self._rest is None or shard.first < self._next:
            self._rest, self._next = iter(self._work.items(check=False)), 0
        start = shard.first - self._next
        items = list(islice(self._rest, start, start + shard.size))
        self._next = shard.first + shard.size
        if digest_of(items, self._work.describe) != shard.digest:
            self._rest = None
            raise InputError(
                f"the {self._work.unit} were changed since they were planned: shard "
                f"{shard.number} has others.",
                hint="Run the whole work again, on data that stay as they are.",
            )
        return items
