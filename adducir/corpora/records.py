"""Files of records with unique ids, one JSON object per line."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

import orjson
from pydantic import AfterValidator, TypeAdapter, ValidationError

from adducir.core.errors import InputError, UsageError, in_files, speaking
from adducir.core.files import writing_text
from adducir.core.json_lines import json_values
from adducir.core.recipe import told
from adducir.core.texts import repeated

R = TypeVar("R", bound=Any)
"""A record with an ``id``, unique in its file."""
T = TypeVar("T")
Values = TypeVar("Values", bound=tuple[Any, ...])


def _unbroken(name: str) -> str:
    if name.split() != [name] or "\0" in name:
        raise ValueError(f"an id must be text without white space, not {name!r}")
    return name


Id = Annotated[str, AfterValidator(_unbroken)]
"""A record's field that is an id."""


def all_different(values: Values) -> Values:
    """Refuse duplicate values; for fields of records."""
    if len(set(values)) < len(values):
        raise ValueError(f"{repeated(values)[0]!r} is duplicated")
    return values


def read_values(
    path: Path,
    value_of: Callable[[Any], T],
    hint: str | None = None,
    values: Iterable[tuple[int, Any]] | None = None,
) -> Iterator[tuple[int, T]]:
    """Yield the record of each line, or of each of ``values``, with its 1-based number.

    ``value_of`` converts a JSON value and raises a UsageError for a wrong one.
    """
    for line, value in json_values(path) if values is None else values:
        try:
            yield line, value_of(value)
        except UsageError as error:
            raise InputError(error.what, path=path, line=line, hint=hint) from None


def read_records(
    path: Path,
    record_of: Callable[[Any], R],
    hint: str | None = None,
    values: Iterable[tuple[int, Any]] | None = None,
) -> Iterator[R]:
    """Yield the values, whose ids must be unique."""
    lines: dict[str, int] = {}
    for line, record in read_values(path, record_of, hint, values):
        if lines.setdefault(record.id, line) != line:
            message = f"the id {record.id!r} is already used on line {lines[record.id]}."
            hint = hint or "Every line needs a unique id."
            raise InputError(message, path=path, line=line, hint=hint)
        yield record


def write_records(records: Iterable[R], path: Path, value_of: Callable[[R], Any]) -> int:
    """Write records as JSONL (gzipped by suffix) atomically; returns their number."""
    seen = set[str]()
    with writing_text(path) as handle:
        for record in records:
            if record.id in seen:
                raise InputError(f"the id {record.id!r} is used twice.", path=path)
            seen.add(record.id)
            try:
                handle.write(orjson.dumps(value_of(record)).decode() + "\n")
            except (UsageError, orjson.JSONEncodeError) as error:  # or half of a surrogate pair
                raise InputError(f"{record.id!r} cannot be written: {error}", path=path) from error
    return len(seen)


def parsed_as(kind: type[T]) -> Callable[[Any], T]:
    """Converts JSON values to a pydantic dataclass; a UsageError for a wrong value."""
    validate = TypeAdapter(kind).validate_python

    def parse(value: Any) -> T:
        if not isinstance(value, dict):
            raise UsageError("this is not a JSON object.")
        try:
            return validate(value)
        except ValidationError as error:
            with speaking(in_files):  # keys of data are no options
                raise UsageError(f"{told(error)}.") from None

    return parse
