"""Encoders by name: one model for both sides, a pair, a trained one, or another kind.

An encoder of another package is named ``kind:base``; without a kind it is a Hugging Face network.
Packages add kinds through entry points ``adducir.encoders``.
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
    """A way to encode texts as vectors, compared by inner product.

    A subclass defines :meth:`encode`; the other methods match
    :class:`adducir.encoders.model.DualEncoder`. All fields are part of its identity.
    """

    settings: ClassVar[None] = None  # besides its fields
    base: str = Field("", description="The part of the encoder's name after the colon.")

    @abstractmethod
    def encode(self, texts: Sequence[str], side: Side) -> Floats:
        """(n, D) float32 vectors of at most some thousand texts, each independent of the others."""

    def to(self, device: "torch.device") -> "TextEncoder":
        return self

    def encode_contexts(self, spans: Sequence[MaskedSpan], *_: Any) -> Floats:
        return self.encode_queries([" ".join(filter(None, context(span))) for span in spans])

    def encode_queries(self, texts: Sequence[str], *_: Any) -> Floats:
        return np.ascontiguousarray(self.encode(texts, "query"), dtype=np.float32)

    def encode_documents(self, texts: Sequence[str], *_: Any) -> Floats:
        return np.ascontiguousarray(self.encode(texts, "document"), dtype=np.float32)


ENCODERS = Family("encoders", TextEncoder, {}, what="encoder")  # networks do not need a kind


@dataclass(frozen=True)
class EncoderSource:
    """The source of an encoder: one or two models, or another kind of encoder."""

    name: str
    query: ModelSource
    document: ModelSource
    folder: Path | None = None  # of an encoder trained with Adducir
    settings: Settings | None = None
    texts: TextEncoder | None = None  # another kind of encoder

    @property
    def is_shared(self) -> bool:
        return self.query is self.document

    @property
    def parts(self) -> list[str]:
        """The names of its one or two models."""
        pair = self.texts is None and not self.is_shared
        return [part.strip() for part in self.name.split(",")] if pair else [self.name]

    def identity(self) -> str:
        if self.texts is not None:
            kind = self.name.partition(":")[0]
            given = [self.texts.model_dump(mode="json"), ENCODERS.origin(kind)]
            return f"{kind}:{fingerprint(given)}"
        if self.is_shared:
            return self.query.identity()
        return f"pair:{fingerprint([self.query.identity(), self.document.identity()])}"

    def check(self) -> None:
        """Find the tokenizers, downloading if necessary; does not open weights."""
        if self.texts is None:
            for model in dict.fromkeys((self.query, self.document)):
                if self.folder is None:
                    model.local_tokenizer()


def refuse_tokenizer(tokenizer: str | None, path: Path) -> None:
    if tokenizer is not None:
        what = "an encoder trained with Adducir has its own tokenizer."
        raise InputError(what, path=path, hint="Leave `tokenizer` out.")


def encoder_source(
    name: str, folder: Path | None = None, tokenizer: str | None = None
) -> EncoderSource:
    """The source of an encoder's name, without downloads. Relative paths start in ``folder``.

    A name is one for :func:`adducir.models.sources.model_source`; two, comma-separated, for queries
    and documents; a trained encoder or its recipe; or ``kind:base``.
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
