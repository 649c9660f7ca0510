"""Topics, judgements and measures of a retrieval experiment: one group of columns per topic set."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import polars as pl
from ir_measures import Measure
from pydantic import model_validator

from adducir.core.errors import gathering
from adducir.core.recipe import KeyPath, Recipe
from adducir.corpora.qrels import Qrels, load_qrels
from adducir.corpora.topics import Topics, load_topics
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.measures import computable, parse_measure, parse_measures
from adducir.evaluation.unjudged import depth_of
from adducir.experiments.tuning.folds import JudgedTopics
from adducir.runs.run import Run
from adducir.training.recipe import Several, listed

if TYPE_CHECKING:
    from adducir.experiments.retrieval.study import RetrievalStudy


@dataclass(frozen=True)
class TopicSet(JudgedTopics):
    evaluator: Evaluator
    model: Evaluator | None = None  # by the judgements of a model, called ``judge``
    judge: str = ""

    def identity(self) -> dict[str, str]:
        return {**self.topics.identity(), **self.qrels.identity()}


class TopicsRecipe(Recipe):
    """A set of topics with its judgements: one group of columns in the table.

    Attributes:
        source: The topics.
        qrels: Their judgements.
        field: The field that is searched with.
        model_qrels: Judgements of a model, of these topics and others: the footer has
            prediction-powered means.
        judge: Name and version of the model.
    """

    source: str
    qrels: Several
    field: str | None = None
    model_qrels: Several = ()
    judge: str = ""

    @model_validator(mode="after")
    def _is_named(self) -> "TopicsRecipe":
        if bool(self.model_qrels) != bool(self.judge.strip()):
            raise ValueError("`model_qrels` and `judge`, the model's name and version, go together")
        return self

    def open(self, name: str, study: "RetrievalStudy") -> TopicSet | None:
        """Topics and judgements that fit together; None with an error, which is kept."""
        place, planner = ("topics", name), study.planner

        def load() -> Topics:
            found = load_topics(planner.source(self.source), field=self.field)
            return replace(found, source=self.source)

        topics = planner.opening((*place, "source"), load)
        qrels = planner.opening((*place, "qrels"), partial(_qrels, self.qrels, study))
        if topics is None or qrels is None:
            return None
        if set(topics.qids).isdisjoint(qrels.qids):
            first, other = topics.qids[0], qrels.qids[0]
            what = f"topics and qrels have no qid in common (such as {first!r} and {other!r})"
            planner.add(place, what)
            return None
        if study.recipe.comparison is not None and len(qrels.qids) < 2:
            planner.add((*place, "qrels"), "a test needs judgements of two topics or more")
        evaluator = planner.opening((*place, "qrels"), partial(_evaluator, qrels, study))
        model = None
        if self.model_qrels:
            load_model = partial(self._model, name, topics, qrels, study)
            model = planner.opening((*place, "model_qrels"), load_model)
        if evaluator is None:
            return None
        return TopicSet(name, topics, qrels, evaluator, model, self.judge)

    def _model(self, name: str, topics: Topics, qrels: Qrels, study: "RetrievalStudy") -> Evaluator:
        from adducir.tables.run_facts import TOPICS_ALONE, check_judged

        place = ("topics", name, "model_qrels")
        if any(len(study.seeds(system)) > 1 for system in study.recipe.systems):
            what = (
                "prediction-powered means are not available for systems with several runs (`seeds`)"
            )
            study.planner.add(place, f"{what}: {TOPICS_ALONE}")
        judged = _qrels(self.model_qrels, study)
        if unknown := set(judged.qids).difference(topics.qids):
            what = f"{len(unknown)} topics that it judges are not in `source`"
            study.planner.add(place, f"{what}, such as {min(unknown)!r}")
        check_judged(qrels.qids, judged.qids, self.judge)
        return _evaluator(judged, study)


def open_measures(study: "RetrievalStudy") -> tuple[tuple[Measure, ...], dict[str, str]]:
    """The measures, each once in the file's order, and their printed names by exact ones."""
    planner, recipe = study.planner, study.recipe
    found: dict[Measure, None] = {}
    for number, text in enumerate(recipe.measures):
        place: KeyPath = ("measures", number)
        for measure in planner.opening(place, partial(parse_measures, text)) or ():
            if can_compute(place, measure, study):
                found[measure] = None
    if recipe.unjudged and not any(map(depth_of, found)):
        what = "only nDCG@k, AP@k and RBP(rel=1) have bounds, and `measures` has none of them"
        planner.add(("unjudged",), what)
    names = {}
    for text, name in recipe.table.measure_names.items():
        # Names of other measures do no harm: --set measures=... may have left those out.
        place = ("table", "measure_names", text)
        names[str(planner.opening(place, partial(parse_measure, text)))] = name
    return tuple(found), names


def can_compute(place: KeyPath, measure: Measure, study: "RetrievalStudy") -> bool:
    """Whether a measure can be computed; what is wrong with it is kept."""
    cutoff, most = getattr(measure, "params", {}).get("cutoff") or 0, study.recipe.most
    if most is not None and cutoff > most:
        what = f"{measure} needs {cutoff} documents per topic; `depth` is {most}"
        study.planner.add(place, what)
    return study.planner.opening(place, partial(computable, measure)) is not None


def _qrels(names: Several, study: "RetrievalStudy") -> Qrels:
    with gathering() as each:
        sources = [each(partial(study.planner.source, name)) for name in listed(names)]
    return replace(load_qrels(sources), source=" + ".join(listed(names)))


def _evaluator(qrels: Qrels, study: "RetrievalStudy") -> Evaluator:
    measures = study.measures or "NumRet"  # for want of one without an error
    evaluator = Evaluator(qrels, measures, negative=study.recipe.negative_grades)
    # Some errors, such as grades that a measure does not know, show only at work.
    one = qrels.frame.head(1).select("qid", "docno", score=pl.lit(1.0))
    evaluator.score(Run(one, "trial"))
    return evaluator
