"""Read measures as people type them, as ``ir_measures`` measure objects.

``nDCG(judged_only=True)@5 Bpref, P_5 ndcg_cut.10,20`` is four kinds of
spelling in one line: ir_measures' own names with parameters, and trec_eval's
names (:mod:`adducir.evaluation.trec_names`). Measures are separated by blanks
or commas; a comma inside parentheses belongs to the measure.

ir_measures' own ``parse_measure`` is not used: it walks ``ast.Num`` and
``ast.Str`` nodes, which Python 3.14 no longer has, and its errors are
assertions. What is read here equals what it reads (tests hold that).
"""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ir_measures import Measure

from adducir.core.errors import UsageError
from adducir.core.texts import LARGEST, shortened
from adducir.evaluation.parameters import check_measure, nearest
from adducir.evaluation.trec_names import TREC_INEXPRESSIBLE, TREC_NAMES, split_trec_name
from adducir.evaluation.vectorised import known

__all__ = ["Measure", "check_measure", "parse_measure", "parse_measures"]

_CALL = re.compile(
    r"(?P<name>\w++)\s*+(?:\((?P<arguments>.*)\))?\s*(?:@\s*(?P<at>[^\s@()]+))?", re.DOTALL
)
_OPENING = "([{"
_CLOSING = ")]}"


def parse_measures(text: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """Read one text, or several texts or measures, as measures.

    Args:
        text: Measures separated by blanks or commas, or an iterable of such
            texts and of measure objects.

    Returns:
        The measures in the order given, each once.

    Raises:
        UsageError: A measure is unknown (the nearest is named), a parameter is
            unknown, missing or out of range, or there is no measure at all.
    """
    parts = [text] if isinstance(text, (str, Measure)) else list(text)
    found: dict[Measure, None] = {}
    for part in parts:
        if isinstance(part, str):
            found.update(dict.fromkeys(_from_text(part)))
        else:
            found[check_measure(part)] = None
    if not found:
        raise UsageError("No measure is given.", hint="Name at least one, for example nDCG@10.")
    return list(found)


def parse_measure(text: str | Measure) -> Measure:
    """Read exactly one measure.

    Raises:
        UsageError: As :func:`parse_measures`, and where there are several.
    """
    measures = parse_measures(text)
    if len(measures) != 1:
        raise UsageError(f"{text!r} names {len(measures)} measures where one is wanted.")
    return measures[0]


def _from_text(text: str) -> Iterator[Measure]:
    family: str | None = None
    for piece in _cut(text, blanks=True):
        if family is not None and re.fullmatch(r"[0-9.]+", piece):
            yield from _trec(family, piece)  # the 10 of trec_eval's "P.5,10"
            continue
        name, value = split_trec_name(piece)
        family = name if value is not None else None
        # P alone is ir_measures' P, which needs its cutoff.
        if name in TREC_INEXPRESSIBLE or (name in TREC_NAMES and piece not in known()):
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
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif depth == 0 and (letter == "," or (blanks and letter.isspace())):
            pieces.append(text[start:position])
            start = position + 1
        if depth < 0:
            raise UsageError(f"{text!r} closes a bracket that it did not open.")
    if depth or quote:
        raise UsageError(f"{text!r} leaves a {'quotation' if quote else 'bracket'} open.")
    return [piece for piece in (*pieces, text[start:]) if piece.strip()]


def _trec(name: str, value: str | None) -> Iterator[Measure]:
    if name in TREC_INEXPRESSIBLE:
        raise UsageError(
            f"trec_eval's measure {name} is not available here: {TREC_INEXPRESSIBLE[name]}."
        )
    target = TREC_NAMES[name]
    if target.parameter is None:
        if value is not None:
            raise UsageError(f"trec_eval's measure {name} takes no parameter, but has {value!r}.")
        yield known()[target.measure]
        return
    values = target.defaults if value is None else tuple(value.split(","))
    for single in values:
        number = _literal(single, f"{name}.{value}")
        yield check_measure(known()[target.measure](**{target.parameter: number}))


def _named(piece: str) -> Measure:
    match = _CALL.fullmatch(piece)
    if match is None:
        raise UsageError(
            f"{piece!r} cannot be read as a measure.",
            hint="Write Name@cutoff or Name(parameter=value,...)@cutoff, "
            "for example nDCG(judged_only=True)@5.",
        )
    if match["name"] not in known():
        raise _unknown(piece, match["name"])
    measure = known()[match["name"]]
    parameters: dict[str, Any] = {}
    for argument in _cut(match["arguments"] or ""):
        key, equals, value = argument.partition("=")
        key = key.strip()
        if not equals:
            raise UsageError(f"{piece!r}: write {argument.strip()!r} as parameter=value.")
        if key in parameters:
            raise UsageError(f"{piece!r} gives {key} twice.")
        parameters[key] = _literal(value, piece)
    if match["at"] is not None:
        if measure.AT_PARAM in parameters:
            raise UsageError(f"{piece!r} gives {measure.AT_PARAM} twice.")
        parameters[measure.AT_PARAM] = _literal(match["at"], piece)
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


def _unknown(piece: str, name: str) -> UsageError:
    if name in TREC_NAMES:  # as in recip_rank@10
        near: str | None = TREC_NAMES[name].measure
    else:
        near = nearest(split_trec_name(piece)[0], [*known(), *TREC_NAMES])
        near = near or nearest(name, known())
    hint = (
        f"Did you mean {near}{piece[len(name) :]}?"
        if near
        else "The names of ir_measures and of trec_eval are known."
    )
    return UsageError(f"Unknown measure {piece!r}.", hint=hint)
