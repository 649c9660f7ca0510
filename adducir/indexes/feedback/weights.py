"""Weighted queries."""

from collections.abc import Mapping

from adducir.core.errors import UsageError

Weights = dict[str, float]


def check_weights(query: Mapping[str, float]) -> None:
    """Refuse weights that are negative or not finite.

    Raises:
        UsageError: One is.
    """
    for term, weight in query.items():
        if not 0 <= weight < float("inf"):
            raise UsageError(f"the weight of {term!r} must be 0 or more, not {weight}.")


def heaviest_first(query: Mapping[str, float]) -> Weights:
    """The terms by falling weight; equal ones in alphabetical order."""
    return dict(sorted(query.items(), key=lambda one: (-one[1], one[0])))
