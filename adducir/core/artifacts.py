"""Artifacts: folders that are built once, published whole, and never stale.

An artifact is made in the hidden sibling ``.NAME.building-PID-…`` under the lock ``.NAME.lock``.
Its manifest is written last, everything is forced to the disk, an older artifact is moved aside to
``.NAME.old-…``, and one rename publishes the new one. Whenever a build is killed, ``NAME`` is the
old artifact, the new one, or, between the two renames, missing: the next build at that place, under
the lock, finishes or clears up. Work in chunks keeps what it has finished in
``.NAME.parts-DIGEST``, where DIGEST is of its fingerprint.

The manifest, ``manifest.json``, has the fields of :class:`Manifest`, ``format`` and ``digest``, the
SHA-256 of the canonical form of all the others. An artifact is opened only if its files are what
it says.

One rule says what is replaced: an artifact of the same kind, and the results or the run that
Adducir wrote; anything else only where the user says so (``--force``, :func:`replacing_anything`).
"""

import json
import os
import platform
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from adducir.core.errors import AdducirError, ArtifactError, InputError, explaining_writes
from adducir.core.files import (
    file_digest,
    give_default_rights,
    keep_rights,
    refuse_unwritable,
    sync,
    writing_text,
)
from adducir.core.fingerprint import READERS, fingerprint, is_known, known_digests, plain
from adducir.core.json_lines import json_document
from adducir.core.processes import holder_of, locked, locked_if_free
from adducir.core.progress import progress
from adducir.version import __version__

MANIFEST = "manifest.json"
FORMAT = "adducir-artifact/3"
RESULTS = "results"
"""The kind of a folder of tables and other files that belong together."""

MISSING = "it is missing"
UNKNOWN = "whether it is up to date is unknown"
OUT_OF_DATE = "out of date: different"
DAMAGED = "it is damaged"
_CHANGED = "its content has changed"
_FREE = frozenset({"README.md"})  # a model's card is for its owner to edit; no figure depends on it

Make = Callable[[Path], Mapping[str, Any]]
"""Fills an empty folder; returns its counts, which JSON must be able to hold."""


