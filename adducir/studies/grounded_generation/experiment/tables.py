"""The tables of the task ``grounded-generation``: rankings, texts, and sharpness."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from adducir.evaluation.named import NamedMeasure
from adducir.evaluation.scores import Scores
from adducir.evaluation.seeds import over_runs
from adducir.experiments.study import Finding
from adducir.statistics.comparison.comparison import compare
from adducir.studies.grounded_generation.experiment.answers import TEXTS
from adducir.studies.grounded_generation.hindsight.building import Problem
from adducir.studies.grounded_generation.measures import (
    CUTOFFS,
    Answers,
    Grounding,
    Kilt,
    Knowledge,
    MsMarco,
    TextMeasures,
    common_words,
    mass_scores,
)
from adducir.studies.grounded_generation.text_table import text_table
from adducir.studies.grounded_generation.texts import Generated, Reference, read_generated
from adducir.tables.builder import Layout, build_table
from adducir.tables.stacking import stacked
from adducir.tables.table import ResultTable, Row, TableCell

if TYPE_CHECKING:
    from adducir.studies.grounded_generation.experiment.answers import AnswerStep, LikelihoodStep
    from adducir.studies.grounded_generation.experiment.study import GroundedStudy
    from adducir.studies.grounded_generation.hindsight.building import Problem
    from adducir.studies.grounded_generation.hindsight.closed import ClosedSets


def testing(study: "GroundedStudy", scores: Sequence[Scores]) -> dict[str, Any]:
    """The arguments of a comparison; none where a baseline or a second query is not there."""
    requested, names = study.recipe.comparison, {one.system for one in scores}
    if requested is None or not requested.named <= names:
        return {}
    return requested.model_dump(exclude_none=True) if len(scores[0].qids) > 1 else {}


def of_units(study: "GroundedStudy", scores: Scores) -> Scores:
    """The means of groups where they are the units; a context without a group is one by itself."""
    qids, values = scores.qids, scores.values
    if study.recipe.unit == "group":
        known = {one.id: one.group or one.id for one in study.data.problem().contexts}
        groups = [known[qid] for qid in scores.qids]
        numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
        places = np.array([numbers[group] for group in groups])
        sums = np.zeros((len(numbers), values.shape[1]))
        np.add.at(sums, places, values)
        qids, values = tuple(numbers), sums / np.bincount(places)[:, None]
    values.setflags(write=False)
    return Scores(scores.system, qids, scores.measures, values)


def over_seeds(study: "GroundedStudy", system: str, each: Sequence[Scores]) -> Scores:
    """The scores of a system over its runs, of contexts or of groups of them."""
    return over_runs(system, [of_units(study, one) for one in each])


_LISTS = ("retriever", "guide")
_POSTERIORS = ("generator", "posterior")


def sharpness_table(
    study: "GroundedStudy", layout: Callable[..., Layout], k: int | None
) -> ResultTable:
    """The table of one section: test contexts, each over its closed set; nothing is tested."""
    scores: dict[str, list[Scores]] = {}
    for name, system in study.recipe.systems.items():
        steps = study.answers(name, k) if system.ranks_by == "model" else []
        each = [
            dict(_distributions(answer, scored))
            for answer, scored in zip(steps, study.likelihoods(name, k), strict=True)
        ]
        for who in each[0] if each else ():
            masses = [
                _masses(study, step.run, one[who]) for step, one in zip(steps, each, strict=True)
            ]
            scores.setdefault(who, []).append(over_seeds(study, name, masses))
    notes = [
        "Mass@k: the probability of the k most probable passages of a context's closed set; a "
        "sharp distribution is no better for it. BM25's scores are no logarithms of probabilities, "
        "and not shown."
    ]
    if "generator" in scores:
        notes.append(
            "generator: P(z|x,y) by the generator with a uniform prior, over the retriever's "
            "closed set; posterior: with the retriever as prior, what the guide is to approach. "
            "Contexts without a target are left out."
        )
    compared = {who: compare(some) for who, some in scores.items()}
    return build_table(compared, scores, layout=layout(of="Sharpness", notes=notes))


Distributions = tuple[Any, Any]
"""Numbers of contexts, and (n, r) unnormalised log-probabilities of passages."""


def _distributions(
    answer: "AnswerStep", scored: "LikelihoodStep"
) -> Iterator[tuple[str, Distributions]]:
    """What is known of one seed, by name."""
    closed: ClosedSets = answer.read()
    for who in _LISTS:
        yield who, (closed.contexts, getattr(closed, f"{who}_scores"))
    rows, values = scored.read()
    if len(rows):
        # The softmax of scores and that of their log-softmax are one.
        joint = closed.retriever_scores[rows] + values
        for who, found in zip(_POSTERIORS, (values, joint), strict=True):
            yield who, (closed.contexts[rows], found)


def _masses(study: "GroundedStudy", system: str, found: Distributions) -> Scores:
    """The values of one seed."""
    contexts, depth = study.data.problem().contexts, found[1].shape[1]
    by_id = {contexts[n].id: row.tolist() for n, row in zip(*found, strict=True)}
    cutoffs = [one for one in CUTOFFS if one <= depth]
    return mass_scores(system, by_id, cutoffs=cutoffs, depth=depth)


def texts_table(
    study: "GroundedStudy", layout: Callable[..., Layout], k: int | None
) -> ResultTable:
    """The table of one section; a context's figure is the mean over seeds."""
    references, common = _references(study), _common(study)
    every = {name: study.answers(name, k) for name in study.recipe.systems}
    return text_table(
        {name: {one.run: _written(study, one) for one in steps} for name, steps in every.items()},
        references,
        _measures(study, common, references),
        testing=partial(testing, study),
        layout=layout(of="Texts", notes=[f"{len(common)} common words."]),
        over_runs=partial(over_seeds, study),
    )


