"""One text, and one digest, for equal values: how stale artifacts are recognised.

The canonical form is JSON (RFC 8259) in ASCII: keys sorted by code point, no
spaces, floats in Python's shortest round-trip form, so that it is the same for
every order of keys, Python version and machine. ``1`` and ``1.0`` differ; a
validated recipe has made them one before.
"""

import hashlib
import json
import math
import numbers
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote, unquote

_MARK = "~not known~"  # stands in no path or name as it is quoted here
UNREAD = f"{_MARK}{_MARK}"
"""A digest that is not known, and is no artifact's: of what a dry run does not read."""


def canonical(value: Any) -> str:
    """The canonical JSON of a value made of mappings, sequences and scalars.

    Paths are written with forward slashes, tuples as lists, numpy's scalars as
    the numbers they are.
    """
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def plain(value: Any) -> Any:
    """``value`` in JSON's own types, as :func:`canonical` takes it."""
    return _plain(value, "value")


def fingerprint(value: Any) -> str:
    """The SHA-256, in hexadecimal, of :func:`canonical`; not known where a digest in it is not."""
    text = canonical(value)
    digest = hashlib.sha256(text.encode("ascii")).hexdigest()
    if _MARK not in text:
        return digest
    return f"{_MARK}{text.split(_MARK)[1]}{_MARK}{digest}"


def unread_digest(path: Path) -> str:
    """Stands for the digest of a file that a dry run does not read."""
    return f"{_MARK}{quote(str(path))}{_MARK}"


def is_known(fingerprint: str) -> bool:
    """Whether all that a fingerprint covers has been read."""
    return _MARK not in fingerprint


def unread_file(fingerprint: str) -> Path | None:
    """The file for which a fingerprint is not known; None where data are missing."""
    path = fingerprint.split(_MARK)[1]
    return Path(unquote(path)) if path else None


def _plain(value: Any, where: str) -> Any:
    """``value`` in JSON's own types; ``where`` names it in errors."""
    match value:
        case None | bool():
            return value
        case str():
            return str.__str__(value)
        case PurePath():
            return value.as_posix()
        case numbers.Integral():
            return int(value)
        case numbers.Real():
            number = float(value)
            if not math.isfinite(number):
                raise ValueError(f"{where} is {number}, which has no canonical form")
            return number
        case Mapping():
            return _plain_mapping(value, where)
        case list() | tuple():
            return [_plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    raise TypeError(f"{where} is of type {type(value).__name__}, which has no canonical form")


def _plain_mapping(value: Mapping[Any, Any], where: str) -> dict[str, Any]:
    plain = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise TypeError(f"{where} has the key {key!r}, which is not text")
        plain[str.__str__(key)] = _plain(item, f"{where}[{key!r}]")
    return plain
