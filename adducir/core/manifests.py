"""Manifests: what is known about an artifact, and whether its files still agree with it."""

import stat
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, TypeVar, cast

from pydantic import AfterValidator, ConfigDict, NonNegativeInt, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from adducir.core.errors import (
    AdducirError,
    ArtifactError,
    InputError,
    ReplacedError,
    explaining_reads,
    sorted_error,
    worded,
)
from adducir.core.fingerprint import fingerprint, known_digests
from adducir.core.json_lines import json_document

MANIFEST = "manifest.json"
FORMAT = "adducir-artifact/3"
_SWAPS = 20  # how often a reader opens again what others replace
_BUILD_AGAIN = "Delete the folder and build it again."
_CARD = "README.md"  # for its owner to edit; no figure depends on it

M = TypeVar("M")
T = TypeVar("T")


class FileEntry(TypedDict):
    bytes: NonNegativeInt
    sha256: str


def _inside(name: str) -> str:
    place = PurePosixPath(name)
    if place.is_absolute() or not place.name or "\0" in name or {"..", "."} & {*name.split("/")}:
        raise ValueError("a file's name must stay within the folder")
    return name


@dataclass(frozen=True)
class Manifest:
    """What is known about an artifact; types and names are checked when it is read."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    kind: str
    fingerprint: str
    builder_version: int
    files: Mapping[Annotated[str, AfterValidator(_inside)], FileEntry]  # by relative path
    versions: Mapping[str, str]
    recipe: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)  # fingerprints by name
    counts: Mapping[str, Any] = field(default_factory=dict)  # what the builder counted
    started: str = ""  # UTC, ISO 8601; empty for results, so that equal ones have equal bytes
    seconds: float = 0.0
    source: str = ""  # the name of what it was built from, if only that is replaced
    source_from_here: str = ""  # the same, for a file relative to the artifact

    def count(self, name: str) -> int:
        if type(number := self.counts.get(name)) is not int or number < 0:
            message = f"its {MANIFEST} does not say how many {name} it has."
            raise ArtifactError(message, hint=_BUILD_AGAIN)
        return number


def artifact_fingerprint(
    kind: str, recipe: Mapping[str, Any], inputs: Mapping[str, str], builder_version: int
) -> str:
    return fingerprint(
        {"kind": kind, "recipe": recipe, "inputs": inputs, "builder_version": builder_version}
    )


def read_manifest(path: Path) -> Manifest:
    with explaining_reads(path):
        is_there, has_manifest = path.exists(), (path / MANIFEST).exists()
    if not is_there:
        under_way = siblings(path, "building")
        hint = "A build is in progress, or was interrupted." if under_way else "Build it first."
        raise ArtifactError("this artifact does not exist.", path=path, hint=hint)
    if not has_manifest:
        message = f"this was not created by Adducir: it does not contain a {MANIFEST}."
        hint = "Give the folder that it was built in."
        raise ArtifactError(message, path=path, hint=hint)
    try:
        stored = json_document(path / MANIFEST)
    except InputError as error:
        raise sorted_error(error, path / MANIFEST, _damaged(path, error.what)) from error
    form = stored.get("format") if isinstance(stored, dict) else None
    if form != FORMAT:
        message = f"its {MANIFEST} has the format {str(form)[:40]}, not {FORMAT}."
        hint = "Use the version of Adducir that wrote it; if none did, move that file away."
        raise ArtifactError(message, path=path, hint=hint)
    try:
        digest = stored.pop("digest", None)
        if digest != fingerprint(stored):
            raise _damaged(path, "its content has changed since it was written")
        del stored["format"]
    except (TypeError, ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    return checked(path, Manifest, stored)


def checked(path: Path, kind: type[M], facts: Any) -> M:
    """Facts from the manifest of ``path`` as a ``kind``, whose types they must have."""
    try:
        return cast("M", _adapter(kind).validate_python(facts))
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False)
        place = ".".join(map(str, first["loc"]))
        raise _damaged(path, f"{place}: {first['msg']}") from error


_adapter: Any = cache(TypeAdapter)


def _damaged(path: Path, why: str) -> ArtifactError:
    message = f"its {MANIFEST} is damaged: {why.rstrip('.')}."
    return ArtifactError(message, path=path, hint=_BUILD_AGAIN)


def open_artifact(path: Path, *kinds: str) -> Manifest:
    """The manifest of the artifact at ``path``, after a check that its files are unchanged."""
    manifest = read_manifest(path)
    if kinds and manifest.kind not in kinds:
        expected = " or ".join(map(repr, kinds))
        message = f"this is an artifact of kind {manifest.kind!r}, but {expected} is needed."
        raise ArtifactError(message, path=path)
    changed = changes(path, manifest)
    if not changed:
        return manifest
    if read_manifest(path) != manifest:  # another process replaced it meanwhile
        return open_artifact(path, *kinds)
    name, message = next(iter(changed.items()))
    more = f", and so are {len(changed) - 1} others" if len(changed) > 1 else ""
    hint = f"Build it again ({worded('rebuild', 'true')}), or restore it from a copy."
    message = f"this file is damaged ({message}){more}; the artifact is not used."
    raise ArtifactError(message, path=path / name, hint=hint)


def reading_again(path: Path, opener: Callable[[], T]) -> T:
    """What ``opener`` returns; again if another process replaces the artifact meanwhile."""
    for left in reversed(range(_SWAPS)):
        before = _stamp(path)
        try:
            opened = opener()
        except Exception:
            if not left or (_stamp(path) == before and not siblings(path, "old")):
                raise
            time.sleep(0.01)  # between the two renames
            continue
        if not left or _stamp(path) == before:
            break
        getattr(opened, "close", bool)()
    return opened


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = (path / MANIFEST).stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def refuse_replaced(path: Path, opened: Manifest | None) -> None:
    """Refuse what is read later from an opened artifact's folder if it is no longer the same."""
    if opened is not None:
        now = reading_again(path, lambda: read_manifest(path))
        if (now.fingerprint, now.files) != (opened.fingerprint, opened.files):
            hint = "Open it again, and repeat what was begun with the old one."
            raise ReplacedError("this was replaced since it was opened.", path=path, hint=hint)