def _references(study: "GroundedStudy") -> dict[str, Reference]:
    """The test contexts; what is gold there is on KILT's pages, where passages have some."""
    problem = study.data.problem()
    found = {}
    for number in problem.parts["test"]:
        one = problem.contexts[number]
        pages = tuple(dict.fromkeys(problem.pages[d] for d in one.gold if d in problem.pages))
        found[one.id] = replace(Reference.of(one), evidence=(pages,) if pages else ())
    return found


def _common(study: "GroundedStudy") -> Sequence[str]:
    problem = study.data.problem()
    targets = (problem.contexts[number].target for number in problem.parts["train"])
    return common_words(targets, study.recipe.common)


def _measures(
    study: "GroundedStudy", common: Sequence[str], references: Mapping[str, Reference]
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


def _written(study: "GroundedStudy", step: "AnswerStep") -> dict[str, Generated]:
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


BOUND = "upper bound"
_WHO = {"retriever": "Retriever (sees the input)", "guide": "Guide (sees input and target)"}


def tables(study: "GroundedStudy", layout: Callable[..., Layout]) -> list[Finding]:
    """The tables of retriever and guide, and that of texts where some are written."""
    found = []
    problem = study.data.problem()
    for who in _WHO if len(_counted(problem)) else ():
        table = sectioned(study, partial(_ranked_table, study, who, layout))
        if who == "retriever" and problem.relevant:
            table = replace(table, rows=(_bound(study, problem, table), *table.rows))
        found.append(Finding(table, who, who, each="per-context"))
    if study.recipe.decode is not None:
        written = sectioned(study, partial(texts_table, study, layout))
        found.append(Finding(written, "texts", "texts", each="per-context"))
    if any(system.ranks_by == "model" for system in study.recipe.systems.values()):
        sharp = sectioned(study, partial(sharpness_table, study, layout))
        found.append(Finding(sharp, "sharpness", "sharpness"))
    return found


def _ranked_table(
    study: "GroundedStudy", who: str, layout: Callable[..., Layout], k: int | None
) -> ResultTable:
    """The table of one section."""
    problem = study.data.problem()
    each = (_over_runs(study, system, k, who, problem) for system in study.recipe.systems)
    scores = [one for one in each if one is not None]
    titled = layout(of=_WHO[who], notes=_notes(study, who))
    compared = compare(scores, **testing(study, scores))
    return build_table(compared, scores, layout=titled)


def sectioned(study: "GroundedStudy", of: Callable[[int | None], ResultTable]) -> ResultTable:
    """One table, with a section for each number of sampled passages."""
    tables = {"" if k is None else f"k = {k}": of(k) for k in study.recipe.k or (None,)}
    return stacked(tables, study.recipe.table.system_names)


def _over_runs(
    study: "GroundedStudy", system: str, k: int | None, who: str, problem: "Problem"
) -> Scores | None:
    """The scores of a system over its runs, of contexts or of groups of them."""
    each = [
        Scores(step.run, *_scores(study, step, who, problem)) for step in study.answers(system, k)
    ]
    return over_seeds(study, system, each) if each else None


def _scores(
    study: "GroundedStudy", step: "AnswerStep", who: str, problem: "Problem"
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


def _bound(study: "GroundedStudy", problem: "Problem", table: ResultTable) -> Row:
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


def _notes(study: "GroundedStudy", who: str) -> list[str]:
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


def _by_seed(study: "GroundedStudy", who: str, problem: "Problem") -> Iterator[str]:
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
