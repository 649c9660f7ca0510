"""Token ids of queries and texts: the query whole, the text cut, padding last.

Each part of an input is made into ids by itself, and the parts are joined. BERT's word pieces and
T5's sentence pieces never reach across white space, so that these are the ids of the whole text;
but the part that may be cut is known, and each query is read once.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adducir.models.loading import longest_input
from adducir.models.work import padded

if TYPE_CHECKING:
    import torch

Ids = NDArray[np.int64]

_BLANK = re.compile(r"\s")
_CHARACTERS = 24
"""Characters of a long text that are read first, for each id that is wanted."""


@dataclass(frozen=True)
class Encoded:
    """An input of a network: its (n,) token ids, and the segment of each, 0 or 1."""

    ids: Ids
    types: Ids

    def __len__(self) -> int:
        return len(self.ids)


def token_ids(tokenizer: Any, texts: Sequence[str], most: int) -> list[Ids]:
    """The first ``most`` ids of texts without special ones; a long text is read in part."""

    def read(some: list[str]) -> list[Ids]:
        encode = tokenizer.backend_tokenizer.encode_batch_fast
        encodings = encode(some, add_special_tokens=False) if some else []
        return [np.array(one.ids[:most], dtype=np.int64) for one in encodings]

    ends = (_BLANK.search(text, most * _CHARACTERS) for text in texts)
    starts = [text[: end.start()] if end else text for text, end in zip(texts, ends, strict=True)]
    found = read(starts)
    cut = [number for number, start in enumerate(starts) if len(start) < len(texts[number])]
    short = [number for number in cut if len(found[number]) < most]
    for number, ids in zip(short, read([texts[n] for n in short]), strict=True):
        found[number] = ids
    return found


def fitted(query: Ids, text: Ids, room: int) -> tuple[Ids, Ids]:
    """Cut a text to the room beside its query, and only a query that leaves it under a quarter."""
    query = query[: max(0, room - min(len(text), room // 4))]
    return query, text[: max(0, room - len(query))]


def fitted_pairs(
    tokenizer: Any, pairs: Sequence[tuple[str, str]], room: int
) -> list[tuple[Ids, Ids]]:
    different = list(dict.fromkeys(text for pair in pairs for text in pair))
    ids = dict(zip(different, token_ids(tokenizer, different, room), strict=True))
    return [fitted(ids[query], ids[text], room) for query, text in pairs]


class PairReader:
    """Makes inputs such as ``[CLS] query [SEP] text [SEP]`` as a tokenizer's template has them."""

    def __init__(self, tokenizer: Any, config: Any, length: int | None) -> None:
        self._tokenizer = tokenizer
        self._has_types = int(getattr(config, "type_vocab_size", 0) or 0) > 1
        sample = tokenizer.backend_tokenizer.encode("a", "a")
        sides = np.array([-1 if side is None else side for side in sample.sequence_ids])
        first, second = np.flatnonzero(sides == 0), np.flatnonzero(sides == 1)
        cuts = [first[0], first[-1] + 1, second[0], second[-1] + 1]
        both = (np.array(some, dtype=np.int64) for some in (sample.ids, sample.type_ids))
        self._ids, self._types = (np.split(some, cuts) for some in both)
        special = sum(map(len, self._ids[::2]))
        self._room = longest_input(config, tokenizer, length) - special

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
        (one, _, two, _, three), (types_1, own, types_2, other, types_3) = self._ids, self._types
        found = []
        for query, text in fitted_pairs(self._tokenizer, pairs, self._room):
            ids = np.concatenate((one, query, two, text, three))
            sides = np.full(len(query), own[0]), np.full(len(text), other[0])
            types = np.concatenate((types_1, sides[0], types_2, sides[1], types_3))
            found.append(Encoded(ids, types))
        return found

    def padded(self, batch: Sequence[Encoded], device: "torch.device") -> "dict[str, torch.Tensor]":
        ids, mask = padded([one.ids for one in batch], self._tokenizer.pad_token_id or 0, device)
        found = {"input_ids": ids, "attention_mask": mask}
        if self._has_types:
            found["token_type_ids"] = padded([one.types for one in batch], 0, device)[0]
        return found
