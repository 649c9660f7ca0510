"""The tables of the task ``grounded-generation``: rankings, texts, and sharpness."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from adducir.evaluation.measures import NamedMeasure
from adducir.evaluation.scores import Scores
from adducir.experiments.study import Finding
from adducir.statistics.comparison import compare
from adducir.studies.grounded_generation.experiment.loading import TEXTS
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
    measured,
)
from adducir.studies.grounded_generation.texts import (
    Generated,
    Reference,
    References,
    System,
    read_generated,
)
from adducir.tables.build import Figure, Layout, build_table, merged
from adducir.tables.table import ResultTable

if TYPE_CHECKING:
    from adducir.studies.grounded_generation.experiment.steps import AnswerStep, LikelihoodStep
    from adducir.studies.grounded_generation.experiment.study import GroundedStudy

BOUND = "upper bound"
_WHO = {"retriever": "Retriever (sees the input)", "guide": "Guide (sees input and target)"}


@dataclass
class Sections:
    """What a table is made of: a section for each number of sampled passages."""

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
        self.scores += [self._of_units(one).renamed(system).in_set(name) for one in each]

    def _of_units(self, scores: Scores) -> Scores:
        """The means of groups where these are the units; without a group a context is its own."""
        if self.study.recipe.unit != "group":
            return scores
        known = {one.id: one.group or one.id for one in self.study.data.problem().contexts}
        frame = scores.frame.with_columns(pl.col("qid").replace(known))
        keys = [name for name in frame.columns if name != "value"]
        means = frame.group_by(keys, maintain_order=True).agg(pl.col("value").mean())
        return replace(scores, frame=means)

    def table(
        self, layout: Callable[..., Layout], notes: Sequence[str] = (), tested: bool = True
    ) -> ResultTable:
        """The table; where a baseline is missing, nothing is tested."""
        asked = self.study.recipe.comparison if tested else None
        names = {one.systems[0] for one in self.scores}
        are_many = any(len(one.qids) > 1 for one in self.scores)
        if asked is not None and not (asked.named <= names and are_many):
            asked = None
        whole = layout(notes=[*notes, *merged(self.notes)])
        placed = replace(whole, places=self.places)
        return build_table(compare(self.scores, asked), placed, figures=self.figures)


class Tables:
    """The tables of a study; ``layout`` gives the layout of what a table is of."""

    def __init__(self, study: "GroundedStudy", layout: Callable[..., Layout]) -> None:
        self.study, self.recipe, self.layout = study, study.recipe, layout
        self.problem = study.data.problem()
        contexts = self.problem.contexts
        self.counted = np.array(
            [number for number in self.problem.parts["test"] if contexts[number].gold], dtype=int
        )

    def findings(self) -> list[Finding]:
        """The tables of retriever and guide, that of texts where some are written, sharpness."""
        found = [
            Finding(self.ranked(who), who, who, each="per-context")
            for who in (_WHO if len(self.counted) else ())
        ]
        if self.recipe.decode is not None:
            found.append(Finding(self.texts(), "texts", "texts", each="per-context"))
        if any(system.by_model for system in self.recipe.systems.values()):
            found.append(Finding(self.sharpness(), "sharpness", "sharpness"))
        return found

    def ranked(self, who: str) -> ResultTable:
        """Where the gold passages stand in the lists of the retriever or the guide."""
        recipe, problem, sections = self.recipe, self.problem, Sections(self.study)
        by_seed: list[str] = []
        for section, k in sections.each():
            for name, system in recipe.systems.items():
                each = [self._places(step, who) for step in self.study.answers(name, k)]
                sections.add(section, "", name, each)
                if system.train and len(recipe.seeds) > 1:
                    first = next(iter(each[0].measures))
                    means = ", ".join(f"{one.values(first).mean():.3f}" for one in each)
                    of = "" if k is None else f" with k = {k}"
                    by_seed.append(f"{first} of {name}{of} by seed, over contexts: {means}.")
        tests, passages = len(problem.parts["test"]), len(problem.passages)
        notes = [f"{tests:,} test contexts, {passages:,} passages."]
        if lacking := tests - len(self.counted):
            notes.append(f"{lacking:,} contexts without a gold passage are left out.")
        if recipe.unit == "group":
            notes.append(
                "Figures are means over groups of contexts, and so are differences tested."
            )
        if who == "retriever" and problem.relevant:
            sections.figures += self._bound(sections)
            notes.append(
                f"{BOUND}: the expectation where the passages of a context's group come first, in "
                "any order; who sees the input alone cannot tell them apart. It is not tested."
            )
        return sections.table(partial(self.layout, of=_WHO[who]), [*notes, *by_seed])

    def _places(self, step: "AnswerStep", who: str) -> Scores:
        """MRR and Success@k of each test context that has a gold passage."""
        closed, contexts = step.read(), self.problem.contexts
        lists = getattr(closed, who)
        numbers = {docno: number for number, docno in enumerate(self.problem.docnos)}
        ranks = np.full(len(self.counted), np.inf)
        for row, number in enumerate(self.counted):
            gold = [numbers[docno] for docno in contexts[number].gold]
            found = np.flatnonzero(np.isin(lists[number - closed.contexts[0]], gold))
            if len(found):
                ranks[row] = found[0] + 1
        cutoffs = [one for one in self.recipe.cutoffs if one <= lists.shape[1]]
        names = [f"RR@{lists.shape[1]}", *(f"Success@{cutoff}" for cutoff in cutoffs)]
        values = np.column_stack([1 / ranks, *(ranks <= cutoff for cutoff in cutoffs)])
        qids = [contexts[number].id for number in self.counted]
        return Scores.of(step.run, qids, [*map(NamedMeasure, names)], values)

    def _bound(self, sections: Sections) -> Iterator[Figure]:
        """What no retriever can pass that sees the input alone; see the note on it."""
        groups = [self.problem.contexts[number].group or "" for number in self.counted]
        if self.recipe.unit == "group":
            groups = list(dict.fromkeys(groups))
        sizes = np.array([self.problem.relevant[group] for group in groups])
        for measure in dict.fromkeys(name for one in sections.scores for name in one.measures):
            name, _, cutoff = measure.partition("@")
            if name == "Success":
                value = float(np.minimum(1, int(cutoff) / sizes).mean())
            else:
                harmonic = np.cumsum(1 / np.arange(1, sizes.max() + 1))
                value = float((harmonic[sizes - 1] / sizes).mean())
            for name in sections.places:
                yield Figure(name, BOUND, measure, value, len(groups))

    def texts(self) -> ResultTable:
        """What systems wrote; a context's figure is the mean over seeds."""
        sections, problem = Sections(self.study), self.problem
        targets = (problem.contexts[number].target for number in problem.parts["train"])
        common = common_words(targets, self.recipe.common)
        references: dict[str, Reference] = {}
        for number in problem.parts["test"]:
            one = problem.contexts[number]
            pages = self._pages(one.gold)  # KILT's, where passages have some
            evidence = (pages,) if pages else ()
            references[one.id] = replace(Reference.of(one), evidence=evidence)
        for section, k in sections.each():
            written = {
                name: {step.run: self._written(step) for step in self.study.answers(name, k)}
                for name in self.recipe.systems
            }
            found = measured(written, references, self._measures(common, references, written))
            for one in found.scores:
                sections.add(section, one.sets[0], one.systems[0], [one])
            sections.figures += [
                one._replace(topic_set=sections.set_of(section, one.topic_set))
                for one in found.figures
            ]
            sections.notes[section] = [*found.notes, f"{len(common)} common words."]
        return sections.table(partial(self.layout, of="Texts"))

    def _pages(self, docnos: Iterable[str]) -> tuple[str, ...]:
        pages = self.problem.pages
        return tuple(dict.fromkeys(pages[docno] for docno in docnos if docno in pages))

    def _written(self, step: "AnswerStep") -> dict[str, Generated]:
        """What a system wrote with one seed, with the pages of all that it ranks."""
        found = read_generated(step.path / TEXTS)
        if self.problem.pages:
            closed, docnos = step.read(), self.problem.docnos
            for number, row in zip(closed.contexts, closed.retriever, strict=True):
                name, pages = self.problem.contexts[number].id, self._pages(docnos[n] for n in row)
                found[name] = replace(found[name], pages=pages)
        return found

    def _measures(
        self,
        common: Sequence[str],
        references: References,
        written: Mapping[str, Mapping[str, System]],
    ) -> list[TextMeasures]:
        """All that there are data for."""
        problem, decode, right = self.problem, self.recipe.decode, references.values()
        depth = min(decode.best, decode.passages) if decode else 1
        texts = (
            text for runs in written.values() for run in runs.values() for text in run.values()
        )
        named = {output.docno for text in texts for output in text.outputs}
        named |= {docno for one in right for docno in one.gold}
        numbers = (number for number, docno in enumerate(problem.docnos) if docno in named)
        passages = {problem.docnos[number]: problem.passages[number] for number in numbers}
        are_answered = any(one.answers for one in right)
        measures: list[tuple[TextMeasures, bool]] = [
            (Answers(common, depth), are_answered),
            (MsMarco(), are_answered),
            (Knowledge(passages, depth), any(one.gold for one in right)),
            (Grounding(common, passages, depth), True),
            (_OnPages(), any(one.evidence for one in right)),
        ]
        return [one for one, has_data in measures if has_data]

    def sharpness(self) -> ResultTable:
        """Test contexts, each over its closed set; nothing is tested."""
        sections = Sections(self.study)
        for section, k in sections.each():
            for name, system in self.recipe.systems.items():
                answers = self.study.answers(name, k) if system.by_model else []
                pairs = zip(answers, self.study.likelihoods(name, k), strict=True)
                each = [dict(self._masses(*pair)) for pair in pairs]
                for who in each[0] if each else ():
                    sections.add(section, who, name, [one[who] for one in each])
        notes = [
            "Mass@k: the probability of the k most probable passages of a context's closed set; a "
            "sharp distribution is no better for it. BM25's scores are no logarithms of "
            "probabilities, and not shown."
        ]
        if any(group == "generator" for _, group in sections.places.values()):
            notes.append(
                "generator: P(z|x,y) by the generator with a uniform prior, over the retriever's "
                "closed set; posterior: with the retriever as prior, what the guide is to "
                "approach. Contexts without a target are left out."
            )
        return sections.table(partial(self.layout, of="Sharpness"), notes, tested=False)

    def _masses(
        self, answer: "AnswerStep", likelihood: "LikelihoodStep"
    ) -> Iterator[tuple[str, Scores]]:
        """The sharpness of retriever, guide, generator and posterior with one seed."""
        closed, (rows, values) = answer.read(), likelihood.read()
        every: dict[str, tuple[Any, Any]] = {
            "retriever": (closed.contexts, closed.retriever_scores),
            "guide": (closed.contexts, closed.guide_scores),
        }
        if len(rows):
            # The softmax of scores and that of their log-softmax are one.
            contexts = closed.contexts[rows]
            every["generator"] = contexts, values
            every["posterior"] = contexts, closed.retriever_scores[rows] + values
        for who, (numbers, logs) in every.items():
            names = (self.problem.contexts[number].id for number in numbers)
            by_id = dict(zip(names, logs.tolist(), strict=True))
            depth = logs.shape[1]
            cutoffs = [one for one in CUTOFFS if one <= depth]
            yield who, mass_scores(answer.run, by_id, cutoffs=cutoffs, depth=depth)


class _OnPages(Kilt):
    """KILT's measures of the contexts of which a page is known."""

    def counts(self, reference: Reference) -> bool:
        return bool(reference.evidence)
