"""All shards of some work, made and checked: what an output is put together of."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adducir.core.errors import IncompleteError, MachineError, UsageError
from adducir.core.fingerprint import fingerprint
from adducir.core.locks import locked
from adducir.core.progress import SILENT, Progress
from adducir.core.scratch import parts_folder, remove_parts
from adducir.core.sharding.execution import HERE, Execution
from adducir.core.sharding.made import Made
from adducir.core.sharding.making import make_shards, unlike_devices
from adducir.core.sharding.parts import Outcome, Parts
from adducir.core.sharding.plan import Plan, Shard, planned
from adducir.core.sharding.work import Work
from adducir.core.sharding.worker import Job
from adducir.core.standard_output import is_standard_output

_ROUNDS = 3
"""How often shards that turn out to be damaged are made again."""


class PartMade(Exception):  # noqa: N818  (what was asked for is done)
    """A part of the shards is made, as was asked for: there is no output to go on with.

    Args:
        message: What is made, and what comes next.
        is_whole: Whether all shards of all parts are there.
    """

    def __init__(self, message: str, *, is_whole: bool = False) -> None:
        super().__init__(message)
        self.is_whole = is_whole


@dataclass(frozen=True)
class Sharding:
    """How the work for an output that is no artifact of shards (a run) is made in shards.

    Attributes:
        output: The output; shards are kept beside it.
        execution: Who makes them.
        is_locked: Whether the caller holds the output's lock, since that is an artifact after all;
            or nobody does, while a part is made.
        is_last: Whether the output takes no other shards after these. A part continues after shards
            that are not the last, where they are all there.
    """

    output: Path
    execution: Execution = HERE
    is_locked: bool = False
    is_last: bool = True

    def folder(self, work: Work, **more: Any) -> Path:
        """Where shards are kept; the work's identity says all that determines them, items included.

        Args:
            more: What does beside that.

        Raises:
            AdducirError: What the work needs cannot be loaded.
        """
        if not self.execution.only_finish:
            work.check()
        return parts_folder(self.output, fingerprint([work.identity(), work.size, more]))

    @contextmanager
    def made(self, folder: Path, work: Work, progress: Progress = SILENT) -> Iterator[Made]:
        """Make all shards; they are removed when the block ends well, or the artifact is there.

        Args:
            folder: From :meth:`folder`.
            work: The work.

        Raises:
            PartMade: A part was asked for, and is made.
            IncompleteError: Some shards cannot be made, or are missing where nothing is to be made.
            MachineError, ArtifactError: As :func:`gathered`.
        """
        job, execution = Job(work, folder, Path.cwd()), self.execution
        if execution.part is not None:
            made = made_part(job, self.output, execution, progress)
            if self.is_last or not made.is_whole:
                raise made
            execution = replace(execution, part=None, only_finish=True)
        with nullcontext() if self.is_locked else locked(self.output, progress):
            yield gathered(job, execution, progress)
            if not self.is_locked:  # what publishes the artifact removes them
                remove_parts(self.output)


@contextmanager
def sharding_or_temporary(sharding: Sharding | None) -> Iterator[Sharding]:
    """The same; one in a folder that is removed at the end of the block, where there is no file.

    Raises:
        UsageError: A part is to be made of what is written to a stream.
    """
    execution = HERE if sharding is None else sharding.execution
    if sharding is not None and not _is_stream(sharding.output):
        yield sharding
        return
    if execution.part is not None:
        raise UsageError("parts are kept beside the output: --part needs one with a name.")
    with TemporaryDirectory(prefix="adducir-") as folder:
        yield Sharding(Path(folder) / "output", execution)


@contextmanager
def scratch_beside(output: Path) -> Iterator[Path]:
    """A folder for what whoever makes shards reads meanwhile; removed at the end of the block.

    It lies with the shards, where the nodes of a cluster see it, too.
    """
    near = None if _is_stream(output) else parts_folder(output, fingerprint("scratch"))
    try:
        with TemporaryDirectory(dir=near, ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    finally:
        with suppress(OSError):  # others are at work there, or it went with the shards
            if near is not None:
                near.rmdir()


def _is_stream(path: Path) -> bool:
    """Whether nothing can be kept beside it: standard output, a pipe, a device."""
    is_special = path.exists() and not path.is_file() and not path.is_dir()
    return is_standard_output(path) or is_special


def plan_of(job: Job, progress: Progress) -> Plan:
    """The shards of a job."""
    work = job.work
    items = partial(work.items, check=True)
    return planned(job.folder, items, work.describe, work.size, work.total, work.unit, progress)


def made_part(job: Job, output: Path, execution: Execution, progress: Progress) -> PartMade:
    """Make a part of the shards, under no lock.

    Args:
        output: What is to be made of them, for the message.

    Returns:
        What the caller raises.

    Raises:
        IncompleteError, MachineError, ArtifactError: As :func:`make_shards`.
    """
    part = execution.part
    if part is None:
        raise ValueError("no part was asked for")
    plan = plan_of(job, progress)
    wanted = list(part.of(plan.shards))
    _make(job, plan, wanted, execution, progress)
    count = len(plan.shards)
    made = f"part {part} is made, {len(wanted):,} of {count:,} shards."
    if not wanted:
        there = "there is 1 shard" if count == 1 else f"there are {count:,} shards"
        made = f"part {part} has nothing to make: {there}, and none falls to this part."
    made = f"{output}: {made} When all parts are made, the same command without --part ends it."
    parts = Parts(job.folder)
    return PartMade(made, is_whole=all(parts.outcome(shard) for shard in plan.shards))


def gathered(job: Job, execution: Execution, progress: Progress) -> Made:
    """Make what is missing, and check all shards by their digests.

    Raises:
        IncompleteError: Some cannot be made, or are missing where nothing is to be made.
        MachineError: They are damaged each time.
        ArtifactError: Unlike devices made them.
    """
    plan = plan_of(job, progress)
    outcomes = _outcomes(job, plan, execution, progress)
    devices = Counter(outcome.device for outcome in outcomes)
    if len(devices) > 1 and not execution.mixed_devices:
        raise unlike_devices(devices, job)
    files = [job.folder / outcome.file for outcome in outcomes]
    seconds = sum(outcome.seconds for outcome in outcomes)
    return Made(plan, files, job.work.name, dict(sorted(devices.items())), seconds)


def _make(
    job: Job, plan: Plan, wanted: Sequence[Shard], execution: Execution, progress: Progress
) -> None:
    mixed = execution.mixed_devices
    executor = execution.executor(len(plan.shards))
    make_shards(job, plan, wanted, executor, mixed_devices=mixed, progress=progress)


def _outcomes(job: Job, plan: Plan, execution: Execution, progress: Progress) -> list[Outcome]:
    """The outcomes of all shards, whose files were read and are whole."""
    parts = Parts(job.folder)
    whole: dict[Shard, Outcome] = {}
    for _ in range(_ROUNDS):
        if not execution.only_finish:
            _make(job, plan, plan.shards, execution, progress)
        for shard in plan.shards:
            outcome = parts.outcome(shard)
            if outcome is None or shard in whole:
                continue
            if parts.is_whole(outcome):
                whole[shard] = outcome
            else:
                parts.drop(outcome)
                progress.note(
                    f"{job.folder / outcome.file}: damaged; shard {shard.number} is dropped."
                )
        if len(whole) == len(plan.shards):
            return [whole[shard] for shard in plan.shards]
        if execution.only_finish:
            raise _missing(job, plan, [one for one in plan.shards if one not in whole])
    raise MachineError(
        f"{len(plan.shards) - len(whole):,} shards are damaged each time they are made.",
        path=job.folder,
        hint="Check the disk, or use another.",
    )


def _missing(job: Job, plan: Plan, missing: Sequence[Shard]) -> IncompleteError:
    """The error for shards that nobody made yet."""
    parts = Parts(job.folder)
    reasons = [
        f"\n  shard {shard.number}: {reason}"
        for shard in missing[:10]
        if (reason := parts.failure(shard)) is not None
    ]
    return IncompleteError(
        f"{len(missing):,} of {len(plan.shards):,} shards are missing." + "".join(reasons),
        path=job.folder,
        hint="Make them: give the same command again with their --part, or without any part.",
    )
