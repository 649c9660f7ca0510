"""The tables of the task ``grounded-generation``: rankings, texts, and sharpness."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from adducir.evaluation.measures import NamedMeasure
from adducir.evaluation.scores import Scores
from adducir.experiments.tasks import StudyTable
from adducir.models.artifacts import read_shard
from adducir.statistics.comparison import compare
from adducir.studies.grounded_generation.experiment.making import CLOSED, LIKELIHOODS, with_pages
from adducir.studies.grounded_generation.hindsight.closed import ClosedSets
from adducir.studies.grounded_generation.measures import (
    CUTOFFS,
    ON_REQUEST,
    common_words,
    groups,
    kilt,
    mass_scores,
    measured,
    with_data,
)
from adducir.studies.grounded_generation.texts import Generated, Reference, named_passages
from adducir.tables.build import Figure, build_table, merged
from adducir.tables.table import Layout, ResultTable

if TYPE_CHECKING:
    from adducir.studies.grounded_generation.experiment.task import (
        AnswerStep,
        GroundedStudy,
        LikelihoodStep,
    )

BOUND = "upper bound"
_WHO = {"retriever": "Retriever (sees the input)", "guide": "Guide (sees input and target)"}
_GROUPS = ("answers", "knowledge", "grounding", "kilt")


class Sections:
    """The contents of a table: a section for each number of sampled passages."""

    def __init__(self, study: "GroundedStudy") -> None:
        self.study, self.figures, self.scores = study, list[Figure](), list[Scores]()
        self.places: dict[str, tuple[str, str]] = {}
        self.names = {k: f"k = {k}" if k else "" for k in study.recipe.k or (None,)}

    def set_of(self, section: str, group: str) -> str:
        name = ", ".join(part for part in (section, group) if part)
        self.places[name] = section, group
        return name

    def add(self, section: str, group: str, system: str, scores: Scores) -> None:
        """Add a system's run; if groups of contexts are the units, their means."""
        if self.study.recipe.unit == "group":
            groups_ = {
                context.id: context.group or context.id
                for context in self.study.data.problem().contexts
            }
            frame = scores.frame.with_columns(pl.col("qid").replace(groups_))
            keys = [name for name in frame.columns if name != "value"]
            means = frame.group_by(keys, maintain_order=True).agg(pl.col("value").mean())
            scores = replace(scores, frame=means)
        self.scores.append(scores.renamed(system).in_set(self.set_of(section, group)))

    def table(
        self, layout: Callable[..., Layout], notes: Sequence[str] = (), tested: bool = True
    ) -> ResultTable:
        """The table; without a baseline, nothing is tested."""
        testing = self.study.recipe.comparison if tested else None
        names = {scores.systems[0] for scores in self.scores}
        are_many = any(len(scores.qids) > 1 for scores in self.scores)
        if testing is not None and not (testing.named <= names and are_many):
            testing = None
        if self.study.recipe.unit == "group":
            tested_over = ", and differences are tested over groups" if testing else ""
            notes = [*notes, f"Figures are means over groups of contexts{tested_over}."]
        whole = replace(layout(notes=notes), places=self.places)
        return build_table(compare(self.scores, testing), whole, figures=self.figures)


