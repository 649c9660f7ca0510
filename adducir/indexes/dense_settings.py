"""What determines a dense index."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, ConfigDict, Field, field_validator

from adducir.core.errors import UsageError
from adducir.core.manifests import Manifest
from adducir.core.packages import imported
from adducir.core.recipe import RARE, Needs
from adducir.encoders.settings import EncodingSettings
from adducir.indexes.settings import IndexSettings, ModelKey
from adducir.models.machine import Precision
from adducir.models.running import Running

if TYPE_CHECKING:
    from adducir.corpora.documents import Corpus
    from adducir.encoders.kinds import EncoderSource

EXACT = "Flat"


def _without_effect_if_exact(key: str) -> Needs:
    def holds(settings: Any) -> bool:
        is_default = getattr(settings, key) == type(settings).model_fields[key].default
        return settings.kind != EXACT or is_default

    return Needs("with {}", holds, (("kind", EXACT),))


class DenseSettings(IndexSettings, EncodingSettings):
    """Vectors of an encoder, searched by FAISS.

    Example:
        >>> ad.DenseSettings(encoder="minilm", kind="HNSW32").kind
        'HNSW32'
    """

    model_config = ConfigDict(defer_build=False)  # which its second base would defer
    engine: ClassVar[str] = "dense"
    artifact: ClassVar[str] = "dense-index"
    runs_with = ("threads", "device", "batch_tokens", "workers", "ray", "slurm")
    conditions: ClassVar[Mapping[str, Needs]] = {
        key: _without_effect_if_exact(key) for key in ("parameters", "sample", "seed")
    }
    opens_with: ClassVar[Collection[str]] = ("device", "tokens", "encoder")
    opener: ClassVar[str] = "adducir.indexes.dense:DenseIndex"
    model_key: ClassVar[ModelKey | None] = ModelKey(
        "encoder", "adducir.encoders.training:EncoderTraining", "an encoder"
    )
    encoder: Annotated[str | Path, AfterValidator(str)] = Field(
        json_schema_extra={"metavar": "MODEL"}
    )
    """The encoder's folder or recipe, 'minilm', or a name on the Hub."""
    kind: str = Field(default=EXACT, json_schema_extra=RARE)
    """FAISS's description (``index_factory``): Flat compares all vectors, exactly; HNSW32 is a
    graph of neighbours (Malkov and Yashunin, 2020), IVF1024,PQ48x8 lists of compressed vectors
    (Jégou et al., 2011). These are not exact, so recall is measured."""
    parameters: str = Field(default="", json_schema_extra=RARE)
    """FAISS's build and search parameters, such as efConstruction=200,efSearch=64 or nprobe=16."""
    sample: int = Field(default=200, ge=1, json_schema_extra=RARE)
    """How many vectors to measure recall against Flat with."""
    seed: int = Field(default=0, ge=0, lt=1 << 63, json_schema_extra=RARE)
    """The seed that draws them."""
    precision: Precision = Field(default="float32", json_schema_extra=RARE)
    """Numeric precision; bfloat16 is coarser and usually faster."""

    @field_validator("kind")
    @classmethod
    def _is_known(cls, kind: str) -> str:
        if kind != EXACT:
            from adducir.indexes.building import refuse_unknown

            refuse_unknown(kind)
        return kind

    def refuse_trained(self) -> None:
        for key in self.given():
            raise UsageError(f"`{key}` has no effect on an encoder whose recipe is trained.")

    @property
    def source(self) -> "EncoderSource":
        from adducir.corpora.sources import expanded
        from adducir.encoders.kinds import encoder_source

        return encoder_source(expanded(str(self.encoder)), self._folder, encoding=self)

    def opens(self) -> Mapping[str, Callable[[], Any]]:
        return {"encoder": lambda: self.source.identity()}

    def recipe(self) -> dict[str, Any]:
        of_index = self.model_dump(mode="json", include={"kind", "parameters", "sample", "seed"})
        return {
            "items": "documents",
            "fields": list(self.fields),
            **(of_index if self.kind != EXACT else {"kind": EXACT}),
            "precision": self.precision,
        }

    def inputs(self, corpus: "Corpus", model: str | None = None) -> dict[str, str]:
        identity = self.source.identity() if model is None else model
        return {**super().inputs(corpus), "model": identity}

    def _build(
        self, documents: "Corpus", path: Path, running: "Running | None", **stated: Any
    ) -> Manifest:
        """Killed encoding resumes at the first missing shard."""
        running = replace(running or Running(), precision=self.precision)
        work: Any = imported("adducir.indexes.dense:DenseWork").of(documents, path, self, running)
        manifest: Manifest = work.build(path, **stated)
        return manifest

    def versions(self) -> dict[str, str]:
        import faiss

        return {"faiss": str(faiss.__version__)}
