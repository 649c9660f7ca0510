"""Several runs of one trained system: which belong together, and their scores as one system's."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from adducir.core.errors import UsageError
from adducir.core.texts import repeated
from adducir.evaluation.judgements import Floats
from adducir.evaluation.scores import Scores

Run = TypeVar("Run")
SEED = re.compile(r"[._ +-]?seed[-_=]?\d{1,9}", re.IGNORECASE)


def system_of(name: str) -> str:
    """A run's name without its seed: ``DeepCT.seed3`` gives ``DeepCT``."""
    return SEED.sub("", name) or name


def run_name(system: str, seed: int) -> str:
    """The name of a system's run with a seed; :func:`system_of` gives the system's."""
    return f"{system}.seed{seed}"


def pool_seeds(scores: Sequence[Scores]) -> list[Scores]:
    """The scores of systems, from those of runs whose names differ in their seed only.

    A pooled system's value of a topic is the mean over its runs, which are kept beside it.

    Raises:
        UsageError: Two runs have one name, no two runs belong together, or runs of a system have
            other topics or measures.
    """
    runs = {one.system: one for one in scores}
    if len(runs) < len(scores):
        twice = ", ".join(repeated([one.system for one in scores]))
        raise UsageError(f"more than one run is called {twice}.", hint="Give each its own name.")
    return [over_runs(name, list(own.values())) for name, own in by_system(runs).items()]


def by_system(runs: Mapping[str, Run]) -> dict[str, dict[str, Run]]:
    """The runs of each system: those whose names differ in their seed only.

    Raises:
        UsageError: No two runs belong together.
    """
    systems: dict[str, dict[str, Run]] = {}
    for name, run in runs.items():
        systems.setdefault(system_of(name), {})[name] = run
    if all(len(own) == 1 for own in systems.values()):
        raise UsageError(
            "no two runs differ in their seed only.",
            hint="Call them X.seed1, X.seed2 and so on.",
        )
    return systems


def over_runs(system: str, runs: Sequence[Scores]) -> Scores:
    """The scores of one system over its runs: their means, with those of each run beside.

    Raises:
        UsageError: The runs have different topics or measures.
    """
    first = runs[0]
    if len(runs) == 1:
        return replace(first, system=system)
    for one in runs[1:]:
        if set(one.qids) != set(first.qids) or set(one.measures) != set(first.measures):
            raise UsageError(f"{first.system} and {one.system} have different topics or measures.")
    values = np.stack([_in_order(one, first) for one in runs])
    return replace(
        first,
        system=system,
        values=values.mean(axis=0),
        runs=values,
        run_names=tuple(one.system for one in runs),
        missing=tuple(qid for qid in first.qids if any(qid in one.missing for one in runs)),
        unmatched=any(one.unmatched for one in runs),
        extra=tuple(dict.fromkeys(qid for one in runs for qid in one.extra)),
    )


def _in_order(one: Scores, first: Scores) -> Floats:
    """The values (T, M) of one run in the order of another's topics and measures."""
    rows = {qid: row for row, qid in enumerate(one.qids)}
    columns = {measure: column for column, measure in enumerate(one.measures)}
    return one.values[np.ix_([rows[q] for q in first.qids], [columns[m] for m in first.measures])]
