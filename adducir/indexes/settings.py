"""What determines an index: one class per kind, stated once.

Keys of experiment files, options of ``adducir index`` and their help, Python's arguments, the
table in docs/indexes.md, manifests and fingerprints are views of these classes. What a kind does
not have, such as positions of a memory index, is refused because its class lacks the field.

A package adds a kind through an entry point ``adducir.indexes``, whose name is the ``engine``.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import BeforeValidator, Field, PrivateAttr, field_validator, model_validator

from adducir.core.artifacts import build
from adducir.core.errors import MachineError, UsageError, worded
from adducir.core.fingerprint import fingerprint
from adducir.core.manifests import Manifest, artifact_fingerprint
from adducir.core.packages import imported
from adducir.core.processes import default_threads
from adducir.core.recipe import RARE, KeyPath, Kind, Names, errors_at, without_blanks
from adducir.corpora.passages import read_by
from adducir.indexes.kinds import (
    FEEDBACK,
    IMPACTS_VERSION,
    LANGUAGES,
    PRETOKENIZED,
    VERSIONS,
    holds_impacts,
    no_effect_with,
)

if TYPE_CHECKING:
    from adducir.corpora.documents import Corpus
    from adducir.indexes.analysis import Analysis
    from adducir.indexes.feedback import FeedbackMethod
    from adducir.indexes.index import Index
    from adducir.indexes.models import Model
    from adducir.models.running import Running


class ModelKey(NamedTuple):
    """A setting that names a model, which an experiment may train from its recipe."""

    key: str
    trainable: str  # the path of the class that trains it
    label: str


def _text_or_words(words: Any) -> str | tuple[Any, ...]:
    if isinstance(words, str | Path) and "," not in str(words):
        return str(words)
    named = str(words).split(",") if isinstance(words, str | Path) else words
    return tuple(word for word in without_blanks(named) if word)


class IndexSettings(Kind):
    """What determines the content of an index, besides its documents."""

    engine: ClassVar[str]
    """The name in files and options, which several kinds may share."""
    artifact: ClassVar[str]
    """The kind of artifact, in manifests."""
    writer: ClassVar[str] = ""
    """The path ``module:function`` of what writes it, unless a kind overrides :meth:`write`."""
    opener: ClassVar[str] = ""
    """The path of the class that searches it, unless a kind overrides :meth:`open`."""
    runs_with: ClassVar[Collection[str]] = ("threads",)
    """What has an effect on how it is built, of a network's device, threads and the like."""
    opens_with: ClassVar[Collection[str]] = ()
    """What has an effect on how it is opened, of ``device``, ``tokens`` and ``encoder``."""
    model_key: ClassVar[ModelKey | None] = None
    _folder: Path = PrivateAttr(default=Path())
    _has_defaults: bool = PrivateAttr(default=False)  # whether the fields are a corpus's

    fields: Names = Field(default=(), json_schema_extra={"shown": "the corpus's texts"})
    """The fields to index, joined."""

    @property
    def version(self) -> int:
        """Raised when the same settings yield another index."""
        return VERSIONS.get(self.engine, 1)

    @property
    def default_model(self) -> str | None:
        """The retrieval model of a search that names none; None if an index has its own."""
        return None

    @classmethod
    def refuse_idle(cls, **is_stated: bool) -> None:
        """Refuse what is stated of how a network runs, and has no effect on this kind."""
        idle = [key for key, is_true in is_stated.items() if is_true and key not in cls.runs_with]
        if idle:
            raise errors_at(*(((key,), no_effect_with(cls)) for key in idle))

    def at(self, folder: Path) -> Self:
        """The settings with paths that start in a study's folder."""
        settings = self.model_copy()
        settings._folder = folder
        return settings

    def opens(self) -> Mapping[str, Callable[[], Any]]:
        """What reads the files or models that settings name, by key."""
        return {}

    def refuse_trained(self) -> None:
        """Refuse settings that have no effect on a model that is trained from its recipe."""

    def of(self, corpus: "Corpus") -> Self:
        """The settings, with the corpus's default fields if none are named."""
        return self if self.fields else self.defaulting_to(corpus.default_fields)

    def defaulting_to(self, fields: Sequence[str]) -> Self:
        """The settings with a corpus's default fields, which are known."""
        settings = self.model_copy(update={"fields": tuple(fields)})
        settings._has_defaults = True
        return settings

    def documents(self, corpus: "Corpus") -> "Corpus":
        """The corpus as this index reads it: passages are determined by its fields."""
        return corpus if self._has_defaults else read_by(corpus, self.fields)

    def recipe(self) -> dict[str, Any]:
        """The settings as plain values, for manifests and fingerprints."""
        return self.model_dump(mode="json")

    def inputs(self, corpus: "Corpus", model: str | None = None) -> dict[str, str]:
        """The fingerprints of what it is built from; ``model``: that of one yet to be trained."""
        del model
        return {"corpus": fingerprint(self.documents(corpus).identity())}

    def identity(self, corpus: "Corpus", model: str | None = None) -> dict[str, Any]:
        """What :func:`adducir.core.artifacts.build` needs to know of the index of a corpus."""
        return {
            "kind": self.artifact,
            "recipe": self.of(corpus).recipe(),
            "inputs": self.inputs(corpus, model),
            "builder_version": self.version,
        }

    def fingerprint(self, corpus: "Corpus", model: str | None = None) -> str:
        """The index's fingerprint, which is known before it is built."""
        return artifact_fingerprint(**self.identity(corpus, model))

    def build(
        self,
        corpus: "Corpus",
        path: Path,
        running: "Running | None" = None,
        *,
        rebuild: bool = False,
    ) -> Manifest:
        """Build the index, unless ``path`` already holds the one that would be built."""
        stated = {"rebuild": rebuild, "versions": self.versions(), "source": corpus.source}
        stated |= self.identity(corpus)
        return self.of(corpus)._build(self.documents(corpus), path, running, **stated)

    def _build(
        self, documents: "Corpus", path: Path, running: "Running | None", **stated: Any
    ) -> Manifest:
        return build(path, make=lambda folder: self.write(documents, folder, running), **stated)

    def write(self, corpus: "Corpus", folder: Path, running: "Running | None") -> Mapping[str, Any]:
        """Write the index into an empty folder, and return its counts."""
        threads = (running.threads if running is not None else None) or default_threads()
        counts: Mapping[str, Any] = imported(self.writer)(corpus, folder, self, threads)
        return counts

    def versions(self) -> dict[str, str]:
        """Versions of the software that builds it."""
        return {}

    @classmethod
    def open(cls, path: Path, **options: Any) -> "Index":
        """Open an index of this kind; see :func:`adducir.indexes.engines.open_index`."""
        opened: Index = imported(cls.opener)(path, **{key: options[key] for key in cls.opens_with})
        return opened

    def unfit(
        self, name: str, model: "Model", feedback: "FeedbackMethod | None"
    ) -> Iterator[tuple[KeyPath, str]]:
        """What a search of the index ``name`` needs and the index lacks, each with its key."""
        yield from ()


