"""The fields of ``Testing`` as arguments: for type checkers and completion, importing nothing."""

from collections.abc import Sequence
from typing import Literal, TypedDict


class TestingArguments(TypedDict, total=False):
    """What ``compare`` takes by name; meanings, bounds and defaults are those of ``Testing``."""

    baseline: str | Sequence[str] | None
    comparisons: Literal["baseline", "all-pairs"]
    test: str
    correction: str
    alpha: float
    equivalence: float | None
    family: Literal["measure", "table"]
    against: str
    equivalence_test: Literal["hall", "t"]
    non_inferiority: bool
    best: Literal["mean", "set"]
    confidence: float | None
    interval: Literal["t", "bootstrap"]
    topics_for: float | None
    permutations: int
    samples: int
    seed: int
