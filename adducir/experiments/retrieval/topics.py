"""Opens topics, judgements and measures of a retrieval experiment."""

from functools import partial

import polars as pl
from pydantic import model_validator

from adducir.core.recipe import KeyPath, Recipe
from adducir.corpora.qrels import Qrels, load_qrels
from adducir.corpora.topics import Topics, load_topics
from adducir.evaluation import providers, vectorised
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.measures import Measure, parse_measure, parse_measures
from adducir.evaluation.unjudged import deepest
from adducir.experiments.retrieval.opened import TopicSet
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.runs.run import Run


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


def open_topics(study: RetrievalStudy) -> None:
    """Open measures, topics and judgements, and put them into ``study.opened``."""
    _measures(study)
    if study.recipe.unjudged and not deepest(study.opened.measures):
        what = "there are bounds of nDCG@k, AP@k and RBP(rel=1), and `measures` has none of them"
        study.planner.errors.add(("unjudged",), what)
    for text, name in study.recipe.table.measure_names.items():
        # Names of other measures do no harm: --set measures=... may have left those out.
        place = ("table", "measure_names", text)
        measure = study.planner.opening(place, partial(parse_measure, text))
        study.opened.measure_names[str(measure)] = name
    for name, topics in study.recipe.topics.items():
        _topic_set(name, topics, study)


def _measures(study: RetrievalStudy) -> None:
    found: dict[Measure, None] = {}
    for number, text in enumerate(study.recipe.measures):
        place = ("measures", number)
        for measure in study.planner.opening(place, partial(parse_measures, text)) or ():
            if can_compute(place, measure, study):
                found[measure] = None
    study.opened.measures = tuple(found)


def can_compute(place: KeyPath, measure: Measure, study: RetrievalStudy) -> bool:
    """Whether a measure can be computed; what is wrong with it is kept."""
    computed_by = study.planner.opening(place, partial(_computed_by, measure))
    cutoff = getattr(measure, "params", {}).get("cutoff") or 0
    most = study.recipe.most
    if most is not None and cutoff > most:
        what = f"{measure} needs {cutoff} documents per topic; `depth` is {most}"
        study.planner.errors.add(place, what)
    return computed_by is not None


def _topic_set(name: str, recipe: TopicsRecipe, study: RetrievalStudy) -> None:
    """Load topics and judgements that fit together."""
    place, planner = ("topics", name), study.planner
    found = _topics((*place, "source"), recipe, study)
    qrels = _qrels((*place, "qrels"), recipe.qrels, study)
    if found is None or qrels is None:
        return
    if set(found.qids).isdisjoint(qrels.qids):
        first, other = found.qids[0], qrels.qids[0]
        what = f"topics and qrels have no qid in common (such as {first!r} and {other!r})"
        planner.errors.add(place, what)
        return
    if study.recipe.comparison is not None and len(qrels.qids) < 2:
        planner.errors.add((*place, "qrels"), "a test needs judgements of two topics or more")
    evaluator = planner.opening((*place, "qrels"), partial(_evaluator, qrels, study))
    if evaluator is not None:
        named = recipe.qrels if isinstance(recipe.qrels, str) else " + ".join(recipe.qrels)
        by_model = _by_model((*place, "model_qrels"), recipe, (found, qrels), study)
        sources = recipe.source, named
        opened = TopicSet(name, found, qrels, evaluator, sources, by_model, recipe.judge)
        study.topic_sets[name] = opened


def _topics(place: KeyPath, recipe: TopicsRecipe, study: RetrievalStudy) -> Topics | None:
    source = study.planner.source(place, recipe.source)
    if source is None:
        return None
    load = partial(load_topics, source, field=recipe.field, progress=study.planner.progress)
    return study.planner.opening(place, load)


def _by_model(
    place: KeyPath, recipe: TopicsRecipe, human: tuple[Topics, Qrels], study: RetrievalStudy
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


def _qrels(place: KeyPath, names: str | tuple[str, ...], study: RetrievalStudy) -> Qrels | None:
    named = (names,) if isinstance(names, str) else names
    sources = [one for name in named if (one := study.planner.source(place, name)) is not None]
    if len(sources) < len(named):
        return None
    load = partial(load_qrels, sources, progress=study.planner.progress)
    return study.planner.opening(place, load)


def _evaluator(qrels: Qrels, study: RetrievalStudy) -> Evaluator:
    measures = study.opened.measures or "NumRet"  # for want of one without an error
    evaluator = Evaluator(qrels, measures, negative=study.recipe.negative_grades)
    # Some errors, such as grades that a measure does not know, show only at work.
    one = qrels.frame.head(1).select("qid", "docno", score=pl.lit(1.0))
    evaluator.score(Run(one, "trial"))
    return evaluator


def _computed_by(measure: Measure) -> str:
    return "adducir" if vectorised.is_vectorised(measure) else providers.provider_of(measure)
