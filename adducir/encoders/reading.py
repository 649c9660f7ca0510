"""Texts and contexts as token ids; a context is cut to what is nearest to its mask."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import InputError, UsageError

Ids = NDArray[np.int64]


class Reader:
    """A tokenizer that cuts.

    Args:
        tokenizer: From :func:`adducir.models.loading.load_tokenizer`.
        longest: The tokens that the network reads at most.
    """

    def __init__(self, tokenizer: Any, longest: int) -> None:
        self.tokenizer = tokenizer
        self.longest = longest
        self._before, self._after = _special(tokenizer)
        self.padding = int(tokenizer.pad_token_id or 0)

    @property
    def mask(self) -> str:
        """The mask token.

        Raises:
            InputError: The tokenizer has none.
        """
        token = self.tokenizer.mask_token
        if not token:
            raise InputError(
                "its tokenizer has no mask token.",
                path=self.tokenizer.name_or_path,
                hint="Set `mask: false`, or take another model.",
            )
        return str(token)

    def texts(self, texts: Sequence[str], length: int | None = None, prompt: str = "") -> list[Ids]:
        """Token ids of texts, cut at their ends.

        Args:
            length: Tokens, special ones included; None for as many as the network reads.
            prompt: What is put before each.
        """
        room = self._room(length)
        encoded = self._encode([prompt + text for text in texts])
        return [self._closed(np.array(one.ids[:room], dtype=np.int64)) for one in encoded]

    def contexts(
        self,
        contexts: Sequence[tuple[str, str]],
        length: int | None = None,
        *,
        side: int | None = None,
        masked: bool = True,
        prompt: str = "",
    ) -> list[Ids]:
        """Token ids of contexts, left and right text with the mask between.

        What is too long is cut at its outer ends: each side to ``side`` tokens, and then both
        together to ``length``, of which they keep equally much, and what a short side leaves free
        is the other's.

        Args:
            contexts: Left and right texts, from :func:`adducir.corpora.spans.context`.
            length: Tokens, special ones included; None for as many as the network reads.
            side: Tokens of each side, at most.
            masked: Whether the mask token stands in the gap.
            prompt: What is put before each; it is never cut.

        Raises:
            InputError: The tokenizer has no mask token.
            UsageError: ``length`` leaves no room beside prompt and mask.
        """
        gap = [self.mask] if masked else []
        lefts = [prompt + left for left, _ in contexts]
        joined = [
            " ".join(part for part in (left, *gap, right) if part)
            for left, (_, right) in zip(lefts, contexts, strict=True)
        ]
        room, found = self._room(length), []
        for one, left in zip(self._encode(joined), lefts, strict=True):
            ids = np.array(one.ids, dtype=np.int64)
            if len(ids) > (room if side is None else min(room, side)):
                ends = np.array([end for _, end in one.offsets], dtype=np.int64)
                before = int(np.searchsorted(ends, len(left), side="right"))
                kept = int(np.searchsorted(ends, len(prompt), side="right")) if prompt else 0
                within = 0
                if masked:
                    # To some tokenizers the blank before the mask is a token of its own.
                    marks = ids[before:] == self.tokenizer.mask_token_id
                    within = int(np.argmax(marks)) + 1
                ids = ids[_nearest(len(ids), before, kept, within, room, side)]
            found.append(self._closed(ids))
        return found

    def _room(self, length: int | None) -> int:
        most = self.longest if length is None else min(length, self.longest)
        room = most - len(self._before) - len(self._after)
        if room < 1:
            raise UsageError(f"{most} tokens leave no room beside the special ones.")
        return room

    def _encode(self, texts: list[str]) -> list[Any]:
        if not texts:
            return []
        found: list[Any] = self.tokenizer.backend_tokenizer.encode_batch(
            texts, add_special_tokens=False
        )
        return found

    def _closed(self, ids: Ids) -> Ids:
        return np.concatenate([self._before, ids, self._after])


def _nearest(
    count: int, before: int, kept: int, gap: int, room: int, side: int | None = None
) -> Ids:
    """The places of those tokens that stay.

    Args:
        count: All tokens.
        before: Those before the gap.
        kept: Those of the prompt, which are the first.
        gap: Those in the gap, the mask being the last; 0 without a mask.
        room: How many may stay.
        side: How many of each side.
    """
    free = room - kept - gap
    if free < 0:
        raise UsageError(f"{room} tokens leave no room beside the prompt.")
    most = count if side is None else side
    of_left, of_right = shared_room(
        min(before - kept, most), min(count - before - gap, most), max(free, 0)
    )
    places: Ids = np.r_[:kept, before - of_left : before + gap + of_right]
    return places


def shared_room(left: int, right: int, room: int) -> tuple[int, int]:
    """How many of the tokens on the left and on the right stay, where ``room`` may stay together.

    Both keep equally many, and what a short side leaves free is the other's.
    """
    of_left = min(left, max(room - right, room - room // 2))
    return of_left, min(right, room - of_left)


def _special(tokenizer: Any) -> tuple[Ids, Ids]:
    """The ids that stand before and behind every text."""
    bare = tokenizer.backend_tokenizer.encode("a", add_special_tokens=False).ids
    full = tokenizer.backend_tokenizer.encode("a", add_special_tokens=True).ids
    for start in range(len(full) - len(bare) + 1):
        if full[start : start + len(bare)] == bare:
            after = full[start + len(bare) :]
            return np.array(full[:start], dtype=np.int64), np.array(after, dtype=np.int64)
    raise InputError("its tokenizer changes words beside special tokens.")
