"""The table of what systems write: against targets, gold passages, and their own passages."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adducir.evaluation.generation import (
    Answers,
    Grounding,
    Knowledge,
    Reference,
    common_words,
    read_generated,
)
from adducir.evaluation.generation.kind import TextMeasures
from adducir.evaluation.scores import Scores
from adducir.experiments.grounded_generation.opened import Opened
from adducir.experiments.grounded_generation.steps import TEXTS
from adducir.statistics.comparison.comparison import compare
from adducir.tables.builder import Layout, build_table
from adducir.tables.table import ResultTable


def testing(study: Opened, scores: Sequence[Scores]) -> dict[str, Any]:
    """The arguments of a comparison; none where a baseline or a second query is not there."""
    requested, names = study.recipe.comparison, {one.system for one in scores}
    if requested is None or not set(requested.baselines) <= names:
        return {}
    enough = len(names) > 1 and len(scores[0].qids) > 1
    return requested.model_dump(exclude_none=True) if enough else {}


def text_table(study: Opened, layout: Callable[..., Layout], k: int | None) -> ResultTable:
    """The table of one section; a context's figure is the mean over seeds."""
    problem, decode = study.data.problem(), study.recipe.decode
    depth = decode.passages if decode else 1
    targets = (problem.contexts[number].target for number in problem.parts["train"])
    common = common_words(targets, study.recipe.common)
    passages = dict(zip(problem.docnos, problem.passages, strict=True))
    references = {
        one.id: Reference.of(one)
        for one in (problem.contexts[number] for number in problem.parts["test"])
    }
    measures: list[TextMeasures] = [
        Answers(common, depth),
        Knowledge(passages, depth),
        Grounding(common, passages, depth),
    ]
    scores: dict[str, list[Scores]] = {one.name: [] for one in measures}
    for system in study.recipe.systems:
        steps = study.answers(system, k)
        found = [read_generated(step.path / TEXTS) for step in steps]
        for one in measures if found else ():
            each = [one.scores(system, references, some) for some in found]
            scores[one.name].append(_mean(each))
    compared = {name: compare(some, **testing(study, some)) for name, some in scores.items()}
    notes = [f"{len(common)} common words.", *(note for one in measures for note in one.notes())]
    return build_table(compared, scores, layout=layout(of="Texts", notes=notes))


def _mean(each: Sequence[Scores]) -> Scores:
    first = each[0]
    values = np.mean([one.values for one in each], axis=0)
    values.setflags(write=False)
    return Scores(first.system, first.qids, first.measures, values)
