"""An experiment file's indexes by engine: Lucene, memory, dense."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import ConfigDict, model_validator

from adducir.core.artifacts import MISSING, Manifest, is_absent, read_manifest
from adducir.core.errors import UsageError
from adducir.core.fingerprint import UNREAD
from adducir.core.planning import NotRead
from adducir.core.progress import progress
from adducir.core.recipe import KeyPath, errors_at, one_of
from adducir.core.registry import Family, entry, hyperparameters
from adducir.corpora.passages import cut_by
from adducir.corpora.sources import expanded, file_path
from adducir.corpora.token_weights import identity_of
from adducir.encoders.statement import EncodingSettings
from adducir.experiments.retrieval.corpora import refuse_unknown_fields
from adducir.experiments.sections import Known, Linked, Name, is_recipe
from adducir.experiments.step import ModelStep, Shown, Step
from adducir.indexes.analysis import PRETOKENIZED, Analysis
from adducir.indexes.building import DenseSettings, IndexSettings
from adducir.indexes.engines import build_index, fingerprint_of_index
from adducir.indexes.kinds import FEEDBACK, KINDS, LANGUAGES, MODELS, EngineName
from adducir.indexes.search import Search as Found
from adducir.indexes.search import search_topics
from adducir.models.machine import Precision

if TYPE_CHECKING:
    from adducir.experiments.retrieval.runs import RunStep
    from adducir.experiments.retrieval.search import Search
    from adducir.experiments.retrieval.study import RetrievalStudy
    from adducir.experiments.step import Context
    from adducir.indexes.index import Index

_CALLED = {"lucene": "Lucene", "memory": "the memory engine"}


@dataclass(frozen=True)
class IndexPlan:
    fingerprint: Callable[[], str]  # of the index that ``build`` would build
    recipe: Mapping[str, Any]  # what determines it besides the corpus, as in the manifest
    build: Callable[["Context"], Manifest]  # unless it exists
    models: Sequence[Step] = ()  # models trained for it


class IndexRecipe(Linked):
    """The base of every kind of index."""

    references: ClassVar[Mapping[str, str]] = {"corpus": "corpora"}
    corpus: Name  # the corpus
    fields: tuple[str, ...] = ()  # the fields to index, joined; by default the corpus's

    @property
    @abstractmethod
    def artifact(self) -> str:
        """Its name in manifests."""

    @abstractmethod
    def plan(self, step: "IndexStep", seed: int | None, study: "RetrievalStudy") -> IndexPlan:
        """Open what the entry names; ``seed`` is that of the trainings that it depends on."""

    def search(self, step: "RunStep", search: "Search", context: "Context") -> Found:
        """Search every topic of a run, whose part ``index`` is this index's step."""
        return search_topics(
            step.parts["index"].open(context),
            step.topics,
            search.retrieval_model,
            tag=step.tag,
            feedback=search.feedback,
            depth=step.study.recipe.most,
            threads=context.threads,
        )

    def unfit(self, system: "Search") -> Iterator[tuple[KeyPath, str]]:
        """What a search needs and the index lacks, with its path in the search."""
        yield from ()


