"""Texts and numbers from users' files, and how they are shown: escaped, shortened, uniform."""

import codecs
import difflib
import errno
import os
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial, wraps
from html import escape
from inspect import Parameter, signature
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeGuard, TypeVar, Union, Unpack, get_args, get_origin

from adducir.core.errors import UsageError

Item = TypeVar("Item", str, int)
P = ParamSpec("P")
R = TypeVar("R")

LARGEST = 2**63 - 1
"""The largest integer that arrays and most programs can hold."""
STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with"
)
"""Lucene's, of English, between blanks."""
MOST_ROWS = 10
"""How many rows a notebook shows at most."""
# C0 except tab and line feed, DEL, C1, Unicode's line separators, and characters that change the
# direction of the text that follows (UAX #9).
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# Blanks and punctuation; other scripts' marks belong to their words.
_SIGNS = re.compile(
    rf"[\s{re.escape(string.punctuation)}¡§«¶·»¿\u2000-\u206f\u3001-\u303f\uff01-\uff0f]+"
)


def visible(text: str) -> str:
    r"""The text with control characters escaped (``\x1b``), because a terminal would obey them.

    Tabs and line feeds stay, as do characters that scripts need (joiners, direction marks).
    """
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def readable_name(name: str) -> str:
    r"""A file's name as text: bytes that are not UTF-8 as ``\xff``."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _name_bytes(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    characters.encode("utf-8", "surrogateescape")  # an error if they are not a name's bytes
    return ("\ufffd" * len(characters)).encode(), error.end  # the encoder takes no such text


NAME_BYTES = "adducir-name-bytes"
"""Names an encoding's error handler: bytes of file names that are not UTF-8 become U+FFFD."""
codecs.register_error(NAME_BYTES, _name_bytes)


def refuse_half_characters(texts: Iterable[str], subject: str) -> None:
    """Refuse texts that are not Unicode: halves of characters, or bytes that are not UTF-8."""
    joined = "\n".join(texts)  # a query of many terms is checked in one go
    try:
        joined.encode()
    except UnicodeEncodeError as error:
        first = max(joined.rfind("\n", 0, error.start) + 1, error.start - 20)
        shown = ascii(joined[first : error.end + 20].split("\n")[0])
        hint = "Correct it at its source; a terminal's encoding must be UTF-8."
        raise UsageError(f"{subject} is not UTF-8 text: {shown}.", hint=hint) from error


def same_text(text: str) -> str:
    return " ".join(text.casefold().split())


def same_words(text: str) -> str:
    """The same for texts that differ only in case, blanks and punctuation."""
    return " ".join(_SIGNS.sub(" ", text.casefold()).split()) or same_text(text)


_WIDER: Mapping[Any, Any] = {int: Integral, float: Real}
_WORDS: Mapping[Any, str] = {
    **{int: "an integer", float: "a number", str: "a string", bool: "True or False"},
    **{Path: "a path", os.PathLike: "a path", NoneType: "None", Mapping: "a dict"},
    **dict.fromkeys((Sequence, Iterable), "a list"),
}
_ITEMS: Mapping[Any, str] = {(str,): " of strings", (int,): " of integers", (float,): " of numbers"}


