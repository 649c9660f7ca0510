"""Makes the shards that are missing, by whichever executor, and tries again what was lost."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress

from adducir.core.errors import AdducirError, ArtifactError, IncompleteError, MachineError
from adducir.core.progress import Progress
from adducir.core.sharding.executors.executor import Executor
from adducir.core.sharding.parts import Failed, Lost, Outcome, Parts
from adducir.core.sharding.plan import Plan, Shard
from adducir.core.sharding.worker import Job

ATTEMPTS = 3
"""How often a shard is tried whose worker dies or fails without a known reason."""
IN_A_ROW = 20
"""So many attempts that fail one after another end the work, where no more shards were made before
and no more are being made at a time (a node that is lost takes all of its own with it)."""
_SHOWN_SHARDS = 10
_SHOWN_NAMES = 5


def make_shards(
    job: Job,
    plan: Plan,
    wanted: Sequence[Shard],
    executor: Executor,
    *,
    mixed_devices: bool,
    progress: Progress,
) -> None:
    """Make those of some shards that are missing.

    Args:
        wanted: The shards that are to be there in the end; the executor may make fewer, where it
            makes a part.
        mixed_devices: Accept shards that unlike kinds of devices made.

    Raises:
        IncompleteError: Some cannot be made; all others are.
        MachineError: The machine lacks space or memory, or nothing succeeds.
        ArtifactError: Unlike devices make the shards.
    """
    parts = Parts(job.folder)
    outcomes = {shard: parts.outcome(shard) for shard in wanted}
    missing = [shard for shard, outcome in outcomes.items() if outcome is None]
    there = [outcome for outcome in outcomes.values() if outcome is not None]
    devices = None if mixed_devices else {outcome.device for outcome in there}
    tally = _Tally(devices, job, executor, len(there))
    progress.start(job.work.doing, sum(shard.size for shard in wanted), job.work.unit)
    try:
        progress.resume(sum(shard.size for shard in set(wanted) - set(missing)))
        while missing:
            again: list[Shard] = []
            sizes = {shard.number: shard.size for shard in missing}
            with closing(executor.run(job, missing)) as reports:
                for report in reports:
                    if isinstance(report, Outcome):
                        tally.made(report)
                        progress.advance(sizes[report.number])
                    elif tally.is_worth_another(report):
                        again.append(report.shard)
            missing = sorted(again, key=lambda shard: shard.number)
    except AdducirError:
        with suppress(AdducirError):  # the first error counts: of a full disk, say
            _note(tally.failed, plan, parts)
        raise
    finally:
        progress.finish()
    if failures := _note(tally.failed, plan, parts):
        raise incomplete(failures, len(wanted), job)


def _note(failed: Sequence[Failed], plan: Plan, parts: Parts) -> list[tuple[Failed, Sequence[str]]]:
    """Write down what cannot be made; each with the names of its items."""
    named = zip(failed, plan.names([one.shard for one in failed]), strict=True)
    found: list[tuple[Failed, Sequence[str]]] = list(named)
    for one, names in found:
        parts.note_failure(one, names)
    return found


class _Tally:
    """What became of shards so far.

    Args:
        devices: The kinds of devices of the shards that are there; None where any may come.
        made: How many are there.
    """

    def __init__(self, devices: set[str] | None, job: Job, executor: Executor, made: int) -> None:
        self._devices, self._job, self._executor = devices, job, executor
        self._attempts: Counter[Shard] = Counter()
        self._made = made
        self._in_a_row: list[Failed | Lost] = []
        self.failed: list[Failed] = []

    def made(self, outcome: Outcome) -> None:
        """Note a shard that was made."""
        self._made += 1
        self._in_a_row.clear()
        if self._devices is not None:
            self._devices.add(outcome.device)
            if len(self._devices) > 1:
                raise unlike_devices(self._devices, self._job)

    def is_worth_another(self, report: Failed | Lost) -> bool:
        """Whether a shard is to be tried again; otherwise it is noted as failed."""
        if isinstance(report, Failed) and report.is_final:
            self.failed.append(report)
            return False
        self._attempts[report.shard] += 1
        if self._attempts[report.shard] == 1:  # those that are tried again have all failed before
            self._in_a_row.append(report)
            self._end_hopeless()
        if self._attempts[report.shard] < ATTEMPTS:
            return True
        self.failed.append(_given_up(report, f"its worker died, {ATTEMPTS} times"))
        return False

    def _end_hopeless(self) -> None:
        """End the work where nothing succeeds any more.

        Raises:
            MachineError: Nothing does.
        """
        if len(self._in_a_row) < max(IN_A_ROW, self._made, self._executor.at_once):
            return
        self.failed += [_given_up(one, "its worker died") for one in self._in_a_row]
        raise MachineError(
            f"{len(self._in_a_row)} attempts to make a shard failed one after another; the last: "
            f"{self.failed[-1].reason}.",
            hint="If workers are killed, the memory may not be enough for so many; what is made "
            f"is kept. The shards that failed are named in {self._job.folder}/*.failed.json.",
        )


def _given_up(report: Failed | Lost, lost: str) -> Failed:
    return report if isinstance(report, Failed) else Failed(report.shard, lost, is_final=False)


def unlike_devices(devices: Iterable[str], job: Job) -> ArtifactError:
    """The error for shards that unlike devices made."""
    return ArtifactError(
        f"unlike devices made the shards: {', '.join(sorted(devices))}. Their numbers differ in "
        "the last digits.",
        path=job.folder,
        hint="Make all shards on one kind (delete this folder to begin anew), or accept both, "
        "which the manifest then says: --mixed-devices.",
    )


def incomplete(
    failures: Sequence[tuple[Failed, Sequence[str]]], count: int, job: Job
) -> IncompleteError:
    """The error for shards that cannot be made, each with the names of its items."""
    lines = [
        f"\n  shard {failed.shard.number} ({_named(names)}): {failed.reason}"
        for failed, names in sorted(failures, key=lambda one: one[0].shard.number)[:_SHOWN_SHARDS]
    ]
    more = len(failures) - len(lines)
    lines += [f"\n  and {more:,} more"] if more else []
    return IncompleteError(
        f"{len(failures):,} of {count:,} shards could not be made; the others are kept."
        + "".join(lines)
        + "\n ",
        hint=f"All names and reasons are in {job.folder}/*.failed.json.",
    )


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN_NAMES])
    rest = len(names) - _SHOWN_NAMES
    return f"{shown} and {rest:,} more" if rest > 0 else shown
