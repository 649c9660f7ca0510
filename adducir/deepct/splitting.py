"""A held-out part of the examples that shares no document with the rest, or no group.

Names (of documents, of groups, of passages) are put in the order of a seeded hash, and the first
are held out, or taken for a sample. So what is held out hangs on the names and the seed, hardly on
what else is there: variants of a training corpus hold out nearly the same. Of each example 17 to 65
bytes are held while the others are made: the first 16 bytes of its hash in each order that is
needed. That two names share these in ten million has a probability of 1.5e-25.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import UsageError
from adducir.deepct.recipe import DeepCTRecipe
from adducir.models.machine import seed_of

Numbers = NDArray[np.int64]
_BYTES = 16


class Places:
    """Where names stand in a seeded order."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._digests = bytearray()

    def add(self, name: str) -> None:
        """Take the name of the next example."""
        text = f"{self._seed}\0{name}".encode("utf-8", "surrogatepass")
        self._digests += hashlib.sha256(text).digest()[:_BYTES]

    def first(self, rows: Numbers, most: int | None) -> Numbers:
        """At most so many of some examples, those whose names come first, in ascending order."""
        if most is None or most >= len(rows):
            return rows
        return np.sort(rows[self._order(rows)[:most]])

    def held_out(self, rows: Numbers, share: float, by: str) -> tuple[Numbers, Numbers]:
        """Hold out a share of the names of some examples; at least one, where it is more than 0.

        Args:
            rows: The numbers of the examples, in ascending order.
            share: From 0 to below 1.
            by: What the names are, for the message.

        Returns:
            The examples to train on, and those held out, in ascending order.

        Raises:
            UsageError: The share would leave nothing to train on.
        """
        if not share:
            return rows, rows[:0]
        order = self._order(rows)
        values = self._values()[rows[order]]
        starts = np.flatnonzero(np.r_[True, (values[1:] != values[:-1]).any(axis=1)])
        count = max(1, round(share * len(starts)))
        if count >= len(starts):
            raise UsageError(
                f"holding out {share:g} of {len(starts)} by {by} leaves nothing to train on.",
                hint="Give more documents, a smaller share, or split by documents.",
            )
        end = starts[count]
        return np.sort(rows[order[end:]]), np.sort(rows[order[:end]])

    def _values(self) -> NDArray[np.uint64]:
        """(n, 2) the hashes, of which the first number counts most."""
        return np.frombuffer(self._digests, dtype=">u8").reshape(-1, 2)

    def _order(self, rows: Numbers) -> Numbers:
        values = self._values()[rows]
        order: Numbers = np.lexsort((values[:, 1], values[:, 0]))
        return order


@dataclass(frozen=True)
class Divided:
    """The numbers of the examples to learn from, to validate with, to test with; ascending.

    Attributes:
        measured: Of the unseen ones, those that a model can be measured on, because a word has a
            target above 0; at most as many as were wanted.
        known: Some of those to learn from.
    """

    training: Numbers
    held_out: Numbers
    test: Numbers
    measured: Numbers
    known: Numbers

    @property
    def unseen(self) -> Numbers:
        """What to measure a model on: the test part, or else what it was validated with."""
        return self.test if len(self.test) else self.held_out


class Divider:
    """Takes the names of examples one by one, and divides these as a recipe says."""

    def __init__(self, recipe: DeepCTRecipe) -> None:
        self._part, self._most = recipe.held_out, recipe.most
        for share in (self._part.share, self._part.test):
            if not 0 <= share < 1:
                raise UsageError(f"the share to hold out is from 0 to below 1, not {share}.")
        self._by = "group" if self._part.by else "docno"
        self._test = Places(seed_of(self._part.seed, "test"))
        self._held = Places(self._part.seed)
        self._chosen, self._drawn = Places(recipe.training.seed), Places()
        self._has_target = bytearray()

    def add(self, docno: str, number: int, group: str, *, has_target: bool) -> None:
        """Take the next example.

        Args:
            docno: Its document.
            number: Of the passage in it.
            group: What stays together, where the recipe says so.
            has_target: Whether a word has a target above 0.
        """
        name = group if self._part.by else docno
        if self._part.test:
            self._test.add(name)
        if self._part.share:
            self._held.add(name)
        passage = f"{docno}\0{number}"
        if self._most is not None:
            self._chosen.add(passage)
        self._drawn.add(passage)
        self._has_target.append(has_target)

    def divided(self, measured: int | None = None, known: int | None = None) -> Divided:
        """The parts.

        Args:
            measured: How many examples to measure on, at most.
            known: How many of those to learn from, at most.

        Raises:
            UsageError: Nothing would be left to train on.
        """
        every = np.arange(len(self._has_target), dtype=np.int64)
        rest, test = self._test.held_out(every, self._part.test, self._by)
        training, held_out = self._held.held_out(rest, self._part.share, self._by)
        training = self._chosen.first(training, self._most)
        unseen = test if len(test) else held_out
        can_be = np.frombuffer(self._has_target, dtype=np.uint8)[unseen] > 0
        return Divided(
            training,
            held_out,
            test,
            self._drawn.first(unseen[can_be], measured),
            self._drawn.first(training, known),
        )
