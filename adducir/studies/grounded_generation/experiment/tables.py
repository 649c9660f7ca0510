"""The tables of the task ``grounded-generation``: rankings, texts, and sharpness."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from adducir.evaluation.measures import NamedMeasure
from adducir.evaluation.scores import Scores
from adducir.experiments.study import Finding
from adducir.statistics.comparison import compare
from adducir.studies.grounded_generation.experiment.loading import TEXTS
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
from adducir.studies.grounded_generation.text_table import measured
from adducir.studies.grounded_generation.texts import Generated, Reference, read_generated
from adducir.tables.build import Figure, Layout, build_table, merged
from adducir.tables.table import ResultTable

if TYPE_CHECKING:
    from adducir.studies.grounded_generation.experiment.steps import AnswerStep, LikelihoodStep
    from adducir.studies.grounded_generation.experiment.study import GroundedStudy
    from adducir.studies.grounded_generation.hindsight.building import Problem
    from adducir.studies.grounded_generation.hindsight.closed import ClosedSets


@dataclass
class Sections:
    """What the tables of all sections are made of: one for each number of sampled passages."""

    study: "GroundedStudy"
    scores: list[Scores] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    places: dict[str, tuple[str, str]] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)

    def each(self) -> Iterator[tuple[str, int | None]]:
        """The sections: their names and numbers of passages."""
        for k in self.study.recipe.k or (None,):
            section = "" if k is None else f"k = {k}"
            self.notes[section] = []
            yield section, k

    def set_of(self, section: str, group: str) -> str:
        """The name of the set of a section and a group of columns."""
        name = ", ".join(one for one in (section, group) if one)
        self.places[name] = section, group
        return name

    def add(self, section: str, group: str, system: str, each: Iterable[Scores]) -> None:
        """Add a system's runs, of contexts or of groups of them."""
        name = self.set_of(section, group)
        self.scores += [of_units(self.study, one).renamed(system).in_set(name) for one in each]

    def table(
        self, layout: Callable[..., Layout], of: str, notes: Sequence[str] = (), tested: bool = True
    ) -> ResultTable:
        """The table; a section that lacks a baseline is not tested."""
        asked = self.study.recipe.comparison if tested else None
        names = {one.systems[0] for one in self.scores}
        are_many = any(len(one.qids) > 1 for one in self.scores)
        if asked is not None and not (asked.named <= names and are_many):
            asked = None
        titled = layout(of=of, notes=[*notes, *merged(self.notes)])
        titled = replace(titled, places=self.places)
        return build_table(compare(self.scores, asked), titled, figures=self.figures)


def of_units(study: "GroundedStudy", scores: Scores) -> Scores:
    """The means of groups where they are the units; a context without a group is one by itself."""
    if study.recipe.unit != "group":
        return scores
    known = {one.id: one.group or one.id for one in study.data.problem().contexts}
    frame = scores.frame.with_columns(pl.col("qid").replace(known))
    keys = [name for name in frame.columns if name != "value"]
    means = frame.group_by(keys, maintain_order=True).agg(pl.col("value").mean())
    return replace(scores, frame=means)


_LISTS = ("retriever", "guide")
_POSTERIORS = ("generator", "posterior")


def sharpness_table(study: "GroundedStudy", layout: Callable[..., Layout]) -> ResultTable:
    """Test contexts, each over its closed set; nothing is tested."""
    sections = Sections(study)
    for section, k in sections.each():
        for name, system in study.recipe.systems.items():
            steps = study.answers(name, k) if system.by_model else []
            each = [
                dict(_distributions(answer, scored))
                for answer, scored in zip(steps, study.likelihoods(name, k), strict=True)
            ]
            for who in each[0] if each else ():
                rows = zip(steps, each, strict=True)
                masses = [_masses(study, step.run, one[who]) for step, one in rows]
                sections.add(section, who, name, masses)
    notes = [
        "Mass@k: the probability of the k most probable passages of a context's closed set; a "
        "sharp distribution is no better for it. BM25's scores are no logarithms of probabilities, "
        "and not shown."
    ]
    if any(group == "generator" for _, group in sections.places.values()):
        notes.append(
            "generator: P(z|x,y) by the generator with a uniform prior, over the retriever's "
            "closed set; posterior: with the retriever as prior, what the guide is to approach. "
            "Contexts without a target are left out."
        )
    return sections.table(layout, "Sharpness", notes, tested=False)


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


def texts_table(study: "GroundedStudy", layout: Callable[..., Layout]) -> ResultTable:
    """What systems wrote; a context's figure is the mean over seeds."""
    sections, references, common = Sections(study), _references(study), _common(study)
    for section, k in sections.each():
        written = {
            name: {one.run: _written(study, one) for one in study.answers(name, k)}
            for name in study.recipe.systems
        }
        found = measured(written, references, _measures(study, common, references))
        for one in found.scores:
            sections.add(section, one.sets[0], one.systems[0], [one])
        sections.figures += [
            one._replace(topic_set=sections.set_of(section, one.topic_set)) for one in found.figures
        ]
        sections.notes[section] = [*found.notes, f"{len(common)} common words."]
    return sections.table(layout, "Texts")


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
    found = [
        Finding(_ranked_table(study, who, layout), who, who, each="per-context")
        for who in (_WHO if len(_counted(study.data.problem())) else ())
    ]
    if study.recipe.decode is not None:
        found.append(Finding(texts_table(study, layout), "texts", "texts", each="per-context"))
    if any(system.by_model for system in study.recipe.systems.values()):
        found.append(Finding(sharpness_table(study, layout), "sharpness", "sharpness"))
    return found


def _ranked_table(study: "GroundedStudy", who: str, layout: Callable[..., Layout]) -> ResultTable:
    """Where the gold passages stand in the lists of the retriever or the guide."""
    problem, sections = study.data.problem(), Sections(study)
    for section, k in sections.each():
        for system in study.recipe.systems:
            steps = study.answers(system, k)
            each = [Scores.of(one.run, *_scores(study, one, who, problem)) for one in steps]
            sections.add(section, "", system, each)
        sections.notes[section] = _notes(study, who)
    if who == "retriever" and problem.relevant:
        sections.figures += _bound(study, problem, sections)
    return sections.table(layout, _WHO[who])


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


def _bound(study: "GroundedStudy", problem: "Problem", sections: Sections) -> Iterator[Figure]:
    """What no retriever can pass that sees the input alone: see :func:`_notes`."""
    groups = [problem.contexts[number].group or "" for number in _counted(problem)]
    if study.recipe.unit == "group":
        groups = list(dict.fromkeys(groups))
    sizes = np.array([problem.relevant[group] for group in groups])
    for measure in dict.fromkeys(name for one in sections.scores for name in one.measures):
        name, _, cutoff = measure.partition("@")
        if name == "Success":
            value = float(np.minimum(1, int(cutoff) / sizes).mean())
        else:
            harmonic = np.cumsum(1 / np.arange(1, sizes.max() + 1))
            value = float((harmonic[sizes - 1] / sizes).mean())
        for name in sections.places:
            yield Figure(name, BOUND, measure, value, len(groups))


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
            if not system.train:
                continue
            rows = [_scores(study, step, who, problem) for step in study.answers(name, k)]
            means = ", ".join(f"{values[:, 0].mean():.3f}" for _, _, values in rows)
            of = "" if k is None else f" with k = {k}"
            yield f"{rows[0][1][0]} of {name}{of} by seed, over contexts: {means}."
