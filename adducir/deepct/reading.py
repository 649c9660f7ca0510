"""How a term weighter reads passages: its tokenizer, without its network."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adducir.deepct.words import Word
from adducir.models.loading import load_config, load_tokenizer, longest_input
from adducir.models.sources import ModelSource

_NONE = -1


@dataclass(frozen=True)
class Encoded:
    """A passage as the network reads it.

    Attributes:
        ids: Token ids, the special ones included; at most as many as the network has positions.
        firsts: For each word the place of its first piece in ``ids``; -1 for a word that has none,
            because it is made of characters that the tokenizer drops, or lies behind the last id.
    """

    ids: NDArray[np.int64]
    firsts: NDArray[np.int64]


class Reader:
    """Cuts texts into word pieces.

    Args:
        tokenizer: From :func:`adducir.models.loading.load_tokenizer`.
        longest: Tokens of an input, the special ones included, at most.
    """

    def __init__(self, tokenizer: Any, longest: int) -> None:
        self._tokenizer, self._longest = tokenizer, longest

    @classmethod
    def of(cls, base: ModelSource) -> "Reader":
        """That of a pretrained model, whose weights are not loaded.

        Raises:
            InputError, MachineError: Its tokenizer cannot be loaded.
        """
        tokenizer = load_tokenizer(base)
        return Reader(tokenizer, longest_input(load_config(base), tokenizer))

    @property
    def most_pieces(self) -> int:
        """The word pieces that fit into the input beside the special tokens."""
        return self._longest - int(self._tokenizer.num_special_tokens_to_add(pair=False))

    def count_pieces(self, chunks: list[str]) -> list[int]:
        """The word pieces of each of some chunks of text."""
        if not chunks:
            return []
        encodings = self._tokenizer.backend_tokenizer.encode_batch(chunks, add_special_tokens=False)
        return [len(encoding) for encoding in encodings]

    def encode(
        self,
        texts: Sequence[str],
        words: Sequence[Sequence[Word]],
        longest: int | None = None,
    ) -> list[Encoded]:
        """Token ids of passages, and where in them each word begins.

        Args:
            longest: Tokens of an input, the special ones included, beyond which a passage is cut
                off; by default what the model can read.
        """
        longest = min(longest or self._longest, self._longest)
        if not texts:
            return []
        encodings = self._tokenizer.backend_tokenizer.encode_batch(list(texts))
        return [
            self._encoded(encoding, inside, longest)
            for encoding, inside in zip(encodings, words, strict=True)
        ]

    def _encoded(self, encoding: Any, words: Sequence[Word], longest: int) -> Encoded:
        ids = np.array(encoding.ids, dtype=np.int64)
        offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
        special = np.array(encoding.special_tokens_mask, dtype=np.int64)
        if len(ids) > longest:
            # The closing special token stays.
            kept = np.r_[: longest - 1, len(ids) - 1]
            ids, offsets, special = ids[kept], offsets[kept], special[kept]
        places = np.flatnonzero(special == 0)
        starts, ends = offsets[places, 0], offsets[places, 1]
        spans = np.array([word[:2] for word in words], dtype=np.int64).reshape(-1, 2)
        index = np.searchsorted(ends, spans[:, 0], side="right")
        inside = index < len(places)
        clipped = np.minimum(index, max(len(places) - 1, 0))
        if not len(places):
            return Encoded(ids, np.full(len(words), _NONE))
        inside &= starts[clipped] < spans[:, 1]
        return Encoded(ids, np.where(inside, places[clipped], _NONE))
