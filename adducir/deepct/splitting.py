"""A held-out part of the examples that shares no document with the rest, or no group."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from adducir.core.errors import UsageError
from adducir.deepct.recipe import DeepCTRecipe
from adducir.models.machine import seed_of


class Named(Protocol):
    """What of an example determines the part that it is in; see :class:`.examples.Example`."""

    @property
    def docno(self) -> str:
        """The document."""

    @property
    def number(self) -> int:
        """The passage's number in it."""

    @property
    def group(self) -> str:
        """What stays together."""


E = TypeVar("E", bound=Named)


@dataclass(frozen=True)
class Divided(Generic[E]):
    """Examples to learn from, to validate with, to test with."""

    training: list[E]
    held_out: list[E]
    test: list[E]

    @property
    def unseen(self) -> list[E]:
        """What to measure a model on: the test part, or else what it was validated with."""
        return self.test or self.held_out


def divided(examples: Sequence[E], recipe: DeepCTRecipe) -> Divided[E]:
    """Divide examples as a recipe says."""
    part = recipe.held_out
    by: Literal["docno", "group"] = "group" if part.by else "docno"
    rest, test = split(examples, part.test, seed_of(part.seed, "test"), by)
    training, held_out = split(rest, part.share, part.seed, by)
    return Divided(sample(training, recipe.most, recipe.training.seed), held_out, test)


def split(
    examples: Sequence[E],
    share: float,
    seed: int = 0,
    by: Literal["docno", "group"] = "docno",
) -> tuple[list[E], list[E]]:
    """Hold out a share of the documents or of the groups.

    They are put in the order of a seeded hash of their name, and the first are held out. So what is
    held out hangs on the names and the seed, hardly on what else is there: variants of a training
    corpus hold out nearly the same.

    Args:
        examples: The examples; their order is kept in both parts.
        share: How many of the documents or groups are held out, from 0 to below 1. Where it is more
            than 0, at least one is.
        by: Whether documents stay together, or groups of documents (``group``), such
            as those of one topic.

    Returns:
        The examples to train on, and those held out.

    Raises:
        UsageError: The share is out of range, or would leave nothing to train on.
    """
    if not 0 <= share < 1:
        raise UsageError(f"the share to hold out is from 0 to below 1, not {share}.")
    if by not in ("docno", "group"):
        raise UsageError(f"nothing is split by {by!r}.", hint="Choose docno or group.")
    names = [example.docno if by == "docno" else example.group for example in examples]
    different = sorted(set(names), key=lambda name: _place(name, seed))
    count = max(1, round(share * len(different))) if share else 0
    if count and count >= len(different):
        raise UsageError(
            f"holding out {share:g} of {len(different)} by {by} leaves nothing to train on.",
            hint="Give more documents, a smaller share, or split by documents.",
        )
    held = set(different[:count])
    parts: tuple[list[E], list[E]] = ([], [])
    for name, example in zip(names, examples, strict=True):
        parts[name in held].append(example)
    return parts


def sample(examples: Sequence[E], most: int | None, seed: int = 0) -> list[E]:
    """At most so many examples, those whose seeded hash comes first; their order is kept.

    Args:
        most: How many; None for all.
    """
    if most is None or most >= len(examples):
        return list(examples)
    names = [f"{example.docno}\0{example.number}" for example in examples]
    taken = set(sorted(range(len(names)), key=lambda row: _place(names[row], seed))[:most])
    return [example for row, example in enumerate(examples) if row in taken]


def _place(name: str, seed: int) -> tuple[bytes, str]:
    digest = hashlib.sha256(f"{seed}\0{name}".encode("utf-8", "surrogatepass")).digest()
    return digest, name