def typed(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse arguments of other types than the signature of a public function states, by name.

    What a function takes in several forms has a quoted type there, and is checked where it is read.
    Of an iterable, which may be a generator, and of an array, which has no truth value, a list is
    made.
    """
    hints: Mapping[str, Any] = function.__annotations__
    names: Sequence[str] = function.__code__.co_varnames

    @wraps(function)
    def checking(*arguments: P.args, **named: P.kwargs) -> R:
        def checked(name: str, value: Any) -> Any:
            hint = hints.get(name, "")
            if isinstance(hint, str):
                return value
            kinds = {get_origin(kind) for kind in (hint, *get_args(hint))}
            is_stream = isinstance(value, Iterable) and not hasattr(value, "__len__")
            is_array = hasattr(value, "dtype") and is_list(value)
            if (is_stream and Iterable in kinds) or (is_array and kinds & {Iterable, Sequence}):
                value = [*value]
            if not _is(value, hint):
                raise refused(value, f"`{name}`", _in_words(hint))
            return value

        by_place = [*map(checked, names, arguments), *arguments[len(names) :]]
        by_name = {name: checked(name, value) for name, value in named.items()}
        return function(*by_place, **by_name)

    if any(get_origin(hint) is Unpack for hint in hints.values()):
        shown = signature(function)
        each = [one for parameter in shown.parameters.values() for one in _one_by_one(parameter)]
        vars(checking)["__signature__"] = shown.replace(parameters=each)
    return checking


def _one_by_one(parameter: Parameter) -> list[Parameter]:
    """A parameter as completion shows it: of ``**settings: Unpack[...]``, each field."""
    if get_origin(parameter.annotation) is not Unpack:
        return [parameter]
    fields = get_args(parameter.annotation)[0].__annotations__
    by_name = partial(Parameter, kind=Parameter.KEYWORD_ONLY, default=...)
    return [by_name(name, annotation=kind) for name, kind in fields.items()]


def _is(value: Any, hint: Any) -> bool:
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return any(_is(value, each) for each in inner)
    if kind is Literal:
        return isinstance(value, str) and value in inner
    if kind in (Sequence, Iterable):
        is_text_or_frame = isinstance(value, str | bytes) or hasattr(value, "columns")
        is_list = hasattr(value, "__len__") and isinstance(value, Iterable) and not is_text_or_frame
        is_list = is_list and getattr(value, "shape", None) != ()
        if kind is Sequence:
            is_list = is_list and not isinstance(value, Mapping | Set)
        items = value if inner and is_list else ()
        return is_list and all(type(item) is inner[0] or _is(item, inner[0]) for item in items)
    if kind is Any or not isinstance(kind, type):
        return True
    if kind is Path or kind is os.PathLike:
        return isinstance(value, os.PathLike) and isinstance(os.fspath(value), str)
    return isinstance(value, bool) is (kind is bool) and isinstance(value, _WIDER.get(kind, kind))


def _in_words(hint: Any) -> str:
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(_in_words, inner)))
    if kind is Literal:
        return " or ".join(map(repr, inner))
    name = str(getattr(kind, "__name__", kind))
    return _WORDS.get(kind, name) + (_ITEMS.get(inner, "") if kind in (Sequence, Iterable) else "")


def refuse_unless(value: object, subject: str, kind: Any = Sequence) -> None:
    if not _is(value, kind):
        raise refused(value, subject, _in_words(kind))


def items_in(values: object, subject: str, expected: str = "a list") -> Iterator[Any]:
    """The items of what :func:`is_list` holds of; others are refused."""
    if not is_list(values):
        raise refused(values, subject, expected)
    return iter(values)


def is_list(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether it is a list, a generator or another iterable, and neither a text nor a dict."""
    is_one = isinstance(value, str | bytes | Mapping) or getattr(value, "shape", None) == ()
    return isinstance(value, Iterable) and not is_one


def refuse_unless_count(value: Any, subject: str, most: int | None = None) -> None:
    """A number that must be an integer of 1 or more."""
    if not _is(value, int) or value < 1 or (most is not None and value > most):
        bounds = "of 1 or more" if most is None else f"from 1 to {most:,}"
        raise refused(value, subject, f"an integer {bounds}")


def refused(value: object, subject: str, expected: str, hint: str | None = None) -> UsageError:
    """The error of an argument of another type."""
    if isinstance(value, str) and expected.startswith("a list"):
        hint = "Put a single one in a list: [...]."
    kind, shown = type(value).__name__, shortened(repr(value))
    not_this = f"of the type {kind}" if "\n" in shown else f"{shown} ({kind})"
    return UsageError(f"{subject} must be {expected}, not {not_this}.", hint=hint)


def refuse_unless_path(value: Any, subject: str) -> None:
    refuse_unless(value, subject, str | Path)
    try:
        Path(value).stat()
    except (OSError, ValueError) as error:
        if isinstance(error, ValueError) or error.errno == errno.ENAMETOOLONG:
            shown, reason = shortened(ascii(os.fspath(value))), getattr(error, "strerror", error)
            raise UsageError(f"{subject} cannot be {shown}: {reason}.") from error


def shortened(text: str, most: int = 60) -> str:
    if len(text) <= most:
        return text
    half = (most - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


def repeated(items: Iterable[Item]) -> list[Item]:
    return [item for item, count in Counter(items).items() if count > 1]


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Sequence[str], limit: int = 5) -> str:
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def closest(word: str, words: Iterable[str]) -> str | None:
    """The word in ``words`` closest to ``word``, if any is close."""
    fold = str.maketrans("- ", "__")
    folded = {
        candidate.casefold().translate(fold): candidate for candidate in sorted(words, reverse=True)
    }
    matches = difflib.get_close_matches(word.casefold().translate(fold), folded, n=1, cutoff=0.5)
    return folded[matches[0]] if matches else None


def nearest(word: str, words: Iterable[str]) -> str:
    """``; did you mean `x`?`` for the closest word, or nothing."""
    match = closest(word, words)
    return f"; did you mean `{match}`?" if match else ""


def sentence(text: str) -> str:
    """The text with a full stop, unless it is a question."""
    return text if text.endswith("?") else f"{text.rstrip('.')}."


def whole_number(text: str, most: int = LARGEST) -> int | None:
    """The integer from 0 to ``most`` written in ASCII digits; None if the text is not one."""
    digits = re.fullmatch(r"0*+([0-9]{0,19})", text) if text else None
    if digits is None:
        return None
    value = int(digits[1] or "0")
    return value if value <= most else None


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table for a notebook; numbers to four decimals, None as an empty cell."""
    names, lines = "".join(f"<th>{escape(name)}</th>" for name in head), list[str]()
    for row in rows:
        cells = ("" if cell is None else cell for cell in row)
        texts = (f"{cell:.4f}" if isinstance(cell, float) else escape(str(cell)) for cell in cells)
        lines.append(f"<tr>{''.join(f'<td>{text}</td>' for text in texts)}</tr>")
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{names}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )
