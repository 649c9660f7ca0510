"""The names a user may choose from, importable without numpy or scipy."""

from typing import Annotated, Literal, TypeAlias, get_args

from adducir.statistics.corrections import CORRECTIONS
from adducir.statistics.tests import TESTS
from adducir.statistics.tests.base import DEFAULT_PERMUTATIONS, DEFAULT_SAMPLES, DEFAULT_SEED

__all__ = [
    "BESTS",
    "DEFAULT_PERMUTATIONS",
    "DEFAULT_SAMPLES",
    "DEFAULT_SEED",
    "FAMILIES",
    "INTERVALS",
    "BestName",
    "CorrectionName",
    "FamilyName",
    "IntervalName",
    "TestName",
]

TestName: TypeAlias = Annotated[str, TESTS.named]
CorrectionName: TypeAlias = Annotated[str, CORRECTIONS.named]
FamilyName: TypeAlias = Literal["measure", "table", "pairs"]
IntervalName: TypeAlias = Literal["t", "bootstrap"]
BestName: TypeAlias = Literal["mean", "set"]

FAMILIES: tuple[FamilyName, ...] = get_args(FamilyName)
INTERVALS: tuple[IntervalName, ...] = get_args(IntervalName)
BESTS: tuple[BestName, ...] = get_args(BestName)
