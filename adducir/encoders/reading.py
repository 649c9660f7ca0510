"""Encoders' inputs: texts and contexts as token ids, cut to what is nearest to the mask."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from adducir.core.errors import InputError, UsageError, worded
from adducir.core.recipe import Recipe
from adducir.corpora.spans import MaskedSpan, context
from adducir.models.artifacts import ModelSettings
from adducir.models.work import token_ids

Ids = NDArray[np.int64]
Some = Annotated[int, Field(ge=0)] | None
Towers = Literal["separate", "shared"]


class ContextRecipe(Recipe):
    """What to read of a context, None for all; see :func:`adducir.corpora.spans.context`."""

    left: Some = None
    """The nearest sentences left of the mask."""
    right: Some = None
    """The nearest sentences right of the mask."""
    words: Some = None
    """The nearest words on each side, after the cut to sentences."""
    tokens: Some = None
    """The nearest tokens on each side, after that, as the system counts them: word pieces; words
    for BM25."""

    def text(self, span: MaskedSpan) -> str:
        """Both sides as one text without a mask; tokens are words."""
        limits = [limit for limit in (self.words, self.tokens) if limit is not None]
        sides = context(span, self.left, self.right, min(limits, default=None))
        return " ".join(filter(None, sides))


class ContextPart(ContextRecipe):
    mask: bool = True
    """Whether to put a mask token in the gap."""


class LengthPart(Recipe):
    """Maximum tokens, including special ones; None for the network's maximum."""

    context: Annotated[int, Field(ge=4)] | None = None
    """Maximum tokens of a context, which is cut at its outer ends."""
    span: Annotated[int, Field(ge=3)] | None = None
    """Maximum tokens of a span or document, which is cut at its end."""


class Settings(ModelSettings):
    """How a trained encoder reads; stored beside its weights."""

    file: ClassVar = "encoder.json"
    what: ClassVar = "not an encoder trained with Adducir"

    context: ContextPart = ContextPart(mask=False)
    """What is read of a context."""
    lengths: LengthPart = LengthPart()
    """Maximum tokens of contexts, spans and documents."""


