"""An experiment file's corpora, topics, judgements and measures."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import polars as pl
from ir_measures import Measure
from pydantic import Field, model_validator

from adducir.core.errors import InputError, gathering
from adducir.core.recipe import KeyPath, Several, as_tuple
from adducir.core.registry import Family
from adducir.corpora.documents import Corpus
from adducir.corpora.kinds import FORMATS
from adducir.corpora.local import LocalCorpus
from adducir.corpora.passages import Passages
from adducir.corpora.qrels import Qrels
from adducir.corpora.reading import QrelsReading, Reading, TopicReading
from adducir.corpora.sources import file_path
from adducir.corpora.topics import Topics
from adducir.evaluation.evaluator import Evaluator, depth_of
from adducir.evaluation.measures import computable, needs_subtopics, parse_measure, parse_measures
from adducir.experiments.sections import Known, Linked, Name, file_name, is_recipe
from adducir.experiments.step import Shown, Step
from adducir.experiments.tuning.design import JudgedTopics
from adducir.models.machine import Precision
from adducir.runs.run import Run

if TYPE_CHECKING:
    from adducir.deepct.expansion import ExpandedCorpus
    from adducir.experiments.retrieval.study import RetrievalStudy
    from adducir.experiments.step import Context


@dataclass(frozen=True)
class OpenedCorpus:
    """A corpus, and what must exist before its documents can be read."""

    corpus: Corpus  # its documents may not be readable yet
    label: str  # a short description
    steps: Sequence[Step] = ()  # steps to run first
    reads: Sequence[KeyPath] = ()  # the file's entries that name what is read with them
    facts: dict[str, Any] = field(default_factory=dict)  # how it is built, for provenance


class CorpusRecipe(Linked):
    is_expanded: ClassVar[bool] = False

    @abstractmethod
    def open(self, name: str, seed: int | None, study: "RetrievalStudy") -> OpenedCorpus:
        """Open it without reading documents. ``seed``: of the trainings that it depends on."""


class SourceCorpus(CorpusRecipe, Reading):
    """Documents from an ir_datasets id, a file or a folder."""

    source: str  # the id or path

    def open(self, name: str, seed: int | None, study: "RetrievalStudy") -> OpenedCorpus:
        with study.planner.at("corpora", name, "format"):
            _ = self.format and FORMATS.kind(self.format)
        with study.planner.at("corpora", name, "source"):
            corpus = self.opened(study.planner.source(self.source))
        return OpenedCorpus(corpus, self.source, reads=[("corpora", name)])


class ExpandedRecipe(CorpusRecipe):
    """Another corpus with words weighted by DeepCT; see docs/deepct.md."""

    is_expanded: ClassVar[bool] = True
    references: ClassVar[Mapping[str, str]] = {"expand": "corpora"}
    expand: Name  # the other corpus
    model: str  # the term weighter: its recipe or folder
    scale: Annotated[float, Field(gt=0)] = 100.0  # how often to repeat a word of weight 1
    transform: Literal["linear", "sqrt"] = "linear"  # transforms weights first
    precision: Precision = "float32"  # the network's precision

    def is_trained(self, folder: Path) -> bool:
        return is_recipe(self.model, folder)

    def open(self, name: str, seed: int | None, study: "RetrievalStudy") -> OpenedCorpus:
        from adducir.deepct.expansion import ExpandedCorpus, Rendering, weights_fingerprint

        refuse_expanded(name, "expand", self.expand, study)
        with study.planner.at("corpora", name, "model"):
            model, settings, identity, training = self._model(name, seed, study)
        base = study.corpus(self.expand)
        corpus = ExpandedCorpus(
            base.corpus,
            study.folder / "deepct" / f"{model.name}.{file_name(self.expand)}.weights",
            weights_fingerprint(base.corpus, identity, self.precision),
            settings,
            Rendering(scale=self.scale, transform=self.transform),
        )
        facts = {
            "model": model,
            "model fingerprint": identity,
            "weights fingerprint": corpus.weights_fingerprint,
            "rendering": corpus.rendering.model_dump(mode="json"),
            "precision": self.precision,
        }
        reads = [("corpora", name), *base.reads]
        weights_step = WeightsStep(corpus, model, self.precision, training, reads)
        weights = study.weights.setdefault(
            (weights_step.path, weights_step.fingerprint), weights_step
        )
        label = f"{self.expand}, expanded by {self.model}"
        label += f", seed {seed}" if seed is not None else ""
        return OpenedCorpus(corpus, label, [weights], base.reads, facts)

    def _model(
        self, name: str, seed: int | None, study: "RetrievalStudy"
    ) -> tuple[Path, Any, str, Sequence[Step]]:
        from adducir.deepct.recipe import Settings
        from adducir.deepct.training import DeepCT
        from adducir.models.sources import ModelSource

        if self.is_trained(study.folder):
            place = ("corpora", name)
            step = study.training(self.model, seed, DeepCT, "a term weighter", place)
            plan: Any = step.plan
            return step.path, plan.model_settings, plan.fingerprint, [step]
        path = file_path(self.model, study.folder)
        if not path.is_dir():
            raise InputError(
                "this model does not exist.",
                path=path,
                hint="Name a recipe, such as deepct/NAME.yaml, or a folder trained from it.",
                absent=True,
            )
        return path, Settings.load(path), ModelSource(str(path), path).identity(), []


def refuse_expanded(name: str, key: str, other: str, study: "RetrievalStudy") -> None:
    """Record an error if the other corpus is an expanded one itself."""
    if getattr(study.recipe.corpora.get(other), "is_expanded", False):
        study.planner.add(("corpora", name, key), f"`{other}` is itself expanded")
        raise Known


class WeightsStep(Step):
    kind = "term-weights"
    verb = "weight"

    def __init__(
        self,
        corpus: "ExpandedCorpus",
        model: Path,
        precision: Precision,
        training: Sequence[Step],
        reads: Sequence[KeyPath],
    ) -> None:
        self.corpus, self.model, self.precision = corpus, model, precision
        self.path, self.fingerprint = corpus.weights, corpus.weights_fingerprint
        self.inputs, self.reads = training, reads

    def title(self, shown: Shown) -> str:
        return f"{shown(self.path)} by {shown(self.model)}"

    def recipe(self) -> Mapping[str, Any]:
        return {"precision": self.precision}

    def make(self, context: "Context") -> None:
        from adducir.deepct.expansion import predict_corpus_weights

        running, rebuild = context.running(self.precision), context.rebuild
        predict_corpus_weights(self.model, self.corpus.base, self.path, running, rebuild=rebuild)


CORPORA = Family(
    "corpora",
    CorpusRecipe,
    {
        "source": f"{__name__}:SourceCorpus",
        "expand": f"{__name__}:ExpandedRecipe",
        "doc2query": "adducir.experiments.retrieval.doc2query:Doc2QueryRecipe",
    },
    what="kind of corpus",
)


def refuse_unknown_fields(corpus: Corpus, fields: Sequence[str]) -> None:
    """Read a local corpus until each field has been seen, nearly always immediately."""
    unseen, fields_seen = set(fields), set[str]()
    base = getattr(corpus, "base", None)
    if base is not None:  # documents cannot be read before they are expanded
        added = getattr(corpus, "added", "")
        corpus, unseen, fields_seen = base, unseen - {added}, {added}
    if isinstance(corpus, Passages):
        corpus = corpus.documents
    if not unseen or not isinstance(corpus, LocalCorpus):
        return
    for document in corpus:
        unseen -= document.fields.keys()
        if not unseen:
            return
        fields_seen |= document.fields.keys()
    raise InputError(
        f"the documents lack the field {', '.join(map(repr, sorted(unseen)))}.",
        hint=f"The fields are {', '.join(sorted(fields_seen))}.",
    )


@dataclass(frozen=True)
class TopicSet(JudgedTopics):
    evaluator: Evaluator
    model: Evaluator | None = None  # with the judgements of a model, named ``judge``
    judge: str = ""

    def identity(self) -> dict[str, str]:
        return {**self.topics.identity(), **self.qrels.identity()}

    def facts(self, recipe: "TopicsRecipe") -> dict[str, Any]:
        model = {"model's qrels": recipe.model_qrels, "judge": recipe.judge}
        return {
            "topics": recipe.source,
            "field": self.topics.field,
            "number of topics": len(self.topics),
            "topics sha256": self.topics.identity()["topics"],
            "qrels": recipe.qrels,
            **(model if recipe.judge else {}),
            "number of judged topics": len(self.qrels.qids),
            "number of judgements": len(self.qrels),
            "qrels sha256": self.qrels.identity()["qrels"],
        }


class TopicsRecipe(QrelsReading, TopicReading):
    """A set of topics with its judgements: one group of columns in the table."""

    source: str  # the topics
    qrels: Several  # their judgements
    field: str | None = None  # the field to search with, or query_field
    query_field: str | None = None
    # a model's judgements of these topics and others, for prediction-powered means in the footer
    model_qrels: Several = ()
    judge: str = ""  # name and version of the model

    @model_validator(mode="after")
    def _is_named(self) -> "TopicsRecipe":
        if self.field and self.query_field:
            raise ValueError("`field` and `query_field` mean the same: give one of them")
        if bool(self.model_qrels) != bool(self.judge.strip()):
            raise ValueError("`model_qrels` and `judge`, the model's name and version, go together")
        return self

    def open(self, name: str, study: "RetrievalStudy") -> TopicSet | None:
        """Topics and judgements that match; None after recording an error."""
        place, planner = ("topics", name), study.planner

        def load() -> Topics:
            topics = self.read_topics(planner.source(self.source), self.field or self.query_field)
            return replace(topics, source=self.source)

        topics = planner.opening((*place, "source"), load)
        qrels = planner.opening((*place, "qrels"), partial(_qrels, self, self.qrels, study))
        if topics is None or qrels is None:
            return None
        if set(topics.qids).isdisjoint(qrels.qids):
            first, second = topics.qids[0], qrels.qids[0]
            message = f"topics and qrels do not share qids (for example {first!r} and {second!r})"
            planner.add(place, message)
            return None
        if study.recipe.comparison is not None and len(qrels.qids) < 2:
            planner.add((*place, "qrels"), "a test needs judgements of at least two topics")
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
            message = (
                "prediction-powered means are not available for systems with several runs (`seeds`)"
            )
            study.planner.add(place, f"{message}: {TOPICS_ALONE}")
        judged = _qrels(self, self.model_qrels, study)
        if unknown := set(judged.qids).difference(topics.qids):
            message = f"{len(unknown)} judged topics are not in `source`"
            study.planner.add(place, f"{message}, such as {min(unknown)!r}")
        check_judged(qrels, judged, self.judge)
        return _evaluator(judged, study)


def open_measures(study: "RetrievalStudy") -> tuple[tuple[Measure, ...], dict[str, str]]:
    planner, recipe = study.planner, study.recipe
    measures: dict[Measure, None] = {}
    for number, text in enumerate(recipe.measures):
        place: KeyPath = ("measures", number)
        for measure in planner.opening(place, partial(parse_measures, text)) or ():
            if can_compute(place, measure, study):
                measures[measure] = None
    if recipe.unjudged and not any(map(depth_of, measures)):
        message = "only nDCG@k, AP@k and RBP(rel=1) have bounds; add one of them to `measures`"
        planner.add(("unjudged",), message)
    names = dict[str, str]()
    for text, name in recipe.table.measure_names.items():
        # Other measures' names are harmless: --set measures=... may have dropped those.
        place = ("table", "measure_names", text)
        if text in recipe.costs:
            names[text] = name
            continue
        names[str(planner.opening(place, partial(parse_measure, text)))] = name
    return tuple(measures), names


def can_compute(place: KeyPath, measure: Measure, study: "RetrievalStudy") -> bool:
    """Whether a measure can be computed; records an error otherwise."""
    cutoff, most = getattr(measure, "params", {}).get("cutoff") or 0, study.recipe.most
    if most is not None and cutoff > most:
        message = f"{measure} needs {cutoff} documents per topic; `depth` is {most}"
        study.planner.add(place, message)
    return study.planner.opening(place, partial(computable, measure)) is not None


def _qrels(reading: QrelsReading, names: Several, study: "RetrievalStudy") -> Qrels:
    with gathering() as opening:
        sources = [opening(partial(study.planner.source, name)) for name in as_tuple(names)]
    judged = reading.read_qrels(sources, subtopics=needs_subtopics(study.measures))
    return replace(judged, source=" + ".join(as_tuple(names)))


def _evaluator(qrels: Qrels, study: "RetrievalStudy") -> Evaluator:
    measures = study.measures or "NumRet"  # if all have errors
    evaluator = Evaluator(qrels, measures, negative=study.recipe.negative_grades)
    # Some errors, such as unsupported grades, show only in use.
    trial_frame = qrels.frame.head(1).select("qid", "docno", score=pl.lit(1.0))
    evaluator.score(Run(trial_frame, "trial"))
    return evaluator
