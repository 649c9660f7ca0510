"""Grounded generation: contexts with a target text and the passages that it draws on."""

from adducir.core.lazy import offering

_HOMES = {
    "GroundedContext": "contexts",
    "cut_page": "pages",
    "read_contexts": "contexts",
    "read_kilt": "kilt",
    "read_nlgen": "nlgen",
    "read_pages": "pages",
    "read_passages": "pages",
    "write_contexts": "contexts",
    "write_passages": "pages",
}

__getattr__ = offering(__name__, _HOMES)


def __dir__() -> list[str]:
    """The names that can be imported from here."""
    return sorted(_HOMES)
