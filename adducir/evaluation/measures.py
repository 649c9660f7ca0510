"""Measures: read as people type them, checked, and which way each points.

``nDCG(judged_only=True)@5 Bpref, P_5 ndcg_cut.10,20`` is four kinds of spelling in one line:
ir_measures' own names with parameters, and trec_eval's. Measures are separated by blanks or commas;
a comma inside parentheses belongs to the measure. ir_measures' own ``parse_measure`` is not used:
it walks ``ast.Num`` and ``ast.Str``, which Python 3.14 no longer has, and its errors are
assertions. What is read here equals what it reads (tests hold that).

What packages compute from other things than a run and qrels (the rank of the gold item, a rating, a
selected set) is a :class:`NamedMeasure`.
"""

import ast
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from ir_measures import Measure
from ir_measures.measures import registry
from ir_measures.measures.base import ParamInfo

from adducir.core.errors import UsageError
from adducir.core.texts import LARGEST, shortened
from adducir.evaluation.formulas import MEASURES, MeasureKind

CUTOFFS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
"""trec_eval's, of a measure that is named without one."""
_RECALLS = tuple(f"{n / 10}" for n in range(11))
TREC_NAMES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "bpref": ("Bpref", "", ()),
    "infAP": ("infAP", "", ()),
    "iprec_at_recall": ("IPrec", "recall", _RECALLS),
    "map": ("AP", "", ()),
    "map_cut": ("AP", "cutoff", CUTOFFS),
    "ndcg": ("nDCG", "", ()),
    "ndcg_cut": ("nDCG", "cutoff", CUTOFFS),
    "num_q": ("NumQ", "", ()),
    "num_rel": ("NumRel", "", ()),
    "num_rel_ret": ("NumRelRet", "", ()),
    "num_ret": ("NumRet", "", ()),
    "P": ("P", "cutoff", CUTOFFS),
    "recall": ("R", "cutoff", CUTOFFS),
    "recip_rank": ("RR", "", ()),
    "Rprec": ("Rprec", "", ()),
    "set_F": ("SetF", "beta", ("1.0",)),
    "set_map": ("SetAP", "", ()),
    "set_P": ("SetP", "", ()),
    "set_recall": ("SetR", "", ()),
    "set_relative_P": ("SetRelP", "", ()),
    "success": ("Success", "cutoff", ("1", "5", "10")),
}
"""trec_eval's names: the measure, the parameter that a family takes, its values if none is given.

From trec_eval 9's ``measures.c`` and the defaults in its ``m_*.c`` files.
"""
_GEOMETRIC = "it is a geometric mean over topics, and Adducir reports arithmetic means"
_NO_MEASURE = "ir_measures has no such measure"
_INEXPRESSIBLE = {
    "gm_map": _GEOMETRIC,
    "gm_bpref": _GEOMETRIC,
    "11pt_avg": "it is the mean of IPrec@0.0 to IPrec@1.0, which can be asked for singly",
    "ndcg_p": "nDCG(gains={...}) does the same",
    "relstring": "it is not a number",
    "runid": "it is not a number",
    "rbp": "RBP(rel=1,p=0.9) is its binary form",
    "unj": "Judged@k is its complement",
    **dict.fromkeys(
        [
            "Rprec_mult",
            "relative_P",
            "binG",
            "G",
            "ndcg_rel",
            "Rndcg",
            "utility",
            "num_nonrel_judged_ret",
            "rbp_resid",
        ],
        _NO_MEASURE,
    ),
}
_WITH_PARAMETER = re.compile(r"(?P<name>.+?)[._](?P<value>[0-9.,+=-]+)")
_LONGEST = 100  # beyond it nothing is a name: the pattern takes time in proportion to its square
_CALL = re.compile(
    r"(?P<name>\w++)\s*+(?:\((?P<arguments>.*)\))?\s*(?:@\s*(?P<at>[^\s@()]+))?", re.DOTALL
)

SUMMED = frozenset({"NumQ", "NumRel", "NumRet"})
"""Measures that trec_eval and ir_measures report as a sum over topics."""