@dataclass(frozen=True)
class FileEntry:
    """Size in bytes and SHA-256 (hexadecimal) of one file of an artifact."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What an artifact is and what it was made from."""

    kind: str
    fingerprint: str
    builder_version: int
    recipe: Mapping[str, Any]
    inputs: Mapping[str, str]  # fingerprints by name
    counts: Mapping[str, Any]  # what the builder counted
    files: Mapping[str, FileEntry]  # by relative path
    versions: Mapping[str, str]
    started: str  # UTC, ISO 8601
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
        json.dump({**document, "digest": fingerprint(document)}, handle, indent=2, sort_keys=True)
        handle.write("\n")


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of the artifact in the folder ``path``."""
    if not path.exists():
        hint = "Build it first, or check the name."
        if _siblings(path, "building"):
            hint = "A build of it is under way, or was cut short: if none is, build it again."
        raise ArtifactError("there is no such artifact.", path=path, hint=hint)
    if not (path / MANIFEST).is_file():
        raise ArtifactError(
            f"this was not created by Adducir: it holds no {MANIFEST}.",
            path=path,
            hint="Name the folder that was given as --output when it was built.",
        )
    try:
        found = json_document(path / MANIFEST)
    except InputError as error:
        raise _damaged(path, error.what) from error
    form = found.get("format") if isinstance(found, dict) else None
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
        if found.pop("digest", None) != fingerprint(found):
            raise _damaged(path, "its content has changed since it was written")
        del found["format"]
        files = {name: FileEntry(**entry) for name, entry in found.pop("files").items()}
        return Manifest(**found, files=files)
    except (TypeError, KeyError, AttributeError, ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, why: str) -> ArtifactError:
    what, hint = f"its {MANIFEST} is damaged: {why}", "Delete the folder and build it again."
    return ArtifactError(f"{what.rstrip('.')}.", path=path, hint=hint)


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
    if found := _missized(path, files):
        return found
    try:
        read = known_digests([path / name for name in files])
    except AdducirError as error:  # perhaps replaced just now
        return {str(error.path or MANIFEST): error.what.rstrip(".")}
    return {
        name: _CHANGED
        for (name, entry), digest in zip(files.items(), read, strict=True)
        if digest not in (entry.sha256, None)
    }


def _missized(folder: Path, files: Mapping[str, FileEntry]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, entry in files.items():
        try:
            size = (folder / name).stat().st_size
        except OSError:
            found[name] = "missing"
        else:
            if size != entry.bytes:
                found[name] = f"{size} bytes instead of {entry.bytes}"
    return found


def verify(path: Path) -> list[str]:
    """What is wrong with the files of the artifact at ``path``: each is read, and compared."""
    expected = read_manifest(path).files
    found = _missized(path, expected)
    for name, entry in _entries(path).items():
        if name not in expected:
            found[name] = "not in the manifest"
        elif name not in found and entry != expected[name]:
            found[name] = _CHANGED
    return [f"{name}: {what}" for name, what in found.items()]


_anything: ContextVar[bool] = ContextVar("replacing anything", default=False)


@contextmanager
def replacing_anything(wanted: bool = True) -> Iterator[None]:
    """Inside the block, replace whatever stands where something is written: ``--force``."""
    token = _anything.set(wanted)
    try:
        yield
    finally:
        _anything.reset(token)


def refuse_other(path: Path, what: str) -> None:
    """Raise ArtifactError unless anything may be replaced; ``what`` says what stands there."""
    if not _anything.get():
        hint = "Choose another place, or replace it with --force."
        raise ArtifactError(f"{what}: it is not replaced.", path=path, hint=hint)


def build(
    path: Path,
    *,
    kind: str,
    recipe: Mapping[str, Any],
    inputs: Mapping[str, str],
    builder_version: int,
    make: Make,
    rebuild: bool = False,
    versions: Mapping[str, str] | None = None,
) -> Manifest:
    """Build the artifact at ``path`` unless it is already there as it would be built.

    ``recipe`` is all that determines its content, as plain values, ``inputs`` the fingerprints of
    what it is made from, and ``builder_version`` is raised whenever the builder's output changes.
    Nothing of the build is left where ``make`` raises.
    """
    target = Path(os.path.realpath(path))
    wanted = artifact_fingerprint(kind, recipe, inputs, builder_version)
    if not rebuild and is_current(target, wanted):
        clear_up_if_free(target)
        return read_manifest(target)
    refuse_unwritable(target)
    with explaining_writes(target), locked(target):
        _clear_up(target)
        # Another process may have built it while this one waited.
        why = out_of_date(target, kind, lambda: recipe, wanted)
        if why is not None and why.startswith(DAMAGED):
            progress().note(f"{target}: {why}; built again.")
        if why is not None or rebuild:
            with _replacing(target) as hidden:
                started, clock = datetime.now(UTC), time.monotonic()
                counts = make(hidden)
                seconds = round(time.monotonic() - clock, 3)
                give_default_rights(hidden)
                files = _entries(hidden)
                _force_to_disk(hidden)
                manifest = Manifest(
                    kind=kind,
                    fingerprint=wanted,
                    builder_version=builder_version,
                    recipe=plain(recipe),
                    inputs=plain(inputs),
                    counts=plain(counts),
                    files=files,
                    versions={**_versions(), **(versions or {})},
                    started=started.isoformat(timespec="seconds"),
                    seconds=seconds,
                )
                write_manifest(hidden, manifest)
        else:
            manifest = read_manifest(target)
        # Under the lock: nobody else has parts here that are still of use.
        remove_parts(target)
        return manifest


def is_current(path: Path, fingerprint: str) -> bool:
    """Whether ``path`` holds the artifact with this fingerprint, undamaged."""
    try:
        manifest = read_manifest(path)
    except ArtifactError:
        return False
    return manifest.fingerprint == fingerprint and not changes(path, manifest)


def out_of_date(
    path: Path, kind: str, recipe: Callable[[], Mapping[str, Any]], fingerprint: str
) -> str | None:
    """Why an artifact has to be built; None if the one of this fingerprint is there, undamaged."""
    if is_absent(path):
        return MISSING
    if not is_known(fingerprint):
        return UNKNOWN
    if not (path / MANIFEST).is_file():
        if is_absent(path):  # another process is replacing it
            return MISSING
        hint = "Choose another place, or move away what is there."
        what = "this was not created by Adducir, and stands where an artifact is to be."
        raise ArtifactError(what, path=path, hint=hint)
    manifest = read_manifest(path)
    if manifest.fingerprint == fingerprint:
        damaged = next(iter(changes(path, manifest).items()), None)
        return damaged and f"{DAMAGED} ({': '.join(damaged)})"
    if manifest.kind != kind:
        refuse_other(path, f"this is an artifact of another kind ({manifest.kind}, not {kind})")
    wanted = plain(recipe())
    changed = [key for key in wanted if manifest.recipe.get(key) != wanted[key]]
    settings = ", ".join(changed).replace("_", " ") or "inputs, or another version of Adducir"
    return f"{OUT_OF_DATE} {settings}"


def is_absent(path: Path) -> bool:
    """Whether there is nothing, or an empty folder; another process may be at work there."""
    try:
        return next(path.iterdir(), None) is None
    except FileNotFoundError:
        return True
    except NotADirectoryError:
        return False


@contextmanager
def publishing_results(path: Path) -> Iterator[Path]:
    """Give a folder all its results (tables, the files of a tuning) at once, or leave it as it is.

    The block writes into the empty folder it is given. When it ends, that takes the place of
    ``path``; when it fails, nothing of it is left. What else lies in the folder (notes, other
    results below) stays; files of the older results that the new ones lack go.
    """
    refuse_other_results(path)
    target = Path(os.path.realpath(path))
    with explaining_writes(target), locked(target):
        _clear_up(target)
        with _replacing(target) as hidden:
            yield hidden
            files = _entries(hidden)
            _take_over(target, hidden)
            _force_to_disk(hidden)
            contents = {name: entry.sha256 for name, entry in files.items()}
            manifest = Manifest(
                kind=RESULTS,
                fingerprint=artifact_fingerprint(RESULTS, {}, contents, 1),
                builder_version=1,
                recipe={},
                inputs=contents,
                counts={"files": len(files)},
                files=files,
                versions=_versions(),
                started="",  # the same results have the same manifest
                seconds=0.0,
            )
            write_manifest(hidden, manifest)


def refuse_other_results(path: Path) -> None:
    """Refuse a folder that results cannot take the place of: an index, say, or a user's own."""
    target = Path(os.path.realpath(path))
    if os.path.lexists(target) and not target.is_dir():
        raise InputError("a file stands where a folder is needed.", path=path)
    if Path.cwd().is_relative_to(target):
        raise InputError(
            "results take the place of a whole folder, which cannot be the one you are in.",
            path=path,
            hint="Name a folder of their own.",
        )
    refuse_unwritable(target)
    if not (target / MANIFEST).is_file():
        for one in filter(Path.is_file, target.rglob("*")):
            # What a killed process left, and artifacts such as a tuning's, are ours.
            above = [folder for folder in one.relative_to(target).parents if folder.parts]
            is_hidden = any(part.startswith(".") for part in one.relative_to(target).parts)
            if not is_hidden and not any((target / up / MANIFEST).is_file() for up in above):
                refuse_other(path, "this folder holds files that Adducir did not create")
    elif (kind := read_manifest(target).kind) != RESULTS:
        raise ArtifactError(
            f"this is an artifact of the kind {kind!r}: it is not replaced.",
            path=path,
            hint="Choose another place.",
        )


