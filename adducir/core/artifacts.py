"""Artifacts: folders that are built once, published whole, and never stale.

An artifact is made in the hidden sibling ``.NAME.building-PID-…`` under the lock ``.NAME.lock``.
Its manifest is written last, everything is forced to the disk, an older artifact is moved aside to
``.NAME.old-…``, and one rename publishes the new one. Whenever a build is killed, ``NAME`` is the
old artifact, the new one, or, between the two renames, missing: the next build at that place, under
the lock, finishes or clears up. Work in chunks keeps what it has finished in
``.NAME.parts-DIGEST``, where DIGEST is of its fingerprint.

One rule says what is replaced: an artifact of the same kind, and the results or the run that
Adducir wrote; anything else only where the user says so (``--force``, :func:`replacing_anything`).
"""

import os
import platform
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from adducir.core.errors import ArtifactError, InputError, explaining_writes
from adducir.core.files import file_digest
from adducir.core.fingerprint import plain
from adducir.core.locks import holder_of, locked, locked_if_free
from adducir.core.manifest import (
    MANIFEST,
    FileEntry,
    Manifest,
    artifact_fingerprint,
    read_manifest,
    write_manifest,
)
from adducir.core.paths import give_default_rights, keep_rights, refuse_unwritable, sync
from adducir.core.progress import SILENT, Progress
from adducir.core.unread import known
from adducir.core.verified import CHANGED, READERS, changes, missized
from adducir.version import __version__

__all__ = [
    "MANIFEST",
    "FileEntry",
    "Manifest",
    "artifact_fingerprint",
    "build",
    "is_current",
    "publishing_results",
    "read_manifest",
    "replacing_anything",
    "verify",
]

RESULTS = "results"
"""The kind of a folder of tables and other files that belong together."""

