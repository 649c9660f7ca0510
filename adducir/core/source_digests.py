"""The digests of files that a user gives: corpora, spans, models.

A file is read once per process. The digests of large ones are remembered in the user's cache folder
as well: with them a dry run knows what is up to date, though it reads no large file
(:mod:`adducir.core.unread`). Anything else reads each file anew.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from adducir.core.files import file_digest
from adducir.core.stamps import Stamp, is_settled, keep_stamps, kept_stamps, now, stamp
from adducir.core.system_errors import reading_error
from adducir.core.unread import is_small, reads_all, stand_in

_KIND = "sources"
_MOST_FILES = 20_000

_read: dict[Path, Stamp] = {}


def source_digest(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal.

    In a dry run it is a stand-in for a large file that no earlier run has read as it is now.

    Raises:
        InputError: The file is missing or cannot be read.
    """
    return source_digests([path])[0]


def source_digests(paths: Sequence[Path]) -> list[str]:
    """The SHA-256 of each file of one source; see :func:`source_digest`.

    Raises:
        InputError: A file is missing or cannot be read.
    """
    if reads_all() or is_small(*paths):
        found = [_digest(path) for path in paths]
        if not is_small(*paths):
            _remember(paths)
        return found
    folders = {path.parent for path in paths}
    kept = {folder: kept_stamps(_KIND, _real(folder)) for folder in folders}
    return [_known(path, kept[path.parent]) or stand_in(path) for path in paths]


def _digest(path: Path) -> str:
    before, place = _stamp(path), _real(path)
    known = _read.get(place)
    if known is not None and known[:-1] == before[:-1]:
        return str(known[-1])
    begun = now()
    found = file_digest(path)
    if is_settled(before, begun):
        _read[place] = [*before[:-1], found]
    return found


def _known(path: Path, kept: dict[str, Stamp]) -> str | None:
    before = _stamp(path)
    for known in (_read.get(_real(path)), kept.get(path.name)):
        if known is not None and known[:-1] == before[:-1]:
            return str(known[-1])
    return None


def _remember(paths: Sequence[Path]) -> None:
    by_folder: dict[Path, dict[str, Stamp]] = {}
    for path in paths:
        place = _real(path)
        if place in _read:
            by_folder.setdefault(_real(path.parent), {})[path.name] = _read[place]
    for folder, stamps in by_folder.items():
        before = kept_stamps(_KIND, folder)
        if not stamps.items() <= before.items():
            every = [*(before | stamps).items()]
            keep_stamps(_KIND, folder, dict(every[-_MOST_FILES:]))


def _stamp(path: Path) -> Stamp:
    try:
        return stamp(path)
    except OSError as error:
        raise reading_error(error, path) from error


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
