"""SHA-256 of files, each read once per machine; and artifacts that are opened only if undamaged.

Of a file that was read, inode, size, times of change and digest are kept in the user's cache
folder: while the first four are the same, it is not read again. To lose what is kept costs time
only. A dry run reads small files only (:mod:`adducir.core.unread`).
"""

import json
import os
import secrets
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from adducir.core.errors import AdducirError, ArtifactError, reading_error
from adducir.core.files import file_digest
from adducir.core.manifest import MANIFEST, FileEntry, Manifest, read_manifest
from adducir.core.paths import cache_folder
from adducir.core.unread import is_small, reads_all, stand_in

VERIFY_VARIABLE = "ADDUCIR_VERIFY"
"""Set to 1, it makes every process read every file of what it opens; ``--verify`` sets it."""

CHANGED = "its content has changed"
# A model's card is for its owner to edit; no figure depends on it.
_FREE = frozenset({"README.md"})
READERS = 4  # hashing releases Python's lock
_SECOND = 1_000_000_000
_MOST_FOLDERS, _MOST_FILES = 1000, 20_000

Stamp = list[int | str]
"""Inode, size, times of change in nanoseconds, and the SHA-256."""

_known: dict[Path, dict[str, Stamp]] = {}
"""By folder and name: what this process has read, or any before it."""


def open_artifact(path: Path, *kinds: str) -> Manifest:
    """The manifest of the artifact at ``path``, whose files are the ones that were written.

    Args:
        path: The artifact's folder.
        kinds: What it may be; any where none is named.

    Raises:
        ArtifactError: There is none, one of another kind, or a damaged one.
    """
    manifest = read_manifest(path)
    if kinds and manifest.kind not in kinds:
        raise ArtifactError(
            f"this is an artifact of the kind {manifest.kind!r}, where one of the kind "
            f"{' or '.join(map(repr, kinds))} is needed.",
            path=path,
        )
    while found := changes(path, manifest):
        # Another process may have replaced the artifact in between.
        before, manifest = manifest, read_manifest(path)
        if manifest == before:
            break
    if not found:
        return manifest
    name, what = next(iter(found.items()))
    more = f", and {len(found) - 1} more files are" if len(found) > 1 else ""
    raise ArtifactError(
        f"this file is damaged ({what}){more}; nothing is computed from it.",
        path=path / name,
        hint="Build it again with --rebuild, or restore it from a copy.",
    )


def refuse_damaged(folder: Path) -> None:
    """Refuse a folder that is a damaged artifact; what is no artifact has nothing to be held to.

    Raises:
        ArtifactError: A file or the manifest is damaged.
    """
    if (folder / MANIFEST).is_file():
        open_artifact(folder)


def changes(path: Path, manifest: Manifest) -> dict[str, str]:
    """What has changed in the files of an artifact, by name."""
    files = {name: entry for name, entry in manifest.files.items() if name not in _FREE}
    found = {name: what for name, entry in files.items() if (what := missized(path, name, entry))}
    if found:
        return found
    try:
        read = _digests([path / name for name in files])
    except AdducirError as error:  # perhaps replaced just now
        return {str(error.path or MANIFEST): error.what.rstrip(".")}
    return {
        name: CHANGED
        for (name, entry), digest in zip(files.items(), read, strict=True)
        if digest not in (entry.sha256, None)
    }


def missized(folder: Path, name: str, entry: FileEntry) -> str | None:
    """What is wrong with the size of one file; None for nothing."""
    try:
        size = (folder / name).stat().st_size
    except OSError:
        return "missing"
    return None if size == entry.bytes else f"{size} bytes instead of {entry.bytes}"


def source_digest(path: Path) -> str:
    """The SHA-256 of a file that a user gives; see :func:`source_digests`."""
    return source_digests([path])[0]


def source_digests(paths: Sequence[Path]) -> list[str]:
    """The SHA-256 of each file of one source, in hexadecimal.

    In a dry run it is a stand-in for a large file that no earlier run has read as it is now.

    Raises:
        InputError: A file is missing or cannot be read.
    """
    found = _digests(paths)
    return [digest or stand_in(path) for path, digest in zip(paths, found, strict=True)]


def _digests(paths: Sequence[Path]) -> list[str | None]:
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
    if not unread or not (reads_all() or is_small(*(places[number] for number in unread))):
        return found
    with ThreadPoolExecutor(READERS) as readers:
        read = readers.map(file_digest, [places[number] for number in unread])
        for number, digest in zip(unread, read, strict=True):
            found[number] = digest
            if _is_settled(stamps[number], begun):
                _known[places[number].parent][places[number].name] = [*stamps[number], digest]
    for folder in {places[number].parent for number in unread}:
        _keep(folder)
    return found


def _stamp(path: Path) -> Stamp:
    try:
        status = path.stat()
    except OSError as error:
        raise reading_error(error, path) from error
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _is_settled(stamp: Stamp, read: int) -> bool:
    """Whether a later change would show: it would not within the grain of the file's times.

    Kernels count in ticks of some milliseconds; some file systems keep whole seconds only.
    """
    times = int(stamp[2]), int(stamp[3])
    grain = 2 * _SECOND if any(one % _SECOND == 0 for one in times) else _SECOND // 20
    return max(times) < read - grain


def _place(folder: Path) -> Path | None:
    cache = cache_folder()
    name = sha256(os.fsencode(folder)).hexdigest()[:32]
    return None if cache is None else cache / "digests" / f"{name}.json"


def _kept(folder: Path) -> dict[str, Stamp]:
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