class GroundedTables:
    def __init__(self, study: "GroundedStudy", layout: Callable[..., Layout]) -> None:
        self.study, self.recipe, self.layout = study, study.recipe, layout
        self.problem = study.data.problem()
        self.contexts, self.test = self.problem.contexts, self.problem.parts["test"]
        self.counted = [number for number in self.test if self.contexts[number].gold]

    def result_tables(self) -> list[StudyTable]:
        tables = [
            StudyTable(self.ranked(who), who, who, each="per-context")
            for who in (_WHO if self.counted else ())
        ]
        if self.recipe.decode is not None:
            tables.append(StudyTable(self.texts(), "texts", "texts", each="per-context"))
            tables.append(StudyTable(self.by_rank(), "by-rank", "by-rank"))
        if any(system.by_model for system in self.recipe.systems.values()):
            tables.append(StudyTable(self.sharpness(), "sharpness", "sharpness"))
        return tables

    def _answers(self, system: str, k: int | None) -> "list[AnswerStep]":
        return self.study.of(self.study.steps, system, k)

    def ranked(self, who: str) -> ResultTable:
        """The ranks of the gold passages in the lists of the retriever or the guide."""
        recipe, problem, sections = self.recipe, self.problem, Sections(self.study)
        by_seed: list[str] = []
        for k, section in sections.names.items():
            for name, system in recipe.systems.items():
                ranks_of_seeds = [self._places(step, who) for step in self._answers(name, k)]
                for ranks_of_seed in ranks_of_seeds:
                    sections.add(section, "", name, ranks_of_seed)
                if system.train and len(recipe.seeds) > 1:
                    first = next(iter(ranks_of_seeds[0].measures))
                    means = ", ".join(
                        f"{ranks_of_seed.values(first).mean():.3f}"
                        for ranks_of_seed in ranks_of_seeds
                    )
                    suffix = "" if k is None else f" with k = {k}"
                    by_seed.append(f"{first} of {name}{suffix} by seed, over contexts: {means}.")
        notes = [f"{len(self.test):,} test contexts, {len(problem.passages):,} passages."]
        if lacking := len(self.test) - len(self.counted):
            notes.append(f"{lacking:,} contexts without a gold passage are excluded.")
        if who == "retriever" and problem.relevant:
            sections.figures += self._bound(sections)
            notes.append(
                f"{BOUND}: the expectation if the passages of a context's group come first, in "
                "random order; the input alone cannot tell them apart. It is not tested."
            )
        return sections.table(partial(self.layout, of=_WHO[who]), [*notes, *by_seed])

    def _closed(self, step: "AnswerStep") -> ClosedSets:
        """Of the contexts that are measured."""
        return ClosedSets.load(step.path / CLOSED).split(len(self.test))[0]

    def _places(self, step: "AnswerStep", who: str) -> Scores:
        """MRR and Success@k of each test context that has a gold passage."""
        closed = self._closed(step)
        lists = getattr(closed, who)
        numbers = {docno: number for number, docno in enumerate(self.problem.docnos)}
        ranks = np.full(len(self.counted), np.inf)
        for row, number in enumerate(self.counted):
            gold = [numbers[docno] for docno in self.contexts[number].gold]
            places = np.flatnonzero(np.isin(lists[number - closed.contexts[0]], gold))
            if len(places):
                ranks[row] = places[0] + 1
        cutoffs = [cutoff for cutoff in self.recipe.cutoffs if cutoff <= lists.shape[1]]
        names = [f"RR@{lists.shape[1]}", *(f"Success@{cutoff}" for cutoff in cutoffs)]
        values = np.column_stack([1 / ranks, *(ranks <= cutoff for cutoff in cutoffs)])
        qids = [self.contexts[number].id for number in self.counted]
        return Scores.of(step.run, qids, [*map(NamedMeasure, names)], values)

    def _bound(self, sections: Sections) -> Iterator[Figure]:
        """The upper bound for retrievers that see only the input; see its note."""
        named = [self.contexts[number].group or "" for number in self.counted]
        if self.recipe.unit == "group":
            named = list(dict.fromkeys(named))
        sizes = np.array([self.problem.relevant[group] for group in named])
        for measure in dict.fromkeys(
            name for scores in sections.scores for name in scores.measures
        ):
            name, _, cutoff = measure.partition("@")
            reached = np.minimum(sizes, int(cutoff))
            if name == "Success":
                value = float((reached / sizes).mean())
            else:
                harmonic = np.cumsum(1 / np.arange(1, sizes.max() + 1))
                value = float((harmonic[reached - 1] / sizes).mean())
            for place in sections.places:
                yield Figure(place, BOUND, measure, value, len(named))

    def texts(self) -> ResultTable:
        """Overlap with targets, gold passages and passages, and KILT's measures."""
        return self._overlaps("Texts", _GROUPS)

    def by_rank(self) -> ResultTable:
        """Figure 3 and appendix A.2 of the paper; nothing is tested."""
        return self._overlaps("Texts by rank", ON_REQUEST)

    def _overlaps(self, of: str, names: Sequence[str]) -> ResultTable:
        sections, problem = Sections(self.study), self.problem
        targets = (self.contexts[number].target for number in problem.parts["train"])
        common = common_words(targets, self.recipe.common)
        references: dict[str, Reference] = {}
        for number in self.test:
            context = self.contexts[number]
            pages = problem.pages_of(context.gold)  # KILT's, where passages have some
            references[context.id] = replace(
                Reference.of(context), evidence=(pages,) if pages else ()
            )
        decode, notes = self.recipe.decode, dict[str, list[str]]()
        best, every = (min(decode.best, decode.passages), decode.passages) if decode else (1, 1)
        for k, section in sections.names.items():
            written = {
                name: {step.run: self._written(step) for step in self._answers(name, k)}
                for name in self.recipe.systems
            }
            systems = [texts for runs in written.values() for texts in runs.values()]
            passages = self._named(references, systems)
            measures = groups(common, passages, best if names == _GROUPS else every)
            measures["kilt"] = kilt(on_pages=True)
            have_data = with_data(references, systems, passages)
            used = [measures[name] for name in names if name in have_data]
            scores, more = measured(written, references, used)
            for scores_of_group in scores:
                sections.add(
                    section, scores_of_group.sets[0], scores_of_group.systems[0], scores_of_group
                )
            notes[section] = [*more, f"{len(common)} common words."]
        return sections.table(partial(self.layout, of=of), merged(notes), tested=names == _GROUPS)

    def _written(self, step: "AnswerStep") -> dict[str, Generated]:
        """A system's texts with one seed for the contexts that are measured."""
        texts = with_pages(step.path, self.problem)
        return {name: texts[name] for name in (self.contexts[number].id for number in self.test)}

    def _named(
        self, references: Mapping[str, Reference], systems: Iterable[Mapping[str, Generated]]
    ) -> dict[str, str]:
        named = named_passages(references, systems)
        numbers = (number for number, docno in enumerate(self.problem.docnos) if docno in named)
        return {self.problem.docnos[number]: self.problem.passages[number] for number in numbers}

    def sharpness(self) -> ResultTable:
        """Test contexts, each over its closed set; nothing is tested."""
        sections = Sections(self.study)
        for k, section in sections.names.items():
            for name, system in self.recipe.systems.items():
                answers = self._answers(name, k) if system.by_model else []
                steps = self.study.of(self.study.likelihoods, name, k)
                for pair in zip(answers, steps, strict=True):
                    for who, scores in self._masses(*pair):
                        sections.add(section, who, name, scores)
        notes = [
            "Mass@k: the total probability of the k most probable passages in a context's closed "
            "set; sharper is not necessarily better. BM25's scores are not log probabilities, and "
            "are not shown."
        ]
        if any(group == "generator" for _, group in sections.places.values()):
            notes.append(
                "generator: P(z|x,y) by the generator with a uniform prior, over the retriever's "
                "closed set; posterior: with the retriever as prior, which the guide should "
                "approximate. Contexts without a target are excluded."
            )
        return sections.table(partial(self.layout, of="Sharpness"), notes, tested=False)

    def _masses(self, answer: "AnswerStep", step: "LikelihoodStep") -> Iterator[tuple[str, Scores]]:
        """The sharpness of retriever, guide, generator and posterior with one seed.

        Likelihoods are of the rows of the answers' lists whose contexts have a target.
        """
        closed, arrays = self._closed(answer), read_shard(step.path / LIKELIHOODS)
        rows, values = arrays["rows"], arrays["values"]
        distributions: dict[str, tuple[Any, Any]] = {
            "retriever": (closed.contexts, closed.retriever_scores),
            "guide": (closed.contexts, closed.guide_scores),
        }
        if len(rows):
            # The softmax of scores equals that of their log-softmax.
            contexts = closed.contexts[rows]
            distributions["generator"] = contexts, values
            distributions["posterior"] = contexts, closed.retriever_scores[rows] + values
        for who, (numbers, logs) in distributions.items():
            names = (self.contexts[number].id for number in numbers)
            by_id = dict(zip(names, logs.tolist(), strict=True))
            cutoffs = [cutoff for cutoff in CUTOFFS if cutoff <= logs.shape[1]]
            yield who, mass_scores(answer.run, by_id, cutoffs)
