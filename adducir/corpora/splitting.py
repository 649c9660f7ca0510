"""Splits into training, validation and test that keep groups apart."""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import TypeVar

from adducir.core.errors import UsageError

Item = TypeVar("Item")
PARTS = ("train", "validation", "test")
DEFAULT_SHARES = {"train": 0.8, "validation": 0.1, "test": 0.1}


def split(
    items: Iterable[Item],
    key: Callable[[Item], str],
    shares: Mapping[str, float] | None = None,
    seed: int = 0,
) -> dict[str, list[Item]]:
    """Divide items by a key: spans by their groups, questions by their ids.

    An item's part depends on its key, the seed and the shares alone, and is the same in every file;
    the shares (by default 0.8, 0.1 and 0.1) hold on average only.
    """
    wanted = DEFAULT_SHARES if shares is None else shares
    check_shares(wanted)
    parts: dict[str, list[Item]] = {name: [] for name in PARTS if name in wanted}
    for item in items:
        parts[part_of(key(item), wanted, seed)].append(item)
    if empty := [name for name in parts if wanted[name] and not parts[name]]:
        hint = "Take another seed or other shares, or more data."
        raise UsageError(f"nothing fell into {' and '.join(empty)}.", hint=hint)
    return parts


def part_of(group: str, shares: Mapping[str, float], seed: int = 0) -> str:
    """The part of a group: its hash, as a number in [0, 1), against the running sum of shares."""
    names = [name for name in PARTS if shares.get(name)]
    digest = hashlib.sha256(f"{seed}\0{group}".encode("utf-8", "surrogatepass")).digest()
    place = int.from_bytes(digest[:8]) / 2**64
    for name, end in zip(names, accumulate(shares[name] for name in names), strict=True):
        if place < end:
            return name
    return names[-1]  # the sum may round to a little below 1


def check_shares(shares: Mapping[str, float]) -> None:
    """Refuse shares of unknown parts, below 0, or that do not add up to 1."""
    unknown = [name for name in shares if name not in PARTS]
    if unknown:
        raise UsageError(f"there is no part {unknown[0]!r}; the parts are {', '.join(PARTS)}.")
    values = list(shares.values())
    if any(not 0 <= value <= 1 for value in values) or not math.isclose(sum(values), 1):
        raise UsageError(f"the shares must be 0 or more and add up to 1, not {values}.")
