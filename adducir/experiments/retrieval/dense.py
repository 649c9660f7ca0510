"""Dense indexes of an experiment file: ``engine: dense``, vectors of documents in FAISS."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, model_validator

from adducir.core.artifacts import Manifest
from adducir.core.errors import ArtifactError, InputError
from adducir.core.fingerprint import UNREAD
from adducir.core.recipe import KeyPath
from adducir.core.registry import hyperparameters
from adducir.corpora.references import expanded, file_path
from adducir.corpora.topics import Topics
from adducir.encoders.sources import EncoderSource, encoder_source
from adducir.encoders.training import EncoderPlan
from adducir.experiments.context import Context
from adducir.experiments.retrieval.index_step import IndexStep, Ranker, Request
from adducir.experiments.retrieval.indexes import IndexRecipe
from adducir.experiments.retrieval.opened import OpenedCorpus
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.experiments.retrieval.trained import is_recipe, open_recipe
from adducir.experiments.step import ModelStep
from adducir.indexes.dense.builder import KIND, Running, build_dense_index, dense_identity
from adducir.indexes.dense.index import DenseIndex
from adducir.indexes.dense.searching import search_topics_dense
from adducir.indexes.dense.settings import DenseSettings
from adducir.indexes.search import Search as Found
from adducir.models.machine import Precision

_NO_WORDS = "means nothing to a dense index, which ranks by vectors"


class Dense(IndexRecipe):
    """Vectors of documents; the settings of the kind of FAISS's index stand beside ``kind``.

    Attributes:
        engine: ``dense``.
        encoder: An encoder by name, its folder, or the recipe that trains it.
        kind: FAISS's index: ``flat``, ``hnsw`` or ``ivf-pq``.
        precision: What the network computes in.
    """

    model_config = ConfigDict(extra="allow")
    engine: Literal["dense"] = "dense"
    encoder: str
    kind: Literal["flat", "hnsw", "ivf-pq"] = "flat"
    precision: Precision = "float32"

    @model_validator(mode="after")
    def _fits(self) -> "Dense":
        _ = self.dense_settings
        return self

    @property
    def dense_settings(self) -> DenseSettings:
        """FAISS's settings."""
        given = {"kind": self.kind, **(self.model_extra or {})}
        return hyperparameters(DenseSettings, "a dense index", given, type(self).model_fields)

    def is_trained(self, folder: Path) -> bool:
        return is_recipe(self.encoder, folder)

    def unfit(self, system: Request) -> Iterator[tuple[KeyPath, str]]:
        for key in system.model_fields_set & {"model"}:
            yield (key,), _NO_WORDS
        for key in system.model_extra or {}:
            yield (key,), _NO_WORDS
        if system.tune is not None:
            yield ("tune",), "a search of a dense index has nothing to tune"

    def step(
        self, name: str, path: Path, corpus: OpenedCorpus, study: RetrievalStudy
    ) -> IndexStep | None:
        planner, place = study.planner, ("indexes", name, "encoder")
        seed = study.seed_of("indexes", name)
        open_it = partial(_open_encoder, self.encoder, planner.folder, seed)
        encoder = planner.opening(place, open_it)
        if encoder is None:
            return None
        source = study.label(self.corpus)
        trained = (
            [study.training(encoder.plan, encoder.path, ("indexes", name))]
            if encoder.plan is not None and encoder.path is not None
            else []
        )
        settle = partial(DenseStep, name, path, corpus, source, self, encoder, trained)
        return planner.opening(("indexes", name), settle)


class _Encoder:
    """The encoder of an index: one that is there, or one that is trained first."""

    def __init__(
        self, name: str, folder: Path, plan: EncoderPlan | None = None, path: Path | None = None
    ) -> None:
        self.name, self.folder, self.plan, self.path = name, folder, plan, path
        _ = self.identity  # its errors belong to this entry

    @property
    def source(self) -> EncoderSource:
        """The encoder, which must be there."""
        if self.path is not None:
            return encoder_source(str(self.path))
        return encoder_source(expanded(self.name), self.folder)

    @property
    def identity(self) -> str:
        """The fingerprint of the encoder, which may still have to be trained."""
        return self.source.identity() if self.plan is None else self.plan.fingerprint


def _open_encoder(name: str, folder: Path, seed: int | None) -> _Encoder:
    """The encoder, or the recipe that trains it; no model is loaded.

    Raises:
        InputError: There is no such encoder or recipe, or the recipe has errors.
    """
    if not is_recipe(name, folder):
        return _Encoder(name, folder)
    path = file_path(name, folder)
    plan, model = open_recipe(path, seed)
    if not isinstance(plan, EncoderPlan):
        raise InputError("this is no recipe of an encoder.", path=path)
    return _Encoder(name, folder, plan, model)


class DenseStep(IndexStep):
    """A dense index."""

    engine = "dense"
    kind = KIND

    def __init__(
        self,
        name: str,
        path: Path,
        corpus: OpenedCorpus,
        source: str,
        recipe: Dense,
        encoder: _Encoder,
        trained: Sequence[ModelStep],
    ) -> None:
        self.name, self.path, self.source = name, path, source
        self.place = ("indexes", name)
        self.corpus, self.entry, self.encoder = corpus.corpus, recipe, encoder
        self.inputs = [*corpus.steps, *trained]
        self.reads = [*corpus.reads, self.place]

    @property
    def fingerprint(self) -> str:
        if not self.fields:
            return UNREAD
        return dense_identity(
            self.corpus,
            self.encoder.identity,
            self.entry.dense_settings,
            self.fields,
            self.entry.precision,
        )

    @cached_property
    def fields(self) -> tuple[str, ...]:
        return self.entry.fields or self.default_fields()

    @property
    def settings(self) -> Mapping[str, Any]:
        settings, precision = self.entry.dense_settings.recipe(), self.entry.precision
        return {"fields": list(self.fields), **settings, "precision": precision}

    def search_settings(self, ranker: Ranker) -> dict[str, Any]:
        """Nothing beside the index: its encoder is the model."""
        return {}

    def search(
        self, ranker: Ranker, topics: Topics, tag: str, depth: int | None, context: Context
    ) -> Found:
        index = self.open(context)
        if not isinstance(index, DenseIndex):
            raise ArtifactError("this is no dense index.", path=self.path)
        return search_topics_dense(index, topics, tag=tag, depth=depth, threads=context.threads)

    def build(self, context: Context) -> Manifest:
        return build_dense_index(
            self.corpus,
            self.path,
            self.encoder.source,
            self.entry.dense_settings,
            fields=self.entry.fields,
            running=Running(
                context.device,
                context.threads,
                context.batch_tokens,
                precision=self.entry.precision,
                execution=context.execution,
            ),
            rebuild=context.rebuild,
            progress=context.progress,
        )
