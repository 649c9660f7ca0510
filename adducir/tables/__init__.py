"""The result table, and the formats that it is printed in.

The names below are loaded when they are first used.
"""

from adducir.core.lazy import offering

_HOMES = {
    "Layout": "builder",
    "build_table": "builder",
    "render": "formats",
}

__getattr__ = offering(__name__, _HOMES)


def __dir__() -> list[str]:
    """The names that can be imported from here."""
    return sorted(_HOMES)
