"""The files of a product's folder: listed, compared, forced to the disk."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from adducir.study.files import file_digest, sync
from adducir.study.manifest import MANIFEST, FileEntry

# Hashing leaves Python's lock alone, so several files are read at a time.
_READERS = 4


def entries(folder: Path) -> dict[str, FileEntry]:
    """Size and digest of every file below ``folder``, by relative path; without the manifest.

    Raises:
        InputError: A file cannot be read.
    """
    paths = list(_files(folder))
    with ThreadPoolExecutor(_READERS) as readers:
        digests = readers.map(file_digest, paths)
        return {
            path.relative_to(folder).as_posix(): FileEntry(path.stat().st_size, digest)
            for path, digest in zip(paths, digests, strict=True)
        }


def damages(
    folder: Path, expected: Mapping[str, FileEntry], *, sizes_only: bool = False
) -> list[str]:
    """How the files below ``folder`` differ from those expected, one text a file.

    Args:
        folder: The product.
        expected: The files of its manifest.
        sizes_only: Neither read the files nor look for further ones.

    Raises:
        InputError: A file cannot be read.
    """
    found = {
        name: text for name, entry in expected.items() if (text := _missized(folder, name, entry))
    }
    if sizes_only:
        return list(found.values())
    for name, entry in entries(folder).items():
        if name not in expected:
            found[name] = f"{name}: not in the manifest"
        elif name not in found and entry.sha256 != expected[name].sha256:
            found[name] = f"{name}: its content has changed"
    return list(found.values())


def _missized(folder: Path, name: str, entry: FileEntry) -> str | None:
    path = folder / name
    if not path.is_file():
        return f"{name}: missing"
    size = path.stat().st_size
    if size != entry.bytes:
        return f"{name}: {size} bytes instead of {entry.bytes}"
    return None


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
