"""Files of records with unique ids, one JSON object per line."""

from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

import orjson
from pydantic import AfterValidator, TypeAdapter, ValidationError

from adducir.core.errors import InputError, UsageError
from adducir.core.files import writing_text
from adducir.core.names import Numbered, Seen
from adducir.core.recipe import told
from adducir.core.texts import repeated


class Named(Protocol):
    """What has an id, unique in its file."""

    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=Named)
T = TypeVar("T")
Values = TypeVar("Values", bound=tuple[Any, ...])


def _unbroken(name: str) -> str:
    if name.split() != [name] or "\0" in name:
        raise ValueError(f"an id is text without white space, not {name!r}")
    return name


Id = Annotated[str, AfterValidator(_unbroken)]
"""A field of a record that names something."""


def all_different(values: Values) -> Values:
    """Refuse a value that is duplicated; for fields of records."""
    if len(set(values)) < len(values):
        raise ValueError(f"{repeated(values)[0]!r} is duplicated")
    return values


def read_records(
    path: Path,
    values: Iterable[tuple[int, Any]],
    record_of: Callable[[Any], R],
    hint: str = "Every line needs an id of its own.",
) -> Iterator[R]:
    """Yield the records of a file in its order.

    Args:
        path: The file, for errors.
        values: Its JSON values with their 1-based lines.
        record_of: Makes a record of a value; raises UsageError where it is wrong.
        hint: What to do about a line that is wrong.
    """
    ids, lines = Numbered(), array("q")
    for line, value in values:
        try:
            record = record_of(value)
        except UsageError as error:
            raise InputError(error.what, path=path, line=line, hint=hint) from None
        number = ids.number(hash(record.id))
        if number < len(lines):
            what = f"the id {record.id!r} is used in line {lines[number]} already."
            raise InputError(what, path=path, line=line, hint=hint)
        lines.append(line)
        yield record


def write_records(records: Iterable[R], path: Path, value_of: Callable[[R], Any]) -> int:
    """Write records as JSONL, whole or not at all, gzipped where the name ends in ``.gz``.

    Returns how many there were.
    """
    seen, count = Seen(), 0
    with writing_text(path) as handle:
        for record in records:
            count += 1
            if seen.add(record.id):
                raise InputError(f"the id {record.id!r} is used twice.", path=path)
            try:
                handle.write(orjson.dumps(value_of(record)).decode() + "\n")
            except (UsageError, orjson.JSONEncodeError) as error:  # or half of a surrogate pair
                raise InputError(f"{record.id!r} cannot be written: {error}", path=path) from error
    return count


def check_keys(record: Any, what: str, required: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a JSON value that is not an object with these keys."""
    if not isinstance(record, dict):
        raise UsageError(f"a {what} must be a JSON object, not a {type(record).__name__}.")
    lacking = [key for key in required if key not in record]
    if lacking:
        raise UsageError(f"this {what} has no {' and no '.join(map(repr, lacking))}.")
    unknown = sorted(record.keys() - set(known))
    if unknown:
        raise UsageError(f"a {what} has no key {unknown[0]!r}.")


def are_texts(value: Any) -> bool:
    """Whether a JSON value is a list of texts."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def parsed_as(kind: type[T]) -> Callable[[Any], T]:
    """Makes records of a pydantic dataclass from JSON values; UsageError where a value is wrong."""
    validate = TypeAdapter(kind).validate_python

    def parse(value: Any) -> T:
        if not isinstance(value, dict):
            raise UsageError(f"this should be a JSON object, not a {type(value).__name__}.")
        try:
            return validate(value)
        except ValidationError as error:
            raise UsageError(f"{told(error)}.") from None

    return parse
