"""Batches for training by in-batch contrast: a batch's spans are each other's negatives."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Batches = list[NDArray[np.int64]]


def random_batches(count: int, size: int, seed: int) -> Batches:
    """All items in random order, cut into batches of ``size`` or one less.

    Sizes are evened out, so that no small rest stays with hardly a negative.
    """
    return _cut(np.random.default_rng(seed).permutation(count), size)


def grouped_batches(
    groups: Sequence[str] | NDArray[np.integer[Any]], size: int, seed: int
) -> Batches:
    """Batches each of one group (the quotations of one book), in random order.

    A group's items are cut as evenly as ``size`` allows. Items that are alone in their group, and
    so would have no negative, come together in batches of their own.

    Args:
        groups: The group of each item.
        size: Items in a batch, at most.
        seed: Another one gives another order; the number of batches does not depend on it.
    """
    draw = np.random.default_rng(seed)
    members = _members(groups)
    alone = [numbers for numbers in members if len(numbers) == 1]
    several = [numbers for numbers in members if len(numbers) > 1]
    batches: Batches = []
    for numbers in [*several, np.concatenate([np.zeros(0, dtype=np.int64), *alone])]:
        batches += _cut(draw.permutation(numbers), size)
    return [batches[number] for number in draw.permutation(len(batches))]


def filled_batches(
    groups: Sequence[str] | NDArray[np.integer[Any]], size: int, seed: int
) -> Batches:
    """Batches each of one group and of ``size`` items, in random order, as RELiC's official code.

    What is left of a group is filled with other items of it, and a group that is too small with
    those of other groups: these items are in several batches, though never twice in one.
    Arguments are those of :func:`grouped_batches`.
    """
    draw = np.random.default_rng(seed)
    members = _members(groups)
    batches: Batches = []
    for number, items in enumerate(members):
        order = draw.permutation(items)
        for first in range(0, len(order), size):
            batch, before = order[first : first + size], order[:first]
            if len(batch) < size:
                others = [members[n] for n in draw.permutation(len(members)) if n != number]
                more = [draw.permutation(some) for some in (before, *others)]
                batch = np.concatenate([batch, *more])[:size]
            batches.append(batch)
    return [batches[number] for number in draw.permutation(len(batches))]


def _members(groups: Sequence[str] | NDArray[np.integer[Any]]) -> Batches:
    """The items of each group, groups in order of appearance."""
    _, firsts, codes = np.unique(np.asarray(groups), return_index=True, return_inverse=True)
    rows = np.argsort(codes, kind="stable")
    by_code = np.split(rows, np.cumsum(np.bincount(codes, minlength=len(firsts)))[:-1])
    return [by_code[code] for code in np.argsort(firsts)]


def _cut(items: NDArray[np.int64], size: int) -> Batches:
    count = -(-len(items) // size)
    return np.array_split(items, count) if count else []
