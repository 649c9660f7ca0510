"""Encoders by name: one model for both sides, a pair, one that Adducir trained, or another kind.

An encoder of another package is named ``kind:base``; without a kind it is a network of Hugging
Face. Packages add kinds by the entry-point group ``adducir.encoders``.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from adducir.core.errors import InputError
from adducir.core.fingerprint import fingerprint
from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.corpora.spans import MaskedSpan, context
from adducir.encoders.reading import Settings
from adducir.models.sources import RECIPES, ModelSource, model_source, trained_folder

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float32]
Side = Literal["query", "document"]


class TextEncoder(Recipe):
    """A way to make vectors of texts, which are compared by inner product.

    A subclass gives :meth:`encode`; the other methods are those of
    :class:`adducir.encoders.model.DualEncoder`. All its fields are part of its identity.
    """

    settings: ClassVar[None] = None  # beside its fields
    base: str = Field("", description="What stands behind the colon of the encoder's name.")

    @abstractmethod
    def encode(self, texts: Sequence[str], side: Side) -> Floats:
        """(n, D) float32 vectors of some thousand texts at most, each of its text alone."""

    def to(self, device: "torch.device") -> "TextEncoder":
        return self

    def encode_contexts(self, spans: Sequence[MaskedSpan], *_: Any) -> Floats:
        return self.encode_queries([" ".join(filter(None, context(span))) for span in spans])

    def encode_queries(self, texts: Sequence[str], *_: Any) -> Floats:
        return np.ascontiguousarray(self.encode(texts, "query"), dtype=np.float32)

    def encode_documents(self, texts: Sequence[str], *_: Any) -> Floats:
        return np.ascontiguousarray(self.encode(texts, "document"), dtype=np.float32)


ENCODERS = Family("encoders", TextEncoder, {}, what="encoder")  # networks need no kind


@dataclass(frozen=True)
class EncoderSource:
    """Where an encoder comes from: two models or one, or an encoder of another kind."""

    name: str
    query: ModelSource
    document: ModelSource
    folder: Path | None = None  # of an encoder that Adducir trained
    settings: Settings | None = None
    texts: TextEncoder | None = None  # an encoder of another kind

    @property
    def is_shared(self) -> bool:
        return self.query is self.document

    def identity(self) -> str:
        if self.texts is not None:
            kind = self.name.partition(":")[0]
            given = [self.texts.model_dump(mode="json"), ENCODERS.origin(kind)]
            return f"{kind}:{fingerprint(given)}"
        if self.is_shared:
            return self.query.identity()
        return f"pair:{fingerprint([self.query.identity(), self.document.identity()])}"

    def check(self) -> None:
        """Find the tokenizers, fetched where need be; weights are not opened."""
        if self.texts is None:
            for model in dict.fromkeys((self.query, self.document)):
                if self.folder is None:
                    model.local_tokenizer()


def refuse_tokenizer(tokenizer: str | None, path: Path) -> None:
    if tokenizer is not None:
        what = "an encoder that Adducir trained has its tokenizer."
        raise InputError(what, path=path, hint="Leave `tokenizer` out.")


def encoder_source(
    name: str, folder: Path | None = None, tokenizer: str | None = None
) -> EncoderSource:
    """What an encoder's name stands for; nothing is fetched. Relative paths start in ``folder``.

    A name is one that :func:`adducir.models.sources.model_source` takes; two with a comma between,
    for queries and documents; an encoder that Adducir trained, or its recipe; or ``kind:base``.
    """
    kind, colon, base = name.partition(":")
    path = (folder or Path()) / Path(name).expanduser()
    if colon and "/" not in kind and not path.exists():
        none = ModelSource(name)
        texts = ENCODERS.make(kind, {"base": base} if base else {})
        return EncoderSource(name, none, none, texts=texts)
    one, comma, other = (part.strip() for part in name.partition(","))
    if comma:
        query, document = (model_source(side, folder, tokenizer) for side in (one, other))
        return EncoderSource(name, query, document)
    if path.suffix in RECIPES:
        path = trained_folder(path, "encoder", absent=path.is_file())
    elif not (path / Settings.file).is_file():
        model = model_source(name, folder, tokenizer)
        return EncoderSource(name, model, model)
    refuse_tokenizer(tokenizer, path)
    model = ModelSource(name, path)
    return EncoderSource(name, model, model, path, Settings.load(path))
