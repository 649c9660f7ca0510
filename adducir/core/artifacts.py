"""Artifacts: folders that are built once, published whole, and never stale.

An artifact is made in the hidden sibling ``.NAME.building-PID-…`` under the lock
``.NAME.lock``. Its manifest is written last, everything is forced to the disk,
and one rename publishes it: it exchanges the new folder and an older one, which
is removed then. So, whenever a build is killed, ``NAME`` is the old artifact or
the new one. Where the system cannot exchange two folders, the older one is moved
aside to ``.NAME.old-…`` just before, and ``NAME`` may be missing for a moment;
the next build at that place, under the lock, finishes or clears up the rest.
"""

import os
import platform
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from adducir.core.contents import damages, entries, force_to_disk
from adducir.core.errors import ArtifactError
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
from adducir.core.origins import ELSEWHERE, Origin, may_replace_anything, refuse_other
from adducir.core.progress import SILENT, Progress
from adducir.core.scratch import parts_of, remove_parts
from adducir.core.swapping import clear_up, publish, sibling, siblings
from adducir.core.system_errors import explaining_writes
from adducir.core.unread import known
from adducir.core.verified import changes
from adducir.core.writable import give_default_rights, refuse_unwritable
from adducir.version import __version__

__all__ = [
    "MANIFEST",
    "FileEntry",
    "Manifest",
    "artifact_fingerprint",
    "build",
    "is_current",
    "read_manifest",
    "refuse_other_artifact",
    "refuse_to_replace",
    "verify",
]

Make = Callable[[Path], Mapping[str, Any]]
Sources = Mapping[str, Iterable[Path | str]]


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
    sources: Sources | None = None,
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
        sources: The names of its principal sources by their role; an artifact that was made from
            others is not replaced (:mod:`adducir.core.origins`). None: they do not matter.
        progress: Notified of what is waited for, and what is found damaged.

    Raises:
        ArtifactError: ``path`` holds something that is not ours to replace.
        MachineError: No space left, or the place cannot be written: a read-only artifact is not
            replaced.
        Exception: Whatever ``make`` raises; nothing of the build is left then.
    """
    target = Path(os.path.realpath(path))
    named = Origin.of(kind, sources or {}, target.parent).sources
    order = _Order(kind, recipe, inputs, builder_version, versions or {}, named)
    wanted = order.fingerprint
    current = None if rebuild else _current(target, wanted)
    if current is not None:
        clear_up_if_free(target)
        return current
    refuse_unwritable(target)
    with explaining_writes(target), locked(target, progress):
        clear_up(target)
        # Another process may have built it while this one waited.
        current = None if rebuild else _current(target, wanted)
        if current is not None:
            remove_parts(target)  # of a build that was killed when all else was done
            return current
        _refuse_to_replace(target, order, progress)
        return _built(target, order, make)


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
    return damages(path, read_manifest(path).files)


@dataclass(frozen=True)
class _Order:
    """What is to be built."""

    kind: str
    recipe: Mapping[str, Any]
    inputs: Mapping[str, str]
    builder_version: int
    versions: Mapping[str, str]
    sources: Mapping[str, tuple[str, ...]]

    @property
    def fingerprint(self) -> str:
        return artifact_fingerprint(self.kind, self.recipe, self.inputs, self.builder_version)


def _current(path: Path, wanted: str) -> Manifest | None:
    """The manifest at ``path`` if it is the wanted artifact's and its files are undamaged."""
    try:
        manifest = read_manifest(path)
    except ArtifactError:
        return None
    is_right = manifest.fingerprint == known(wanted) and not changes(path, manifest)
    return manifest if is_right else None


def _refuse_to_replace(target: Path, order: _Order, progress: Progress) -> None:
    """As :func:`refuse_to_replace`; says what is found damaged."""
    refuse_to_replace(target, order.kind, order.sources, order.inputs, order.fingerprint)
    if (target / MANIFEST).is_file():
        manifest = read_manifest(target)
        if manifest.fingerprint == order.fingerprint:
            for name, what in changes(target, manifest).items():
                progress.note(f"{target}: damaged ({name}: {what}): it is built again.")


