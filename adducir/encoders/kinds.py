"""Kinds of encoders by name: networks of Hugging Face, and what other packages bring.

An encoder is named ``kind:base``; without a kind it is a network. Packages add kinds of their own
by the entry-point group ``adducir.encoders``.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.corpora.spans import MaskedSpan, context

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float32]
Side = Literal["query", "document"]


class TextEncoder(Recipe):
    """A way to make vectors of texts, which are compared by inner product.

    A subclass gives :meth:`encode`; the other methods are those of
    :class:`adducir.encoders.model.DualEncoder`, whose place it takes in ``adducir encode`` and in
    dense indexes. All its fields are part of its identity.

    Attributes:
        settings: None: it has none beside its fields.
    """

    settings: ClassVar[None] = None
    base: str = Field("", description="What stands behind the colon of the encoder's name.")

    @abstractmethod
    def encode(self, texts: Sequence[str], side: Side) -> Floats:
        """(n, D) float32 vectors of n texts, queries or documents; each depends on its text alone.

        Called with a batch of some thousand texts at most.
        """

    def to(self, device: "torch.device") -> "TextEncoder":
        return self

    def encode_contexts(self, spans: Sequence[MaskedSpan], *_: Any) -> Floats:
        return self.encode_queries([" ".join(filter(None, context(span))) for span in spans])

    def encode_queries(self, texts: Sequence[str], *_: Any) -> Floats:
        return np.ascontiguousarray(self.encode(texts, "query"), dtype=np.float32)

    def encode_documents(self, texts: Sequence[str], *_: Any) -> Floats:
        return np.ascontiguousarray(self.encode(texts, "document"), dtype=np.float32)


ENCODERS = Family(
    "encoders",
    TextEncoder,
    {},  # networks are those of transformers and sentence-transformers, and need no kind
    what="encoder",
)
