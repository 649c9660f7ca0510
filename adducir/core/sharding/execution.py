"""How shards are made: nothing here determines a byte of them."""

from dataclasses import dataclass

from adducir.core.errors import UsageError
from adducir.core.sharding.executors.executor import Executor
from adducir.core.sharding.executors.here import Here
from adducir.core.sharding.executors.part import Part, PartOf
from adducir.core.sharding.executors.processes import Processes


@dataclass(frozen=True)
class Execution:
    """Who makes shards, and what is accepted of them.

    Attributes:
        workers: Processes on this machine; 1: this process itself.
        part: Make this part of the shards, and no artifact.
        ray: The address of a Ray cluster that makes them: ``auto``, or ``HOST:PORT``.
        mixed_devices: Accept shards that unlike kinds of devices made.
        only_finish: Make no shard: put together those that are made.

    Raises:
        UsageError: There are no workers, or some beside a cluster.
    """

    workers: int = 1
    part: Part | None = None
    ray: str | None = None
    mixed_devices: bool = False
    only_finish: bool = False

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise UsageError(f"{self.workers} workers make nothing: take 1 or more.")
        if self.ray is not None and self.workers != 1:
            raise UsageError("--workers means nothing beside --ray: the cluster has its own.")

    @property
    def is_here(self) -> bool:
        """Whether this process itself makes them, with what it has loaded."""
        return self.workers == 1 and self.ray is None

    @property
    def is_alone(self) -> bool:
        """Whether this process makes all of the output, so that it may do without shards."""
        return self.is_here and self.part is None and not self.only_finish

    def executor(self, shards: int) -> Executor:
        """What makes the shards of work that has so many; no process is started for only one."""
        if self.ray is not None:
            from adducir.core.sharding.executors.ray_tasks import RayTasks

            found: Executor = RayTasks(self.ray)
        else:
            found = Here() if min(self.workers, shards) <= 1 else Processes(self.workers)
        return found if self.part is None else PartOf(self.part, found)

    def selected(self) -> str:
        """Which shards are asked for, in words."""
        return "all shards" if self.part is None else f"part {self.part}"


HERE = Execution()
"""In this process, all of them."""
