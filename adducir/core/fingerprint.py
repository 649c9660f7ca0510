"""One digest for equal values, and the SHA-256 of files, each read once per machine.

The canonical form of a value is JSON (RFC 8259) in ASCII: keys sorted by code point, no spaces,
floats in Python's shortest round-trip form. ``1`` and ``1.0`` differ; a validated recipe has made
them one before.

Of a file that was read, inode, size, times of change and digest are kept in the user's cache
folder: while the first four are the same, it is not read again. To lose what is kept costs time
only. A dry run reads small files only (:mod:`adducir.core.absent`).
"""

import json
import math
import numbers
import os
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote, unquote

from adducir.core.absent import reads
from adducir.core.errors import reading_error
from adducir.core.files import cache_folder, file_digest

_MARK = "~not known~"  # stands in no path or name as it is quoted here
UNREAD = f"{_MARK}{_MARK}"
"""A digest that is not known, and is not an artifact's: of what a dry run does not read."""


def canonical(value: Any) -> str:
    """The canonical JSON of a value made of mappings, sequences, scalars and paths."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def fingerprint(value: Any) -> str:
    """The SHA-256, in hexadecimal, of :func:`canonical`; not known where a digest in it is not."""
    text = canonical(value)
    digest = sha256(text.encode("ascii")).hexdigest()
    if _MARK not in text:
        return digest
    return f"{_MARK}{text.split(_MARK)[1]}{_MARK}{digest}"


def digest_of(texts: Iterable[str]) -> str:
    """The SHA-256, in hexadecimal, of a sequence of texts, each preceded by its length."""
    hasher = sha256()
    for text in texts:
        data = text.encode()
        hasher.update(len(data).to_bytes(8, "little") + data)
    return hasher.hexdigest()


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


def plain(value: Any, where: str = "value") -> Any:
    """``value`` in JSON's own types (paths with forward slashes); errors name it by ``where``."""
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
            if not math.isfinite(value):
                raise ValueError(f"{where} is {value}, which has no canonical form")
            return float(value)
        case Mapping():
            if odd := [key for key in value if not isinstance(key, str)]:
                raise TypeError(f"{where} has the key {odd[0]!r}, which is not text")
            items = value.items()
            return {str.__str__(key): plain(one, f"{where}[{key!r}]") for key, one in items}
        case list() | tuple():
            return [plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    raise TypeError(f"{where} is of type {type(value).__name__}, which has no canonical form")


VERIFY_VARIABLE = "ADDUCIR_VERIFY"
"""Set to 1, it makes every process read every file of what it opens; ``--verify`` sets it."""
READERS = 4  # hashing releases Python's lock
_SECOND = 1_000_000_000
_MOST_FOLDERS, _MOST_FILES = 1000, 20_000

_known: dict[Path, dict[str, list[int | str]]] = {}
"""By folder and name: inode, size, times of change and SHA-256, of what any process has read."""


def source_digest(path: Path) -> str:
    """The SHA-256 of a file that a user gives; see :func:`source_digests`."""
    return source_digests([path])[0]


def source_digests(paths: Sequence[Path]) -> list[str]:
    """The SHA-256 of each file of one source, in hexadecimal; raises InputError without one.

    It is not known in a dry run, of a large file that no earlier run has read as it is now.
    """
    found = known_digests(paths)
    return [digest or unread_digest(path) for path, digest in zip(paths, found, strict=True)]


def known_digests(paths: Sequence[Path]) -> list[str | None]:
    """The digest of each file; None for one that would have to be read, and is not in a dry run."""
    places = [Path(os.path.realpath(path)) for path in paths]
    begun, stamps = time.time_ns(), [_stamp(place) for place in places]
    for folder in {place.parent for place in places} - _known.keys():
        _known[folder] = {} if os.environ.get(VERIFY_VARIABLE) == "1" else _kept(folder)
    found: list[str | None] = [None] * len(places)
    for number, (place, stamp) in enumerate(zip(places, stamps, strict=True)):
        known = _known[place.parent].get(place.name)
        if isinstance(known, list) and known[:-1] == stamp:
            found[number] = str(known[-1])
    unread = [number for number, digest in enumerate(found) if digest is None]
    if not unread or not reads(*(places[number] for number in unread)):
        return found
    with ThreadPoolExecutor(READERS) as readers:
        read = readers.map(file_digest, [places[number] for number in unread])
        for number, digest in zip(unread, read, strict=True):
            found[number] = digest
            # Kept only if a later change would show: kernels count times in ticks of some
            # milliseconds, some file systems in whole seconds.
            times = stamps[number][2:]
            grain = 2 * _SECOND if any(t % _SECOND == 0 for t in times) else _SECOND // 20
            if max(times) < begun - grain:
                _known[places[number].parent][places[number].name] = [*stamps[number], digest]
    for folder in {places[number].parent for number in unread}:
        _keep(folder)
    return found


def _stamp(path: Path) -> list[int]:
    try:
        status = path.stat()
    except OSError as error:
        raise reading_error(error, path) from error
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _place(folder: Path) -> Path | None:
    cache = cache_folder()
    name = sha256(os.fsencode(folder)).hexdigest()[:32]
    return None if cache is None else cache / "digests" / f"{name}.json"


def _kept(folder: Path) -> dict[str, list[int | str]]:
    place = _place(folder)
    try:
        kept = json.loads(place.read_bytes()) if place is not None else None
    except (OSError, ValueError, RecursionError):
        return {}
    files = kept.get("files") if isinstance(kept, dict) else None
    return files if isinstance(files, dict) else {}


def _keep(folder: Path) -> None:
    place = _place(folder)
    if place is None or not _known[folder]:
        return
    files = dict([*_known[folder].items()][-_MOST_FILES:])
    hidden = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    with suppress(OSError):
        place.parent.mkdir(exist_ok=True)
        kept = sorted(place.parent.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        for old in kept[:-_MOST_FOLDERS]:
            old.unlink(missing_ok=True)
        hidden.write_text(json.dumps({"folder": str(folder), "files": files}), "utf-8")
        hidden.replace(place)
