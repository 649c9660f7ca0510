"""From sharded work to an artifact: plan, make, check, put together, publish."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
from adducir.core.errors import IncompleteError, MachineError
from adducir.core.fingerprint import fingerprint
from adducir.core.progress import SILENT, Progress
from adducir.core.scratch import parts_folder
from adducir.core.sharding.commands import note_part, part_of
from adducir.core.sharding.execution import HERE, Execution
from adducir.core.sharding.made import Made
from adducir.core.sharding.making import make_shards, unlike_devices
from adducir.core.sharding.parts import Outcome, Parts
from adducir.core.sharding.plan import Plan, Shard, planned
from adducir.core.sharding.work import Work
from adducir.core.sharding.worker import Job

_ROUNDS = 3
"""How often shards that turn out to be damaged are made again."""


class PartMade(Exception):  # noqa: N818  (what was asked for is done)
    """A part of the shards is made, as was asked for: there is no artifact to go on with."""


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
    order: Order, work: Work, execution: Execution = HERE, progress: Progress = SILENT
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
        _make_part(order, work, execution, progress)
    counts = _Counts(order, work, execution, progress)
    return build(
        order.path,
        kind=order.kind,
        recipe=order.recipe,
        inputs=order.inputs,
        builder_version=order.builder_version,
        make=counts.make,
        rebuild=order.rebuild,
        versions=order.versions,
        sources=order.sources,
        progress=progress,
    )


def _job(order: Order, work: Work) -> Job:
    key = fingerprint([order.fingerprint, work.identity(), work.size])
    return Job(work, parts_folder(order.path, key), Path.cwd())


def _plan(job: Job, progress: Progress) -> Plan:
    work = job.work
    items = partial(work.items, check=True)
    return planned(job.folder, items, work.describe, work.size, work.total, work.unit, progress)


def _make_part(order: Order, work: Work, execution: Execution, progress: Progress) -> None:
    """Make a part of the shards, under no lock; always ends by an exception."""
    part = execution.part
    if part is None:
        return
    if not order.rebuild and is_current(order.path, order.fingerprint):
        raise PartMade(f"{order.path}: is there already, whole.")
    refuse_to_replace(order.path, order.kind, order.sources, order.inputs, order.fingerprint)
    work.check()
    job = _job(order, work)
    note_part(job.folder, part, execution.command)
    plan = _plan(job, progress)
    wanted = list(part.of(plan.shards))
    make_shards(
        job,
        plan,
        wanted,
        execution.executor(),
        mixed_devices=execution.mixed_devices,
        progress=progress,
    )
    count = len(plan.shards)
    made = f"part {part} is made, {len(wanted):,} of {count:,} shards."
    if not wanted:
        there = "there is 1 shard" if count == 1 else f"there are {count:,} shards"
        made = f"part {part} has nothing to make: {there}, and none falls to this part."
    raise PartMade(f"{order.path}: {made} When all parts are made: adducir finish {order.path}")


@dataclass(frozen=True)
class _Counts:
    """Fills an artifact's folder from shards, and counts."""

    order: Order
    work: Work
    execution: Execution
    progress: Progress

    def make(self, folder: Path) -> Mapping[str, Any]:
        """Make what is missing, check all shards, put them together."""
        if not self.execution.only_finish:
            self.work.check()
        job = _job(self.order, self.work)
        plan = _plan(job, self.progress)
        outcomes = self._outcomes(job, plan)
        devices = Counter(outcome.device for outcome in outcomes)
        if len(devices) > 1 and not self.execution.mixed_devices:
            raise unlike_devices(devices, job)
        files = [job.folder / outcome.file for outcome in outcomes]
        counts = dict(self.work.finish(folder, Made(plan, files, self.work.name), self.progress))
        # Where it is one kind, the bytes do not depend on which shards it made.
        return {**counts, "devices": dict(sorted(devices.items()))}

    def _outcomes(self, job: Job, plan: Plan) -> list[Outcome]:
        """The outcomes of all shards, whose files were read and are whole."""
        parts = Parts(job.folder)
        whole: dict[Shard, Outcome] = {}
        for _ in range(_ROUNDS):
            if not self.execution.only_finish:
                make_shards(
                    job,
                    plan,
                    plan.shards,
                    self.execution.executor(),
                    mixed_devices=self.execution.mixed_devices,
                    progress=self.progress,
                )
            for shard in plan.shards:
                outcome = parts.outcome(shard)
                if outcome is None or shard in whole:
                    continue
                if parts.is_whole(outcome):
                    whole[shard] = outcome
                else:
                    parts.drop(outcome)
                    self.progress.note(
                        f"{job.folder / outcome.file}: damaged; shard {shard.number} is dropped."
                    )
            if len(whole) == len(plan.shards):
                return [whole[shard] for shard in plan.shards]
            if self.execution.only_finish:
                raise _missing(job, plan, [one for one in plan.shards if one not in whole])
        raise MachineError(
            f"{len(plan.shards) - len(whole):,} shards are damaged each time they are made.",
            path=job.folder,
            hint="Check the disk, or use another.",
        )


def _missing(job: Job, plan: Plan, missing: Sequence[Shard]) -> IncompleteError:
    """The error for shards that nobody made yet."""
    parts = Parts(job.folder)
    by_part = Counter(part_of(job.folder, shard) for shard in missing)
    reasons = [
        f"\n  shard {shard.number}: {reason}"
        for shard in missing[:10]
        if (reason := parts.failure(shard)) is not None
    ]
    named = ", ".join(f"{count:,} of {part}" for part, count in sorted(by_part.items()) if part)
    return IncompleteError(
        f"{len(missing):,} of {len(plan.shards):,} shards are missing"
        + (f": {named}." if named else ".")
        + "".join(reasons),
        path=job.folder,
        hint="Make them: give the same command again with their --part, or without any part.",
    )
