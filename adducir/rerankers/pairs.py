"""Networks that score pairs of a query and a text, and how pairs become their inputs."""

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import InputError
from adducir.models.running import PLAIN, Running
from adducir.models.work import Numbers, computed, padded, token_ids

if TYPE_CHECKING:
    import torch

Pair = tuple[str, str]
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Encoded:
    """A network's input: (n,) token ids, and segments if the network has them."""

    ids: Numbers
    types: Numbers | None = None

    def __len__(self) -> int:
        return len(self.ids)


def padded_pairs(
    batch: Sequence[Encoded], filler: int, device: "torch.device", *, is_left: bool = False
) -> "dict[str, torch.Tensor]":
    """What a network reads of a batch; with positions if padding comes first."""
    ids, mask = padded([row.ids for row in batch], filler, device, is_left=is_left)
    features = {"input_ids": ids, "attention_mask": mask}
    if types := [row.types for row in batch if row.types is not None]:
        features["token_type_ids"] = padded(types, 0, device, is_left=is_left)[0]
    if is_left:
        features["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)
    return features


class Pointwise(ABC):
    """A network with its tokenizer; kinds define ``encode`` and ``values``, or ``scores``."""

    network: Any = None
    tokenizer: Any
    running: Running = PLAIN
    is_left = False  # whether padding comes first

    def to(self, device: "torch.device") -> None:
        if self.network is not None:
            self.network.to(device)

    @staticmethod
    def room(most: int, special: int) -> int:
        """The tokens left for texts; with 4, a text keeps one beside any query (``fitted``)."""
        if most - special < 4:
            message = f"{most} tokens leave no room for texts besides the {special} in every input."
            raise InputError(message, hint="Raise `length` in the recipe.")
        return most - special

    def encode(self, pairs: Sequence[Pair]) -> list[Encoded]:
        raise NotImplementedError

    def features(self, batch: Sequence[Encoded]) -> "dict[str, torch.Tensor]":
        filler = self.tokenizer.pad_token_id or 0
        return padded_pairs(batch, filler, self.network.device, is_left=self.is_left)

    def values(self, batch: Sequence[Encoded]) -> "torch.Tensor":
        """(n,) the scores of encoded pairs."""
        raise NotImplementedError

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        """(n,) scores of pairs, higher is better; independent of other pairs unless listwise."""
        inputs = self.encode(pairs)

        def compute(numbers: Numbers) -> list[float]:
            return self.values([inputs[n] for n in numbers]).double().tolist()

        found = computed(self.network, list(map(len, inputs)), compute, self.running)
        return np.array(found, dtype=float)


def fitted(query: Numbers, text: Numbers, room: int) -> tuple[Numbers, Numbers]:
    """Cut a text to the room left by its query, and a query if it leaves less than a quarter."""
    query = query[: max(0, room - min(len(text), room // 4))]
    return query, text[: max(0, room - len(query))]


class PairReader:
    """Builds inputs from fixed ids before, between and after a query and a text.

    Args:
        types: The segments of these three, and of a query and a text, in the order of an input.
    """

    def __init__(
        self,
        tokenizer: Any,
        fixed: Sequence[Numbers],
        most: int,
        types: Sequence[Numbers] | None = None,
    ) -> None:
        self._tokenizer, self._fixed, self._types = tokenizer, fixed, types
        self._room = Pointwise.room(most, sum(map(len, fixed)))

    @property
    def padding(self) -> int:
        return int(self._tokenizer.pad_token_id or 0)

    def read(self, pairs: Sequence[Pair]) -> list[Encoded]:
        different = list(dict.fromkeys(text for pair in pairs for text in pair))
        read = token_ids(self._tokenizer, different, self._room)
        ids_of, (before, between, after) = dict(zip(different, read, strict=True)), self._fixed
        rows = []
        for query, text in pairs:
            ids, others = fitted(ids_of[query], ids_of[text], self._room)
            types = None
            if self._types is not None:
                first, of_query, second, of_text, last = self._types
                sides = np.full(len(ids), of_query[0]), np.full(len(others), of_text[0])
                types = np.concatenate((first, sides[0], second, sides[1], last))
            rows.append(Encoded(np.concatenate((before, ids, between, others, after)), types))
        return rows


def by_query(pairs: Sequence[Pair]) -> dict[str, list[int]]:
    """The numbers of each query's pairs."""
    numbers = dict[str, list[int]]()
    for number, (query, _) in enumerate(pairs):
        numbers.setdefault(query, []).append(number)
    return numbers
