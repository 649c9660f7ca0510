"""Indexes of an experiment file, by engine: Lucene's, arrays in memory that rank alike, vectors."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import model_validator

from adducir.core.absent import NotRead
from adducir.core.artifacts import MISSING, Manifest, is_absent, read_manifest
from adducir.core.errors import AdducirError, ArtifactError
from adducir.core.fingerprint import UNREAD
from adducir.core.progress import progress
from adducir.core.recipe import KeyPath
from adducir.core.registry import Family, entry
from adducir.corpora.documents import Corpus
from adducir.corpora.references import file_path
from adducir.corpora.token_weights import identity_of
from adducir.corpora.topics import Topics
from adducir.experiments.context import Context
from adducir.experiments.retrieval.corpora import OpenedCorpus
from adducir.experiments.sections import Linked, Name
from adducir.experiments.step import FolderStep
from adducir.indexes.analysis import Analysis, AnalysisRecipe
from adducir.indexes.building import IndexSettings
from adducir.indexes.engines import KINDS, EngineName, builder, fingerprint_of_index
from adducir.indexes.feedback import FEEDBACK
from adducir.indexes.languages import PRETOKENIZED
from adducir.indexes.models import MODELS

if TYPE_CHECKING:
    from adducir.experiments.retrieval.study import RetrievalStudy
    from adducir.experiments.retrieval.systems.search import Search
    from adducir.indexes.index import Index
    from adducir.indexes.search import Search as Found

_CALLED = {"lucene": "Lucene", "memory": "the memory engine"}


class IndexStep(FolderStep):
    """An index that a system searches or reads documents of."""

    verb = "build"
    stage = 1
    name: str  # in the file
    corpus: Corpus
    source: str  # the corpus in a few words
    engine: str
    kind: str = ""  # of artifact

    def __init__(self, name: str, path: Path, corpus: OpenedCorpus, source: str) -> None:
        self.name, self.path, self.source = name, path, source
        self.corpus, self.inputs, self.reads = corpus.corpus, corpus.steps, corpus.reads
        self.place = ("indexes", name)

    @property
    @abstractmethod
    def fields(self) -> tuple[str, ...]:
        """The fields of the documents that are indexed."""

    @abstractmethod
    def search_settings(self, search: "Search") -> dict[str, Any]:
        """All that determines a search's rankings beside index, topics and depth."""

    def search(
        self, search: "Search", topics: Topics, tag: str, depth: int | None, context: Context
    ) -> "Found":
        """Search every topic."""
        from adducir.indexes.search import search_topics

        return search_topics(
            self.open(context),
            topics,
            search.retrieval_model,
            tag=tag,
            feedback=search.feedback,
            fields=search.fields,
            depth=depth,
            threads=context.threads,
        )

    @abstractmethod
    def build(self, context: Context) -> Manifest:
        """Build it, unless it is there."""

    def title(self, shown: Callable[[Path], str]) -> str:
        return f"index {shown(self.path)} of {self.source}"

    def default_fields(self) -> tuple[str, ...]:
        """The corpus's own fields.

        Where a dry run does not read the corpus, they are those of the index that is there: the
        corpus's own as well if its fingerprint is right, which covers the corpus.
        """
        try:
            return tuple(self.corpus.default_fields)
        except NotRead:
            return () if is_absent(self.path) else tuple(read_manifest(self.path).recipe["fields"])

    def make(self, context: Context) -> None:
        """Build it, and say what it holds."""
        name, why = f"index {context.shown(self.path)}", self.why()
        if why not in (None, MISSING):
            progress().note(f"{name}: {why}")
        counts = self.build(context).counts
        empty = f", {counts['empty']:,} of them without text" if counts.get("empty") else ""
        progress().note(f"{name}: {counts['documents']:,} documents{empty}")

    def open(self, context: Context) -> "Index":
        """The index, which must still be the one that was planned; it is closed at the end."""
        return context.opened(
            ("index", self.path), partial(self._open, context), lambda one: one.close()
        )

    def _open(self, context: Context) -> "Index":
        from adducir.indexes.engines import open_index

        index = open_index(self.path, device=context.device, tokens=context.batch_tokens)
        found = read_manifest(self.path).fingerprint
        if found == index.identity["fingerprint"] == self.fingerprint:
            return index
        index.close()
        raise ArtifactError(
            "this is not the index that was planned: its corpus has changed since, or another "
            "experiment has built its own here.",
            path=self.path,
            hint="Run this again; give indexes of two experiments that differ different names.",
        )


class IndexRecipe(Linked):
    """The base of every kind of index.

    Attributes:
        corpus: The corpus.
        fields: The fields that are indexed, joined; by default the corpus's own.
    """

    references: ClassVar[Mapping[str, str]] = {"corpus": "corpora"}
    corpus: Name
    fields: tuple[str, ...] = ()

    @abstractmethod
    def step(
        self, name: str, path: Path, corpus: OpenedCorpus, study: "RetrievalStudy"
    ) -> IndexStep | None:
        """Settle how it is to be built; None where something is wrong, which the planner keeps."""

    def check(self, name: str, study: "RetrievalStudy") -> None:
        """Look for what is wrong even where no system uses the index."""

    def unfit(self, system: "Search") -> Iterator[tuple[KeyPath, str]]:
        """What a search asks for and the index does not have, with its place in the search."""
        del system
        yield from ()


