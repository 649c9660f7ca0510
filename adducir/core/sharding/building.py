"""From sharded work to an artifact: plan, make, check, put together, publish."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adducir.core.artifacts import (
    Manifest,
    Sources,
    artifact_fingerprint,
    build,
    is_current,
    refuse_to_replace,
)
from adducir.core.fingerprint import fingerprint
from adducir.core.progress import SILENT, Progress
from adducir.core.scratch import parts_folder, parts_path
from adducir.core.sharding.execution import HERE, Execution
from adducir.core.sharding.gathering import PartMade, gathered, made_part
from adducir.core.sharding.plan import PLAN
from adducir.core.sharding.work import ANY, ArtifactWork
from adducir.core.sharding.worker import Job


@dataclass(frozen=True)
class Order:
    """The artifact that is to be; see :func:`adducir.core.artifacts.build`."""

    path: Path
    kind: str
    recipe: Mapping[str, Any]
    inputs: Mapping[str, str]
    builder_version: int
    versions: Mapping[str, str]
    sources: Sources | None = None
    rebuild: bool = False

    @property
    def fingerprint(self) -> str:
        """The artifact's."""
        return artifact_fingerprint(self.kind, self.recipe, self.inputs, self.builder_version)


def build_sharded(
    order: Order, work: ArtifactWork, execution: Execution = HERE, progress: Progress = SILENT
) -> Manifest:
    """Build an artifact of shards, unless it is there already.

    The artifact's lock is held while its shards are made and put together, but not by those who
    make a part: any number of them can work at once, on any machines that share the folder.

    Raises:
        PartMade: A part was asked for, and is made.
        IncompleteError: Some shards cannot be made, or are missing where nothing is to be made.
        ArtifactError, MachineError: As :func:`adducir.core.artifacts.build`; or unlike devices
            made the shards.
    """
    if execution.part is not None:
        if not order.rebuild and is_current(order.path, order.fingerprint):
            raise PartMade(f"{order.path}: is there already, whole.", is_whole=True)
        refuse_to_replace(order.path, order.kind, order.sources, order.inputs, order.fingerprint)
        work.check()
        raise made_part(_job(order, work), order.path, execution, progress)

    def make(folder: Path) -> Mapping[str, Any]:
        """Fill the artifact's folder, and count."""
        if not execution.only_finish:
            work.check()
        made = gathered(_job(order, work), execution, progress)
        # Where it is one kind, the bytes do not depend on which shards it made.
        devices = {"devices": made.devices} if set(made.devices) - {ANY} else {}
        return {**work.finish(folder, made, progress), **devices}

    return build(make=make, progress=progress, **vars(order))


def is_planned(order: Order, work: ArtifactWork) -> bool:
    """Whether shards of the artifact were planned, so that some may be there."""
    return (parts_path(order.path, _key(order, work)) / PLAN).is_file()


def _job(order: Order, work: ArtifactWork) -> Job:
    return Job(work, parts_folder(order.path, _key(order, work)), Path.cwd())


def _key(order: Order, work: ArtifactWork) -> str:
    return fingerprint([order.fingerprint, work.identity(), work.size])
