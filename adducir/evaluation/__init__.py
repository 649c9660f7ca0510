"""Measures: from a run and judgements to a value for each topic.

The names below are loaded when they are first used.
"""

from adducir.core.lazy import offering

_HOMES = {
    "Evaluator": "evaluator",
    "evaluate": "evaluator",
    "parse_measures": "measures",
}

__getattr__ = offering(__name__, _HOMES)


def __dir__() -> list[str]:
    """The names that can be imported from here."""
    return sorted(_HOMES)
