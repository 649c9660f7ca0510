"""Training rows: one split, one Arrow file per part.

A name (of a document, book or query) is assigned to a part by a seeded hash, which depends only on
the name, the seed and the shares. So variants of a corpus hold out the same documents, and one
study's training data is not another's test data.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, model_validator

from adducir.core.errors import InputError, UsageError, gathering
from adducir.core.files import publishing, writing_text
from adducir.core.fingerprint import fingerprint, source_digest
from adducir.core.recipe import Recipe, Several, as_tuple
from adducir.core.texts import same_text
from adducir.corpora.documents import Corpus
from adducir.corpora.reading import CorpusReading
from adducir.corpora.sources import file_path, source_path
from adducir.models.machine import seed_of

if TYPE_CHECKING:
    from datasets import Dataset

T = TypeVar("T", bound=Any)  # it has an `id`
Item = TypeVar("Item")
Part = Literal["train", "validation", "test"]
Share = Annotated[float, Field(ge=0, lt=1)]
Seed = Annotated[int, Field(ge=0, lt=1 << 63)]
Rows = Iterable[tuple[str, Mapping[str, Any]]]
"""Rows, each with its part: train, validation or test."""

PARTS = ("train", "validation", "test")
DEFAULT_SHARES: dict[Part, float] = {"train": 0.8, "validation": 0.1, "test": 0.1}


def _add_up(shares: dict[Part, float]) -> dict[Part, float]:
    values = [*shares.values()]
    if any(not 0 <= value <= 1 for value in values) or not math.isclose(sum(values), 1):
        raise ValueError(f"the shares must be 0 or more and add up to 1, not {values}")
    return shares


Shares = Annotated[dict[Part, float], AfterValidator(_add_up)]


def split(
    items: Iterable[Item],
    key: Callable[[Item], str],
    shares: Mapping[Any, float] = DEFAULT_SHARES,
    seed: int = 0,
) -> dict[str, list[Item]]:
    """Divide items by a key: spans by their groups, questions by their ids.

    An item's part depends on its key, the seed and the shares alone, and is the same in every file;
    the shares hold on average only.
    """
    parts: dict[str, list[Item]] = {name: [] for name in PARTS if name in shares}
    for item in items:
        parts[part_of(key(item), shares, seed)].append(item)
    if empty := [name for name, some in parts.items() if shares[name] and not some]:
        hint = "Use another seed or other shares, or more data."
        raise UsageError(f"nothing fell into {' and '.join(empty)}.", hint=hint)
    return parts


def part_of(group: str, shares: Mapping[Any, float], seed: int = 0) -> str:
    """The part of a group: its hash, as a number in [0, 1), against the running sum of shares."""
    names = [name for name in PARTS if shares.get(name)]
    digest = hashlib.sha256(f"{seed}\0{group}".encode("utf-8", "surrogatepass")).digest()
    place = int.from_bytes(digest[:8]) / 2**64
    for name, end in zip(names, accumulate(shares[name] for name in names), strict=True):
        if place < end:
            return name
    return names[-1]  # the sum may round to a little below 1


class HeldOut(Recipe):
    """What is held out from training: shares of the names."""

    share: Share = 0.1
    """The share for validation."""
    test: Share = 0.0
    """The share for testing, never seen in training."""
    seed: Seed = 0
    """Another seed holds out others."""

    @model_validator(mode="after")
    def _leaves_some(self) -> Self:
        if self.share + self.test >= 1:
            raise ValueError("`share` and `test` leave nothing to train on")
        return self

    def part_of(self, name: str) -> str:
        train = 1 - self.share - self.test
        shares = {"train": train, "validation": self.share, "test": self.test}
        return part_of(name, shares, self.seed)


class CorpusPart(CorpusReading):
    """The documents to train on: an ir_datasets id, a file or a folder."""

    source: str
    """An ir_datasets id, a file or a folder."""

    def open(self, folder: Path) -> Corpus:
        return self.opened(source_path(self.source, folder))


class GroupShares(Recipe):
    """How the groups of items (books, questions) are divided."""

    shares: Shares | None = None
    """The share of the groups in each part, unless the parts have files."""
    seed: Seed = 0
    """Another seed divides them otherwise."""

    @property
    def divided(self) -> Mapping[Part, float]:
        return self.shares or DEFAULT_SHARES


class DataPart(GroupShares):
    """The files to train on; groups are held out by files, shares or names."""

    train: Several
    """Files of items."""
    validation: Several = ()
    """Files of items; none of their groups may be in `train`."""
    without: Several = ()
    """Files of items whose groups are left out."""
    held_out: dict[Literal["validation", "test"], tuple[str, ...]] = Field(default_factory=dict)
    """The groups of validation and test by name, instead of `shares`."""

    @model_validator(mode="after")
    def _fits(self) -> "DataPart":
        if not as_tuple(self.train):
            raise ValueError("`train` must name a file")
        ways = ("validation", "shares", "held_out")
        stated = [f"`{name}`" for name in ways if getattr(self, name)]
        if len(stated) > 1:
            raise ValueError(f"{stated[1]} has no effect with {stated[0]}")
        return self

    def part_of(self, name: str) -> str:
        if self.validation:
            return "train"
        if self.held_out:
            return next((part for part, some in self.held_out.items() if name in some), "train")
        return part_of(name, self.divided, self.seed)

    def files(self, folder: Path) -> dict[str, list[Path]]:
        names = {"train": self.train, "validation": self.validation, "without": self.without}
        return {
            key: [file_path(name, folder) for name in as_tuple(value)]
            for key, value in names.items()
        }

    def identity(self, folder: Path) -> dict[str, str]:
        with gathering() as opening:
            digests = {
                key: [opening(partial(source_digest, path)) for path in paths]
                for key, paths in self.files(folder).items()
            }
        return {key: fingerprint(of_files) for key, of_files in digests.items()}


def divided(
    part: DataPart,
    folder: Path,
    read: Callable[[Path], Iterator[T]],
    *,
    group: Callable[[T], str],
    groups: str,
) -> Iterator[tuple[T, str]]:
    """A recipe's items with their parts; ``group`` returns what must stay in one part."""
    files = part.files(folder)
    banned = {group(item) for item in items_of(files["without"], read)}
    trained_on, shared = set[str](), set[str]()
    for item in items_of(files["train"], read):
        name = group(item)
        if name not in banned:
            trained_on.add(name)
            yield item, part.part_of(name)
    if unknown := {*sum(part.held_out.values(), ())} - trained_on - banned:
        raise InputError(
            f"{groups} to be held out are missing from it, such as {min(unknown)!r}.",
            path=files["train"][0],
        )
    for item in items_of(files["validation"], read):
        name = group(item)
        if name not in banned:
            if name in trained_on:
                shared.add(name)
            yield item, "validation"
    if shared:
        raise InputError(
            f"{len(shared)} {groups} are also in the training data, such as {min(shared)!r}.",
            path=files["validation"][0],
            hint="A validation loss on memorised data is meaningless: use others.",
        )


