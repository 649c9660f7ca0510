"""The table of what systems write: against targets, gold passages, and their own passages."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from adducir.evaluation.generation.answers import Answers, Knowledge
from adducir.evaluation.generation.files import read_generated
from adducir.evaluation.generation.grounding import Grounding
from adducir.evaluation.generation.kilt import Kilt
from adducir.evaluation.generation.kind import TextMeasures
from adducir.evaluation.generation.msmarco import MsMarco
from adducir.evaluation.generation.texts import Generated, Reference
from adducir.evaluation.generation.words import common_words
from adducir.evaluation.scores import Scores
from adducir.experiments.grounded_generation.answers import TEXTS
from adducir.experiments.grounded_generation.opened import Answered, Opened
from adducir.experiments.grounded_generation.units import over_seeds, testing
from adducir.hindsight.building import Problem
from adducir.statistics.comparison.comparison import compare
from adducir.tables.builder import Layout, build_table
from adducir.tables.generated import with_collections
from adducir.tables.table import ResultTable

Wholes = dict[str, dict[str, Mapping[str, float]]]


def text_table(study: Opened, layout: Callable[..., Layout], k: int | None) -> ResultTable:
    """The table of one section; a context's figure is the mean over seeds."""
    references = _references(study)
    common = _common(study)
    measures = _measures(study, common, references)
    scores: dict[str, list[Scores]] = {one.name: [] for one in measures}
    wholes: Wholes = {one.name: {} for one in measures}
    for system in study.recipe.systems:
        found = [_written(study, step) for step in study.answers(system, k)]
        for one in measures if found else ():
            each = [
                one.scores(step.run, references, some)
                for step, some in zip(study.answers(system, k), found, strict=True)
            ]
            scores[one.name].append(over_seeds(study, system, each))
            wholes[one.name][system] = _mean([one.collection(references, some) for some in found])
    compared = {name: compare(some, **testing(study, some)) for name, some in scores.items()}
    counted = {one.name: len(one.counted(references)) for one in measures}
    notes = [
        f"{len(common)} common words.",
        *(
            f"{name}: {number:,} of {len(references):,} contexts count."
            for name, number in counted.items()
            if number < len(references)
        ),
        *(note for one in measures for note in one.notes()),
    ]
    table = build_table(compared, scores, layout=layout(of="Texts", notes=notes))
    return with_collections(table, wholes, counted)


def _references(study: Opened) -> dict[str, Reference]:
    """The test contexts; what is gold there is on KILT's pages, where passages have some."""
    problem = study.data.problem()
    found = {}
    for number in problem.parts["test"]:
        one = problem.contexts[number]
        pages = tuple(dict.fromkeys(problem.pages[d] for d in one.gold if d in problem.pages))
        found[one.id] = replace(Reference.of(one), evidence=(pages,) if pages else ())
    return found


def _common(study: Opened) -> Sequence[str]:
    problem = study.data.problem()
    targets = (problem.contexts[number].target for number in problem.parts["train"])
    return common_words(targets, study.recipe.common)


def _measures(
    study: Opened, common: Sequence[str], references: Mapping[str, Reference]
) -> list[TextMeasures]:
    """All that there are data for."""
    problem, decode = study.data.problem(), study.recipe.decode
    depth = min(decode.best, decode.passages) if decode else 1
    passages = _Passages(problem)
    right = references.values()
    are_answered = any(one.answers for one in right)
    are_gold = any(one.gold for one in right)
    there: list[tuple[TextMeasures, bool]] = [
        (Answers(common, depth), are_answered),
        (MsMarco(), are_answered),
        (Knowledge(passages, depth), are_gold),
        (Grounding(common, passages, depth), True),
        (_OnPages(), any(one.evidence for one in right)),
    ]
    return [measures for measures, is_known in there if is_known]


class _Passages(Mapping[str, str]):
    """The texts of passages by docno, which may lie in a file."""

    def __init__(self, problem: Problem) -> None:
        self._texts = problem.passages
        self._numbers = {docno: number for number, docno in enumerate(problem.docnos)}

    def __getitem__(self, docno: str) -> str:
        return self._texts[self._numbers[docno]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


class _OnPages(Kilt):
    """KILT's measures of the contexts of which a page is known."""

    def counts(self, reference: Reference) -> bool:
        return bool(reference.evidence)


def _written(study: Opened, step: Answered) -> dict[str, Generated]:
    """What a system wrote with one seed, with the pages of all that it ranks."""
    problem, found = study.data.problem(), read_generated(step.path / TEXTS)
    if not problem.pages:
        return found
    closed = step.read()
    for number, row in zip(closed.contexts, closed.retriever, strict=True):
        name, docnos = problem.contexts[number].id, [problem.docnos[one] for one in row]
        pages = dict.fromkeys(problem.pages[d] for d in docnos if d in problem.pages)
        found[name] = replace(found[name], pages=tuple(pages))
    return found


def _mean(each: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([one[name] for one in each])) for name in each[0]}
