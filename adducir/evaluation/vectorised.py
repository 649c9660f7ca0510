"""The measures that are computed for all topics at once, without ir_measures."""

from functools import cache

from ir_measures import Measure
from ir_measures.measures import registry
from ir_measures.measures.base import ParamInfo

from adducir.evaluation.formulas import MEASURES, MeasureKind
from adducir.evaluation.judgements import Floats
from adducir.evaluation.lists import Lists


def is_vectorised(measure: Measure) -> bool:
    """Whether :func:`compute` knows the measure with these parameters."""
    kind = kind_of(measure)
    if kind is None or hasattr(measure, "runtime_impl"):
        return False
    fields, theirs = kind.model_fields, measure.SUPPORTED_PARAMS
    # What ir_measures requires has been checked; RBP's rel is required here alone.
    needed = {key for key in fields if fields[key].is_required() and not theirs[key].required}
    return needed <= measure.params.keys()


def kind_of(measure: object) -> type[MeasureKind] | None:
    """The kind of a measure; None where it is computed by others."""
    name = str(getattr(measure, "NAME", ""))
    return MEASURES.kind(name) if name in MEASURES else None


def compute(lists: Lists, measure: Measure) -> Floats:
    """(T,) values of a measure that :func:`is_vectorised`.

    Raises:
        UsageError: As the measure's kind.
    """
    return MEASURES.make(str(measure.NAME), measure.params).values(lists)


@cache
def known() -> dict[str, Measure]:
    """Every measure by its name: those of ir_measures, and those that our kinds alone define."""
    own = {name: kind for name, kind in MEASURES.kinds().items() if name not in registry}
    return {**registry, **{name: _defined(name, kind) for name, kind in own.items()}}


def _defined(name: str, kind: type[MeasureKind]) -> Measure:
    """A measure of ir_measures that has a kind's name and parameters."""
    parameters = {
        key: ParamInfo(  # type: ignore[no-untyped-call]  # ir_measures has no types
            dtype=field.annotation if isinstance(field.annotation, type) else None,
            required=field.is_required(),
            desc=field.description,
            **({} if field.is_required() else {"default": field.default}),
        )
        for key, field in kind.model_fields.items()
    }
    details = {"NAME": name, "AT_PARAM": kind.at, "SUPPORTED_PARAMS": parameters}
    made: type[Measure] = type(
        name, (Measure,), {**details, "__name__": name, "__doc__": kind.__doc__}
    )
    return made()