def refuse_to_replace(
    path: Path,
    kind: str,
    sources: Sources | None,
    inputs: Mapping[str, str],
    fingerprint: str | None = None,
) -> None:
    """Refuse what is not an older artifact of the same kind, or nothing; see :func:`build`.

    Args:
        fingerprint: Of the artifact that is to be built: one that has it may always be replaced.

    Raises:
        ArtifactError: Something else stands at ``path``.
    """
    target = Path(os.path.realpath(path))
    if not os.path.lexists(target) or _is_empty(target):
        return
    elsewhere = "Choose another place, or move away what is there."
    if not target.is_dir():
        raise ArtifactError(
            "a file stands where the artifact is to be.", path=target, hint=elsewhere
        )
    if not (target / MANIFEST).is_file():
        raise ArtifactError(
            "this folder holds files that Adducir did not create: it is not replaced.",
            path=target,
            hint=elsewhere,
        )
    manifest = read_manifest(target)
    if manifest.fingerprint != fingerprint:
        refuse_other_artifact(target, manifest, kind, sources, inputs)


def refuse_other_artifact(
    path: Path,
    manifest: Manifest,
    kind: str,
    sources: Sources | None,
    inputs: Mapping[str, str] | None = None,
) -> None:
    """Refuse to replace an artifact of another kind, or of other sources.

    Args:
        path: Its folder.
        manifest: Its manifest.
        kind: The kind of what is to be built there.
        sources: See :func:`build`.
        inputs: See :func:`build`; an old manifest that names no sources is compared by these.

    Raises:
        ArtifactError: It would replace something else, and nobody asked for that.
    """
    if may_replace_anything():
        return
    if manifest.kind != kind:
        raise ArtifactError(
            f"this is an artifact of another kind ({manifest.kind}, not {kind}): it is not "
            "replaced.",
            path=path,
            hint=ELSEWHERE,
        )
    wanted = Origin.of(kind, sources or {}, path.parent)
    shared = set(manifest.inputs.items()) & set((inputs or {}).items())
    if manifest.sources or shared or not wanted.sources:
        named = {role: tuple(names) for role, names in manifest.sources.items()}
        refuse_other(path, kind, wanted, Origin(kind, named))
    else:
        refuse_other(path, kind, wanted, None)


def _built(target: Path, order: _Order, make: Make) -> Manifest:
    """Make, describe and publish; on any failure nothing is left."""
    hidden = sibling(target, "building")
    try:
        hidden.mkdir()
        started, clock = datetime.now(UTC), time.monotonic()
        counts = make(hidden)
        seconds = round(time.monotonic() - clock, 3)
        give_default_rights(hidden)
        # In this order: a folder that holds a manifest is complete and on the disk.
        force_to_disk(hidden)
        write_manifest(
            hidden,
            Manifest(
                kind=order.kind,
                fingerprint=order.fingerprint,
                builder_version=order.builder_version,
                recipe=plain(order.recipe),
                inputs=plain(order.inputs),
                counts=plain(counts),
                files=entries(hidden),
                versions={
                    "python": platform.python_version(),
                    "adducir": __version__,
                    **order.versions,
                },
                started=started.isoformat(timespec="seconds"),
                seconds=seconds,
                sources=plain(order.sources),
            ),
        )
        publish(hidden, target)
        # Under the lock: nobody else has parts here that are still of use.
        remove_parts(target)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    return read_manifest(target)


def clear_up_if_free(path: Path) -> None:
    """Remove what killed processes left beside an output that needs no making itself."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        return
    left = siblings(target, "building") or siblings(target, "old") or parts_of(target)
    if holder_of(target).exists() or left:
        with locked_if_free(target) as is_held, suppress(OSError):
            if is_held:
                clear_up(target)
                remove_parts(target)


def _is_empty(path: Path) -> bool:
    return path.is_dir() and next(path.iterdir(), None) is None
