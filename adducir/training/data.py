"""The rows that a model is trained on: one split, one file of Arrow for each part.

Which part a name (a document, a book, a query) falls into depends on the name, the seed and the
shares alone: a seeded hash, as in :mod:`adducir.training.data`. So variants of a corpus hold
out the same documents, and what one study trains on is not what another tests on.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, model_validator

from adducir.core.errors import UsageError
from adducir.core.files import publishing, writing_text
from adducir.core.recipe import Recipe
from adducir.corpora.splitting import PARTS, part_of

if TYPE_CHECKING:
    from datasets import Dataset, Features

Share = Annotated[float, Field(ge=0, lt=1)]
Rows = Iterable[tuple[str, Mapping[str, Any]]]
"""Rows, each with its part: train, validation or test."""


class HeldOut(Recipe):
    """What is kept from training.

    Attributes:
        share: The share of the names for validation.
        test: The share that training never sees.
    """

    share: Share = 0.1
    test: Share = 0.0
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0

    @model_validator(mode="after")
    def _leaves_some(self) -> Self:
        if self.share + self.test >= 1:
            raise ValueError("`share` and `test` leave nothing to train on")
        return self

    def part_of(self, name: str) -> str:
        """The part of a name."""
        train = 1 - self.share - self.test
        return part_of(
            name, {"train": train, "validation": self.share, "test": self.test}, self.seed
        )


@dataclass(frozen=True)
class TrainingData:
    """Rows to train on, to validate with and to test with, and what became of the sources.

    Attributes:
        counts: Plain values, for the manifest and the model card.
    """

    train: "Dataset"
    validation: "Dataset"
    test: "Dataset"
    counts: dict[str, Any]


def stored(
    folder: Path, features: Mapping[str, str], rows: Callable[[dict[str, Any]], Rows]
) -> TrainingData:
    """Rows in files that are written once, and read row by row.

    Args:
        folder: Where they are kept; what is there from a training that was killed is read.
        features: The type of each column; ``[int32]`` is a list of numbers.
        rows: Yields the rows, and fills the dictionary that it is given with counts.
    """
    from datasets import Dataset

    folder.mkdir(parents=True, exist_ok=True)
    paths, counted = {part: folder / f"{part}.arrow" for part in PARTS}, folder / "counts.json"
    if not counted.exists():
        counts: dict[str, Any] = {}
        _write(paths, features, rows(counts))
        with writing_text(counted) as handle:
            json.dump(counts, handle)
    train, validation, test = (
        Dataset.from_file(str(paths[part])).with_format("numpy") for part in PARTS
    )
    return TrainingData(train, validation, test, json.loads(counted.read_text(encoding="utf-8")))


def _write(paths: Mapping[str, Path], features: Mapping[str, str], rows: Rows) -> None:
    from datasets.arrow_writer import ArrowWriter

    types = _features(features)
    with ExitStack() as stack:
        hidden = {part: stack.enter_context(publishing(path)) for part, path in paths.items()}
        writers = {
            part: stack.enter_context(ArrowWriter(path=str(path), features=types))
            for part, path in hidden.items()
        }
        for part, row in rows:
            writers[part].write(row)
        for writer in writers.values():
            writer.finalize()


def _features(columns: Mapping[str, str]) -> "Features":
    from datasets import Features, List, Value

    return Features(
        {
            name: List(Value(kind[1:-1])) if kind.startswith("[") else Value(kind)
            for name, kind in columns.items()
        }
    )


def sample(data: "Dataset", most: int | None, seed: int) -> "Dataset":
    """At most so many rows, drawn at random, in their order."""
    import numpy as np

    if most is None or most >= len(data):
        return data
    return data.select(np.sort(np.random.default_rng(seed).permutation(len(data))[:most]))


def refuse_empty(data: TrainingData, held_out: HeldOut, what: str) -> None:
    """Refuse to train on nothing, or to validate on nothing where some was to be held out."""
    if not len(data.train) or (held_out.share and not len(data.validation)):
        empty = "validate with" if len(data.train) else "train on"
        raise UsageError(
            f"there are no {what} to {empty}: {len(data.train):,} and {len(data.validation):,}.",
            hint="Give more data, another share, or another seed of the split.",
        )