def items_of(paths: Sequence[Path], read: Callable[[Path], Iterator[T]]) -> Iterator[T]:
    """The items of files; ids must be unique across files."""
    homes: dict[str, int] = {}
    for number, path in enumerate(paths):
        for item in read(path):
            if (home := homes.setdefault(item.id, number)) != number:
                raise InputError(f"the id {item.id!r} is also in {paths[home]}.", path=path)
            yield item


@dataclass(frozen=True)
class TrainingData:
    train: "Dataset"
    validation: "Dataset"
    test: "Dataset"
    counts: dict[str, Any]


def stored(
    folder: Path, features: Mapping[str, str], rows: Callable[[dict[str, Any]], Rows]
) -> TrainingData:
    """Rows in files written once; ``features``: columns' types, ``[int32]`` for a list."""
    from datasets import Dataset, Features, List, Value
    from datasets.arrow_writer import ArrowWriter

    folder.mkdir(parents=True, exist_ok=True)
    paths, counted = {part: folder / f"{part}.arrow" for part in PARTS}, folder / "counts.json"
    if not counted.exists():
        counts: dict[str, Any] = {}
        types = Features(
            {
                name: List(Value(kind[1:-1])) if kind.startswith("[") else Value(kind)
                for name, kind in features.items()
            }
        )
        with ExitStack() as stack:
            hidden = {part: stack.enter_context(publishing(path)) for part, path in paths.items()}
            writers = {
                part: stack.enter_context(ArrowWriter(path=str(path), features=types))
                for part, path in hidden.items()
            }
            for part, row in rows(counts):
                writers[part].write(row)
            for writer in writers.values():
                writer.finalize()
        with writing_text(counted) as handle:
            json.dump(counts, handle)
    train, validation, test = (
        Dataset.from_file(str(paths[part])).with_format("numpy") for part in PARTS
    )
    return TrainingData(train, validation, test, json.loads(counted.read_text(encoding="utf-8")))


def in_lists(items: Iterable[Item], size: int = 1024) -> Iterator[list[Item]]:
    """Lists of the next items, which are tokenised together."""
    rest = iter(items)
    return iter(lambda: list(islice(rest, size)), [])


def same_number(text: str) -> int:
    """A number shared by texts that count as the same."""
    data = same_text(text).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "little", signed=True)


def sample(data: "Dataset", most: int | None, seed: int) -> "Dataset":
    """At most this many random rows, in order."""
    import numpy as np

    if most is None or most >= len(data):
        return data
    return data.select(np.sort(np.random.default_rng(seed).permutation(len(data))[:most]))


def drawn(
    row: Mapping[str, Any], most: int, seed: int, epoch: int | None
) -> tuple[NDArray[np.int64], NDArray[np.floating[Any]]]:
    """A row's candidates in a step: a positive, then at most ``most`` negatives; and their scores.

    What is drawn depends on seed, epoch and query; without an epoch, for validation, they are the
    first. A teacher's scores are NaN where it has none.
    """
    positives, total, scores = int(row["positives"]), len(row["lengths"]), row["scores"]
    if epoch is None or (positives == 1 and total - 1 <= most):
        first, others = 0, np.arange(positives, min(positives + most, total))
    else:
        draw = np.random.default_rng(seed_of(seed, "step", epoch, int(row["asks"])))
        first = int(draw.integers(positives))
        others = positives + draw.permutation(total - positives)[:most]
    places = np.concatenate(([first], others)).astype(np.int64)
    return places, scores[places] if len(scores) else np.full(len(places), np.nan)
