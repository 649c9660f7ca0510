"""The names a user may choose from, importable without numpy or scipy."""

from typing import Literal, TypeAlias, get_args

TestName: TypeAlias = Literal["t", "wilcoxon", "sign", "randomisation", "bootstrap"]
CorrectionName: TypeAlias = Literal["holm", "bonferroni", "bh", "none"]
FamilyName: TypeAlias = Literal["measure", "table", "pairs"]
IntervalName: TypeAlias = Literal["t", "bootstrap"]

TESTS: tuple[TestName, ...] = get_args(TestName)
CORRECTIONS: tuple[CorrectionName, ...] = get_args(CorrectionName)
FAMILIES: tuple[FamilyName, ...] = get_args(FamilyName)
INTERVALS: tuple[IntervalName, ...] = get_args(IntervalName)

TEST_TITLES: dict[str, str] = {
    "t": "paired t-test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "sign": "sign test",
    "randomisation": "Fisher's paired randomisation test",
    "bootstrap": "paired studentised bootstrap test",
}
CORRECTION_TITLES: dict[str, str] = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "bh": "Benjamini-Hochberg",
    "none": "none",
}

DEFAULT_SEED = 0
DEFAULT_PERMUTATIONS = 100_000
DEFAULT_SAMPLES = 10_000
