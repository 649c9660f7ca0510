"""Files of records with unique ids, one JSON object per line."""

from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError

from adducir.core.errors import InputError, UsageError
from adducir.core.files import writing_text
from adducir.core.names import Numbered, Seen
from adducir.core.recipe import told


class Named(Protocol):
    """What has an id, unique in its file."""

    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=Named)
T = TypeVar("T")


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
