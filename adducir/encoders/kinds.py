"""Encoders by name: one model for both sides, a pair, a trained one, or another kind.

An encoder of another package is named ``kind:base``; without a kind it is a Hugging Face network.
Packages add kinds through entry points ``adducir.encoders``.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import InputError, worded
from adducir.core.fingerprint import fingerprint, is_known
from adducir.core.recipe import Recipe
from adducir.core.registry import Family, numbers
from adducir.corpora.spans import MaskedSpan, context
from adducir.encoders.reading import Settings
from adducir.encoders.settings import EncodingSettings
from adducir.encoders.statement import Statement, shown, state
from adducir.models.folders import SIDES, Side, look, network_of
from adducir.models.sources import RECIPES, ModelSource, model_source, trained_folder

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float32]
_HALVES = {"DPRQuestionEncoder": "query", "DPRContextEncoder": "document"}


class TextEncoder(Recipe):
    """A way to encode texts as vectors, compared by inner product.

    A subclass defines :meth:`encode`; the other methods match
    :class:`adducir.encoders.model.DualEncoder`. All fields are part of its identity.
    """

    settings: ClassVar[None] = None  # besides its fields
    base: str = ""
    """The part of the encoder's name after the colon."""

    @classmethod
    def located(cls, base: str, folder: Path | None) -> str:
        """The base of a name that is relative to ``folder``, if it is a path."""
        return base

    def identity(self) -> Any:
        return self.model_dump(mode="json")

    @abstractmethod
    def encode(self, texts: Sequence[str], side: Side) -> Floats:
        """(n, D) float32 vectors of at most some thousand texts, each independent of the others."""

    def to(self, device: "torch.device") -> "TextEncoder":
        return self

    def encode_contexts(self, spans: Sequence[MaskedSpan], *_: Any) -> Floats:
        return self.encode_queries([" ".join(filter(None, context(span))) for span in spans])

    def encode_queries(self, texts: Sequence[str], *_: Any) -> Floats:
        return self._vectors(texts, "query")

    def encode_documents(self, texts: Sequence[str], *_: Any) -> Floats:
        return self._vectors(texts, "document")

    def _vectors(self, texts: Sequence[str], side: Side) -> Floats:
        found, meaning = self.encode(texts, side), "a vector per text"
        numbers(self, "encode", found, len(texts), -1, meaning=meaning)
        return np.ascontiguousarray(found, dtype=np.float32)


# Networks do not need a kind.
ENCODERS = Family(
    "encoders", TextEncoder, {"average": "adducir.encoders.average:Average"}, what="encoder"
)


@dataclass(frozen=True)
class EncoderSource:
    """The source of an encoder: one or two models, or another kind of encoder."""

    name: str
    query: ModelSource
    document: ModelSource
    folder: Path | None = None  # of an encoder trained with Adducir
    settings: Settings | None = None
    texts: TextEncoder | None = None  # another kind of encoder
    encoding: EncodingSettings = field(default_factory=EncodingSettings)  # set by the user
    # Of a training, whose recipe decides what a plain transformer leaves open.
    is_base: bool = False

    @property
    def is_shared(self) -> bool:
        return self.query is self.document

    def model(self, side: Side) -> ModelSource:
        return self.query if side == "query" else self.document

    @property
    def parts(self) -> list[str]:
        """The names of its one or two models."""
        pair = self.texts is None and not self.is_shared
        return [part.strip() for part in self.name.split(",")] if pair else [self.name]

    def identity(self, *, as_read: bool = True) -> str:
        """The identity of the weights and, if ``as_read``, of what their files do not state."""
        if self.texts is not None:
            kind = self.name.partition(":")[0]
            return f"{kind}:{fingerprint([self.texts.identity(), ENCODERS.origin(kind)])}"
        named = self.query.identity()
        if not self.is_shared:
            named = f"pair:{fingerprint([named, self.document.identity()])}"
        if not as_read or not is_known(named):  # its files cannot be read yet
            return named
        decided = ("pooling", "similarity") if self.is_base else ()  # by the recipe
        unstated = [self.stated(side).unstated(*decided) for side in SIDES]
        return f"{named} read:{fingerprint(unstated)[:32]}" if any(unstated) else named

    def stated(self, side: Side) -> Statement:
        """How a side reads and compares texts, by its files, its name and what is set."""
        return state(self.model(side), side, self.encoding, is_base=self.is_base)

    def check(self, *sides: Side) -> None:
        """Find the tokenizers, downloading if necessary; does not open weights.

        Args:
            sides: What the encoder encodes; half of a pair is refused for the other side.
        """
        if self.texts is not None:
            return
        for side in sides:
            model = self.model(side)
            if _HALVES.get(name := look(model).title, side) != side:
                encoded, wanted = _PLURALS[_HALVES[name]], _PLURALS[side]
                message = f"{model.name} encodes {encoded} ({name}), not {wanted}."
                hint = "Name the pair, queries first: `QUESTION-ENCODER,CONTEXT-ENCODER`."
                raise InputError(message, path=model.folder, hint=hint)
            self.stated(side)
        for model in dict.fromkeys((self.query, self.document)):
            if self.folder is None:
                model.local_tokenizer()


