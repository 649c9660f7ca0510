"""Folders of results: several files that belong together, published by one rename.

Tables of an experiment, the report of a tuning: each is one artifact in several files. They are
written into a hidden sibling of their folder, listed in its ``manifest.json`` (kind ``results``;
:mod:`adducir.core.manifest`), and the folder takes the place of the older one at once, as artifacts
do. What else lies in the folder (notes, other results below) stays; files of the older results that
the new ones lack go.
"""

import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adducir.core.contents import entries, force_to_disk
from adducir.core.errors import ArtifactError, InputError
from adducir.core.locks import locked
from adducir.core.manifest import (
    MANIFEST,
    FileEntry,
    Manifest,
    artifact_fingerprint,
    read_manifest,
    write_manifest,
)
from adducir.core.progress import SILENT, Progress
from adducir.core.swapping import clear_up, publish, sibling
from adducir.core.system_errors import explaining_writes
from adducir.core.writable import refuse_unwritable
from adducir.version import __version__

KIND = "results"
_BUILDER_VERSION = 1


def refuse_other_folder(path: Path) -> None:
    """Refuse a folder that results cannot take the place of.

    Raises:
        InputError: It is a file, or the folder that the process is in, or one above that.
        ArtifactError: It is an artifact, such as an index.
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
    if (target / MANIFEST).is_file() and (kind := read_manifest(target).kind) != KIND:
        raise ArtifactError(
            f"this is an artifact of the kind {kind!r}: it is not replaced.",
            path=path,
            hint="Choose another place.",
        )


@contextmanager
def publishing_results(path: Path, progress: Progress = SILENT) -> Iterator[Path]:
    """Give a folder all its results at once, or leave it as it is.

    The block writes into the empty folder it is given. When it ends, that takes the place of
    ``path``; when it fails, nothing of it is left.

    Raises:
        InputError, ArtifactError: As :func:`refuse_other_folder`.
        MachineError: The disk is full, or the place cannot be written.
    """
    refuse_other_folder(path)
    target = Path(os.path.realpath(path))
    with explaining_writes(target), locked(target, progress):
        clear_up(target)
        hidden = sibling(target, "building")
        try:
            hidden.mkdir()
            yield hidden
            own = entries(hidden)
            _take_over(target, hidden)
            force_to_disk(hidden)
            write_manifest(hidden, _manifest(own))
            publish(hidden, target)
        except BaseException:
            shutil.rmtree(hidden, ignore_errors=True)
            raise


def _manifest(own: dict[str, FileEntry]) -> Manifest:
    """Without a time: the same results have the same manifest."""
    contents = {name: entry.sha256 for name, entry in own.items()}
    return Manifest(
        kind=KIND,
        fingerprint=artifact_fingerprint(KIND, {}, contents, _BUILDER_VERSION),
        builder_version=_BUILDER_VERSION,
        recipe={},
        inputs=contents,
        counts={"files": len(own)},
        files=own,
        versions={"python": platform.python_version(), "adducir": __version__},
        started="",
        seconds=0.0,
    )


def _take_over(target: Path, hidden: Path) -> None:
    """Bring along what lies in the folder and is no file of its older results."""
    if not target.is_dir():
        return
    manifest = read_manifest(target) if (target / MANIFEST).is_file() else None
    own = {MANIFEST, *(manifest.files if manifest else ())}
    for folder, folders, names in os.walk(target):
        here = Path(folder)
        place = hidden / here.relative_to(target)
        for name in folders:
            if not (here / name).is_symlink():
                _make_alike(here / name, place / name)
        for name in [*names, *(one for one in folders if (here / one).is_symlink())]:
            path = here / name
            inside = path.relative_to(target).as_posix()
            if inside not in own and not os.path.lexists(place / name):
                _link(path, place / name)


def _make_alike(old: Path, new: Path) -> None:
    if not new.is_dir():
        new.mkdir()
        shutil.copystat(old, new)


def _link(path: Path, place: Path) -> None:
    try:
        os.link(path, place, follow_symlinks=False)
    except OSError:  # another file system, or one without hard links
        shutil.copy2(path, place, follow_symlinks=False)
