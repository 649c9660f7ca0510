"""What determines a dense index."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from adducir.core.config import OverrideError, apply
from adducir.core.errors import UsageError
from adducir.core.recipe import Recipe

Kind = Literal["flat", "hnsw", "ivf-pq"]
_OF_KIND: dict[str, tuple[str, ...]] = {
    "flat": (),
    "hnsw": ("links", "build", "search"),
    "ivf-pq": ("lists", "probes", "parts", "bits"),
}
_SHARED = ("kind", "sample", "seed")
Some = Annotated[int, Field(ge=1)]


class DenseSettings(Recipe):
    """What determines a dense index, beside its vectors.

    Attributes:
        kind: ``flat``: all vectors are compared, exactly; ``hnsw``: a graph of neighbours (Malkov
            and Yashunin, 2020); ``ivf-pq``: inverted lists of compressed vectors (Jégou et al.,
            2011), for what does not fit in memory.
        links: HNSW's M: neighbours a vector has.
        build: HNSW's efConstruction: candidates while the graph is built.
        search: HNSW's efSearch: candidates while it is searched, at least as many as hits asked.
        lists: IVF's lists; by default four times the root of the number of vectors.
        probes: Lists that are searched; by default a sixteenth of them.
        parts: PQ's parts of a vector, a divisor of its width; by default of 8 numbers each, or
            what is nearest to that.
        bits: PQ's bits a part.
        sample: Vectors that recall against ``flat`` is measured with.
    """

    kind: Kind = "flat"
    links: Annotated[int, Field(ge=2)] = 32
    build: Some = 200
    search: Some = 128
    lists: Some | None = None
    probes: Some | None = None
    parts: Some | None = None
    bits: Annotated[int, Field(ge=4, le=12)] = 8
    sample: Some = 200
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0

    @model_validator(mode="after")
    def _fits(self) -> "DenseSettings":
        known = {*_SHARED, *_OF_KIND[self.kind]}
        for name in sorted(self.model_fields_set - known):
            raise ValueError(f"`{name}` means nothing to the kind {self.kind}")
        return self

    def recipe(self) -> dict[str, Any]:
        """Those values that decide this kind, for fingerprints and manifests."""
        named: set[str] = {"kind", *_OF_KIND[self.kind]}
        if self.kind != "flat":
            named |= {"sample", "seed"}
        return self.model_dump(mode="json", include=named)


def dense_settings(kind: Kind, changes: Sequence[str] = ()) -> DenseSettings:
    """Settings of a kind, with changes such as ``links=16``.

    Raises:
        UsageError: A change is no change, or means nothing to the kind.
    """
    data: dict[str, Any] = {"kind": kind}
    try:
        for change in changes:
            data, _ = apply(data, change)
        return DenseSettings.model_validate(data)
    except OverrideError as error:
        raise UsageError(f"--set: {error}.") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        text = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"--set {f'{place}: ' if place else ''}{text}.") from error
