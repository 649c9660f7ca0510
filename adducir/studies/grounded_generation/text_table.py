"""The table of generated texts: a group of columns for each group of measures, tested."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from adducir.evaluation.scores import Scores
from adducir.statistics.comparison import compare
from adducir.statistics.settings import Testing
from adducir.studies.grounded_generation.measures import TextMeasures
from adducir.studies.grounded_generation.texts import References, System
from adducir.tables.build import Figure, Layout, build_table
from adducir.tables.table import ResultTable


class Measured(NamedTuple):
    """What systems generated, measured; the sets are the groups of measures.

    Attributes:
        scores: Of each run of a system by each group of measures.
        figures: The measures of all texts at once, which are last in their groups, not tested.
        notes: What a reader must know.
    """

    scores: list[Scores]
    figures: list[Figure]
    notes: list[str]


def measured(
    systems: Mapping[str, Mapping[str, System]],
    references: References,
    measures: Sequence[TextMeasures],
) -> Measured:
    """Measure systems over the same references.

    Args:
        systems: What each system generated, by its name and that of each of its runs.
        measures: Each group is measured over the references that count for it.
    """
    found = Measured([], [], [])
    lacking, wholes = list[str](), list[str]()
    for one in measures:
        group = one.name if len(measures) > 1 else ""
        counted, titles = len(one.counted(references)), list[str]()
        for system, runs in systems.items():
            for run, texts in runs.items():
                scores = one.scores(run, references, texts).renamed(system)
                found.scores.append(scores.in_set(group))
            each = [one.collection(references, texts) for texts in runs.values()]
            titles = list(each[0])
            for title in titles:
                mean = float(np.mean([run[title] for run in each]))
                found.figures.append(Figure(group, system, title, mean, counted))
        if counted < len(references):
            head = f"{group}: " if group else ""
            few = len(references) - counted
            lacking.append(f"{head}{few:,} of {len(references):,} references do not count.")
        if titles:
            wholes.append(f"{titles[0]} to {titles[-1]} are of all texts at once, and not tested.")
    found.notes.extend(dict.fromkeys([*lacking, *wholes]))
    return found


def text_table(
    systems: Mapping[str, Mapping[str, System]],
    references: References,
    measures: Sequence[TextMeasures],
    *,
    testing: Testing | None,
    layout: Layout,
) -> ResultTable:
    """A table of systems over the same references; see :func:`measured`."""
    found = measured(systems, references, measures)
    are_many = any(len(one.qids) > 1 for one in found.scores)
    comparison = compare(found.scores, testing if are_many else None)
    layout = replace(layout, notes=(*found.notes, *layout.notes))
    return build_table(comparison, layout, figures=found.figures)