class NamedMeasure(Measure):
    """A measure without parameters that nothing but its name distinguishes.

    It is equal to a measure of ir_measures that is written alike (``R@5``).
    ``lower_is_better`` is None where nobody has said.
    """

    def __init__(self, title: str, *, lower_is_better: bool | None = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # ir_measures has no types
        self.title = title
        self.lower_is_better = lower_is_better

    def __repr__(self) -> str:
        return self.title


def kind_of(measure: Measure) -> type[MeasureKind] | None:
    """The kind of a measure; None where it is computed by others."""
    name = str(getattr(measure, "NAME", ""))
    return MEASURES.kind(name) if name in MEASURES else None


def lower_is_better(measure: Measure) -> bool:
    """Whether the lower value is the better."""
    of_kind = getattr(kind_of(measure), "lower_is_better", False)
    return bool(getattr(measure, "lower_is_better", of_kind))


def is_descriptive(measure: Measure) -> bool:
    """Whether it rates no system, and so is not tested."""
    return bool(getattr(kind_of(measure), "is_descriptive", False))


def is_summed(measure: Measure) -> bool:
    """Whether it is a count, shown as its sum over topics (as trec_eval does)."""
    return getattr(measure, "NAME", None) in SUMMED


def leaves_unjudged_out(measure: Measure) -> bool:
    """Whether unjudged documents are left out of its lists."""
    always = getattr(kind_of(measure), "leaves_unjudged_out", False)
    return bool(always or getattr(measure, "params", {}).get("judged_only"))


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


def parse_measures(text: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """Read measures, in the order given, each once.

    Args:
        text: Measures separated by blanks or commas, or several such texts and measure objects.

    Raises:
        UsageError: A measure is unknown (the nearest is named), a parameter is unknown, missing or
            out of range, or there is no measure at all.
    """
    parts = [text] if isinstance(text, (str, Measure)) else list(text)
    found: dict[Measure, None] = {}
    for part in parts:
        read = _from_text(part) if isinstance(part, str) else [check_measure(part)]
        found.update(dict.fromkeys(read))
    if not found:
        raise UsageError("No measure is given.", hint="Name at least one, for example nDCG@10.")
    return list(found)


def parse_measure(text: str | Measure) -> Measure:
    """Read exactly one measure, as :func:`parse_measures`."""
    measures = parse_measures(text)
    if len(measures) != 1:
        raise UsageError(f"{text!r} names {len(measures)} measures where one is wanted.")
    return measures[0]


def _from_text(text: str) -> Iterator[Measure]:
    family = ""
    for piece in _cut(text, blanks=True):
        if family and re.fullmatch(r"[0-9.]+", piece):
            yield from _trec(family, piece)  # the 10 of trec_eval's "P.5,10"
            continue
        name, value = _split_trec(piece)
        family = "" if value is None else name
        # P alone is ir_measures' P, which needs its cutoff.
        if name in _INEXPRESSIBLE or (name in TREC_NAMES and piece not in known()):
            yield from _trec(name, value)
        else:
            yield _named(piece)


def _cut(text: str, blanks: bool = False) -> list[str]:
    """Cut at commas, and at blanks, outside brackets and quotes."""
    pieces, start, depth, quote = [], 0, 0, ""
    for position, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif depth == 0 and (letter == "," or (blanks and letter.isspace())):
            pieces.append(text[start:position])
            start = position + 1
        if depth < 0:
            raise UsageError(f"{text!r} closes a bracket that it did not open.")
    if depth or quote:
        raise UsageError(f"{text!r} leaves a {'quotation' if quote else 'bracket'} open.")
    return [piece for piece in (*pieces, text[start:]) if piece.strip()]


def _split_trec(text: str) -> tuple[str, str | None]:
    """``ndcg_cut.10`` or ``P_5`` as name and parameter; else the whole text and None."""
    match = _WITH_PARAMETER.fullmatch(text[: _LONGEST + 1])
    names = TREC_NAMES.keys() | _INEXPRESSIBLE.keys()
    if text not in names and len(text) <= _LONGEST and match and match["name"] in names:
        return match["name"], match["value"]
    return text, None


def _trec(name: str, value: str | None) -> Iterator[Measure]:
    if name in _INEXPRESSIBLE:
        raise UsageError(
            f"trec_eval's measure {name} is not available here: {_INEXPRESSIBLE[name]}."
        )
    measure, parameter, defaults = TREC_NAMES[name]
    if not parameter:
        if value is not None:
            raise UsageError(f"trec_eval's measure {name} takes no parameter, but has {value!r}.")
        yield known()[measure]
        return
    for single in defaults if value is None else value.split(","):
        number = _literal(single, f"{name}.{value}")
        yield check_measure(known()[measure](**{parameter: number}))


def _named(piece: str) -> Measure:
    match = _CALL.fullmatch(piece)
    if match is None:
        raise UsageError(
            f"{piece!r} cannot be read as a measure.",
            hint="Write Name@cutoff or Name(parameter=value,...)@cutoff, "
            "for example nDCG(judged_only=True)@5.",
        )
    name = match["name"]
    if name not in known():
        # As in recip_rank@10.
        near = TREC_NAMES[name][0] if name in TREC_NAMES else None
        near = near or nearest(_split_trec(piece)[0], [*known(), *TREC_NAMES])
        near = near or nearest(name, known())
        hint = f"Did you mean {near}{piece[len(name) :]}?" if near else None
        raise UsageError(f"Unknown measure {piece!r}.", hint=hint)
    measure = known()[name]
    given = [argument.partition("=") for argument in _cut(match["arguments"] or "")]
    if match["at"] is not None:
        given.append((measure.AT_PARAM, "=", match["at"]))
    parameters: dict[str, Any] = {}
    for key, equals, value in given:
        if not equals:
            raise UsageError(f"{piece!r}: write {key.strip()!r} as parameter=value.")
        if key.strip() in parameters:
            raise UsageError(f"{piece!r} gives {key.strip()} twice.")
        parameters[key.strip()] = _literal(value, piece)
    return check_measure(measure(**parameters))


def _literal(text: str, piece: str) -> Any:
    text = text.strip()
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        if re.fullmatch(r"[A-Za-z][\w-]*", text):
            return text  # dcg=exp-log2 without its quotes
        what = f"{shortened(text)!r} is not a number, True, False or a text."
        raise UsageError(f"{shortened(piece)!r}: {what}") from None
    parts = (*value, *value.values()) if isinstance(value, dict) else (value,)
    if any(isinstance(one, int) and abs(one) > LARGEST for one in parts):
        raise UsageError(f"{shortened(piece)!r}: a number in it is too large.")
    return value


def check_measure(measure: Measure) -> Measure:
    """The measure with its parameters checked, integers as floats where wanted (IPrec@1.0).

    ir_measures checks them too, but late (at evaluation) and by assertions.
    """
    if not isinstance(measure, Measure):
        raise UsageError(f"{measure!r} is not a measure.")
    takes, parameters = measure.SUPPORTED_PARAMS, dict[str, Any]()
    for key, value in measure.params.items():
        if key not in takes:
            near = nearest(key, takes)
            listed = ", ".join(takes) or "no parameters"
            raise UsageError(
                f"The measure {measure.NAME} has no parameter {key!r}.",
                hint=f"Did you mean {near}?" if near else f"It takes {listed}.",
            )
        parameters[key] = _checked(measure, key, value)
    for key, info in takes.items():
        if info.required and key not in parameters:
            example = "0.5" if key == "recall" else "10"
            short = f"{measure.NAME}@{example}" if key == measure.AT_PARAM else f"{key}=..."
            raise UsageError(f"The measure {measure.NAME} needs a {key}: write {short}.")
    if measure.NAME in MEASURES and measure.NAME not in registry:
        MEASURES.make(str(measure.NAME), parameters)  # a package's, which says what it allows
    return measure(**parameters) if parameters else measure


def _checked(measure: Measure, key: str, value: Any) -> Any:
    info = measure.SUPPORTED_PARAMS[key]
    dtype = info.dtype
    if dtype is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    is_typed = dtype is None or (
        isinstance(value, dtype) and (dtype is bool or not isinstance(value, bool))
    )
    wanted, in_range = {bool: "True or False", int: "an integer", str: "a text"}.get(dtype), True
    if key in ("cutoff", "rel"):
        wanted, in_range = "an integer, 1 or more", is_typed and value >= 1
    elif key in ("recall", "p"):
        wanted, in_range = "a number from 0 to 1", is_typed and 0 <= value <= 1
    elif isinstance(value, Mapping):
        in_range = all(type(part) is int for pair in value.items() for part in pair)
    if dtype is None and not wanted:
        wanted = "a mapping of grades to gains, both integers"
    what = f"The measure {measure.NAME} has {key}={value!r}; {key} must be"
    if not (is_typed and in_range):
        raise UsageError(f"{what} {wanted or 'a number'}.")
    if isinstance(info.choices, (list, tuple)) and value not in info.choices:
        raise UsageError(f"{what} one of {', '.join(map(repr, info.choices))}.")
    return value


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like ``name``, whatever the case, or None."""
    by_lower = {candidate.lower(): candidate for candidate in reversed(list(candidates))}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.4)
    return by_lower[close[0]] if close else None
