"""The tables of what retriever and guide rank: a section for each number of sampled passages."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from adducir.evaluation.named import NamedMeasure
from adducir.evaluation.scores import Scores
from adducir.experiments.grounded_generation.opened import Answered, Opened
from adducir.experiments.grounded_generation.sharpness import sharpness_table
from adducir.experiments.grounded_generation.texts import text_table
from adducir.experiments.grounded_generation.units import over_seeds, testing
from adducir.experiments.study import Finding
from adducir.statistics.comparison.comparison import compare
from adducir.tables.builder import Layout, build_table
from adducir.tables.stacking import stacked
from adducir.tables.table import ResultTable, Row, TableCell

if TYPE_CHECKING:
    from adducir.hindsight.building import Problem

BOUND = "upper bound"
_WHO = {"retriever": "Retriever (sees the input)", "guide": "Guide (sees input and target)"}


def tables(study: Opened, layout: Callable[..., Layout]) -> list[Finding]:
    """The tables of retriever and guide, and that of texts where some are written."""
    found = []
    problem = study.data.problem()
    for who in _WHO if len(_counted(problem)) else ():
        table = sectioned(study, partial(_ranked_table, study, who, layout))
        if who == "retriever" and problem.relevant:
            table = replace(table, rows=(_bound(study, problem, table), *table.rows))
        found.append(Finding(table, who, who, each="per-context"))
    if study.recipe.decode is not None:
        written = sectioned(study, partial(text_table, study, layout))
        found.append(Finding(written, "texts", "texts", each="per-context"))
    if any(system.ranks_by == "model" for system in study.recipe.systems.values()):
        sharp = sectioned(study, partial(sharpness_table, study, layout))
        found.append(Finding(sharp, "sharpness", "sharpness"))
    return found


def _ranked_table(
    study: Opened, who: str, layout: Callable[..., Layout], k: int | None
) -> ResultTable:
    """The table of one section."""
    problem = study.data.problem()
    each = (_over_runs(study, system, k, who, problem) for system in study.recipe.systems)
    scores = [one for one in each if one is not None]
    titled = layout(of=_WHO[who], notes=_notes(study, who))
    compared = compare(scores, **testing(study, scores))
    return build_table(compared, scores, layout=titled)


def sectioned(study: Opened, of: Callable[[int | None], ResultTable]) -> ResultTable:
    """One table, with a section for each number of sampled passages."""
    tables = {"" if k is None else f"k = {k}": of(k) for k in study.recipe.k or (None,)}
    return stacked(tables, study.recipe.table.system_names)


def _over_runs(
    study: Opened, system: str, k: int | None, who: str, problem: "Problem"
) -> Scores | None:
    """The scores of a system over its runs, of contexts or of groups of them."""
    each = [
        Scores(step.run, *_scores(study, step, who, problem)) for step in study.answers(system, k)
    ]
    return over_seeds(study, system, each) if each else None


def _scores(
    study: Opened, step: Answered, who: str, problem: "Problem"
) -> tuple[tuple[str, ...], tuple[NamedMeasure, ...], Any]:
    """MRR and Success@k of each test context that has a gold passage."""
    closed = step.read()
    lists = getattr(closed, who)
    numbers = {docno: number for number, docno in enumerate(problem.docnos)}
    counted = _counted(problem)
    places = counted - closed.contexts[0]
    gold = [[numbers[docno] for docno in problem.contexts[number].gold] for number in counted]
    ranks = np.array(
        [
            np.flatnonzero(np.isin(row, own))[0] + 1 if np.isin(row, own).any() else np.inf
            for row, own in zip(lists[places], gold, strict=True)
        ]
    )
    cutoffs = [one for one in study.recipe.cutoffs if one <= lists.shape[1]]
    names = [f"RR@{lists.shape[1]}", *(f"Success@{cutoff}" for cutoff in cutoffs)]
    values = np.column_stack([1 / ranks, *(ranks <= cutoff for cutoff in cutoffs)])
    qids = tuple(problem.contexts[number].id for number in counted)
    return qids, tuple(map(NamedMeasure, names)), values


def _counted(problem: "Problem") -> Any:
    """The numbers of the test contexts that have a gold passage."""
    return np.array([n for n in problem.parts["test"] if problem.contexts[n].gold], dtype=int)


def _bound(study: Opened, problem: "Problem", table: ResultTable) -> Row:
    """What no retriever can pass that sees the input alone: see :func:`_notes`."""
    groups = [problem.contexts[number].group or "" for number in _counted(problem)]
    if study.recipe.unit == "group":
        groups = list(dict.fromkeys(groups))
    sizes = np.array([problem.relevant[group] for group in groups])
    cells = []
    for column in table.columns:
        name, _, cutoff = column.measure.partition("@")
        if name == "Success":
            value = float(np.minimum(1, int(cutoff) / sizes).mean())
            cells.append(TableCell(value, len(groups)))
        else:
            harmonic = np.cumsum(1 / np.arange(1, sizes.max() + 1))
            cells.append(TableCell(float((harmonic[sizes - 1] / sizes).mean()), len(groups)))
    return Row(BOUND, tuple(cells))


def _notes(study: Opened, who: str) -> list[str]:
    recipe, problem = study.recipe, study.data.problem()
    contexts, lacking = len(problem.parts["test"]), len(problem.parts["test"])
    lacking -= len(_counted(problem))
    notes = [f"{contexts:,} test contexts, {len(problem.passages):,} passages."]
    if lacking:
        notes.append(f"{lacking:,} contexts without a gold passage are left out.")
    if recipe.unit == "group":
        notes.append("Figures are means over groups of contexts, and so are differences tested.")
    if who == "retriever" and problem.relevant:
        notes.append(
            f"{BOUND}: the expectation where the passages of a context's group come first, in any "
            "order; who sees the input alone cannot tell them apart. It is not tested."
        )
    notes += list(_by_seed(study, who, problem))
    return notes


def _by_seed(study: Opened, who: str, problem: "Problem") -> Iterator[str]:
    """The first measure of each seed."""
    if len(study.recipe.seeds) < 2:
        return
    for k in study.recipe.k or (None,):
        for name, system in study.recipe.systems.items():
            if not system.phases:
                continue
            rows = [_scores(study, step, who, problem) for step in study.answers(name, k)]
            means = ", ".join(f"{values[:, 0].mean():.3f}" for _, _, values in rows)
            of = "" if k is None else f" with k = {k}"
            yield f"{rows[0][1][0]} of {name}{of} by seed, over contexts: {means}."
