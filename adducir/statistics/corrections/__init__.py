"""Corrections of p-values for the number of tests in a family, one file each.

Packages add corrections of their own by the entry-point group ``adducir.corrections``.
"""

from typing import TYPE_CHECKING

from adducir.core.errors import UsageError
from adducir.core.registry import Family
from adducir.statistics.corrections.correction import Correction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

_HERE = "adducir.statistics.corrections"

CORRECTIONS = Family(
    "corrections",
    Correction,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {
        "holm": f"{_HERE}.holm:Holm",
        "bonferroni": f"{_HERE}.bonferroni:Bonferroni",
        "bh": f"{_HERE}.benjamini_hochberg:BenjaminiHochberg",
        "none": f"{_HERE}.none:NoCorrection",
    },
    what="correction",
)


def correct(p: "ArrayLike", method: str) -> "NDArray[np.float64]":
    """Adjusted p-values of one family of tests.

    Args:
        p: The p-values of the family, shape (m,). The baseline against itself is no test
            and must not be among them.
        method: A kind of :data:`CORRECTIONS`.

    Returns:
        Adjusted p-values, shape (m,), to be held against the unadjusted alpha.

    Raises:
        UsageError: Unknown method, or a p that is NaN or outside [0, 1].
    """
    import numpy as np

    family = np.asarray(p, dtype=np.float64)
    if family.ndim != 1:
        raise UsageError(f"p-values must be one row, but have {family.ndim} axes.")
    if not ((family >= 0.0) & (family <= 1.0)).all():
        raise UsageError(
            "a family of p-values holds one that is not a number from 0 to 1.",
            hint="Leave out what was not tested, such as the baseline itself.",
        )
    return CORRECTIONS.make(method).adjusted(family)
