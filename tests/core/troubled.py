"""An executor that loses shards, fails, works in any order, and damages what it made."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from adducir.core.errors import IncompleteError, MachineError
from adducir.core.sharding.execution import Execution
from adducir.core.sharding.parts import Failed, Lost
from adducir.core.sharding.work import WorkerPlace
from adducir.core.sharding.worker import Worker


@dataclass(frozen=True)
class Troubled(Execution):
    """Makes shards in any order; loses some, fails at some, makes some twice or damages them."""

    seed: int = 0

    def executor(self, shards):
        return _TroubledExecutor(self.seed)


class _TroubledExecutor:
    at_once = 3

    def __init__(self, seed):
        self.random = Random(seed)

    def run(self, job, shards) -> Iterator:
        shards = self.random.sample(shards, len(shards))
        workers = [Worker(job, WorkerPlace()) for _ in range(3)]
        for shard in shards:
            match self.random.randrange(6):
                case 0:
                    yield Lost(shard)
                case 1:
                    yield Failed(shard, "surprise", is_final=False)
                case 2:  # lost when all was done
                    self.random.choice(workers).make(shard)
                    yield Lost(shard)
                case 3:
                    outcome = self.random.choice(workers).make(shard)
                    (job.folder / outcome.file).write_text("x" * outcome.bytes)
                    yield outcome
                case _:
                    yield self.random.choice(workers).make(shard)


def in_the_end(make: Callable[[Troubled], Any], execution: Troubled) -> Any:
    """What comes of work in the end, however often it must be begun again."""
    for attempt in range(30):
        try:
            return make(replace(execution, seed=execution.seed + attempt))
        except (IncompleteError, MachineError):
            continue
    raise AssertionError("it never ends")