@dataclass(frozen=True)
class Reader:
    """A tokenizer that cuts to ``longest`` tokens; ``prompt`` precedes each text.

    With ``is_pair`` prompt and text are two texts to the tokenizer, with a separator between.

    Attributes:
        special: Whether the tokenizer adds its special tokens.
        filler: The id that extends each text to ``longest`` tokens, if any.
        marker: The id behind the opening special tokens, if any.
        cut: How many texts were cut since they were last counted.
    """

    tokenizer: Any
    longest: int
    prompt: str = ""
    special: bool = True
    filler: int | None = None
    is_pair: bool = False
    marker: int | None = None
    cut: Counter[str] = field(default_factory=Counter, compare=False)

    @property
    def padding(self) -> int:
        return int(self.tokenizer.pad_token_id or 0)

    def texts(self, texts: Sequence[str], length: int | None = None) -> list[Ids]:
        """Token ids of texts, cut at the tokenizer's side to ``length``, including special ones."""
        before, after, room = self.specials(length)
        prompted = texts if self.is_pair else [self.prompt + text for text in texts]
        from_end = self.tokenizer.truncation_side == "left"
        inner = token_ids(self.tokenizer, prompted, room + 1, from_end=from_end)
        self.cut["texts"] += sum(len(ids) > room for ids in inner)
        kept = slice(-room, None) if from_end else slice(room)
        whole = [np.concatenate([before, ids[kept], after]) for ids in inner]
        if self.filler is not None:
            most = self.longest if length is None else min(length, self.longest)
            behind = [(0, most - len(ids)) for ids in whole]
            whole = [
                np.pad(ids, some, constant_values=self.filler)
                for ids, some in zip(whole, behind, strict=True)
            ]
        return whole

    @cached_property
    def prompt_length(self) -> int:
        """The prompt's tokens, as sentence-transformers counts them for its pooling."""
        if not self.prompt:
            return 0
        if self.is_pair:
            return len(self.specials()[0])
        (ids,) = replace(self, filler=None).texts([""])
        return len(ids) - (self.special and ids[-1] in self.tokenizer.all_special_ids)

    def contexts(
        self,
        contexts: Sequence[tuple[str, str]],
        length: int | None = None,
        *,
        side: int | None = None,
        masked: bool = True,
    ) -> list[Ids]:
        """Token ids of left and right texts, with the mask between if ``masked``.

        Long inputs are cut at the outer ends: each side to ``side`` tokens, then both equally to
        ``length``, including special ones; a short side leaves room for the other.
        """
        mask, prompt = self.tokenizer.mask_token, self.prompt
        if masked and not mask:
            message = "its tokenizer lacks a mask token."
            hint = "Set `mask: false`, or use another model."
            raise InputError(message, path=self.tokenizer.name_or_path, hint=hint)
        before, after, room = self.specials(length)
        sides_of = [(prompt + left, mask if masked else "", right) for left, right in contexts]
        encode, rows = self.tokenizer.backend_tokenizer.encode_batch, []
        texts = [" ".join(filter(None, some)) for some in sides_of]
        encodings = encode(texts, add_special_tokens=False) if texts else []
        for encoding, (left, *_) in zip(encodings, sides_of, strict=True):
            ids = np.array(encoding.ids, dtype=np.int64)
            if len(ids) > (room if side is None else min(room, side)):
                ends = np.array([end for _, end in encoding.offsets], dtype=np.int64)
                on_left = int(np.searchsorted(ends, len(left), side="right"))
                kept = int(np.searchsorted(ends, len(prompt), side="right")) if prompt else 0
                within = 0
                if masked:
                    # For some tokenizers, the blank before the mask is a separate token.
                    marks = ids[on_left:] == self.tokenizer.mask_token_id
                    within = int(np.argmax(marks)) + 1
                free = room - kept - within
                if free < 0:
                    raise UsageError(f"{room} tokens leave no room for text after the prompt.")
                most = len(ids) if side is None else side
                sides = min(on_left - kept, most), min(len(ids) - on_left - within, most)
                of_left, of_right = shared_room(*sides, free)
                ids = ids[np.r_[:kept, on_left - of_left : on_left + within + of_right]]
            rows.append(np.concatenate([before, ids, after]))
        return rows

    def specials(self, length: int | None = None) -> tuple[Ids, Ids, int]:
        """The ids before and after every text, and how many ids fit between."""
        most = self.longest if length is None else min(length, self.longest)
        if not self.special:
            none = np.zeros(0, dtype=np.int64)
            return none, none, most
        encode = self.tokenizer.backend_tokenizer.encode
        bare = encode("a", add_special_tokens=False).ids
        whole = encode(self.prompt, "a").ids if self.is_pair else encode("a").ids
        places = [n for n in range(len(whole)) if whole[n : n + len(bare)] == bare]
        start = places[-1 if self.is_pair else 0] if places else None
        if start is None:
            raise InputError("its tokenizer changes words next to special tokens.")
        opening = [*whole[:start], *([] if self.marker is None else [self.marker])]
        before, after = (
            np.array(ids, dtype=np.int64) for ids in (opening, whole[start + len(bare) :])
        )
        room = most - len(before) - len(after)
        if room < 1:
            message = f"{most} tokens leave no room besides special ones."
            hint = f"Raise {worded('query_length')} or {worded('document_length')}."
            raise UsageError(message, hint=hint)
        return before, after, room


@dataclass(frozen=True)
class InputReader:
    query: Reader
    document: Reader
    settings: Settings

    def contexts(self, spans: Sequence[MaskedSpan]) -> list[Ids]:
        part = self.settings.context
        return self._pairs([context(span, part.left, part.right, part.words) for span in spans])

    def counted_cuts(self) -> int:
        """How many texts were cut at their maximum since the last call."""
        readers = {id(reader): reader for reader in (self.query, self.document)}.values()
        return sum(reader.cut.pop("texts", 0) for reader in readers)

    def queries(self, texts: Sequence[str]) -> list[Ids]:
        """Token ids of free queries; an encoder of masked contexts reads them as left contexts."""
        if self.settings.context.mask:
            return self._pairs([(text, "") for text in texts])
        return self.query.texts(texts, self.settings.lengths.context)

    def documents(self, texts: Sequence[str]) -> list[Ids]:
        return self.document.texts(texts, self.settings.lengths.span)

    def _pairs(self, pairs: Sequence[tuple[str, str]]) -> list[Ids]:
        part, length = self.settings.context, self.settings.lengths.context
        return self.query.contexts(pairs, length, side=part.tokens, masked=part.mask)


def shared_room(left: int, right: int, room: int) -> tuple[int, int]:
    """How many tokens of each side fit in ``room``: half each, plus what the other leaves free."""
    of_left = min(left, max(room - right, room - room // 2))
    return of_left, min(right, room - of_left)
