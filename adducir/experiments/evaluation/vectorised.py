"""The measures that are computed for all topics at once, without ir_measures.

To add one: write a function of :class:`Lists` and the measure (see
:mod:`adducir.experiments.evaluation.binary_measures`), name it here, and let
``tests/experiments/test_evaluate_agreement.py`` compare it with its source.
"""

from collections.abc import Callable

from ir_measures import Measure

from adducir.experiments.evaluation import binary_measures as binary
from adducir.experiments.evaluation import counting_measures as counting
from adducir.experiments.evaluation import graded_measures as graded
from adducir.experiments.evaluation.judgements import Floats
from adducir.experiments.evaluation.lists import Lists

_FORMULAS: dict[str, Callable[[Lists, Measure], Floats]] = {
    "AP": binary.average_precision,
    "Bpref": binary.bpref,
    "IPrec": binary.interpolated_precision,
    "Judged": counting.judged,
    "nDCG": graded.ndcg,
    "NumQ": counting.one_each,
    "NumRel": counting.relevant_total,
    "NumRet": counting.retrieved,
    "P": binary.precision,
    "R": binary.recall,
    "RBP": binary.rank_biased_precision,
    "RR": binary.reciprocal_rank,
    "Rprec": binary.r_precision,
    "SetAP": counting.set_average_precision,
    "SetF": counting.set_f,
    "SetP": counting.set_precision,
    "SetR": binary.recall,
    "Success": binary.success,
}


def is_vectorised(measure: Measure) -> bool:
    """Whether :func:`compute` knows the measure."""
    if measure.NAME == "RBP" and "rel" not in measure.params:
        return False  # graded RBP has no agreed gains
    return measure.NAME in _FORMULAS and not hasattr(measure, "runtime_impl")


def compute(lists: Lists, measure: Measure) -> Floats:
    """(T,) values of a measure that :func:`is_vectorised`.

    Raises:
        UsageError: Exponential gains of grades beyond 1,000.
    """
    return _FORMULAS[str(measure.NAME)](lists, measure)
