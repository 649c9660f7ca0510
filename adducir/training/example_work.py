"""Examples as arrays, made by shards: what all kinds of models that are trained have in common.

A kind says what its items are, what identifies them, and which arrays some of them become.
Shards of arrays are put together as a store (:mod:`adducir.training.store`). What depends on the
order of all items, such as the division into training and validation, is no part of this: a task
writes it beside the arrays, which it shares (:func:`adducir.training.store.share_columns`).
"""

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from adducir.core.artifacts import read_manifest
from adducir.core.chunks import ANY, Made
from adducir.core.errors import ArtifactError
from adducir.core.executors import Place
from adducir.models.arrays import read_shard, write_shard
from adducir.training.store import Array, StoreWriter

T = TypeVar("T")

_NAMES = "names"
SHARD = 1000
"""Items in a shard, unless a kind says otherwise."""
_LENGTHS = ".lengths"


@dataclass(frozen=True)
class Encode(Generic[T]):
    """What makes arrays of items, with all that it needs (a tokenizer, a network) loaded.

    Attributes:
        examples: Gives the examples of some items, as :meth:`.StoreWriter.add` takes them: none,
            one or several of each. An example's arrays depend on its shard's items alone.
        device: The kind of device that computes, as far as it determines bytes.
    """

    examples: Callable[[Sequence[T]], Sequence[Mapping[str, Array | np.generic]]]
    device: str = ANY


@dataclass(frozen=True, kw_only=True)
class ExampleWork(ABC, Generic[T]):
    """The arrays of examples; see :mod:`adducir.core.chunks`.

    A kind's class is a data class that can be pickled, and is small.

    Attributes:
        size: Items in a shard.
        device: What a network computes on, where one takes part; see
            :func:`adducir.models.machine.choose_device`.
        spool: A folder that stays until the arrays are there, seen by all who make them, for what
            is dear to read: None for none.
        doing: What is done, for the progress.
        unit: What items are called.
        makes: What examples are called.
        counted: The columns whose values are counted, by what they are called.
    """

    size: int = SHARD
    device: str = "auto"
    spool: Path | None = None
    doing: ClassVar[str]
    unit: ClassVar[str]
    makes: ClassVar[str]
    counted: ClassVar[Mapping[str, str]] = {}

    @property
    def total(self) -> int | None:
        return None

    def versions(self) -> dict[str, str]:
        """The versions of the libraries that take part."""
        return {"tokenizers": version("tokenizers")}

    def identity(self) -> Mapping[str, Any]:
        return {"versions": self.versions()}

    @abstractmethod
    def check(self) -> None:
        """See :class:`.Work`."""

    @abstractmethod
    def items(self, *, check: bool) -> Iterator[T]:
        """See :class:`.Work`."""

    @abstractmethod
    def describe(self, item: T) -> tuple[str, bytes]:
        """See :class:`.Work`: all that its arrays are made of."""

    @abstractmethod
    def encode(self, place: Place) -> Encode[T]:
        """Load what makes arrays of items.

        Raises:
            AdducirError: It cannot be loaded.
        """

    def counts(self) -> Mapping[str, Any]:
        """What is known of the items beside their arrays, when all are made."""
        return {}

    def builder(self, place: Place) -> "_Builder[T]":
        return _Builder(self.encode(place))

    def finish(self, folder: Path, made: Made) -> dict[str, Any]:
        """See :class:`.ArtifactWork`: the store of all examples, and their number."""
        totals: Counter[str] = Counter()
        with StoreWriter(folder) as writer:
            for path in made.files:
                arrays = read_shard(path)
                lengths = {name: arrays.get(name + _LENGTHS) for name in arrays}
                columns = {
                    name: (values, lengths[name])
                    for name, values in arrays.items()
                    if not name.endswith(_LENGTHS)
                }
                for values, of_each in [*columns.values()][:1]:
                    writer.extend(len(values if of_each is None else of_each), columns)
                totals.update({name: len(values) for name, (values, _) in columns.items()})
            examples = len(writer)
        counted = {called: totals[name] for called, name in self.counted.items()}
        names = Order(chain.from_iterable(made.names)).digest
        found = {self.unit: made.items, self.makes: examples, **counted, **self.counts()}
        return {**found, _NAMES: names}


class Order:
    """Which items there are, and in which order: those of arrays, or those that are read again."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._digest = hashlib.sha256()
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        """Take the next item's name."""
        self._digest.update(name.encode("utf-8", "surrogatepass") + b"\n")

    @property
    def digest(self) -> str:
        """SHA-256."""
        return self._digest.hexdigest()

    def refuse_other(self, prepared: Path, unit: str) -> None:
        """Refuse items that are not those of prepared arrays.

        Raises:
            ArtifactError: They were changed since.
        """
        if read_manifest(prepared).counts[_NAMES] != self.digest:
            raise ArtifactError(
                f"the {unit} that this was made from were changed meanwhile.",
                path=prepared,
                hint="Delete the folder, and give the command again on data that stay.",
            )


class _Builder(Generic[T]):
    """Makes shards of arrays; see :mod:`adducir.core.chunks`."""

    def __init__(self, encode: Encode[T]) -> None:
        self.device, self._examples = encode.device, encode.examples

    def make(self, items: Sequence[T], path: Path) -> None:
        examples, arrays = self._examples(items), dict[str, Array]()
        for name in examples[0] if examples else ():
            values = [np.asarray(one[name]) for one in examples]
            if values[0].ndim:
                lengths = np.array([len(one) for one in values], dtype=np.int64)
                arrays |= {name: np.concatenate(values), name + _LENGTHS: lengths}
            else:
                arrays[name] = np.stack(values)
        write_shard(path, arrays)