def parts_path(artifact: Path, fingerprint: str) -> Path:
    """Where the finished parts of work on the artifact with this fingerprint lie."""
    target = Path(os.path.realpath(artifact))
    return target.with_name(f".{target.name}.parts-{fingerprint[:16]}")


def parts_folder(artifact: Path, fingerprint: str) -> Path:
    """The folder of :func:`parts_path`, made if missing; several processes may use it at once."""
    folder = parts_path(artifact, fingerprint)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def parts_of(artifact: Path) -> list[Path]:
    """The folders for parts of all work on an artifact, of whatever fingerprint."""
    return _siblings(Path(os.path.realpath(artifact)), "parts")


def remove_parts(artifact: Path) -> None:
    """Remove the parts of all work on an artifact; to be called under its lock."""
    for folder in parts_of(artifact):
        shutil.rmtree(folder, ignore_errors=True)


def clear_up_if_free(path: Path) -> None:
    """Remove what killed processes left beside an output that needs no making itself."""
    target = Path(os.path.realpath(path))
    left = [one for what in ("building", "old", "parts") for one in _siblings(target, what)]
    if left or holder_of(target).exists():
        with locked_if_free(target) as is_held, suppress(OSError):
            if is_held:
                _clear_up(target)
                remove_parts(target)


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """A new hidden folder that takes the place of ``target`` when the block ends well."""
    mark = f"{os.getpid()}-{secrets.token_hex(4)}"
    hidden = target.with_name(f".{target.name}.building-{mark}")
    old = target.with_name(f".{target.name}.old-{mark}")
    try:
        hidden.mkdir()
        yield hidden
        if target.is_dir():
            keep_rights(target, hidden)
            target.rename(old)
        try:
            hidden.rename(target)
        except BaseException:
            if old.is_dir():
                old.rename(target)
            raise
        sync(target.parent)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise


