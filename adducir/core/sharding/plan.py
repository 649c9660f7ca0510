"""How items are cut into shards: read once, kept beside the shards that are made.

The file ``plan.jsonl`` has a line for each shard and a last one with the digest of all before it::

    {"number": 0, "first": 0, "size": 2000, "digest": "…", "names": ["d0", "d1", …]}
    {"sha256": "…"}

A shard's digest is of the names and contents of its items, in their order. Whoever makes the shard
reads its items again and compares: a corpus that was changed meanwhile is noticed.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

from adducir.core.errors import ArtifactError
from adducir.core.files import publishing
from adducir.core.progress import Progress

PLAN = "plan.jsonl"
Describe = Callable[[Any], tuple[str, bytes]]
"""Gives an item's name (a docno) and its content."""


@dataclass(frozen=True)
class Shard:
    """A run of items that is made in one piece.

    Attributes:
        number: From 0 on.
        first: The number of its first item.
        size: How many items it has.
        digest: The SHA-256 of its items' names and contents.
    """

    number: int
    first: int
    size: int
    digest: str


def digest_of(items: Iterable[Any], describe: Describe) -> str:
    """The SHA-256 of the names and contents of items, in their order."""
    return _digest(map(describe, items))


def _digest(described: Iterable[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, content in described:
        for part in (name.encode("utf-8", "surrogatepass"), content):
            # Its length first, so that no two lists of items give the same bytes.
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.hexdigest()


class Plan:
    """The shards of some work, with the names of their items on disk.

    Attributes:
        shards: In order.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.shards: list[Shard] = []
        self._starts: list[int] = []
        self._read()

    @property
    def items(self) -> int:
        """How many items there are in all shards."""
        return sum(shard.size for shard in self.shards)

    def names(self, shards: Sequence[Shard] | None = None) -> Iterator[list[str]]:
        """The names of the items of each shard (by default of all), one shard after another."""
        with self._path.open("rb") as file:
            for shard in self.shards if shards is None else shards:
                file.seek(self._starts[shard.number])
                yield json.loads(file.readline())["names"]

    def _read(self) -> None:
        digest, last, start = hashlib.sha256(), None, 0
        try:
            with self._path.open("rb") as file:
                for line in file:
                    value = json.loads(line)
                    if "sha256" in value:
                        last = value["sha256"]
                        break
                    digest.update(line)
                    del value["names"]
                    self.shards.append(Shard(**value))
                    self._starts.append(start)
                    start += len(line)
        except FileNotFoundError:
            raise
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise _damaged(self._path) from error
        if last != digest.hexdigest():
            raise _damaged(self._path)


def planned(
    folder: Path,
    items: Callable[[], Iterable[Any]],
    describe: Describe,
    size: int,
    total: int | None,
    unit: str,
    progress: Progress,
) -> Plan:
    """The plan that is in a folder; made there, by one pass over the items, where it is missing.

    Several processes may make it at once: each publishes the same whole file.

    Args:
        items: Gives all items, in the same order each time; reports what cannot be read.
        size: Items in a shard.
        total: How many items there are, where that is known.
        unit: What items are called.

    Raises:
        MachineError: The disk is full, or the place cannot be written.
    """
    path = folder / PLAN
    try:
        return Plan(path)
    except (FileNotFoundError, ArtifactError):
        pass  # it is made below; a damaged one is made again
    progress.start("planning", total, unit)
    try:
        with publishing(path) as hidden, hidden.open("wb") as file:
            _write(file.write, items(), describe, size, progress)
    finally:
        progress.finish()
    return Plan(path)


def _write(
    write: Callable[[bytes], Any],
    items: Iterable[Any],
    describe: Describe,
    size: int,
    progress: Progress,
) -> None:
    digest, first = hashlib.sha256(), 0
    described = map(describe, items)
    for number in count():
        names: list[str] = []
        own = _digest(_noting(islice(described, size), names))
        if not names:
            break
        line = {"number": number, "first": first, "size": len(names), "digest": own}
        data = json.dumps({**line, "names": names}).encode("ascii") + b"\n"
        digest.update(data)
        write(data)
        first += len(names)
        progress.advance(len(names))
    write(json.dumps({"sha256": digest.hexdigest()}).encode("ascii") + b"\n")


def _noting(
    described: Iterable[tuple[str, bytes]], names: list[str]
) -> Iterator[tuple[str, bytes]]:
    """The same; their names are added to a list on the way."""
    for one in described:
        names.append(one[0])
        yield one


def _damaged(path: Path) -> ArtifactError:
    return ArtifactError(
        "this plan of shards is damaged.", path=path, hint="Delete it: it is made again."
    )
