"""The spans that an encoder learns from as token ids, made by shards.

They hang on the spans, on how they are divided (which are learnt from or held out at all), and on
how contexts and texts are read; not on weights, batches or rates. A store has of each span:

``context``, ``span``  int32, what the two towers read
``same``               int64, a number that spans of equal text share
``negatives``          int32, the hard negatives one behind the other, where some are read
``negative_ends``      int32, where each ends
``negative_same``      int64, the numbers of their texts
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from adducir.core.executors import Place
from adducir.core.fingerprint import fingerprint
from adducir.corpora.spans import MaskedSpan
from adducir.encoders.data import spans_of
from adducir.encoders.inputs import InputReader, SideReader
from adducir.encoders.layout import read_layout
from adducir.encoders.settings import Settings
from adducir.encoders.sources import EncoderSource
from adducir.training.division import DataPart, Division
from adducir.training.example_work import Encode, ExampleWork
from adducir.training.store import Array

KIND = "encoded-spans"
VERSION = 1
_PARTS = ("train", "validation")


@dataclass(frozen=True)
class SpanExamples(ExampleWork[MaskedSpan]):
    """The spans to learn from and those held out.

    Attributes:
        folder: The study's, where relative paths start.
        base: Whose tokenizers read them.
        settings: What is read of contexts and spans.
        negatives: Hard negatives of each span that are read, at most.
    """

    data: DataPart
    folder: Path
    base: EncoderSource
    settings: Settings
    negatives: int
    doing = "reading spans"
    unit = "spans"
    makes = "spans"
    counted = MappingProxyType({"tokens of contexts": "context", "tokens of spans": "span"})

    def reader(self) -> InputReader:
        """The tokenizers.

        Raises:
            InputError, MachineError: They cannot be loaded.
        """
        self.base.require_network()
        query = SideReader.load(self.base.query)
        document = query if self.base.is_shared else SideReader.load(self.base.document)
        return InputReader(query, document, self.settings)

    def check(self) -> None:
        self.reader()

    def items(self, *, check: bool) -> Iterator[MaskedSpan]:
        """See :class:`.Work`: what the files name twice is refused in any case."""
        del check
        return (span for span, _ in divided(spans_of(self.data, self.folder)))

    def describe(self, item: MaskedSpan) -> tuple[str, bytes]:
        read = [item.left, item.span, item.right, item.negatives[: self.negatives]]
        return item.id, json.dumps(read).encode("ascii")

    def encode(self, place: Place) -> Encode[MaskedSpan]:
        del place
        reader = self.reader()

        def examples(spans: Sequence[MaskedSpan]) -> list[dict[str, Array | np.generic]]:
            """What the towers read of spans."""
            contexts, texts = reader.contexts(spans), reader.documents([one.text for one in spans])
            return [
                {
                    "context": context.astype(np.int32),
                    "span": text.astype(np.int32),
                    "same": np.int64(same_of(span.text)),
                    **_negatives(reader, span.negatives[: self.negatives], self.negatives),
                }
                for span, context, text in zip(spans, contexts, texts, strict=True)
            ]

        return Encode(examples)


def divided(spans: Division[MaskedSpan]) -> Iterator[tuple[MaskedSpan, str]]:
    """Those spans that are learnt from or held out, each with its part."""
    return (one for one in spans if one[1] in _PARTS)


def reading_identity(base: EncoderSource) -> str:
    """What identifies how an encoder reads texts, whatever its weights.

    Raises:
        InputError: A file cannot be read.
    """
    base.require_network()
    sides = []
    for model in (base.query, base.document):
        layout = None if model.folder is None else read_layout(model.folder)
        kept = layout and [layout.length, dict(layout.prompts)]
        sides.append([model.reading_identity(), kept])
    return fingerprint(sides)


def same_of(text: str) -> int:
    """A number that texts share which answer each other's contexts: those that are equal."""
    words = " ".join(text.split()).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(words).digest()[:8], "little", signed=True)


def _negatives(reader: InputReader, chosen: Sequence[str], most: int) -> dict[str, Array]:
    """Hard negatives: their token ids in one row, where each ends, and their texts."""
    if not most:
        return {}
    read = reader.documents(chosen)
    return {
        "negatives": np.concatenate([np.zeros(0, dtype=np.int32), *read]).astype(np.int32),
        "negative_ends": np.cumsum([len(one) for one in read], dtype=np.int32),
        "negative_same": np.array([same_of(text) for text in chosen], dtype=np.int64),
    }
