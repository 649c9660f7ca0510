"""Relevance feedback, one method a file, and the family that knows them by name.

A method makes a weighted query from a query and its best documents, which is then searched.
Packages add methods of their own by the entry-point group ``adducir.feedback``.
"""

from typing import TYPE_CHECKING

from adducir.core.lazy import offering
from adducir.core.registry import Family
from adducir.indexes.feedback.method import Collection, Document, FeedbackMethod

if TYPE_CHECKING:
    from adducir.indexes.feedback.bm25prf import BM25PRF
    from adducir.indexes.feedback.rm3 import RM3
    from adducir.indexes.feedback.rocchio import Rocchio

_HERE = "adducir.indexes.feedback"
_OWN = {"rm3": "rm3:RM3", "rocchio": "rocchio:Rocchio", "bm25prf": "bm25prf:BM25PRF"}

FEEDBACK = Family(
    "feedback",
    FeedbackMethod,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {name: f"{_HERE}.{home}" for name, home in _OWN.items()},
    what="feedback method",
)

__all__ = ["BM25PRF", "FEEDBACK", "RM3", "Collection", "Document", "FeedbackMethod", "Rocchio"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(
        __name__,
        {
            "adducir.indexes.feedback.bm25prf": "BM25PRF",
            "adducir.indexes.feedback.rm3": "RM3",
            "adducir.indexes.feedback.rocchio": "Rocchio",
        },
    )
