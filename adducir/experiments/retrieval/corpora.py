"""An experiment file's corpora, topics and judgements."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

import polars as pl
from pydantic import AliasChoices, Field, model_validator

from adducir.core.errors import InputError, gathering
from adducir.core.manifests import artifact_fingerprint
from adducir.core.recipe import KeyPath, Several, as_tuple, without
from adducir.core.registry import Family
from adducir.corpora.documents import Corpus, refuse_absent
from adducir.corpora.local import LocalCorpus
from adducir.corpora.passages import Passages
from adducir.corpora.qrels import Qrels
from adducir.corpora.reading import CorpusReading, QrelsReading, TopicReading
from adducir.corpora.sources import file_path, source_path
from adducir.corpora.topics import Topics
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.measures import needs_subtopics
from adducir.experiments.sections import Linked, Name, Opening, file_name, is_recipe
from adducir.experiments.step import Context, Shown, Step
from adducir.experiments.tuning.design import JudgedTopics
from adducir.judges.notes import NOBODY_NAMED, WORD_ALONE, judge_of
from adducir.models.machine import Precision
from adducir.runs.run import Run

if TYPE_CHECKING:
    from adducir.experiments.retrieval.task import RetrievalStudy
    from adducir.judges.people import PeoplesEvaluator

T = TypeVar("T")


@dataclass(frozen=True)
class OpenedCorpus:
    """A corpus, and what must exist before its documents can be read."""

    corpus: Corpus  # its documents may not be readable yet
    label: str  # a short description
    steps: Sequence[Step] = ()  # steps to run first
    reads: Sequence[KeyPath] = ()  # the file's entries that name what is read with them
    facts: dict[str, Any] = field(default_factory=dict)  # how it is built, for provenance


class CorpusRecipe(Linked):
    @abstractmethod
    def open(self, opening: Opening) -> OpenedCorpus:
        """Open it without reading documents."""


class SourceCorpus(CorpusRecipe, CorpusReading):
    """Documents from an ir_datasets id, a file or a folder."""

    source: str
    """The id or path."""

    def open(self, opening: Opening) -> OpenedCorpus:
        with opening.at("source"):
            corpus = self.opened(source_path(self.source, opening.folder))
        return OpenedCorpus(corpus, self.source, reads=[opening.place])


class ExpandedRecipe(CorpusRecipe):
    """Another corpus with words weighted by DeepCT; see docs/deepct.md."""

    references: ClassVar[Mapping[str, str]] = {"expand": "corpora"}
    expand: Name
    """The other corpus."""
    model: str
    """The term weighter: its recipe or folder."""
    scale: Annotated[float, Field(gt=0)] = 100.0
    """How often to repeat a word of weight 1."""
    transform: Literal["linear", "sqrt"] = "linear"
    """Transforms weights first."""
    precision: Precision = "float32"
    """The network's precision."""

    def is_trained(self, folder: Path) -> bool:
        return is_recipe(self.model, folder)

    def open(self, opening: Opening) -> OpenedCorpus:
        from adducir.deepct.expansion import (
            ExpandedCorpus,
            Rendering,
            predict_corpus_weights,
            weights_identity,
        )

        with opening.at("model"):
            model, settings, identity, training = self._model(opening)
        base: OpenedCorpus = opening.linked("expand")
        path = opening.folder / "deepct" / f"{model.name}.{file_name(self.expand)}.weights"
        weights = CorpusStep(
            path,
            weights_identity(base.corpus, identity, self.precision),
            partial(predict_corpus_weights, model, base.corpus, path),
            verb="weight",
            model=model,
            precision=self.precision,
            reads=[opening.place, *base.reads],
            inputs=training,
        )
        rendering = Rendering(scale=self.scale, transform=self.transform)
        corpus = ExpandedCorpus(base.corpus, path, weights.fingerprint, settings, rendering)
        facts = {
            "model": model,
            "model fingerprint": identity,
            "weights fingerprint": weights.fingerprint,
            "rendering": rendering.model_dump(mode="json"),
            "precision": self.precision,
        }
        label = f"{self.expand}, expanded by {self.model}"
        label += f", seed {opening.seed}" if opening.seed is not None else ""
        return OpenedCorpus(corpus, label, [weights], base.reads, facts)

    def _model(self, opening: Opening) -> tuple[Path, Any, str, Sequence[Step]]:
        from adducir.deepct.recipe import TermWeighterSettings
        from adducir.deepct.training import DeepCT
        from adducir.models.sources import ModelSource

        if self.is_trained(opening.folder):
            step = opening.training(self.model, DeepCT, "a term weighter")
            plan: Any = step.plan
            return step.path, plan.model_settings, plan.fingerprint, [step]
        path = file_path(self.model, opening.folder)
        if not path.is_dir():
            raise InputError(
                "this model does not exist.",
                path=path,
                hint="Name a recipe, such as deepct/NAME.yaml, or a folder trained from it.",
                absent=True,
            )
        return path, TermWeighterSettings.load(path), ModelSource(str(path), path).identity(), []


