"""Dense indexes of an experiment file: ``engine: dense``, vectors of documents in FAISS."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, model_validator

from adducir.core.artifacts import Manifest
from adducir.core.fingerprint import UNREAD
from adducir.core.recipe import KeyPath
from adducir.core.registry import hyperparameters
from adducir.corpora.references import expanded
from adducir.encoders.sources import EncoderSource, encoder_source
from adducir.encoders.training import EncoderPlan
from adducir.experiments.context import Context
from adducir.experiments.retrieval.corpora import OpenedCorpus
from adducir.experiments.retrieval.indexes import IndexRecipe, IndexStep
from adducir.experiments.retrieval.study import RetrievalStudy, is_recipe
from adducir.experiments.step import ModelStep
from adducir.indexes.dense import KIND
from adducir.indexes.dense_build import (
    DenseSettings,
    Running,
    build_dense_index,
    dense_identity,
)
from adducir.models.machine import Precision

if TYPE_CHECKING:
    from adducir.experiments.retrieval.systems.search import Search


class Dense(IndexRecipe):
    """Vectors of documents; the settings of the kind of FAISS's index stand beside ``kind``.

    Attributes:
        engine: ``dense``.
        encoder: An encoder by name, its folder, or the recipe that trains it.
        kind: FAISS's description of the index, such as ``Flat`` or ``HNSW32``.
        precision: What the network computes in.
    """

    model_config = ConfigDict(extra="allow")
    engine: Literal["dense"] = "dense"
    encoder: str
    kind: str = "Flat"
    precision: Precision = "float32"

    @model_validator(mode="after")
    def _fits(self) -> "Dense":
        _ = self.dense_settings
        return self

    @property
    def dense_settings(self) -> DenseSettings:
        given = {"kind": self.kind, **(self.model_extra or {})}
        return hyperparameters(DenseSettings, "a dense index", given, type(self).model_fields)

    def is_trained(self, folder: Path) -> bool:
        return is_recipe(self.encoder, folder)

    def unfit(self, system: "Search") -> Iterator[tuple[KeyPath, str]]:
        for key in (*(system.model_fields_set & {"model"}), *(system.model_extra or {})):
            yield (key,), "means nothing to a dense index, which ranks by vectors"
        if system.tune is not None:
            yield ("tune",), "a search of a dense index has nothing to tune"

    def step(
        self, name: str, path: Path, corpus: OpenedCorpus, study: RetrievalStudy
    ) -> IndexStep | None:
        own, planner = ("indexes", name), study.planner
        open_it = partial(_Encoder.of, self.encoder, own, study)
        encoder = planner.opening((*own, "encoder"), open_it)
        if encoder is None:
            return None
        trained = [] if encoder.trained is None else [study.training(*encoder.trained, own)]
        source = study.label(self.corpus)
        settle = partial(DenseStep, name, path, corpus, source, self, encoder, trained)
        return planner.opening(own, settle)


@dataclass(frozen=True)
class _Encoder:
    """The encoder of an index: one that is there, or one that is trained first."""

    name: str
    folder: Path
    trained: tuple[EncoderPlan, Path] | None

    @classmethod
    def of(cls, name: str, own: tuple[str, str], study: RetrievalStudy) -> "_Encoder":
        """Open it, or the recipe that trains it; no model is loaded."""
        trained = study.trained_by(name, own, EncoderPlan, "an encoder")
        found = cls(name, study.folder, trained)
        _ = found.identity  # its errors belong to this entry
        return found

    @property
    def source(self) -> EncoderSource:
        """The encoder, which must be there."""
        if self.trained is not None:
            return encoder_source(str(self.trained[1]))
        return encoder_source(expanded(self.name), self.folder)

    @property
    def identity(self) -> str:
        """The fingerprint of the encoder, which may still have to be trained."""
        return self.trained[0].fingerprint if self.trained else self.source.identity()


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
        super().__init__(name, path, corpus, source)
        self.entry, self.encoder = recipe, encoder
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

    def recipe(self) -> Mapping[str, Any]:
        settings, precision = self.entry.dense_settings.recipe(), self.entry.precision
        return {"fields": list(self.fields), **settings, "precision": precision}

    def search_settings(self, search: "Search") -> dict[str, Any]:
        return {}  # its encoder is the model

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
        )
