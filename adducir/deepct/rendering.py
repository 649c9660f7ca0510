"""From term weights to text that an index counts: words repeated, or (word, count) pairs.

A word of weight w comes round(scale * w) times, or round(scale * sqrt(w)); weights below 0 count as
0, and halves are rounded to the even number, as numpy.round and so the original do. A word that
comes several times in a passage (in the same lower-case form) counts once, with the greatest of its
weights; a word of several passages comes as often as in all of them, since passages are joined
again. A text of which no word is left keeps each of its words once, so that no document is lost.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from adducir.core.recipe import Recipe
from adducir.deepct.weighting import Weighted


class Rendering(Recipe):
    """How weights become counts.

    Attributes:
        scale: The count of a word of weight 1.
        transform: ``linear``, or ``sqrt`` of the weight.
    """

    scale: Annotated[float, Field(gt=0)] = 100.0
    transform: Literal["linear", "sqrt"] = "linear"


def repetitions(weights: NDArray[np.float32], rendering: Rendering) -> NDArray[np.int64]:
    """How often words of these weights come."""
    positive = np.maximum(weights.astype(np.float64), 0.0)
    if rendering.transform == "sqrt":
        positive = np.sqrt(positive)
    return np.rint(rendering.scale * positive).astype(np.int64)


def passage_counts(text: Weighted, rendering: Rendering) -> Iterator[dict[str, int]]:
    """For each passage the count of each word in lower case, in order of first appearance."""
    counts = repetitions(text.weights, rendering)
    start = 0
    for size in text.owned:
        found: dict[str, int] = {}
        for word, count in zip(
            text.words[start : start + size], counts[start : start + size].tolist(), strict=True
        ):
            key = word.text.lower()
            if count > found.get(key, 0):
                # What was seen keeps its place in the order.
                found[key] = count
        yield found
        start += size


def is_lost(texts: Sequence[Weighted], rendering: Rendering) -> bool:
    """Whether texts have words, but none of them is left."""
    has_words = any(text.words for text in texts)
    return has_words and not any(repetitions(text.weights, rendering).any() for text in texts)


def weighted_text(texts: Sequence[Weighted], rendering: Rendering) -> str:
    """The words of a document's texts, each repeated; passages and texts in their order."""
    if is_lost(texts, rendering):
        return " ".join(once(texts))
    return " ".join(
        " ".join([word] * count)
        for text in texts
        for counts in passage_counts(text, rendering)
        for word, count in counts.items()
    )


def weighted_counts(texts: Sequence[Weighted], rendering: Rendering) -> dict[str, int]:
    """The counts of the words of a document's texts: those that :func:`weighted_text` writes."""
    if is_lost(texts, rendering):
        return dict.fromkeys(once(texts), 1)
    return _summed(c for text in texts for c in passage_counts(text, rendering))


def once(texts: Sequence[Weighted]) -> list[str]:
    """Each different word of the texts in lower case."""
    return list(dict.fromkeys(word.text.lower() for text in texts for word in text.words))


def _summed(many: Iterator[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for counts in many:
        for word, count in counts.items():
            total[word] = total.get(word, 0) + count
    return total
