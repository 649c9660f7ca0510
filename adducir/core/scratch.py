"""Folders for the finished parts of long work, which survive a kill.

Work that makes the artifact ``NAME`` keeps its parts in the hidden sibling ``.NAME.parts-DIGEST``,
where DIGEST is of the artifact's fingerprint: work on another recipe never takes them for its own.
They are removed when an artifact is published at that place.
"""

import os
import shutil
from pathlib import Path

_DIGITS = 16


def parts_folder(artifact: Path, fingerprint: str) -> Path:
    """The folder for parts of the artifact with this fingerprint, made if missing.

    Several processes may use it at once: its files are published by renames.

    Args:
        artifact: The artifact's folder, which need not be there.
        fingerprint: From :func:`adducir.core.artifacts.artifact_fingerprint`.

    Raises:
        OSError: It cannot be made.
    """
    folder = parts_path(artifact, fingerprint)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def parts_path(artifact: Path, fingerprint: str) -> Path:
    """Where :func:`parts_folder` is, or would be."""
    target = Path(os.path.realpath(artifact))
    return target.with_name(f"{_start(target)}{fingerprint[:_DIGITS]}")


def parts_of(artifact: Path) -> list[Path]:
    """The folders for parts of all work on an artifact, of whatever fingerprint."""
    target = Path(os.path.realpath(artifact))
    if not target.parent.is_dir():
        return []
    return [path for path in target.parent.iterdir() if path.name.startswith(_start(target))]


def remove_parts(artifact: Path) -> None:
    """Remove the parts of all work on an artifact; to be called under its lock."""
    for folder in parts_of(artifact):
        shutil.rmtree(folder, ignore_errors=True)


def _start(target: Path) -> str:
    return f".{target.name}.parts-"
