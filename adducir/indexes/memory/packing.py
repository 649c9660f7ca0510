"""A folder of files as one file, which is what a shard is.

It is a tar archive without times and owners, its files in the order of their names: the same files
give the same bytes. Nothing is compressed, and neither way holds a file in memory.
"""

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO

from adducir.core.errors import ArtifactError

_BLOCK = 1 << 20


def pack(folder: Path, path: Path) -> None:
    """Write all files of a folder, and of those in it, into one."""
    names = sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file())
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            with (folder / name).open("rb") as file:
                member.size = (folder / name).stat().st_size
                archive.addfile(member, file)


def unpack(path: Path, folder: Path, take: Callable[[str, IO[bytes]], bool]) -> None:
    """Write the files of a packed folder into a folder.

    Args:
        take: Is given each file's name and content first; those that it took are not written.

    Raises:
        ArtifactError: It holds something else than files, or one that lies outside.
    """
    with tarfile.open(path, "r:") as archive:
        for member in archive:
            name = PurePosixPath(member.name)
            content = archive.extractfile(member) if member.isreg() else None
            if content is None or name.is_absolute() or ".." in name.parts:
                raise ArtifactError(f"{member.name!r} is no file of an index.", path=path)
            if take(member.name, content):
                continue
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                shutil.copyfileobj(content, file, _BLOCK)
