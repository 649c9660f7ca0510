"""The table of known-item search: R@k, MRR, mean and median rank, tested."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

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
from adducir.statistics.comparison import compare
from adducir.statistics.settings import Testing
from adducir.tables.build import Figure, build_table
from adducir.tables.table import Column, Layout, ResultTable

Systems = Mapping[str, Mapping[str, GoldRanks]]
"""The ranks of each system's runs: one, or one per training seed."""

RANDOM = "random"
NAMES = {str(RANK): "Mean rank", str(RECIPROCAL): "MRR"}
MEDIAN = "Median rank"
_TIES = {
    "pessimistic": "Candidates tied with the gold item count as better.",
    "expected": "Figures are exact means over all orders of the tied candidates.",
}


def rank_table(
    sets: Mapping[str, Systems],
    *,
    sections: bool = False,
    cutoffs: Sequence[int] = CUTOFFS,
    ties: Ties = "pessimistic",
    random: bool = False,
    testing: Testing | None = None,
    layout: Layout | None = None,
) -> ResultTable:
    """A table of systems over one or more sets of queries ("" for a single one).

    For several runs of a system, figures are means, tested over queries and runs; the median rank
    is the mean of the runs' medians and not tested. ``sections``: each set is a section of rows,
    not a group of columns. ``random`` adds the exact expectation of a random ranking as first row,
    untested: it does not vary as rankings do, and would look like certainty.
    """
    scores, figures, notes = list[Scores](), list[Figure](), list[str]()
    columns = {MEDIAN: Column(MEDIAN, higher_is_better=False, descriptive=True)}
    for name, systems in sets.items():
        if random and RANDOM in systems:
            raise UsageError(f"a system is already called {RANDOM!r}.")
        first = first_of(systems)
        for system, runs in systems.items():
            aligned = {run: _aligned(first, ranks, run) for run, ranks in runs.items()}
            scores += [
                rank_scores(system, ranks, cutoffs=cutoffs, ties=ties, run=run).in_set(name)
                for run, ranks in aligned.items()
            ]
            medians = [median_rank(ranks, ties) for ranks in aligned.values()]
            figures.append(Figure(name, system, MEDIAN, float(np.mean(medians)), len(first.qids)))
        if random:
            expected = at_random(first)
            means = rank_scores(RANDOM, expected, cutoffs=cutoffs, ties="expected").means()
            for measure, value in means.select("measure", "value").iter_rows():
                figures.append(Figure(name, RANDOM, measure, value, len(first.qids)))
            median = median_rank(expected, "expected")
            figures.append(Figure(name, RANDOM, MEDIAN, median, len(first.qids)))
        number = first.candidates
        spread = f" ({number.min():,} to {number.max():,})" if number.min() < number.max() else ""
        begin = f"{name}: " if name else ""
        notes.append(f"{begin}{number.mean():,.1f} candidates per query on average{spread}.")
    are_many = any(len(score.qids) > 1 for score in scores)
    comparison = compare(scores, testing if are_many else None)
    layout = layout or Layout()
    layout = replace(
        layout,
        measure_names={**NAMES, **layout.measure_names},
        places={name: (name, "") if sections else ("", name) for name in sets},
        notes=(*notes, *_notes(sets, ties, random), *layout.notes),
    )
    return build_table(comparison, layout, figures=figures, columns=columns)


def by_key(systems: Systems, key: str) -> dict[str, Systems]:
    """The ranks of each group of queries with the same value of a key, numbers in order."""
    first = first_of(systems)
    if key not in first.keys:
        keys = ", ".join(first.keys) or "none"
        raise UsageError(f"the queries lack the key {key!r}.", hint=f"Their keys are: {keys}.")
    places: dict[str, list[str]] = {}
    for qid, value in zip(first.qids, first.keys[key], strict=True):
        places.setdefault(value, []).append(qid)

    def order(value: str) -> tuple[bool, float, str]:
        try:
            number = float(value)
        except ValueError:
            number = np.nan
        return not np.isfinite(number), number if np.isfinite(number) else 0.0, value

    return {
        f"{key} {value}": {
            name: {run: _chosen(ranks, places[value]) for run, ranks in runs.items()}
            for name, runs in systems.items()
        }
        for value in sorted(places, key=order)
    }


def first_of(systems: Systems) -> GoldRanks:
    for runs in systems.values():
        for ranks in runs.values():
            return ranks
    raise UsageError("systems are missing.")


def _chosen(ranks: GoldRanks, qids: Iterable[str]) -> GoldRanks:
    places = {qid: place for place, qid in enumerate(ranks.qids)}
    return ranks.rows([places[qid] for qid in qids if qid in places])


def _aligned(first: GoldRanks, ranks: GoldRanks, name: str) -> GoldRanks:
    """The ranks in the order of the first system's queries, after a check that they match."""
    odd = sorted(set(first.qids) ^ set(ranks.qids))
    if odd:
        raise UsageError(
            f"{name} does not have the queries of the first system: {', '.join(odd[:3])}"
            f"{' and others' if len(odd) > 3 else ''} are in only one of them.",
            hint="Rank the gold item of the same queries with all systems.",
        )
    ordered = _chosen(ranks, first.qids)
    differ = ordered.candidates != first.candidates
    if differ.any():
        place = int(np.flatnonzero(differ)[0])
        raise UsageError(
            f"{name} ranks {ordered.candidates[place]} candidates for query {first.qids[place]}, "
            f"another system {first.candidates[place]}.",
            hint="Ranks are comparable only among the same candidates.",
        )
    return ordered


def _notes(sets: Mapping[str, Systems], ties: Ties, random: bool) -> list[str]:
    sentences = [_TIES[ties]]
    all_runs = [runs for systems in sets.values() for runs in systems.values()]
    missing: dict[str, int] = {}
    for name, ranks in (pair for runs in all_runs for pair in runs.items()):
        count = 0 if ranks.unranked is None else int(ranks.unranked.sum())
        missing[name] = missing.get(name, 0) + count
    sentences += [
        f"{name} did not rank {count:,} gold items; each counts as ranked last."
        for name, count in missing.items()
        if count
    ]
    if random:
        sentences.append(f"{RANDOM}: the exact expectation of a random ranking; it is not tested.")
    several = any(len(runs) > 1 for runs in all_runs)
    where = "is over queries (of several runs, the mean of their medians) and" if several else "is"
    return [*sentences, f"{MEDIAN} {where} not tested."]
