"""Systems of a retrieval experiment, one file a kind: what answers topics by a run.

The kind of a system is that whose name is one of its keys. Packages add kinds by the entry-point
group ``adducir.systems``.
"""

from adducir.core.registry import Family
from adducir.experiments.retrieval.systems.system import System

_HERE = "adducir.experiments.retrieval.systems"

SYSTEMS = Family(
    "systems",
    System,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {
        "index": f"{_HERE}.search:Search",
        "fuse": f"{_HERE}.fusion:Fusion",
        "rerank": f"{_HERE}.rerank:Rerank",
        "python": f"{_HERE}.python:Python",
        "run": f"{_HERE}.system:Given",
    },
    what="kind of system",
)

__all__ = ["SYSTEMS", "System"]
