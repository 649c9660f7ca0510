"""The models that candidate sets are ranked by: those that memory indexes have."""

from adducir.indexes.models.model import Model
from adducir.indexes.models.statistics import Statistics
from adducir.study.errors import UsageError

__all__ = ["CandidateModel", "Statistics", "Weighting", "weighting_of"]

CandidateModel = Model
Weighting = Model


def weighting_of(model: CandidateModel) -> Weighting:
    """The formula of a model.

    Raises:
        UsageError: There is no such model, or only Lucene has it.
    """
    if not isinstance(model, Model) or "memory" not in model.engines():
        raise UsageError(f"candidate sets cannot be ranked with {model!r}.")
    return model
