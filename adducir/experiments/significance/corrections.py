"""Corrections of p-values for the number of tests in a family.

* ``holm`` (Holm 1979): steps down; keeps the chance of any false claim in the family at
  alpha, under any dependence. Never weaker than Bonferroni.
* ``bonferroni``: multiplies by the number of tests.
* ``bh`` (Benjamini and Hochberg 1995): keeps the expected share of false claims among
  the claims at alpha, for independent or positively dependent tests. A weaker promise.
* ``none``: leaves p as it is.

Equal to ``statsmodels.stats.multitest.multipletests`` (``holm``, ``bonferroni``,
``fdr_bh``), which takes about a second to import.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adducir.experiments.significance.choices import CORRECTIONS, CorrectionName
from adducir.study.errors import UsageError

FloatArray = NDArray[np.float64]


def holm(p: FloatArray) -> FloatArray:
    """Holm's adjusted p-values; shape (m,) in and out, order kept."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    return _restored(stepped, order)


def bonferroni(p: FloatArray) -> FloatArray:
    """Bonferroni's adjusted p-values; shape (m,) in and out."""
    return np.minimum(p * p.size, 1.0)


def bh(p: FloatArray) -> FloatArray:
    """Benjamini and Hochberg's adjusted p-values; shape (m,) in and out, order kept."""
    order = np.argsort(p, kind="stable")
    scaled = p[order] * p.size / np.arange(1, p.size + 1)
    return _restored(np.minimum.accumulate(scaled[::-1])[::-1], order)


def _restored(ascending: FloatArray, order: NDArray[np.intp]) -> FloatArray:
    """Put sorted adjusted p-values back in the order given, at most 1."""
    adjusted = np.empty_like(ascending)
    adjusted[order] = np.minimum(ascending, 1.0)
    return adjusted


def correct(p: ArrayLike, method: CorrectionName) -> FloatArray:
    """Adjusted p-values of one family of tests.

    Args:
        p: The p-values of the family, shape (m,). The baseline against itself is no test
            and must not be among them.
        method: One of ``choices.CORRECTIONS``.

    Returns:
        Adjusted p-values, shape (m,), to be held against the unadjusted alpha.

    Raises:
        UsageError: Unknown method, or a p that is NaN or outside [0, 1].
    """
    family = np.asarray(p, dtype=np.float64)
    if family.ndim != 1:
        raise UsageError(f"p-values must be one row, but have {family.ndim} axes.")
    if not ((family >= 0.0) & (family <= 1.0)).all():
        raise UsageError(
            "a family of p-values holds one that is not a number from 0 to 1.",
            mend="Leave out what was not tested, such as the baseline itself.",
        )
    if method == "holm":
        return holm(family)
    if method == "bonferroni":
        return bonferroni(family)
    if method == "bh":
        return bh(family)
    if method == "none":
        return family.copy()
    raise UsageError(
        f"unknown correction {method!r}.", mend=f"Choose one of {', '.join(CORRECTIONS)}."
    )