@dataclass(unsafe_hash=True)
class CorpusStep(Step):
    """What a model computes of a corpus's documents, once for all entries that need it."""

    path: Path
    about: Mapping[str, Any] = field(hash=False)  # its kind, recipe, inputs and version
    compute: Callable[..., object] = field(compare=False)  # unless it is up to date
    _: KW_ONLY
    verb: str = field(compare=False)
    model: Path | str = field(compare=False)  # its folder or name
    precision: Precision = field(compare=False)
    reads: Sequence[KeyPath] = field(compare=False)
    inputs: Sequence[Step] = field(compare=False)

    def __post_init__(self) -> None:
        self.kind, self.fingerprint = self.about["kind"], artifact_fingerprint(**self.about)

    def title(self, shown: Shown) -> str:
        model = self.model if isinstance(self.model, str) else shown(self.model)
        return f"{shown(self.path)} by {model}"

    def recipe(self) -> Mapping[str, Any]:
        recipe: Mapping[str, Any] = self.about["recipe"]
        return recipe

    def make(self, context: Context) -> None:
        self.compute(running=context.running(self.precision), rebuild=context.rebuild)


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
    base = getattr(corpus, "base", None)  # documents cannot be read before they are expanded
    added = [] if base is None else [[getattr(corpus, "added", "")]]
    corpus = corpus if base is None else base
    if isinstance(corpus, Passages):
        corpus = corpus.documents
    if fields and isinstance(corpus, LocalCorpus):
        refuse_absent(fields, chain(added, (document.fields for document in corpus)))


@dataclass(frozen=True)
class OpenedTopics(JudgedTopics):
    evaluator: "Evaluator | PeoplesEvaluator"
    model: Evaluator | None = None  # with the judgements of a model, named ``judge``
    judge: str = ""
    alone: str = ""  # the model that made all judgements
    judged_in: Sequence[str | Path] = ()

    @property
    def people(self) -> "PeoplesEvaluator | None":
        return None if isinstance(self.evaluator, Evaluator) else self.evaluator

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
            **(model if recipe.model_qrels else {}),
            **({"judge": self.judge, **self.people.facts} if self.people is not None else {}),
            "number of judged topics": len(self.qrels.qids),
            "number of judgements": len(self.qrels),
            "qrels sha256": self.qrels.identity()["qrels"],
        }


