"""How a table's numbers are printed."""

from dataclasses import dataclass
from typing import Literal

Detail = Literal["difference", "ci", "effect", "wins", "p", "p_corrected", "equivalence_p"]
"""Details below a mean: difference from the baseline, its confidence interval, effect size,
topics won/tied/lost, p-value, corrected p-value, corrected p-value of the equivalence test."""
Fit = Literal["auto", "column", "page"]
"""How LaTeX places a table."""
ABSENT = "–"


@dataclass(frozen=True)
class Style:
    """How a table's numbers are printed: rounded once, from the exact double, ties to even.

    Attributes:
        decimals: Decimals of means, differences and interval ends.
        leading_zero: ``0.842`` if true, the field's ``.842`` if not.
        details: What to print under each mean, in this order.
        fit: How LaTeX places the table: in one ``column`` of the page, over the whole ``page``
            (``table*``), or by its number of columns (``auto``).
        footer: Whether LaTeX prints the notes below the table.
    """

    decimals: int = 3
    leading_zero: bool = True
    details: tuple[Detail, ...] = ()
    fit: Fit = "auto"
    footer: bool = True

    def number(
        self, value: float | None, decimals: int | None = None, *, signed: bool = False
    ) -> str:
        """A value as text, rounded once; ``–`` if missing, never a negative zero."""
        if value is None:
            return ABSENT
        count = self.decimals if decimals is None else decimals
        text = f"{value:{'+' if signed else ''}.{count}f}"
        if not any(digit in text for digit in "123456789") and text[-1].isdigit():
            text = text.lstrip("+-")
        if not self.leading_zero and text.lstrip("+-").startswith("0."):
            text = text.replace("0.", ".", 1)
        return text

    def p_value(self, value: float | None) -> str:
        """``=0.012`` or ``<0.001``: a p-value with its relation sign, to at least 3 decimals."""
        decimals = max(3, self.decimals)
        smallest: float = 10.0**-decimals
        if value is not None and value < smallest:
            return f"<{self.number(smallest, decimals)}"
        return f"={self.number(value, decimals)}"
