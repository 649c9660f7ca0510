"""Fusion methods, one file each, and the family that knows them by name.

A method gives each ranked document of a run a contribution; the contributions of all runs, times
the runs' weights, are summed by document, and the method may adjust the sum by the number of runs
that rank the document. Packages add methods of their own by the entry-point group
``adducir.fusion``.
"""

from adducir.core.registry import Family
from adducir.runs.fusion.method import FusionMethod

_HERE = "adducir.runs.fusion"

FUSION = Family(
    "fusion",
    FusionMethod,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {
        "rrf": f"{_HERE}.rrf:RRF",
        "combsum": f"{_HERE}.combsum:CombSUM",
        "combmnz": f"{_HERE}.combmnz:CombMNZ",
        "combanz": f"{_HERE}.combanz:CombANZ",
        "isr": f"{_HERE}.isr:ISR",
        "log-isr": f"{_HERE}.log_isr:LogISR",
    },
    what="fusion method",
)

__all__ = ["FUSION", "FusionMethod"]