class TopicsRecipe(QrelsReading, TopicReading):
    """A set of topics with its judgements: one group of columns in the table."""

    source: str
    """The topics."""
    qrels: Several
    """Their judgements."""
    field: str | None = Field(None, validation_alias=AliasChoices("field", "query_field"))
    """The field to search with, also called `query_field`."""
    model_qrels: Several = ()
    """A model's judgements of these topics and others, for prediction-powered means in the
    footer."""
    judge: str = ""
    """Name and version of the model."""
    people: Annotated[Several, without("model_qrels")] = ()
    """The sheets of `adducir sample` with people's grades, which correct qrels by a model."""
    uncorrected: Annotated[bool, without("people")] = False
    """Test differences on the word of a model alone."""

    @model_validator(mode="after")
    def _is_named(self) -> "TopicsRecipe":
        if self.model_qrels and not self.judge.strip():
            raise ValueError("`model_qrels` and `judge`, the model's name and version, go together")
        return self

    def open(self, opening: Opening, study: "RetrievalStudy") -> OpenedTopics | None:
        """Topics and judgements that match; None after recording an error."""
        place, planner, folder = opening.place, opening.planner, opening.folder
        is_compared = study.recipe.comparison is not None

        def at(key: str, load: Callable[..., T], *arguments: Any) -> T | None:
            return planner.opening((*place, key), partial(load, *arguments))

        topics = at("source", self._topics, folder)
        qrels = at("qrels", self._qrels, self.qrels, study)
        if topics is None or qrels is None:
            return None
        if set(topics.qids).isdisjoint(qrels.qids):
            first, second = topics.qids[0], qrels.qids[0]
            message = f"topics and qrels do not share qids (for example {first!r} and {second!r})"
            planner.add(place, message)
            return None
        if is_compared and len(qrels.qids) < 2:
            planner.add((*place, "qrels"), "a test needs judgements of at least two topics")
        paths = [source_path(name, folder) for name in as_tuple(self.qrels)]
        judge = self.judge.strip() or judge_of(paths) or ""
        alone = "" if self.people or self.model_qrels else judge
        if alone and is_compared and not self.uncorrected:
            planner.add((*place, "qrels"), f"all judgements are by {alone}: {WORD_ALONE}")
        key, model, by_model = "model_qrels", None, None
        evaluator: Evaluator | PeoplesEvaluator | None
        if self.people:
            key, evaluator = "people", at("people", self._by_people, qrels, judge, study)
            if evaluator is not None:
                qrels, by_model = evaluator.qrels, evaluator.model_qrels
        else:
            evaluator = at("qrels", _evaluator, qrels, study)
            by_model = at(key, self._by_model, topics, qrels, study, place)
        if evaluator is None:
            return None
        if by_model is not None:
            if any(len(study.seeds(system)) > 1 for system in study.recipe.systems):
                from adducir.tables.run_facts import TOPICS_ALONE

                message = "prediction-powered means are not available for systems with several "
                planner.add((*place, key), f"{message}runs (`seeds`): {TOPICS_ALONE}")
            model = at(key, _evaluator, by_model, study)
        return OpenedTopics(opening.name, topics, qrels, evaluator, model, judge, alone, paths)

    def _topics(self, folder: Path) -> Topics:
        topics = self.read_topics(source_path(self.source, folder), self.field)
        return replace(topics, source=self.source)

    def _by_people(self, qrels: Qrels, judge: str, study: "RetrievalStudy") -> "PeoplesEvaluator":
        from adducir.judges.people import PeoplesEvaluator

        if not judge:
            raise InputError(str(NOBODY_NAMED))
        sheets = [Path(source_path(name, study.folder)) for name in as_tuple(self.people)]
        measures, negative = study.measures or None, study.recipe.negative_grades
        return PeoplesEvaluator.of(sheets, qrels, judge, measures, negative=negative)

    def _by_model(
        self, topics: Topics, qrels: Qrels, study: "RetrievalStudy", place: KeyPath
    ) -> Qrels | None:
        from adducir.tables.run_facts import check_judged

        if not self.model_qrels:
            return None
        judged = self._qrels(self.model_qrels, study)
        if unknown := set(judged.qids).difference(topics.qids):
            message = f"{len(unknown)} judged topics are not in `source`, such as {min(unknown)!r}"
            study.planner.add((*place, "model_qrels"), message)
        check_judged(qrels, judged, self.judge)
        return judged

    def _qrels(self, names: Several, study: "RetrievalStudy") -> Qrels:
        parts = as_tuple(names)
        with gathering() as opening:
            sources = [opening(partial(source_path, name, study.folder)) for name in parts]
        judged = self.read_qrels(sources, subtopics=needs_subtopics(study.measures))
        return replace(judged, source=" + ".join(parts))


def _evaluator(qrels: Qrels, study: "RetrievalStudy") -> Evaluator:
    measures = study.measures or "NumRet"  # none if all have errors
    evaluator = Evaluator(qrels, measures, negative_grades=study.recipe.negative_grades)
    # Some errors, such as unsupported grades, show only in use.
    trial_frame = qrels.frame.head(1).select("qid", "docno", score=pl.lit(1.0))
    evaluator.score(Run(trial_frame, "trial"))
    return evaluator
