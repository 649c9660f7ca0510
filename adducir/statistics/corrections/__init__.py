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
        "holm": f"{_HERE}.by_p:Holm",
        "bonferroni": f"{_HERE}.by_p:Bonferroni",
        "maxt": f"{_HERE}.max_t:MaxT",
        "tukey": f"{_HERE}.tukey:Tukey",
        "tukey-randomised": f"{_HERE}.tukey:RandomisedTukey",
        "bh": f"{_HERE}.by_p:BenjaminiHochberg",
        "none": f"{_HERE}.by_p:NoCorrection",
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
    return CORRECTIONS.make(method).adjusted(checked_family(p))


def checked_family(p: "ArrayLike") -> "NDArray[np.float64]":
    """The (m,) p-values of a family, or UsageError as :func:`correct`."""
    import numpy as np

    family = np.asarray(p, dtype=np.float64)
    if family.ndim != 1:
        raise UsageError(f"p-values must be one row, but have {family.ndim} axes.")
    if not ((family >= 0.0) & (family <= 1.0)).all():
        raise UsageError(
            "a family of p-values holds one that is not a number from 0 to 1.",
            hint="Leave out what was not tested, such as the baseline itself.",
        )
    return family


def joint_error(
    correction: str, test: str, scope: str, equivalence: str | None = None
) -> str | None:
    """Why these choices do not go together, or None.

    Args:
        correction: Of the tests of difference.
        test: The test of difference.
        scope: The family of tests.
        equivalence: The correction of the equivalence tests, where it is chosen.
    """
    tests, scopes = CORRECTIONS.kind(correction).tests, CORRECTIONS.kind(correction).scopes
    if scopes and scope not in scopes:
        return f"the correction {correction} cannot be combined with the family {scope}"
    if tests and test not in tests:
        return f"the correction {correction} needs the test {' or '.join(tests)}, not {test}"
    if equivalence is not None and CORRECTIONS.kind(equivalence).tests:
        return f"the correction {equivalence} does not apply to equivalence tests"
    return None


def for_equivalence(correction: str) -> str:
    """The correction of the equivalence tests beside one of the tests of difference.

    The same, or Holm's where that one is made for tests of difference only.
    """
    return "holm" if CORRECTIONS.kind(correction).tests else correction
