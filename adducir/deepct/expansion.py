"""Corpora expanded by term weights: words repeated, or (word, count) pairs.

A word of weight w is repeated round(scale * w) times, or round(scale * sqrt(w)); weights below 0
count as 0, and halves are rounded to the even number, as numpy.round and so the original do. A word
that occurs several times in a passage (in the same lower-case form) counts once, with the greatest
of its weights; a word of several passages counts in each, since passages are joined again. A
document of which no word is left keeps each of its words once, so that none is lost.

Documents keep all their fields and get the field ``weighted``. So an index chooses what it counts:
``[conclusion, weighted]`` replaces the text by its weighted words, as the DeepCT study of argument
retrieval does; ``[conclusion, premise, weighted]`` adds them to it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import Field

from adducir.core.errors import InputError
from adducir.core.files import writing_bytes
from adducir.core.fingerprint import digest_of
from adducir.core.progress import progress
from adducir.core.recipe import Recipe
from adducir.corpora.documents import Corpus, Document
from adducir.deepct.model import Weighted
from adducir.deepct.recipe import Settings
from adducir.deepct.weighting import stored_weights
from adducir.deepct.words import match_key, words

WEIGHTED = "weighted"


class Rendering(Recipe):
    """How weights become counts.

    Attributes:
        scale: The count of a word of weight 1.
        transform: ``linear``, or ``sqrt`` of the weight.
    """

    scale: Annotated[float, Field(gt=0)] = 100.0
    transform: Literal["linear", "sqrt"] = "linear"

    def repetitions(self, weights: NDArray[np.float32]) -> NDArray[np.int64]:
        positive = np.maximum(weights.astype(np.float64), 0.0)
        if self.transform == "sqrt":
            positive = np.sqrt(positive)
        return np.rint(self.scale * positive).astype(np.int64)

    def is_lost(self, texts: Sequence[Weighted]) -> bool:
        has_words = any(text.words for text in texts)
        return has_words and not any(self.repetitions(text.weights).any() for text in texts)

    def counts(self, texts: Sequence[Weighted]) -> Iterator[dict[str, int]]:
        """For each passage the count of each word in lower case, in order of first appearance."""
        if self.is_lost(texts):
            yield {word.text.lower(): 1 for text in texts for word in text.words}
            return
        for text in texts:
            counts, start = self.repetitions(text.weights).tolist(), 0
            for size in text.owned:
                found: dict[str, int] = {}
                here = slice(start, start + size)
                for word, count in zip(text.words[here], counts[here], strict=True):
                    key = word.text.lower()
                    if count > found.get(key, 0):  # what was seen keeps its place in the order
                        found[key] = count
                yield found
                start += size


@dataclass(frozen=True)
class ExpandedCorpus:
    """The documents of a corpus with their weighted words; weights are opened when it is read."""

    base: Corpus
    weights: Path
    weights_fingerprint: str
    settings: Settings
    rendering: Rendering

    @property
    def source(self) -> str:
        return self.base.source

    @property
    def default_fields(self) -> tuple[str, ...]:
        kept = [name for name in self.base.default_fields if name not in self.settings.text]
        return (*kept, WEIGHTED)

    def weighed(self) -> Iterator[tuple[Document, list[Weighted]]]:
        return stored_weights(self.weights, self.settings, self.base)

    def __iter__(self) -> Iterator[Document]:
        for document, found in self.weighed():
            if WEIGHTED in document.fields:
                raise InputError(
                    f"the document {document.docno!r} already has a field {WEIGHTED!r}.",
                    path=self.source,
                    hint="Expand the original corpus.",
                )
            text = " ".join(
                " ".join([word] * count)
                for counts in self.rendering.counts(found)
                for word, count in counts.items()
            )
            yield Document(document.docno, {**document.fields, WEIGHTED: text})

    def identity(self) -> dict[str, Any]:
        return {
            "source": "expanded",
            "weights": self.weights_fingerprint,
            "rendering": self.rendering.model_dump(mode="json"),
            "stop_words": digest_of(self.settings.stop_words),
        }

    def size_hint(self) -> int | None:
        return self.base.size_hint()

    def places(self, docno: str) -> list[tuple[Path, int]]:
        return self.base.places(docno)

    def lost(self) -> int:
        """How many documents keep their words once, because no weight is great enough."""
        return sum(self.rendering.is_lost(found) for _, found in self.weighed())

    def _pairs(self, keep: Sequence[str]) -> Iterator[dict[str, Any]]:
        for document, found in self.weighed():
            total = Counter[str]()
            for counts in self.rendering.counts(found):
                total.update(counts)
            for name in keep:
                total.update(match_key(word.text) for word in words(document.fields.get(name, "")))
            yield {"docno": document.docno, "weights": total}

    def write(self, output: Path, *, pairs: bool = False, keep: Sequence[str] = ()) -> int:
        """Write JSON lines: documents, or ``{"docno": …, "weights": {…}}``, how often words count.

        Words of the fields ``keep`` count as often as they occur, beside the weighted ones.
        """
        every = ({"docno": docno, **fields} for docno, fields in self)
        count = 0
        with (
            progress().doing("expanding", self.size_hint(), "documents"),
            writing_bytes(output) as file,
        ):
            for line in self._pairs(keep) if pairs else every:
                file.write(orjson.dumps(line) + b"\n")
                count += 1
                progress().advance(1)
        return count
