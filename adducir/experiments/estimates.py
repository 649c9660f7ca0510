"""Time, memory and disk of a step, from its work and the rates of this machine."""

from collections.abc import Iterable
from dataclasses import dataclass

from adducir.core.amounts import of_bytes, of_seconds
from adducir.core.rates import Rates
from adducir.experiments.work import Work

MEASURE = "run `adducir doctor --measure` once for estimates of time, memory and disk"


@dataclass(frozen=True)
class Estimate:
    """What a step takes.

    Attributes:
        seconds: Its time, without that of starting.
        memory: Bytes of a process at its peak.
        disk: Bytes that it leaves.
        parts: The parts of the program that have to be started.
    """

    seconds: float
    memory: float
    disk: float
    parts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return (
            f"about {of_seconds(self.seconds)}, {of_bytes(self.memory)} memory, "
            f"{of_bytes(self.disk)} disk"
        )


def estimated(work: Work | None, rates: Rates) -> Estimate | None:
    """The estimate of a step; None where its work or a rate of it is not known."""
    if work is None:
        return None
    known = rates.rates.keys() >= work.amounts.keys() and rates.shares.keys() >= work.shares.keys()
    if not known or not rates.memory.keys() >= set(work.parts):
        return None
    disk = work.disk + sum(text * rates.shares[name] for name, text in work.shares.items())
    seconds = sum(amount / rates.rates[name] for name, amount in work.amounts.items())
    memory = max(rates.memory[part] for part in work.parts) + work.memory
    return Estimate(seconds, memory, disk, work.parts)


def total(estimates: Iterable[Estimate | None], rates: Rates) -> str:
    """The line for all steps that are to be made, one after another in one process."""
    every = list(estimates)
    found = [one for one in every if one is not None]
    unknown = len(every) - len(found)
    without = f"{unknown} of {len(every)} steps unknown" if unknown else ""
    if not found:
        return without
    started = {part for one in found for part in one.parts}
    seconds = sum(one.seconds for one in found)
    seconds += sum(rates.starts.get(part, 0.0) for part in started)
    whole = Estimate(seconds, max(one.memory for one in found), sum(one.disk for one in found))
    return f"{whole}{'; ' if without else ''}{without}"
