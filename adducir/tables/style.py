"""How a table's numbers are printed."""

from dataclasses import dataclass
from typing import Literal, get_args

from adducir.core.errors import UsageError

Detail = Literal["difference", "ci", "effect", "wtl", "p", "p_corrected", "equivalence_p"]
DETAILS: tuple[Detail, ...] = get_args(Detail)
"""What can stand under a mean: difference to the baseline, its confidence interval, effect size,
topics won/tied/lost, p-value, corrected p-value, corrected p-value of the equivalence test."""

Fit = Literal["auto", "column", "page"]
"""How LaTeX places a table."""

CriticalDifference = Literal["none", "tests"]
"""Which critical-difference diagrams a report has."""


@dataclass(frozen=True)
class Style:
    """How a table's numbers are printed.

    Numbers are rounded to ``decimals`` from the exact binary double, ties to even, as Python's
    ``format`` does; nothing is rounded before that.

    Attributes:
        decimals: Digits after the point of means, differences and interval ends.
        leading_zero: ``0.842`` if true, the field's ``.842`` if not.
        details: What to print under each mean, in this order.
        fit: How LaTeX places the table: in one ``column`` of the page, over the whole ``page``
            (``table*``), cut into several where it is wider; or whole, by its number of columns.
        footer: Whether LaTeX prints legend and footer below the table.
        critical_difference: The report's critical-difference diagrams: ``none``, or with the
            ``tests`` of all pairs.

    Raises:
        UsageError: Decimals outside 0..15, or an unknown detail.
    """

    decimals: int = 3
    leading_zero: bool = True
    details: tuple[Detail, ...] = ()
    fit: Fit = "auto"
    footer: bool = True
    critical_difference: CriticalDifference = "none"

    def __post_init__(self) -> None:
        if not 0 <= self.decimals <= 15:
            raise UsageError(f"{self.decimals} decimals cannot be shown: choose 0 to 15.")
        for name in self.details:
            if name not in DETAILS:
                raise UsageError(f"no detail is called {name!r}: choose from {', '.join(DETAILS)}.")
