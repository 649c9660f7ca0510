"""Topics, judgements and measures of a retrieval experiment: one group of columns per topic set."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import polars as pl
from pydantic import model_validator

from adducir.core.recipe import KeyPath, Recipe
from adducir.corpora.qrels import Qrels, load_qrels
from adducir.corpora.topics import Topics, load_topics
from adducir.evaluation import providers, vectorised
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.measures import Measure, parse_measure, parse_measures
from adducir.evaluation.unjudged import deepest
from adducir.runs.run import Run

if TYPE_CHECKING:
    from adducir.experiments.retrieval.study import RetrievalStudy


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
    qrels: str | tuple[str, ...]
    field: str | None = None
    model_qrels: str | tuple[str, ...] = ()
    judge: str = ""

    @model_validator(mode="after")
    def _is_named(self) -> "TopicsRecipe":
        if bool(self.model_qrels) != bool(self.judge.strip()):
            raise ValueError("`model_qrels` and `judge`, the model's name and version, go together")
        return self


@dataclass(frozen=True)
class TopicSet:
    """Topics, their judgements, and what evaluates runs of them.

    ``sources`` are as the file names them; ``model`` evaluates by the judgements of a model, called
    ``judge``, if there are some.
    """

    name: str
    topics: Topics
    qrels: Qrels
    evaluator: Evaluator
    sources: tuple[str, str]
    model: Evaluator | None = None
    judge: str = ""

    def identity(self) -> dict[str, str]:
        """The fingerprints of topics and judgements."""
        return {**self.topics.identity(), **self.qrels.identity()}


def open_topics(study: "RetrievalStudy") -> None:
    """Open measures, topics and judgements."""
    planner, recipe = study.planner, study.recipe
    found: dict[Measure, None] = {}
    for number, text in enumerate(recipe.measures):
        place: KeyPath = ("measures", number)
        for measure in planner.opening(place, partial(parse_measures, text)) or ():
            if can_compute(place, measure, study):
                found[measure] = None
    study.measures = tuple(found)
    if recipe.unjudged and not deepest(study.measures):
        what = "there are bounds of nDCG@k, AP@k and RBP(rel=1), and `measures` has none of them"
        planner.errors.add(("unjudged",), what)
    for text, name in recipe.table.measure_names.items():
        # Names of other measures do no harm: --set measures=... may have left those out.
        place = ("table", "measure_names", text)
        study.measure_names[str(planner.opening(place, partial(parse_measure, text)))] = name
    for name in recipe.topics:
        opened = _topic_set(name, study)
        if opened is not None:
            study.topic_sets[name] = opened


def can_compute(place: KeyPath, measure: Measure, study: "RetrievalStudy") -> bool:
    """Whether a measure can be computed; what is wrong with it is kept."""
    computed_by = study.planner.opening(place, partial(_computed_by, measure))
    cutoff = getattr(measure, "params", {}).get("cutoff") or 0
    most = study.recipe.most
    if most is not None and cutoff > most:
        what = f"{measure} needs {cutoff} documents per topic; `depth` is {most}"
        study.planner.errors.add(place, what)
    return computed_by is not None


def _topic_set(name: str, study: "RetrievalStudy") -> TopicSet | None:
    """Topics and judgements that fit together; None with an error, which is kept."""
    place, planner, recipe = ("topics", name), study.planner, study.recipe.topics[name]
    source, found = planner.source((*place, "source"), recipe.source), None
    if source is not None:
        load = partial(load_topics, source, field=recipe.field)
        found = planner.opening((*place, "source"), load)
    qrels = _qrels((*place, "qrels"), recipe.qrels, study)
    if found is None or qrels is None:
        return None
    if set(found.qids).isdisjoint(qrels.qids):
        first, other = found.qids[0], qrels.qids[0]
        what = f"topics and qrels have no qid in common (such as {first!r} and {other!r})"
        planner.errors.add(place, what)
        return None
    if study.recipe.comparison is not None and len(qrels.qids) < 2:
        planner.errors.add((*place, "qrels"), "a test needs judgements of two topics or more")
    evaluator = planner.opening((*place, "qrels"), partial(_evaluator, qrels, study))
    if evaluator is None:
        return None
    named = recipe.qrels if isinstance(recipe.qrels, str) else " + ".join(recipe.qrels)
    by_model = _by_model((*place, "model_qrels"), recipe, (found, qrels), study)
    return TopicSet(name, found, qrels, evaluator, (recipe.source, named), by_model, recipe.judge)


def _by_model(
    place: KeyPath, recipe: TopicsRecipe, human: tuple[Topics, Qrels], study: "RetrievalStudy"
) -> Evaluator | None:
    """What evaluates by the judgements of a model; None without, or with an error that is kept."""
    if not recipe.model_qrels:
        return None
    from adducir.statistics.comparison.notes import TOPICS_ALONE, check_judged

    planner, (topics, qrels) = study.planner, human
    if any(len(runs) > 1 for runs in study.rows.values()):
        what = "there is no prediction-powered mean of systems with several runs (`seeds`)"
        planner.errors.add(place, f"{what}: {TOPICS_ALONE}")
    judged = _qrels(place, recipe.model_qrels, study)
    if judged is None:
        return None
    unknown = set(judged.qids).difference(topics.qids)
    if unknown:
        what = f"{len(unknown)} topics that it judges are not in `source`, such as {min(unknown)!r}"
        planner.errors.add(place, what)
    planner.opening(place, partial(check_judged, qrels.qids, judged.qids, recipe.judge))
    return planner.opening(place, partial(_evaluator, judged, study))


def _qrels(place: KeyPath, names: str | tuple[str, ...], study: "RetrievalStudy") -> Qrels | None:
    named = (names,) if isinstance(names, str) else names
    sources = [one for name in named if (one := study.planner.source(place, name)) is not None]
    if len(sources) < len(named):
        return None
    load = partial(load_qrels, sources)
    return study.planner.opening(place, load)


def _evaluator(qrels: Qrels, study: "RetrievalStudy") -> Evaluator:
    measures = study.measures or "NumRet"  # for want of one without an error
    evaluator = Evaluator(qrels, measures, negative=study.recipe.negative_grades)
    # Some errors, such as grades that a measure does not know, show only at work.
    one = qrels.frame.head(1).select("qid", "docno", score=pl.lit(1.0))
    evaluator.score(Run(one, "trial"))
    return evaluator


def _computed_by(measure: Measure) -> str:
    return "adducir" if vectorised.is_vectorised(measure) else providers.provider_of(measure)
