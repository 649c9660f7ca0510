"""The table of known-item search: R@k, MRR, mean and median rank, tested."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from adducir.core.errors import UsageError
from adducir.evaluation.gold_ranks import (
    CUTOFFS,
    RANK,
    RECIPROCAL,
    GoldRanks,
    Ties,
    at_random,
    median_rank,
    rank_scores,
)
from adducir.evaluation.scores import Scores
from adducir.evaluation.seeds import over_runs
from adducir.statistics.comparison.comparison import compare
from adducir.tables.builder import Layout, build_table
from adducir.tables.table import Column, ResultTable, Row, TableCell

Runs = Mapping[str, GoldRanks]
"""The ranks of each run of a system: one run, or one for each seed of its training."""

RANDOM = "random"
NAMES = {str(RANK): "Mean rank", str(RECIPROCAL): "MRR"}
MEDIAN = "Median rank"
_TIES = {
    "pessimistic": "Candidates that score as the gold item does count as better.",
    "expected": "Ties count by the exact mean over all orders of the tied candidates.",
}


def rank_table(
    systems: Mapping[str, GoldRanks | Runs],
    *,
    by: str | None = None,
    cutoffs: Sequence[int] = CUTOFFS,
    ties: Ties = "pessimistic",
    random: bool = False,
    testing: Mapping[str, Any] | None = None,
    layout: Layout | None = None,
) -> ResultTable:
    """A table of systems, over all queries or by groups of them.

    Args:
        systems: The ranks of each system, or of each of its runs, of the same queries. Of several
            runs the figures are means over them, and tested over queries and runs; the median rank
            is the mean of the runs' medians, for which there is no such test.
        by: A key of the queries: each of its values becomes a group of columns.
        cutoffs: The k of R@k.
        ties: The rule of ties; see :mod:`adducir.evaluation.gold_ranks`.
        random: Add the exact expectation of a random ranking as first row. It is not tested: an
            expectation does not vary as rankings do, and would pass for certain knowledge.
        testing: Arguments of :func:`adducir.statistics.comparison.comparison.compare`, such as
            ``baseline``. A group of a single query is shown without tests.
        layout: Names and style.

    Raises:
        UsageError: No system; systems of other queries, candidates or keys; an unknown key; or a
            wrong choice.
    """
    if not systems:
        raise UsageError("there is no system.")
    runs = {name: {name: x} if isinstance(x, GoldRanks) else x for name, x in systems.items()}
    first = _any(runs)
    aligned = {
        name: {run: _aligned(first, ranks, run) for run, ranks in own.items()}
        for name, own in runs.items()
    }
    if random and RANDOM in aligned:
        raise UsageError(f"a system is called {RANDOM!r} already.")
    groups = {
        name: {
            system: {run: ranks.rows(places) for run, ranks in own.items()}
            for system, own in aligned.items()
        }
        for name, places in _groups(first, by).items()
    }
    scores = {
        name: [
            over_runs(
                system,
                [rank_scores(run, one, cutoffs=cutoffs, ties=ties) for run, one in own.items()],
            )
            for system, own in group.items()
        ]
        for name, group in groups.items()
    }
    comparisons = {name: _compared(of_group, testing or {}) for name, of_group in scores.items()}
    layout = layout or Layout()
    layout = replace(
        layout,
        measure_names={**NAMES, **layout.measure_names},
        notes=(*_notes(groups, aligned, ties, random), *layout.notes),
    )
    table = build_table(comparisons, scores, layout=layout)
    if random:
        table = replace(table, rows=(_random_row(groups, cutoffs), *table.rows))
        groups = {
            name: {RANDOM: {RANDOM: at_random(_any(group))}, **group}
            for name, group in groups.items()
        }
    return _with_medians(table, groups, ties)


def _aligned(first: GoldRanks, ranks: GoldRanks, name: str) -> GoldRanks:
    """The ranks in the order of the first system's queries, checked to be of the same."""
    places = {qid: place for place, qid in enumerate(ranks.qids)}
    odd = sorted(set(first.qids) ^ set(places))
    if odd:
        raise UsageError(
            f"{name} has not the queries that the first system has: {', '.join(odd[:3])}"
            f"{' and others' if len(odd) > 3 else ''} stand in one of them only.",
            hint="Rank the gold item of the same queries with all systems.",
        )
    ordered = ranks.rows([places[qid] for qid in first.qids])
    differ = ordered.candidates != first.candidates
    if differ.any():
        place = int(np.flatnonzero(differ)[0])
        raise UsageError(
            f"{name} ranks {ordered.candidates[place]} candidates for query {first.qids[place]}, "
            f"another system {first.candidates[place]}.",
            hint="Ranks are comparable among the same candidates only.",
        )
    return ordered


