"""Paired significance tests, one file each, and the family that knows them by name.

Packages add tests of their own by the entry-point group ``adducir.tests``.
"""

from adducir.core.registry import Family
from adducir.statistics.tests.base import SignificanceTest

_HERE = "adducir.statistics.tests"

TESTS = Family(
    "tests",
    SignificanceTest,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {
        "t": f"{_HERE}.student:StudentT",
        "wilcoxon": f"{_HERE}.wilcoxon:Wilcoxon",
        "sign": f"{_HERE}.sign:Sign",
        "randomisation": f"{_HERE}.randomisation:Randomisation",
    },
    what="significance test",
)

__all__ = ["TESTS", "SignificanceTest"]
