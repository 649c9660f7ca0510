"""Grounded generation: contexts with a target text and the passages that it draws on."""

from typing import TYPE_CHECKING

from adducir.core.lazy import offering

if TYPE_CHECKING:
    from adducir.datasets.grounded.contexts import GroundedContext, read_contexts, write_contexts
    from adducir.datasets.grounded.kilt import read_kilt
    from adducir.datasets.grounded.nlgen import read_nlgen
    from adducir.datasets.grounded.pages import cut_page, read_pages, read_passages, write_passages

__all__ = [
    "GroundedContext",
    "cut_page",
    "read_contexts",
    "read_kilt",
    "read_nlgen",
    "read_pages",
    "read_passages",
    "write_contexts",
    "write_passages",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(__name__)