def described(source: EncoderSource) -> str:
    """How an encoder reads and compares texts, and where each value is from, in a line."""
    from adducir.models.loading import load_config, load_tokenizer, longest_input

    if source.texts is not None:
        return f"an encoder of the kind {source.name.partition(':')[0]}"
    statements = dict[Side, Statement]()
    for side in SIDES:
        network = network_of(source.model(side), side)
        longest = longest_input(load_config(network), load_tokenizer(network))
        statements[side] = source.stated(side).limited(f"{side}_length", longest)
    return shown(statements)


_PLURALS = {"query": "queries", "document": "documents"}


def refuse_tokenizer(tokenizer: str | None, path: Path) -> None:
    if tokenizer is not None:
        what = "an encoder trained with Adducir has its own tokenizer."
        raise InputError(what, path=path, hint="Leave `tokenizer` out.")


def encoder_source(
    name: str,
    folder: Path | None = None,
    tokenizer: str | None = None,
    encoding: EncodingSettings | None = None,
) -> EncoderSource:
    """The source of an encoder's name, without downloads. Relative paths start in ``folder``.

    Args:
        encoding: What is set of how it reads texts; only the fields of that class count.

    A name is one for :func:`adducir.models.sources.model_source`; two, comma-separated, for queries
    and documents; a trained encoder or its recipe; or ``kind:base``.
    """
    kind, colon, base = name.partition(":")
    path = (folder or Path()) / Path(name).expanduser()
    stated = encoding.given() if encoding else {}
    wanted = EncodingSettings(**stated)
    if colon and "/" not in kind and not path.exists():
        none = ModelSource(name)
        located = base and ENCODERS.kind(kind).located(base, folder)
        texts = ENCODERS.make(kind, {"base": located} if located else {})
        if stated:
            keys = ", ".join(map(worded, stated))
            raise InputError(f"{keys} cannot be set for an encoder of the kind {kind}.")
        return EncoderSource(name, none, none, texts=texts)
    one, comma, other = (part.strip() for part in name.partition(","))
    if comma:
        query, document = (model_source(side, folder, tokenizer) for side in (one, other))
        return EncoderSource(name, query, document, encoding=wanted)
    is_recipe = path.suffix in RECIPES
    if is_recipe:
        path = trained_folder(path, "encoder", absent=path.is_file())
    if path.is_dir():
        from adducir.training.trainable import note_older

        note_older(path)
    if not is_recipe and not (path / Settings.file).is_file():
        model = model_source(name, folder, tokenizer)
        return EncoderSource(name, model, model, encoding=wanted)
    refuse_tokenizer(tokenizer, path)
    model = ModelSource(name, path)
    return EncoderSource(name, model, model, path, Settings.load(path), encoding=wanted)