Make = Callable[[Path], Mapping[str, Any]]

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
    """Refuse to replace what stands at ``path`` unless anything may be replaced.

    Args:
        what: What stands there, and why it is not replaced.

    Raises:
        ArtifactError: It may not.
    """
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
    progress: Progress = SILENT,
) -> Manifest:
    """Build the artifact at ``path`` unless it is already there as it would be built.

    Args:
        path: The artifact's folder.
        kind: What it is; an artifact of another kind is not replaced.
        recipe: All that determines its content, as plain values.
        inputs: The fingerprints of what it is made from, by name.
        builder_version: Raised whenever the builder's output changes.
        make: Fills the empty folder it is given and returns its counts, which
            JSON must be able to hold.
        rebuild: Build even if the artifact is current.
        versions: Versions of the engines that took part; Python's and
            Adducir's are recorded anyway.
        progress: Notified of what is waited for, and what is found damaged.

    Raises:
        ArtifactError: ``path`` holds something that is not ours to replace.
        MachineError: No space left, or the place cannot be written: a read-only artifact is not
            replaced.
        Exception: Whatever ``make`` raises; nothing of the build is left then.
    """
    target = Path(os.path.realpath(path))
    wanted = artifact_fingerprint(kind, recipe, inputs, builder_version)
    current = None if rebuild else _current(target, wanted)
    if current is not None:
        clear_up_if_free(target)
        return current
    refuse_unwritable(target)
    with explaining_writes(target), locked(target, progress):
        _clear_up(target)
        # Another process may have built it while this one waited.
        current = None if rebuild else _current(target, wanted)
        if current is None:
            _refuse_to_replace(target, kind, wanted, progress)
            with _replacing(target) as hidden:
                started, clock = datetime.now(UTC), time.monotonic()
                counts = make(hidden)
                seconds = round(time.monotonic() - clock, 3)
                give_default_rights(hidden)
                files = _entries(hidden)
                _force_to_disk(hidden)
                current = Manifest(
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
                write_manifest(hidden, current)
        # Under the lock: nobody else has parts here that are still of use.
        remove_parts(target)
        return current


def is_current(path: Path, fingerprint: str) -> bool:
    """Whether ``path`` holds the artifact with this fingerprint, undamaged.

    Raises:
        NotRead: There is one, and in a dry run the fingerprint is not known.
    """
    return _current(path, fingerprint) is not None


def verify(path: Path) -> list[str]:
    """What is wrong with the files of the artifact at ``path``, one text per error.

    Every file is read: sizes and SHA-256 are compared with the manifest's.

    Raises:
        ArtifactError: There is no artifact, or its manifest cannot be read.
    """
    expected = read_manifest(path).files
    found = {name: what for name, one in expected.items() if (what := missized(path, name, one))}
    for name, entry in _entries(path).items():
        if name not in expected:
            found[name] = "not in the manifest"
        elif name not in found and entry != expected[name]:
            found[name] = CHANGED
    return [f"{name}: {what}" for name, what in found.items()]


@contextmanager
def publishing_results(path: Path, progress: Progress = SILENT) -> Iterator[Path]:
    """Give a folder all its results (tables, the files of a tuning) at once, or leave it as it is.

    The block writes into the empty folder it is given. When it ends, that takes the place of
    ``path``; when it fails, nothing of it is left. What else lies in the folder (notes, other
    results below) stays; files of the older results that the new ones lack go.

    Raises:
        InputError, ArtifactError: As :func:`refuse_other_results`.
        MachineError: The disk is full, or the place cannot be written.
    """
    refuse_other_results(path)
    target = Path(os.path.realpath(path))
    with explaining_writes(target), locked(target, progress):
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


def _is_ours(path: Path, folder: Path) -> bool:
    """Whether a file below a folder is a killed process's, or an artifact's such as a tuning's."""
    inside = path.relative_to(folder)
    above = [folder / one for one in inside.parents if one.parts]
    return any(part.startswith(".") for part in inside.parts) or any(
        (one / MANIFEST).is_file() for one in above
    )


def refuse_other_results(path: Path) -> None:
    """Refuse a folder that results cannot take the place of.

    Raises:
        InputError: It is a file, or the folder that the process is in, or one above that.
        ArtifactError: It is an artifact, such as an index, or holds files that are not Adducir's.
        MachineError: It is read-only.
    """
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
        if any(not _is_ours(one, target) for one in target.rglob("*") if one.is_file()):
            refuse_other(path, "this folder holds files that Adducir did not create")
    elif (kind := read_manifest(target).kind) != RESULTS:
        raise ArtifactError(
            f"this is an artifact of the kind {kind!r}: it is not replaced.",
            path=path,
            hint="Choose another place.",
        )


def refuse_other_kind(path: Path, manifest: Manifest, kind: str) -> None:
    """Refuse to replace an artifact by one of another kind, unless anything may be replaced.

    Raises:
        ArtifactError: Its kind is another one.
    """
    if manifest.kind != kind:
        refuse_other(path, f"this is an artifact of another kind ({manifest.kind}, not {kind})")


def parts_path(artifact: Path, fingerprint: str) -> Path:
    """Where the finished parts of work on the artifact with this fingerprint lie."""
    target = Path(os.path.realpath(artifact))
    return target.with_name(f".{target.name}.parts-{fingerprint[:16]}")


def parts_folder(artifact: Path, fingerprint: str) -> Path:
    """The folder of :func:`parts_path`, made if missing; several processes may use it at once.

    Raises:
        OSError: It cannot be made.
    """
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


def _current(path: Path, wanted: str) -> Manifest | None:
    """The manifest at ``path`` if it is the wanted artifact's and its files are undamaged."""
    try:
        manifest = read_manifest(path)
    except ArtifactError:
        return None
    is_right = manifest.fingerprint == known(wanted) and not changes(path, manifest)
    return manifest if is_right else None


def _refuse_to_replace(target: Path, kind: str, wanted: str, progress: Progress) -> None:
    """Refuse what is not an older artifact of the same kind, or nothing; note what is damaged."""
    if _is_empty(target):
        return
    elsewhere = "Choose another place, or move away what is there."
    if not target.is_dir():
        what = "a file stands where the artifact is to be."
        raise ArtifactError(what, path=target, hint=elsewhere)
    if not (target / MANIFEST).is_file():
        what = "this folder holds files that Adducir did not create: it is not replaced."
        raise ArtifactError(what, path=target, hint=elsewhere)
    manifest = read_manifest(target)
    refuse_other_kind(target, manifest, kind)
    if manifest.fingerprint == wanted:
        for name, what in changes(target, manifest).items():
            progress.note(f"{target}: damaged ({name}: {what}): it is built again.")


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
    """Size and digest of every file below ``folder``, by relative path; without the manifest.

    Raises:
        InputError: A file cannot be read.
    """
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


def _is_empty(path: Path) -> bool:
    """Whether nothing stands there, or an empty folder."""
    return not os.path.lexists(path) or (path.is_dir() and next(path.iterdir(), None) is None)