def refuse_damaged(folder: Path) -> None:
    if (folder / MANIFEST).is_file():
        open_artifact(folder)


def changes(path: Path, manifest: Manifest) -> dict[str, str]:
    changed, paths, digests = dict[str, str](), list[Path](), list[str]()
    for name, entry in manifest.files.items():
        if name != _CARD:
            size, expected = _size(path / name), entry["bytes"]
            if size != expected:
                changed[name] = "missing" if size is None else f"{size} bytes instead of {expected}"
            paths.append(path / name)
            digests.append(entry["sha256"])
    if changed:
        return changed
    try:
        read = known_digests(paths)
    except AdducirError as error:
        if not error.absent:  # perhaps replaced just now
            raise
        return {str(error.path or MANIFEST): error.what.rstrip(".")}
    for file, digest, recorded in zip(paths, read, digests, strict=True):
        if digest not in (recorded, None):
            changed[file.relative_to(path).as_posix()] = "its content has changed"
    return changed


def _size(path: Path) -> int | None:
    """The bytes of an ordinary file; None if there is none."""
    with explaining_reads(path), suppress(FileNotFoundError, NotADirectoryError):
        status = path.stat()
        return status.st_size if stat.S_ISREG(status.st_mode) else None
    return None


def is_absent(path: Path) -> bool:
    """Whether the path is missing or an empty folder; another process may be working there."""
    with explaining_reads(path), suppress(FileNotFoundError):
        return not path.is_file() and next(path.iterdir(), None) is None
    return True


def siblings(target: Path, purpose: str) -> list[Path]:
    start = f".{target.name}.{purpose}-"
    there = target.parent.iterdir() if target.parent.is_dir() else ()
    return sorted(path for path in there if path.name.startswith(start))
