"""The pairs that a cross-encoder learns from as token ids, made by shards.

They hang on what the pairs are made from, on leak control and on how they are read; not on weights
or rates. A store has of each pair:

``ids``, ``types``  int32 and int8, what the network reads
``label``           float32
``query``           int64, the place of its query in the order by which queries are held out

To find pairs may take several passes over a corpus. So they are found once, and kept beside the
shards until all are made.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np

from adducir.core.executors import Place
from adducir.core.files import publishing
from adducir.models.loading import load_config, load_tokenizer, longest_input
from adducir.models.sources import ModelSource
from adducir.rerankers.examples import Counts, Example, held_out_order
from adducir.rerankers.inputs import PairReader
from adducir.rerankers.pair_source import PairSource
from adducir.training.example_work import Encode, ExampleWork
from adducir.training.store import Array

KIND = "encoded-pairs"
VERSION = 1
SHARED = ("ids", "types", "label")
"""The columns that examples have from here."""
_SPOOL = "pairs.jsonl"


@dataclass(frozen=True)
class PairExamples(ExampleWork[Example]):
    """All pairs of a recipe.

    Attributes:
        base: Whose tokenizer reads them.
        length: Tokens of an input; by default as many as the model has positions.
        seed: Of what is held out.
    """

    source: PairSource
    base: ModelSource
    length: int | None
    seed: int
    doing = "reading pairs"
    unit = "pairs"
    makes = "pairs"
    counted = MappingProxyType({"tokens": "ids"})

    def reader(self) -> PairReader:
        """The tokenizer.

        Raises:
            InputError, MachineError: It cannot be loaded.
        """
        tokenizer = load_tokenizer(self.base)
        return PairReader(tokenizer, longest_input(load_config(self.base), tokenizer, self.length))

    def check(self) -> None:
        self.reader()

    def items(self, *, check: bool) -> Iterator[Example]:
        del check
        return (Example(*one) for one in self._kept() if isinstance(one, list))

    def describe(self, item: Example) -> tuple[str, bytes]:
        return item.query, json.dumps(item).encode("ascii")

    def counts(self) -> dict[str, Any]:
        """What became of the judgements or pairs."""
        (found,) = (one for one in self._kept() if isinstance(one, dict))
        return {"source": found}

    def encode(self, place: Place) -> Encode[Example]:
        del place
        reader = self.reader()

        def examples(pairs: Sequence[Example]) -> list[dict[str, Array | np.generic]]:
            """What the network reads of pairs."""
            read = reader.read([(one.query, one.text) for one in pairs])
            return [
                {
                    "ids": encoded.ids.astype(np.int32),
                    "types": encoded.types.astype(np.int8),
                    "label": np.float32(one.label),
                    "query": np.int64(held_out_order(one.query, self.seed)),
                }
                for one, encoded in zip(pairs, read, strict=True)
            ]

        return Encode(examples)

    def _kept(self) -> Iterator[Any]:
        """The pairs that were found, or are now, as lists; and last, as a mapping, the counts."""
        if self.spool is None:
            raise ValueError("pairs are kept while they are read: say where")
        path = self.spool / _SPOOL
        if not path.is_file():
            self.spool.mkdir(parents=True, exist_ok=True)
            self._find(path)
        with path.open("rb") as lines:
            yield from map(json.loads, lines)

    def _find(self, path: Path) -> None:
        """Find all pairs, and write them to a file, whole or not at all."""
        counts = Counts()
        with (
            TemporaryDirectory(dir=path.parent) as scratch,
            publishing(path) as hidden,
            hidden.open("w", encoding="ascii") as file,
        ):
            for one in counts.counted(self.source.examples(counts, Path(scratch))):
                file.write(json.dumps(one) + "\n")
            file.write(json.dumps(counts.record()) + "\n")
