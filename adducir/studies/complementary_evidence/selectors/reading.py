"""What a network reads of questions and passages, and which tokens of it make a vector.

A question alone is ``[CLS] q [SEP]``, a passage with its question ``[CLS] q [SEP] p [SEP]`` (Mou et
al., 2020, section 2.2), a passage alone ``[CLS] p [SEP]`` (for DRN). A passage's title stands
before its text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adducir.studies.complementary_evidence.questions import EvidenceQuestion, Passage

_TO_TEXT = 4
"""One in so many tokens is kept for the passage, however long the question is."""


@dataclass(frozen=True)
class Input:
    """An input of a network.

    Attributes:
        ids: (n,) token ids.
        types: (n,) the segment of each, 0 or 1.
        own: (n,) 1 at the tokens of what the vector is of: the passage's, or the question's.
        below: (n, d) float32 what enters the trained layers, where the others are frozen.
    """

    ids: NDArray[np.int64]
    types: NDArray[np.int64]
    own: NDArray[np.int64]
    below: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class EncodedQuestion:
    """The inputs of a question: itself, and its passages in their order."""

    question: Input
    passages: tuple[Input, ...]

    def __len__(self) -> int:
        """Tokens of all inputs."""
        return len(self.question) + sum(map(len, self.passages))


class Reader:
    """Makes inputs as a tokenizer's template has them.

    Args:
        length: Tokens of an input, at most, special ones included. A passage is cut at its end; a
            question only where it would leave less than a quarter for the passage.
    """

    def __init__(self, tokenizer: Any, length: int) -> None:
        self._backend = tokenizer.backend_tokenizer
        self._length = length

    def read(self, question: EvidenceQuestion, *, together: bool = True) -> EncodedQuestion:
        """The inputs of a question.

        Args:
            question: The question with its passages.
            together: Whether passages are read with the question, or alone.
        """
        texts = [text_of(passage) for passage in question.passages]
        alone = self._inputs([question.question])[0]
        pairs = [(question.question, text) for text in texts] if together else texts
        return EncodedQuestion(alone, tuple(self._inputs(pairs)))

    def _inputs(self, texts: Sequence[str] | Sequence[tuple[str, str]]) -> list[Input]:
        if not texts:
            return []
        side = int(not isinstance(texts[0], str))
        return [self._input(one, side) for one in self._backend.encode_batch(list(texts))]

    def _input(self, encoding: Any, side: int) -> Input:
        sides = np.array([-1 if side is None else side for side in encoding.sequence_ids])
        first, second = np.flatnonzero(sides == 0), np.flatnonzero(sides == 1)
        room = self._length - int((sides < 0).sum())
        least = min(len(second), room // _TO_TEXT)
        to_first = max(0, min(len(first), room - least))
        kept = np.ones(len(sides), dtype=bool)
        kept[first[to_first:]] = False
        kept[second[max(0, room - to_first) :]] = False
        return Input(
            np.array(encoding.ids, dtype=np.int64)[kept],
            np.array(encoding.type_ids, dtype=np.int64)[kept],
            (sides == side)[kept].astype(np.int64),
        )


def text_of(passage: Passage) -> str:
    """What is read of a passage: its title, a full stop, its text."""
    return f"{passage.title}. {passage.text}" if passage.title else passage.text