def _groups(ranks: GoldRanks, by: str | None) -> dict[str, Sequence[int]]:
    """The places of the queries of each group, numbers in their order."""
    if by is None:
        return {"": range(len(ranks.qids))}
    if by not in ranks.keys:
        known = ", ".join(ranks.keys) or "none"
        raise UsageError(f"the queries have no key {by!r}.", hint=f"Their keys are: {known}.")
    values = ranks.keys[by]
    groups: dict[str, list[int]] = {}
    for place, value in enumerate(values):
        groups.setdefault(value, []).append(place)
    order = sorted(groups, key=lambda value: (not _is_number(value), _number(value), value))
    return {f"{by} {value}": groups[value] for value in order}


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _number(text: str) -> float:
    return float(text) if _is_number(text) else 0.0


def _compared(scores: Sequence[Scores], testing: Mapping[str, Any]) -> Any:
    arguments = dict(testing) if len(scores[0].qids) > 1 else {}
    return compare(scores, **arguments)


def _any(group: Mapping[str, Runs]) -> GoldRanks:
    """The ranks of any run of a group: all have the same queries and candidates."""
    return next(ranks for runs in group.values() for ranks in runs.values())


def _random_row(groups: Mapping[str, Mapping[str, Runs]], cutoffs: Sequence[int]) -> Row:
    """The expectations of a random ranking, without marks."""
    cells: list[TableCell] = []
    for group in groups.values():
        scores = rank_scores(RANDOM, at_random(_any(group)), cutoffs=cutoffs, ties="expected")
        means = scores.values.mean(axis=0)
        cells += [TableCell(float(mean), len(scores.qids)) for mean in means]
        if _any(group).rouge is not None:
            cells.append(TableCell())  # what a random ranking puts first is any candidate
    return Row(RANDOM, tuple(cells))


def _notes(
    groups: Mapping[str, Mapping[str, Runs]],
    systems: Mapping[str, Runs],
    ties: Ties,
    random: bool,
) -> list[str]:
    """What a reader must know about candidates, ties and gold items without a rank."""
    sentences = []
    for name, group in groups.items():
        number = _any(group).candidates
        spread = f" ({number.min():,} to {number.max():,})" if number.min() < number.max() else ""
        begin = f"{name}: " if name else ""
        sentences.append(f"{begin}{number.mean():,.1f} candidates per query on average{spread}.")
    sentences.append(_TIES[ties])
    for name, ranks in (pair for runs in systems.values() for pair in runs.items()):
        missing = 0 if ranks.unranked is None else int(ranks.unranked.sum())
        if missing:
            sentences.append(
                f"{name} did not rank {missing:,} gold items; they count as last candidates."
            )
    if random:
        sentences.append(f"{RANDOM}: the exact expectation of a random ranking; it is not tested.")
    several = any(len(runs) > 1 for runs in systems.values())
    what = "is over queries, of several runs the mean of their medians," if several else ""
    sentences.append(f"{MEDIAN} {what or 'is over queries,'} and not tested.")
    return sentences


def _with_medians(
    table: ResultTable, groups: Mapping[str, Mapping[str, Runs]], ties: Ties
) -> ResultTable:
    """The table with the median rank as last column of every group."""
    columns: list[Column] = []
    cells: list[list[TableCell]] = [[] for _ in table.rows]
    for name, group in groups.items():
        places = [place for place, column in enumerate(table.columns) if column.group == name]
        columns += [table.columns[place] for place in places]
        columns.append(Column(MEDIAN, name, higher_is_better=False, descriptive=True))
        for row, filled in zip(table.rows, cells, strict=True):
            filled += [row.cells[place] for place in places]
            counted: Ties = "expected" if row.system == RANDOM else ties
            medians = [median_rank(ranks, counted) for ranks in group[row.system].values()]
            filled.append(TableCell(float(np.mean(medians)), len(_any(group).qids)))
    rows = tuple(
        replace(row, cells=tuple(filled)) for row, filled in zip(table.rows, cells, strict=True)
    )
    return replace(table, columns=tuple(columns), rows=rows)
