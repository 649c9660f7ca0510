"""Selected sets of passages against the gold sets of their questions.

For a selected set S and a question's one or more gold sets:

- ``EM``, exact match: 1 if S is one of them, else 0;
- ``F1``: the maximum 2 |S & G| / (|S| + |G|) over the gold sets G;
- ``Cover``: 1 if S contains a whole gold set, whatever else it contains.

The upper bound is the best that any selection from a pool of candidates can reach.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from adducir.core.errors import InputError, UsageError
from adducir.evaluation.measures import NamedMeasure
from adducir.evaluation.scores import Scores
from adducir.statistics.comparison import compare
from adducir.statistics.settings import Testing
from adducir.studies.complementary_evidence.questions import EvidenceQuestion, SelectedSet
from adducir.tables.build import Figure, build_table
from adducir.tables.table import Layout, ResultTable

MEASURES = tuple(map(NamedMeasure, ("EM", "F1", "Cover")))
BOUND = "upper bound"
Ids = frozenset[str]


def values_of(chosen: Ids, gold: Iterable[Ids]) -> tuple[float, float, float]:
    return _best((len(chosen & members), len(chosen), len(members)) for members in gold)


def bound_of(pool: Ids, gold: Iterable[Ids], size: int | None) -> tuple[float, float, float]:
    """EM, F1 and Cover of the best ``size`` passages of a pool; None: of any number of them."""
    overlaps = [(len(pool & members), len(members)) for members in gold]
    if size is None:
        return _best((hits, hits, size) for hits, size in overlaps)
    taken = min(size, len(pool))
    return _best((min(hits, taken), taken, size) for hits, size in overlaps)


def _best(overlaps: Iterable[tuple[int, int, int]]) -> tuple[float, float, float]:
    """The best EM, F1 and Cover, from the numbers of correct, selected and gold passages."""
    values = (
        (hits == taken == size, 2 * hits / (taken + size), hits == size)
        for hits, taken, size in overlaps
    )
    exact, f1, cover = map(max, zip(*values, strict=True))
    return float(exact), float(f1), float(cover)


class GoldSets:
    """The gold sets of each question that has any, and the pools of all, as passage ids."""

    def __init__(self, questions: Iterable[EvidenceQuestion]) -> None:
        self.gold: dict[str, tuple[Ids, ...]] = {}
        self.pools: dict[str, Ids] = {}
        for question in questions:
            if question.id in self.pools:
                raise UsageError(f"the question {question.id!r} is duplicated.")
            self.pools[question.id] = frozenset(passage.id for passage in question.passages)
            if question.gold:
                self.gold[question.id] = question.gold_ids
        if not self.gold:
            raise UsageError("none of the questions has a gold set to measure against.")

    def checked(self, selected: Iterable[SelectedSet], path: Path) -> dict[str, tuple[str, ...]]:
        """Selected sets by question, each from the question's own passages."""
        chosen: dict[str, tuple[str, ...]] = {}
        for selection in selected:
            odd = {*selection.chosen} - self.pools.get(selection.id, {*selection.chosen})
            if odd:
                raise InputError(
                    f"the selected passage {min(odd)!r} does not belong to the question "
                    f"{selection.id}.",
                    path=path,
                    hint="Were these sets selected for other questions? Give that file.",
                )
            chosen[selection.id] = selection.chosen
        return chosen

    def scores(self, system: str, chosen: Mapping[str, Collection[str]]) -> Scores:
        """EM, F1 and Cover over the questions with gold sets; one not in ``chosen`` counts 0."""
        values = np.zeros((len(self.gold), len(MEASURES)))
        for row, (qid, sets) in enumerate(self.gold.items()):
            if qid in chosen:
                members = frozenset(chosen[qid])
                if len(members) < len(chosen[qid]):
                    raise UsageError(f"{system} selected a passage twice for question {qid}.")
                values[row] = values_of(members, sets)
        missing = tuple(qid for qid in self.gold if qid not in chosen)
        extra = tuple(qid for qid in chosen if qid not in self.pools)
        qids = tuple(self.gold)
        return Scores.of(system, qids, MEASURES, values, missing=missing, extra=extra)

    def bound(self, systems: Iterable[Mapping[str, Collection[str]]]) -> Scores:
        """What no selection from the pools can exceed.

        If all systems selected the same number of passages (or a whole pool), it is the best
        selection of that size; otherwise the best of any size.
        """
        taken = [
            (len(members), qid) for chosen in systems for qid, members in chosen.items() if members
        ]
        size: int | None = max(taken, default=(1, ""))[0]
        if any(count < min(size or 0, len(self.pools.get(qid, ()))) for count, qid in taken):
            size = None
        rows = [bound_of(self.pools[qid], sets, size) for qid, sets in self.gold.items()]
        return Scores.of(BOUND, tuple(self.gold), MEASURES, np.array(rows))


def set_table(
    scores: Mapping[str, Sequence[Scores]],
    bounds: Mapping[str, Scores],
    testing: Testing | None,
    layout: Layout,
) -> ResultTable:
    """A table of systems over data sets (``""`` for the only one), with the bound as first row."""
    measured = [
        scores_of_system.in_set(name) for name, some in scores.items() for scores_of_system in some
    ]
    if any(BOUND in measured_scores.systems for measured_scores in measured):
        raise UsageError(f"the name {BOUND!r} is reserved.", hint="Rename the system.")
    if bounds:
        note = f"{BOUND}: the best selection from each question's passages; it is not tested."
        layout = replace(layout, notes=(note, *layout.notes))
    figures = [
        Figure(name, BOUND, measure, mean, topics)
        for name, bound in bounds.items()
        for _, _, measure, mean, topics in bound.means().iter_rows()
    ]
    return build_table(compare(measured, testing), layout, figures=figures)
