"""What an artifact says of itself, and the SHA-256 of files, each read once per machine.

The manifest of an artifact, ``manifest.json``, is the last file that is written into it. It is JSON
with these keys: ``format`` (``adducir-artifact/3``), ``kind``, ``fingerprint``,
``builder_version``, ``recipe``, ``inputs`` (name -> fingerprint), ``counts`` (what the builder
counted), ``files`` (relative path -> ``bytes`` and ``sha256``), ``versions`` (name -> version),
``started`` (UTC, ISO 8601), ``seconds`` (how long the making took) and ``digest`` (the SHA-256 of
the canonical form of all that). An artifact is opened only if its files are what it says.

Of a file that was read, inode, size, times of change and digest are kept in the user's cache
folder: while the first four are the same, it is not read again. To lose what is kept costs time
only. A dry run reads small files only (:mod:`adducir.core.unread`).
"""

import json
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from adducir.core.errors import AdducirError, ArtifactError, InputError, reading_error
from adducir.core.files import file_digest, writing_text
from adducir.core.fingerprint import fingerprint, unread_digest
from adducir.core.json_lines import json_document
from adducir.core.paths import cache_folder
from adducir.core.unread import reads

MANIFEST = "manifest.json"
FORMAT = "adducir-artifact/3"
_DIGEST = "digest"


@dataclass(frozen=True)
class FileEntry:
    """Size in bytes and SHA-256 (hexadecimal) of one file of an artifact."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What an artifact is and what it was made from; see the module for the fields."""

    kind: str
    fingerprint: str
    builder_version: int
    recipe: Mapping[str, Any]
    inputs: Mapping[str, str]
    counts: Mapping[str, Any]
    files: Mapping[str, FileEntry]
    versions: Mapping[str, str]
    started: str
    seconds: float


def artifact_fingerprint(
    kind: str, recipe: Mapping[str, Any], inputs: Mapping[str, str], builder_version: int
) -> str:
    """The fingerprint of an artifact."""
    return fingerprint(
        {"kind": kind, "recipe": recipe, "inputs": inputs, "builder_version": builder_version}
    )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write ``manifest`` into ``folder``, whole or not at all."""
    document = {"format": FORMAT, **asdict(manifest)}
    with writing_text(folder / MANIFEST) as handle:
        json.dump({**document, _DIGEST: fingerprint(document)}, handle, indent=2, sort_keys=True)
        handle.write("\n")


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of the artifact in the folder ``path``."""
    if not path.exists():
        raise ArtifactError("there is no such artifact.", path=path, hint=_mend_missing(path))
    if not (path / MANIFEST).is_file():
        raise ArtifactError(
            f"this was not created by Adducir: it holds no {MANIFEST}.",
            path=path,
            hint="Name the folder that was given as --output when it was built.",
        )
    try:
        plain = json_document(path / MANIFEST)
    except InputError as error:
        raise _damaged(path, error.what) from error
    form = plain.get("format") if isinstance(plain, dict) else None
    if not isinstance(form, str) or not form.startswith("adducir-artifact/"):
        raise ArtifactError(
            f"its {MANIFEST} was not written by Adducir, or is damaged.",
            path=path,
            hint="Build it again; if Adducir did not make this folder, move that file away.",
        )
    if form != FORMAT:
        raise ArtifactError(
            f"its manifest is in the format {form[:40]}; this version of Adducir knows {FORMAT}.",
            path=path,
            hint="Use the Adducir that made it, or delete the folder and build it again.",
        )
    try:
        if plain.pop(_DIGEST, None) != fingerprint(plain):
            raise _damaged(path, "its content has changed since it was written")
        del plain["format"]
        files = {name: FileEntry(**entry) for name, entry in plain.pop("files").items()}
        return Manifest(**plain, files=files)
    except (TypeError, KeyError, AttributeError, ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, why: str) -> ArtifactError:
    return ArtifactError(
        f"its {MANIFEST} is damaged: {why.rstrip('.')}.",
        path=path,
        hint="Delete the folder and build it again.",
    )


def _mend_missing(path: Path) -> str:
    begun = f".{path.name}.building-"
    if path.parent.is_dir() and any(p.name.startswith(begun) for p in path.parent.iterdir()):
        return "A build of it is under way, or was cut short: if none is, build it again."
    return "Build it first, or check the name."


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
    """The manifest of the artifact at ``path``, whose files are the ones that were written."""
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
    """Refuse a folder that is a damaged artifact; what is no artifact has nothing to be held to."""
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
    """The SHA-256 of each file of one source, in hexadecimal; raises InputError without one.

    It is not known in a dry run, of a large file that no earlier run has read as it is now.
    """
    found = _digests(paths)
    return [digest or unread_digest(path) for path, digest in zip(paths, found, strict=True)]


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
    if not unread or not reads(*(places[number] for number in unread)):
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
