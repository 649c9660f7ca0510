"""Paired tests, corrections, equivalence, effect sizes; comparisons of systems.

The names below are loaded when they are first used.
"""

from adducir.core.lazy import offering

_HOMES = {
    "compare": "comparison.comparison",
}

__getattr__ = offering(__name__, _HOMES)


def __dir__() -> list[str]:
    """The names that can be imported from here."""
    return sorted(_HOMES)