def _clear_up(target: Path) -> None:
    """Finish or remove what killed builds left; to be called under the lock."""
    begun, old = _siblings(target, "building"), _siblings(target, "old")
    if not os.path.lexists(target):
        # Killed between two renames: the new artifact is complete, or else the old one.
        for folder in [path for path in begun if (path / MANIFEST).is_file()] + old:
            folder.rename(target)
            break
    for folder in (*begun, *old):
        if folder.exists():
            shutil.rmtree(folder)


def _siblings(target: Path, what: str) -> list[Path]:
    start = f".{target.name}.{what}-"
    if not target.parent.is_dir():
        return []
    return sorted(path for path in target.parent.iterdir() if path.name.startswith(start))


def _take_over(target: Path, hidden: Path) -> None:
    """Bring along what lies in a folder of results and is no file of its older results."""
    if not target.is_dir():
        return
    own = {MANIFEST, *read_manifest(target).files} if (target / MANIFEST).is_file() else {MANIFEST}
    for path in sorted(target.rglob("*")):
        place = hidden / path.relative_to(target)
        if path.is_dir() and not path.is_symlink():
            if not place.is_dir():
                place.mkdir()
                shutil.copystat(path, place)
        elif path.relative_to(target).as_posix() not in own and not os.path.lexists(place):
            try:
                os.link(path, place, follow_symlinks=False)
            except OSError:  # another file system, or one without hard links
                shutil.copy2(path, place, follow_symlinks=False)


def _entries(folder: Path) -> dict[str, FileEntry]:
    """Size and digest of every file below ``folder``, by relative path; without the manifest."""
    paths = [one for one in sorted(folder.rglob("*")) if one.is_file() and one != folder / MANIFEST]
    with ThreadPoolExecutor(READERS) as readers:
        return {
            path.relative_to(folder).as_posix(): FileEntry(path.stat().st_size, digest)
            for path, digest in zip(paths, readers.map(file_digest, paths), strict=True)
        }


def _force_to_disk(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() or path.is_dir():
            sync(path)
    sync(folder)


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), "adducir": __version__}