class TextSettings(IndexSettings):
    """Settings of all indexes of terms."""

    language: Annotated[str, LANGUAGES] = Field(default="en", json_schema_extra={"metavar": "CODE"})
    """The language of documents and queries, such as de, fr or zh; of token weights
    pretokenized by default: they are searched without analysis."""
    stemmer: str = Field(default="", json_schema_extra={"shown": "the language's; English: porter"})
    """One of the language's stemmers; English: porter, krovetz or none."""
    stopwords: Annotated[str | Path | Sequence[str], BeforeValidator(_text_or_words)] = "lucene"
    """'lucene', 'none', a file with one stop word per line, or the words, comma-separated."""
    accurate_length: bool = Field(default=False, json_schema_extra=RARE)
    """Whether BM25 uses exact document lengths instead of Lucene's one byte."""

    @model_validator(mode="after")
    def _has_stemmer(self) -> Self:
        from adducir.indexes.analysis import Analysis

        try:
            Analysis(self.stemmer, language=self.language)
        except UsageError as error:
            raise errors_at((("stemmer",), error.what.rstrip("."))) from error
        return self

    @cached_property
    def analysis(self) -> "Analysis":
        """How text becomes terms; reads the file of stop words."""
        from adducir.indexes.analysis import Analysis

        if isinstance(self.stopwords, str | Path):
            return Analysis.of(self.stemmer, self.stopwords, self.language, self._folder)
        return Analysis(self.stemmer, tuple(self.stopwords), self.language)

    def opens(self) -> Mapping[str, Callable[[], Any]]:
        return {"stopwords": lambda: self.analysis}

    @property
    def default_model(self) -> str | None:
        return "bm25"

    def recipe(self) -> dict[str, Any]:
        plain = self.model_dump(mode="json", exclude={"language", "stemmer", "stopwords"})
        return {**plain, "analysis": self.analysis.settings()}

    def versions(self) -> dict[str, str]:
        from adducir.indexes.building import engine_versions

        is_lucene = self.engine == "lucene"
        try:
            return engine_versions(uses_java=is_lucene or self.analysis.own is None)
        except MachineError as error:
            if not is_lucene or self.analysis.own is None:
                raise
            same = f"The memory engine ({worded('engine', 'memory')}) ranks alike without it."
            raise MachineError(error.what, hint=f"{same} {error.hint}", absent=True) from error

    def unfit(
        self, name: str, model: "Model", feedback: "FeedbackMethod | None"
    ) -> Iterator[tuple[KeyPath, str]]:
        from adducir.indexes.models import unfit

        fields = ("contents", *getattr(self, "separate", ()))
        limits = unfit(model, self.engine, accurate=self.accurate_length, fields=fields)
        yield from ((key, f"`{name}` {message}") for key, message in limits)


