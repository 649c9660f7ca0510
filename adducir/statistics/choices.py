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
    "EQUIVALENCE_TESTS",
    "FAMILIES",
    "INTERVALS",
    "BestName",
    "CorrectionName",
    "EquivalenceTestName",
    "FamilyName",
    "IntervalName",
    "PresetName",
    "SideName",
    "TestName",
]

TestName: TypeAlias = Annotated[str, TESTS.named]
CorrectionName: TypeAlias = Annotated[str, CORRECTIONS.named]
FamilyName: TypeAlias = Literal["measure", "table", "pairs"]
IntervalName: TypeAlias = Literal["t", "bootstrap"]
PresetName: TypeAlias = Literal["t-holm", "t-maxt", "wilcoxon-bh", "tukey-randomised"]
BestName: TypeAlias = Literal["mean", "set"]
EquivalenceTestName: TypeAlias = Literal["hall", "t"]
SideName: TypeAlias = Literal["both", "lower", "upper"]

FAMILIES: tuple[FamilyName, ...] = get_args(FamilyName)
INTERVALS: tuple[IntervalName, ...] = get_args(IntervalName)
EQUIVALENCE_TESTS: tuple[EquivalenceTestName, ...] = get_args(EquivalenceTestName)
BESTS: tuple[BestName, ...] = get_args(BestName)
