"""Lexical retrieval models, one file each, and the family that knows them by name.

Packages add models of their own by the entry-point group ``adducir.models``.
"""

from typing import TYPE_CHECKING

from adducir.core.lazy import offering
from adducir.core.registry import Family
from adducir.indexes.models.model import Model

if TYPE_CHECKING:
    from adducir.indexes.models.atire import ATIRE
    from adducir.indexes.models.bm25 import BM25
    from adducir.indexes.models.bm25l import BM25L
    from adducir.indexes.models.bm25plus import BM25Plus
    from adducir.indexes.models.dph import DPH
    from adducir.indexes.models.impact import Impact
    from adducir.indexes.models.inl2 import InL2
    from adducir.indexes.models.okapi import Okapi
    from adducir.indexes.models.qld import QLD

_HERE = "adducir.indexes.models"
_OWN = {
    "bm25": "bm25:BM25",
    "qld": "qld:QLD",
    "okapi": "okapi:Okapi",
    "atire": "atire:ATIRE",
    "bm25l": "bm25l:BM25L",
    "bm25+": "bm25plus:BM25Plus",
    "inl2": "inl2:InL2",
    "dph": "dph:DPH",
    "impact": "impact:Impact",
}

MODELS = Family(
    "models",
    Model,
    {name: f"{_HERE}.{home}" for name, home in _OWN.items()},
    what="retrieval model",
)

__all__ = [
    "ATIRE",
    "BM25",
    "BM25L",
    "DPH",
    "MODELS",
    "QLD",
    "BM25Plus",
    "Impact",
    "InL2",
    "Model",
    "Okapi",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(
        __name__,
        {
            "adducir.indexes.models.atire": "ATIRE",
            "adducir.indexes.models.bm25": "BM25",
            "adducir.indexes.models.bm25l": "BM25L",
            "adducir.indexes.models.bm25plus": "BM25Plus",
            "adducir.indexes.models.dph": "DPH",
            "adducir.indexes.models.impact": "Impact",
            "adducir.indexes.models.inl2": "InL2",
            "adducir.indexes.models.okapi": "Okapi",
            "adducir.indexes.models.qld": "QLD",
        },
    )