class LuceneSettings(TextSettings):
    """Lucene's inverted index, which Anserini and Pyserini can read.

    Example:
        >>> ad.LuceneSettings(fields=["title", "text"], positions=False).fields
        ('title', 'text')
    """

    engine: ClassVar[str] = "lucene"
    artifact: ClassVar[str] = "lucene-index"
    writer: ClassVar[str] = "adducir.indexes.lucene:write"
    positions: bool = Field(default=True, json_schema_extra=RARE)
    """Whether to store positions of terms, for phrase queries."""
    vectors: bool = Field(default=True, json_schema_extra=RARE)
    """Whether to store documents' terms, for feedback."""
    separate: Names = Field(
        default=(), exclude_if=lambda names: not names, json_schema_extra={**RARE, "shown": "none"}
    )
    """Fields to index by themselves, too, so that a search can weigh them by `boosts`."""

    @field_validator("separate")
    @classmethod
    def _leaves_lucene_names(cls, names: Sequence[str]) -> Sequence[str]:
        if taken := {"id", "contents"}.intersection(names):
            raise ValueError(f"Lucene's field `{min(taken)}` holds all docnos or all text")
        return tuple(dict.fromkeys(names))

    def unfit(
        self, name: str, model: "Model", feedback: "FeedbackMethod | None"
    ) -> Iterator[tuple[KeyPath, str]]:
        if feedback is not None and not self.vectors:
            method = FEEDBACK.name_of(type(feedback))
            needs = f"{method.upper()} needs document vectors"
            yield (method,), f"{needs}, but the index `{name}` has `vectors: false`"
        yield from super().unfit(name, model, feedback)


class MemorySettings(TextSettings):
    """Arrays in memory that rank as Lucene does; documents' terms are always stored.

    Example:
        >>> len(ad.build_index(pets, "krovetz", ad.MemorySettings(stemmer="krovetz")))
        3
    """

    engine: ClassVar[str] = "memory"
    artifact: ClassVar[str] = "memory-index"
    writer: ClassVar[str] = "adducir.indexes.memory.build:write"

    @property
    def token_weights(self) -> Path | None:
        """What replaces the texts' terms."""
        return None


class TokenWeightSettings(MemorySettings):
    """Token weights that a model computed, instead of texts; searched without analysis.

    Example:
        >>> ad.TokenWeightSettings(weights="weights.jsonl").default_model
        'impact'
    """

    runs_with: ClassVar[Collection[str]] = ()
    weights: str | Path
    """A file or folder of token weights (JSON lines), which replace the documents' texts."""
    language: Annotated[str, LANGUAGES] = Field(
        default=PRETOKENIZED, json_schema_extra={"metavar": "CODE"}
    )
    """The language by which the weights' tokens are analysed, if they are words."""

    @property
    def version(self) -> int:
        return IMPACTS_VERSION if holds_impacts(self.recipe()) else VERSIONS[self.engine]

    @property
    def default_model(self) -> str | None:
        return "impact" if LANGUAGES.kind(self.language).is_pretokenized else "bm25"

    @property
    def token_weights(self) -> Path:
        from adducir.corpora.sources import file_path

        return file_path(str(self.weights), self._folder)

    def opens(self) -> Mapping[str, Callable[[], Any]]:
        from adducir.corpora.token_weights import identity_of

        return {**super().opens(), "weights": lambda: identity_of(self.token_weights)}

    def recipe(self) -> dict[str, Any]:
        from adducir.corpora.token_weights import identity_of

        return {**super().recipe(), "weights": identity_of(self.token_weights)}
