"""The files of an artifact's folder: listed, compared, forced to the disk."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from adducir.core.files import file_digest
from adducir.core.manifest import MANIFEST, FileEntry
from adducir.core.syncing import sync

# Hashing leaves Python's lock alone, so several files are read at a time.
_READERS = 4

CHANGED = "its content has changed"


def entries(folder: Path) -> dict[str, FileEntry]:
    """Size and digest of every file below ``folder``, by relative path; without the manifest.

    Raises:
        InputError: A file cannot be read.
    """
    paths = list(_files(folder))
    return {
        path.relative_to(folder).as_posix(): FileEntry(path.stat().st_size, digest)
        for path, digest in zip(paths, digests(paths), strict=True)
    }


def damages(folder: Path, expected: Mapping[str, FileEntry]) -> list[str]:
    """How the files below ``folder`` differ from those expected, one text a file.

    Every file is read, and further ones are looked for.

    Raises:
        InputError: A file cannot be read.
    """
    found = {
        name: what for name, entry in expected.items() if (what := missized(folder, name, entry))
    }
    for name, entry in entries(folder).items():
        if name not in expected:
            found[name] = "not in the manifest"
        elif name not in found and entry.sha256 != expected[name].sha256:
            found[name] = CHANGED
    return [f"{name}: {what}" for name, what in found.items()]


def missized(folder: Path, name: str, entry: FileEntry) -> str | None:
    """What is wrong with the size of one file; None for nothing."""
    path = folder / name
    if not path.is_file():
        return "missing"
    size = path.stat().st_size
    return None if size == entry.bytes else f"{size} bytes instead of {entry.bytes}"


def digests(paths: Sequence[Path]) -> list[str]:
    """The SHA-256 of each file, several read at a time.

    Raises:
        InputError: A file cannot be read.
    """
    with ThreadPoolExecutor(_READERS) as readers:
        return list(readers.map(file_digest, paths))


def force_to_disk(folder: Path) -> None:
    """Force every file and folder below ``folder``, and itself, to the disk.

    Raises:
        OSError: The disk is full or fails.
    """
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() or path.is_dir():
            sync(path)
    sync(folder)


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path != folder / MANIFEST:
            yield path
