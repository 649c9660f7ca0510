"""The measures that Adducir computes itself, one file a family, known by name.

Packages add measures of their own by the entry-point group ``adducir.measures``.
"""

from adducir.core.registry import Family
from adducir.evaluation.formulas.measure import MeasureKind, TrecName

_HERE = "adducir.evaluation.formulas"

MEASURES = Family(
    "measures",
    MeasureKind,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {
        "AP": f"{_HERE}.average_precision:AveragePrecision",
        "Bpref": f"{_HERE}.bpref:Bpref",
        "IPrec": f"{_HERE}.precision:InterpolatedPrecision",
        "Judged": f"{_HERE}.judged:Judged",
        "nDCG": f"{_HERE}.ndcg:NDCG",
        "NumQ": f"{_HERE}.counts:NumQ",
        "NumRel": f"{_HERE}.counts:NumRel",
        "NumRet": f"{_HERE}.counts:NumRet",
        "P": f"{_HERE}.precision:Precision",
        "R": f"{_HERE}.recall:Recall",
        "RBP": f"{_HERE}.rank_biased_precision:RankBiasedPrecision",
        "RR": f"{_HERE}.reciprocal_rank:ReciprocalRank",
        "Rprec": f"{_HERE}.precision:RPrecision",
        "SetAP": f"{_HERE}.average_precision:SetAveragePrecision",
        "SetF": f"{_HERE}.set_f:SetF",
        "SetP": f"{_HERE}.precision:SetPrecision",
        "SetR": f"{_HERE}.recall:SetRecall",
        "Success": f"{_HERE}.success:Success",
    },
    what="measure",
)

__all__ = ["MEASURES", "MeasureKind", "TrecName"]
