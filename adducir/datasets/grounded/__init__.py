"""Grounded generation: contexts with a target text and the passages that it draws on."""

from adducir.core.lazy import offering

_HOMES = {
    "GroundedContext": "contexts",
    "read_contexts": "contexts",
    "write_contexts": "contexts",
}

__getattr__ = offering(__name__, _HOMES)


def __dir__() -> list[str]:
    """The names that can be imported from here."""
    return sorted(_HOMES)