class IndexStep(Step):
    verb, stage = "build", 1

    def __init__(
        self, entry: IndexRecipe, name: str, seed: int | None, study: "RetrievalStudy"
    ) -> None:
        documents = study.corpus(entry.corpus, seed)
        self.entry, self.kind, self.place = entry, entry.artifact, ("indexes", name)
        self.path = study.index_path(name, seed)
        self.corpus, self.facts = cut_by(documents.corpus, entry.fields), documents.facts
        self.source = documents.label
        try:
            self.fields = entry.fields or tuple(self.corpus.default_fields)
        except NotRead:
            # An existing index with the right fingerprint, which covers the corpus, has the
            # corpus's counts.
            is_there = not is_absent(self.path)
            self.fields = tuple(read_manifest(self.path).recipe["fields"]) if is_there else ()
        self.plan = entry.plan(self, seed, study)
        self.inputs = [*documents.steps, *self.plan.models]
        self.reads = [*documents.reads, self.place]
        self.fingerprint = self.plan.fingerprint() if self.fields else UNREAD
        self.why()  # raises if something else is there
        with suppress(Known), study.planner.at(*self.place, "fields"):
            refuse_unknown_fields(self.corpus, self.fields or self.corpus.default_fields)

    def recipe(self) -> Mapping[str, Any]:
        return self.plan.recipe

    def title(self, shown: Shown) -> str:
        return f"index {shown(self.path)} of {self.source}"

    def make(self, context: "Context") -> None:
        name, why = f"index {context.shown(self.path)}", self.why()
        if why not in (None, MISSING):
            progress().note(f"{name}: {why}")
        counts = self.plan.build(context).counts
        empty = f", {counts['empty']:,} of them without text" if counts.get("empty") else ""
        progress().note(f"{name}: {counts['documents']:,} documents{empty}")

    def open(self, context: "Context") -> "Index":
        from adducir.indexes.engines import open_index

        own = partial(open_index, device=context.device, tokens=context.batch_tokens)
        return context.shared(("index", self.path), partial(own, self.path))


class Inverted(IndexRecipe):
    """An inverted index, by Lucene or in memory."""

    engine: EngineName = "lucene"  # ``lucene`` or ``memory``
    language: str = "en"  # the language of documents and queries
    stemmer: str = ""  # one of the language's stemmers; by default its first
    stopwords: str = "lucene"  # ``lucene``, ``none`` or a file
    positions: bool = True  # whether to store positions
    vectors: bool = True  # whether to store documents' term vectors, for feedback
    accurate_length: bool = False  # whether BM25 uses exact lengths instead of Lucene's one byte
    # a file or folder of token weights that replace the documents' texts
    weights: str | None = None

    @model_validator(mode="after")
    def _is_possible(self) -> "Inverted":
        try:
            Analysis(self.stemmer, language=self.language)
        except UsageError as error:
            key = "stemmer" if self.language in LANGUAGES else "language"
            raise errors_at(((key,), error.what.rstrip("."))) from error
        if self.weights is not None and self.engine != "memory":
            raise ValueError("`weights` needs `engine: memory`")
        return self

    @property
    def is_of_impacts(self) -> bool:
        """Whether weights are searched without analysis."""
        return self.weights is not None and "language" not in self.model_fields_set

    def analysis(self, folder: Path) -> Analysis:
        """How text becomes terms; weights without a language are pretokenized."""
        if self.is_of_impacts:
            return Analysis(language=PRETOKENIZED)
        return Analysis.of(self.stemmer, self.stopwords, self.language, folder)

    def unfit(self, system: "Search") -> Iterator[tuple[KeyPath, str]]:
        feedback, name, index = system.feedback, system.model, system.index
        engines = MODELS.kind(name).engines()
        if feedback is not None and not self.vectors:
            method = FEEDBACK.name_of(type(feedback))
            what = f"{method.upper()} needs document vectors, but the index `{index}` has"
            yield (method,), f"{what} `vectors: false`"
        if self.engine not in engines:
            others = " or ".join(f"`engine: {engine}`" for engine in engines)
            what = f"{_CALLED[self.engine]} lacks the model {name}"
            yield ("model",), f"{what}: `{index}` needs {others}"
        elif self.is_of_impacts and name != "impact":
            yield ("model",), f"`{index}` contains token weights, which need `model: impact`"
        elif self.accurate_length and name != "bm25" and "lucene" in engines:
            what = f"only bm25 supports exact lengths, but `{index}` has `accurate_length: true`"
            yield ("model",), what

    @property
    def artifact(self) -> str:
        return KINDS[self.engine]

    def plan(self, step: IndexStep, seed: int | None, study: "RetrievalStudy") -> IndexPlan:
        weights = None
        if self.weights is not None:
            with study.planner.at(*step.place, "weights"):
                weights = file_path(self.weights, study.folder)
                identity_of(weights)
        with study.planner.at(*step.place, "stopwords"):
            analysis = self.analysis(study.folder)
        settings = IndexSettings(
            tuple(step.fields),
            analysis,
            self.positions,
            self.vectors,
            self.accurate_length,
            weights=weights,
        )

        def build(context: "Context") -> Manifest:
            return build_index(
                step.corpus,
                step.path,
                settings,
                engine=self.engine,
                threads=context.threads,
                rebuild=context.rebuild,
            )

        fingerprint = partial(fingerprint_of_index, self.engine, step.corpus, settings)
        return IndexPlan(fingerprint, settings.recipe(), build)