class Inverted(IndexRecipe, AnalysisRecipe):
    """An inverted index, of Lucene's or in memory.

    Attributes:
        engine: ``lucene`` or ``memory``.
        language: The language of documents and queries.
        stemmer: One of the language's stemmers; by default its own.
        stopwords: ``lucene``, ``none`` or a file.
        positions: Whether postings hold positions.
        vectors: Whether documents' term vectors are stored, for feedback.
        accurate_length: Whether BM25 sees exact lengths instead of Lucene's one byte.
        weights: A file or folder of token weights that stand for the documents' texts.
        separate_fields: Whether each field is indexed by itself too, for field weights.
    """

    engine: EngineName = "lucene"
    positions: bool = True
    vectors: bool = True
    accurate_length: bool = False
    weights: str | None = None
    separate_fields: bool = False

    @model_validator(mode="after")
    def _of_weights(self) -> "Inverted":
        if self.weights is not None and self.engine != "memory":
            raise ValueError("`weights` needs `engine: memory`")
        if self.separate_fields and self.engine != "lucene":
            raise ValueError("`separate_fields` needs `engine: lucene`")
        return self

    @property
    def is_of_impacts(self) -> bool:
        """Whether weights are searched as they are."""
        return self.weights is not None and "language" not in self.model_fields_set

    def analysis(self, folder: Path) -> Analysis:
        """See :class:`.AnalysisRecipe`; weights without a language are of ready tokens."""
        return Analysis(language=PRETOKENIZED) if self.is_of_impacts else super().analysis(folder)

    def unfit(self, system: "Search") -> Iterator[tuple[KeyPath, str]]:
        feedback, name, index = system.feedback, system.model, system.index
        engines = MODELS.kind(name).engines()
        if feedback is not None and not self.vectors:
            method = FEEDBACK.name_of(type(feedback))
            what = f"{method.upper()} reads document vectors, and the index `{index}` has"
            yield (method,), f"{what} `vectors: false`"
        if feedback is not None and self.engine not in feedback.engines:
            method = FEEDBACK.name_of(type(feedback))
            yield (method,), f"{_CALLED[self.engine]} has no {method}: `{index}`"
        if self.engine not in engines:
            others = " or ".join(f"`engine: {engine}`" for engine in engines)
            what = f"{_CALLED[self.engine]} has no model {name}"
            yield ("model",), f"{what}: `{index}` needs {others}"
        elif self.is_of_impacts and name != "impact":
            yield ("model",), f"`{index}` holds token weights, which `model: impact` reads"
        elif self.accurate_length and name != "bm25" and "lucene" in engines:
            what = f"only bm25 reads exact lengths, and `{index}` has `accurate_length: true`"
            yield ("model",), what
        if system.fields is not None and not self.separate_fields:
            yield (
                ("fields",),
                f"field weights need an index with `separate_fields: true`: `{index}`",
            )

    def check(self, name: str, study: "RetrievalStudy") -> None:
        find = partial(self.analysis, study.planner.folder)
        study.planner.opening(("indexes", name, "stopwords"), find)

    def step(
        self, name: str, path: Path, corpus: OpenedCorpus, study: "RetrievalStudy"
    ) -> IndexStep | None:
        planner, weights = study.planner, None
        try:
            analysis = self.analysis(planner.folder)
        except AdducirError:  # which the check has kept
            return None
        if self.weights is not None:
            find = partial(_weights, self.weights, planner.folder)
            weights = planner.opening(("indexes", name, "weights"), find)
            if weights is None:
                return None
        settings = IndexSettings(
            self.fields,
            analysis,
            self.positions,
            self.vectors,
            self.accurate_length,
            weights=weights,
            separate_fields=self.separate_fields,
        )
        source = study.label(self.corpus)
        settle = partial(InvertedStep, name, path, corpus, source, self.engine, settings)
        return planner.opening(("indexes", name), settle)


class InvertedStep(IndexStep):
    """An inverted index, its fields named; the fingerprint covers corpus and settings."""

    def __init__(
        self,
        name: str,
        path: Path,
        corpus: OpenedCorpus,
        source: str,
        engine: EngineName,
        settings: IndexSettings,
    ) -> None:
        super().__init__(name, path, corpus, source)
        self.kind = KINDS[engine]
        self.engine, self._engine = engine, engine
        self._settings = replace(settings, fields=settings.fields or self.default_fields())
        _ = self.fingerprint  # its errors belong to this entry

    @cached_property
    def fingerprint(self) -> str:
        if not self.fields:
            return UNREAD
        return fingerprint_of_index(self._engine, self.corpus, self._settings)

    @property
    def fields(self) -> tuple[str, ...]:
        return self._settings.fields

    def recipe(self) -> Mapping[str, Any]:
        return self._settings.recipe()

    def search_settings(self, search: "Search") -> dict[str, Any]:
        feedback = search.feedback
        return {
            "model": MODELS.settings(search.retrieval_model, "model"),
            "feedback": FEEDBACK.settings(feedback, "method") if feedback else None,
            **({"fields": dict(search.fields)} if search.fields else {}),
        }

    def build(self, context: Context) -> Manifest:
        return builder(self._engine)(
            self.corpus, self.path, self._settings, threads=context.threads, rebuild=context.rebuild
        )


_HERE = "adducir.experiments.retrieval"

INDEXES = Family(
    "indexes",
    IndexRecipe,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {
        "lucene": f"{_HERE}.indexes:Inverted",
        "memory": f"{_HERE}.indexes:Inverted",
        "dense": f"{_HERE}.dense:Dense",
    },
    what="index engine",
)


def chosen_by_engine(value: Any) -> Any:
    """An entry of ``indexes`` as a recipe of its engine's kind."""
    if not isinstance(value, Mapping):
        return value
    return entry(INDEXES, str(value.get("engine", "lucene")), value)


def _weights(source: str, folder: Path) -> Path:
    """The file or folder of an index's token weights; raises where it cannot be read."""
    path = file_path(source, folder)
    identity_of(path)
    return path
