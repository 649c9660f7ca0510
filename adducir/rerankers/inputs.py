"""Token ids of queries and texts: the query whole, the text cut, padding last.

Each part of an input is made into ids by itself, and the parts are joined. BERT's word pieces and
T5's sentence pieces never reach across white space, so that these are the ids of the whole text;
but the part that may be cut is known, and each query is read once.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import InputError

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
    """The first ``most`` ids of texts, without special ones.

    Of a long text only the beginning is read, up to a blank, where that suffices.
    """

    def read(some: list[str]) -> list[Ids]:
        encode = tokenizer.backend_tokenizer.encode_batch_fast
        encodings = encode(some, add_special_tokens=False) if some else []
        return [np.array(one.ids[:most], dtype=np.int64) for one in encodings]

    starts = []
    for text in texts:
        blank = _BLANK.search(text, most * _CHARACTERS)
        starts.append(text[: blank.start()] if blank else text)
    found = read(starts)
    short = [
        number
        for number, (text, start) in enumerate(zip(texts, starts, strict=True))
        if len(start) < len(text) and len(found[number]) < most
    ]
    for number, ids in zip(short, read([texts[n] for n in short]), strict=True):
        found[number] = ids
    return found


def ids_by_text(tokenizer: Any, texts: Iterable[str], most: int) -> dict[str, Ids]:
    """The first ids of each different text."""
    different = list(dict.fromkeys(texts))
    return dict(zip(different, token_ids(tokenizer, different, most), strict=True))


def fitted(query: Ids, text: Ids, room: int) -> tuple[Ids, Ids]:
    """Cut a text to what fits with its query, and only a query that leaves it less than a quarter.

    Args:
        room: How many ids the two may have together.
    """
    query = query[: max(0, room - min(len(text), room // 4))]
    return query, text[: max(0, room - len(query))]


class PairReader:
    """Makes inputs such as ``[CLS] query [SEP] text [SEP]`` as a tokenizer's template has them.

    Args:
        length: Ids of an input, the special ones included.
    """

    def __init__(self, tokenizer: Any, length: int) -> None:
        self._tokenizer = tokenizer
        sample = tokenizer.backend_tokenizer.encode("a", "a")
        sides = np.array([-1 if side is None else side for side in sample.sequence_ids])
        first, second = np.flatnonzero(sides == 0), np.flatnonzero(sides == 1)
        ids = np.array(sample.ids, dtype=np.int64)
        types = np.array(sample.type_ids, dtype=np.int64)
        parts = (slice(0, first[0]), slice(first[-1] + 1, second[0]), slice(second[-1] + 1, None))
        self._special = [(ids[part], types[part]) for part in parts]
        self._types = (types[first[0]], types[second[0]])
        self._room = length - sum(len(one) for one, _ in self._special)

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
        """The inputs of pairs of query and text."""
        queries = ids_by_text(self._tokenizer, (query for query, _ in pairs), self._room)
        texts = ids_by_text(self._tokenizer, (text for _, text in pairs), self._room)
        (one, types_1), (two, types_2), (three, types_3) = self._special
        found = []
        for pair in pairs:
            query, text = fitted(queries[pair[0]], texts[pair[1]], self._room)
            first, second = np.full(len(query), self._types[0]), np.full(len(text), self._types[1])
            ids = np.concatenate((one, query, two, text, three))
            found.append(Encoded(ids, np.concatenate((types_1, first, types_2, second, types_3))))
        return found


def special_id(tokenizer: Any, name: str) -> int:
    """The id of a special token, such as ``pad_token``."""
    found = getattr(tokenizer, f"{name}_id")
    if not isinstance(found, int):
        raise InputError(f"this model's tokenizer has no `{name}`.", path=tokenizer.name_or_path)
    return found


def first_id(network: Any) -> int:
    """The id that a decoder's answer begins with."""
    found = network.config.decoder_start_token_id
    if not isinstance(found, int) or not 0 <= found < network.config.vocab_size:
        raise InputError(
            "its configuration has no `decoder_start_token_id` of its vocabulary.",
            path=network.name_or_path,
        )
    return found
