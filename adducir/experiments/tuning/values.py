"""Ranges of values, exact in decimals: 0.2, 0.4, 0.6 and not 0.6000000000000001.

A range goes from its first to its last value, both included, in equal steps; steps that do not
end on the last value are refused, because nobody would see that it is not tried.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation

from adducir.core.errors import UsageError
from adducir.core.texts import shortened

Number = int | float

MOST_VALUES = 100_000
"""A range that has more values is a slip of the pen."""
_MOST_PLACES = 100


def decimal(value: Number | str | Decimal) -> Decimal:
    """The decimal number that a person wrote; floats as they are printed.

    Raises:
        UsageError: It is no number, or not a finite one.
    """
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation as error:
        raise UsageError(f"{value!r} is no number.") from error
    if not number.is_finite():
        raise UsageError(f"{value!r} is not a finite number.")
    if number and abs(number.adjusted()) > _MOST_PLACES:
        raise UsageError(f"{shortened(str(value))} has more than {_MOST_PLACES} places.")
    return number


def span(first: Decimal, last: Decimal, step: Decimal) -> list[Decimal]:
    """The values from ``first`` to ``last``, both included, ``step`` apart.

    Raises:
        UsageError: The step is not above 0, or the steps do not end on ``last``.
    """
    if step <= 0:
        raise UsageError(f"a step must be greater than 0, not {plain(step)}.")
    message = f"from {plain(first)} to {plain(last)}"
    if last < first:
        raise UsageError(f"a range goes upwards, not {message}.")
    if (last - first) / step >= MOST_VALUES:
        raise UsageError(f"{message} by {plain(step)} are more than {MOST_VALUES:,} values.")
    steps, rest = divmod(last - first, step)
    if rest:
        below = first + steps * step
        raise UsageError(
            f"steps of {plain(step)} from {plain(first)} do not end on {plain(last)}.",
            hint=f"End on {plain(below)} or {plain(below + step)}.",
        )
    return [first + number * step for number in range(int(steps) + 1)]


def from_text(text: str) -> list[Decimal]:
    """The values of ``0.2,0.4``, of ``0.5:2.5:0.5`` (first, last, step), or of both joined.

    Raises:
        UsageError: As :func:`decimal` and :func:`span`; or there is no value.
    """
    values: list[Decimal] = []
    for item in text.split(","):
        parts = item.split(":")
        if len(parts) == 3:
            first, last, step = map(decimal, parts)
            values += span(first, last, step)
        elif len(parts) == 1:
            values.append(decimal(item))
        else:
            raise UsageError(f"{item!r} is neither a value nor a range first:last:step.")
    return values


def from_recipe(given: Number | Iterable[Number] | Mapping[str, Number]) -> list[Decimal]:
    """The values of a number, of a list, or of the keys ``from``, ``to`` and ``step``.

    Raises:
        UsageError: As :func:`span`; or a key of the three is missing.
    """
    if isinstance(given, Mapping):
        missing = [key for key in ("from", "to", "step") if key not in given]
        if missing:
            raise UsageError(f"a range has the keys from, to and step; {missing[0]} is missing.")
        return span(decimal(given["from"]), decimal(given["to"]), decimal(given["step"]))
    return [decimal(value) for value in ([given] if isinstance(given, Number) else given)]


def plain(value: Number | Decimal) -> str:
    """A value as people write it: ``4``, ``0.4``, ``1000``."""
    text = format(decimal(value), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
