"""What every measure that Adducir computes itself has."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from pydantic import Field

from adducir.core.recipe import Recipe

if TYPE_CHECKING:
    from adducir.evaluation.judgements import Floats
    from adducir.evaluation.lists import Lists

CUTOFFS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
"""trec_eval's, of a measure that is named without one."""


class TrecName(NamedTuple):
    """What a trec_eval name stands for.

    Attributes:
        measure: The ir_measures name.
        parameter: The parameter a family takes, or None for a single measure.
        defaults: The family's values where none is given.
    """

    measure: str
    parameter: str | None = None
    defaults: tuple[str, ...] = ()


class MeasureKind(Recipe):
    """A measure, computed for all topics at once; its fields are the measure's parameters.

    A measure that ir_measures has goes by its name and has its parameters. Another one is defined
    by its kind alone: ``Name(parameter=value)@cutoff`` is read by the fields.

    Attributes:
        at: The parameter that stands behind the ``@``.
        trec: trec_eval's names for it.
        is_descriptive: Whether it rates no system, so that it is not tested.
        lower_is_better: Whether the lower value is the better.
        leaves_unjudged_out: Whether unjudged documents are left out, whatever the parameters.
    """

    at: ClassVar[str] = "cutoff"
    trec: ClassVar[Mapping[str, TrecName]] = {}
    is_descriptive: ClassVar[bool] = False
    lower_is_better: ClassVar[bool] = False
    leaves_unjudged_out: ClassVar[bool] = False

    @abstractmethod
    def values(self, lists: "Lists") -> "Floats":
        """(T,) a value for each topic; 0 for one that the run lacks."""


class Graded(MeasureKind):
    """A measure of the documents that have a certain grade or more."""

    rel: int = Field(1, ge=1, description="The least grade of a relevant document.")


class Condensable(Graded):
    """A measure that can be determined to leave unjudged documents out."""

    judged_only: bool = Field(False, description="Unjudged documents are left out.")


class Cut(Condensable):
    """A measure that may look at the top documents only."""

    cutoff: int | None = Field(None, ge=1, description="So many documents are looked at.")


class AtCutoff(Condensable):
    """A measure of the top documents."""

    cutoff: int = Field(..., ge=1, description="So many documents are looked at.")