class Dense(IndexRecipe, EncodingSettings):
    """Vectors of documents; the settings of FAISS's index are keys beside ``kind``."""

    model_config = ConfigDict(extra="allow")
    engine: Literal["dense"] = "dense"  # ``dense``
    encoder: str  # an encoder's name, folder or recipe
    kind: str = "Flat"  # FAISS's description of the index, such as ``Flat`` or ``HNSW32``
    precision: Precision = "float32"  # the network's precision

    @model_validator(mode="after")
    def _fits(self) -> "Dense":
        _ = self.of_index
        return self

    @property
    def of_index(self) -> DenseSettings:
        given = {"kind": self.kind, **(self.model_extra or {})}
        return hyperparameters(DenseSettings, "a dense index", given, type(self).model_fields)

    def is_trained(self, folder: Path) -> bool:
        return is_recipe(self.encoder, folder)

    def unfit(self, system: "Search") -> Iterator[tuple[KeyPath, str]]:
        for key in (*(system.model_fields_set & {"model"}), *(system.model_extra or {})):
            yield (key,), "has no effect on a dense index, which ranks by vectors"
        if system.tune is not None:
            yield ("tune",), "a search of a dense index does not have parameters to tune"

    @property
    def artifact(self) -> str:
        return "dense-index"

    def plan(self, step: IndexStep, seed: int | None, study: "RetrievalStudy") -> IndexPlan:
        from adducir.encoders.kinds import encoder_source
        from adducir.encoders.training import EncoderTraining
        from adducir.indexes.dense import build_dense_index, dense_identity

        models: list[ModelStep] = []
        with study.planner.at(*step.place, "encoder"):
            if self.is_trained(study.folder):
                if given := [name for name, value in self.given().items() if value is not None]:
                    what = f"`{given[0]}` has no effect on an encoder whose recipe is trained."
                    raise UsageError(what)
                model = study.training(
                    self.encoder, seed, EncoderTraining, "an encoder", step.place
                )
                models, encoder = [model], model.fingerprint
                source = partial(encoder_source, str(model.path))
            else:
                name = expanded(self.encoder)
                source = partial(encoder_source, name, study.folder, encoding=self)
                encoder = source().identity()

        def build(context: "Context") -> Manifest:
            return build_dense_index(
                step.corpus,
                step.path,
                source(),
                self.of_index,
                fields=step.fields,
                running=context.running(self.precision),
                rebuild=context.rebuild,
            )

        settings, fields = self.of_index, tuple(step.fields)
        of_corpus = partial(dense_identity, step.corpus, encoder)
        fingerprint = partial(of_corpus, settings, fields, self.precision)
        recipe = {"fields": list(fields), **settings.recipe(), "precision": self.precision}
        return IndexPlan(fingerprint, recipe, build, models)


INDEXES = Family(
    "indexes",
    IndexRecipe,
    {
        "lucene": f"{__name__}:Inverted",
        "memory": f"{__name__}:Inverted",
        "dense": f"{__name__}:Dense",
    },
    what="index engine",
)


def chosen_by_engine(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    engine = str(value.get("engine", "lucene"))
    if engine not in INDEXES:
        raise errors_at((("engine",), one_of([*INDEXES], engine)))
    return entry(INDEXES, engine, value)
