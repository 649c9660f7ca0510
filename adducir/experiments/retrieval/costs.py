"""Columns of the table with what language models took: means per topic, beside its measures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, log10
from pathlib import Path
from statistics import fmean
from typing import Any

from adducir.experiments.retrieval.runs import GivenRun, RunStep
from adducir.experiments.step import Step
from adducir.experiments.study import Trial
from adducir.judges.costs import costs_for, read_costs
from adducir.statistics.comparison import Comparison
from adducir.tables.build import Figure
from adducir.tables.table import Column

_DECIMALS = {"tokens": 0, "tokens_in": 0, "tokens_out": 0, "requests": 1, "seconds": 2}
NOTE = (
    "What language models took ({names}): means per topic, from when they answered, of all that a "
    "system is made of; seconds of requests at the same time each count."
)


def cost_columns(costs: Iterable[str], names: Mapping[str, str]) -> dict[str, Column]:
    return {
        name: Column(name, "", names.get(name, name.replace("_", " ")), False, descriptive=True)
        for name in costs
    }


def cost_figures(
    costs: Sequence[str], steps: Mapping[Trial, Step], comparison: Comparison
) -> Iterator[Figure]:
    """The costs asked for, of each system and topic set; None if no model was asked."""
    several = len({trial.data for trial in steps}) > 1
    runs: dict[tuple[str, str], list[Step]] = {}
    for trial, step in steps.items() if costs else ():
        runs.setdefault((trial.data, trial.system), []).append(step)
    for (topic_set, system), some in runs.items():
        qids = comparison.matrix(topic_set * several).qids
        files = [
            [read_costs(path) for path in dict.fromkeys(_files(step, topic_set))] for step in some
        ]
        for name in costs:
            means = [_mean(rows, name, qids) for rows in files]
            value = None if None in means else fmean(mean or 0 for mean in means)
            decimals = _DECIMALS.get(name, 3)
            if name == "cost" and value:  # often less than .001
                decimals = max(decimals, 1 - ceil(log10(value)) + 1)
            place = topic_set * several, system, name
            yield Figure(*place, value, len(qids), decimals=decimals)


def _mean(files: list[dict[str, dict[str, float]]], name: str, qids: Any) -> float | None:
    rows = [rows[qid] for rows in files for qid in qids if qid in rows]
    if not files or any(name not in row for row in rows):
        return None
    return sum(row[name] for row in rows) / len(qids)


def _files(step: Any, topic_set: str) -> Iterator[Path]:
    """The files of costs beside a run and those that it is made of."""
    if not isinstance(step, RunStep | GivenRun):
        return
    if (path := costs_for(step.path)).is_file():
        yield path
    untuned = getattr(step, "steps", {}).get(topic_set, step)
    for part in getattr(untuned, "parts", {}).values():
        yield from _files(part, topic_set)
