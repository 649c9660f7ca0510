"""Folders that are made hidden and take their place by one rename; and what kills leave of that.

See :mod:`adducir.core.artifacts` for the names of the hidden siblings.
"""

import os
import secrets
import shutil
from pathlib import Path

from adducir.core.exchange import exchanged
from adducir.core.manifest import MANIFEST
from adducir.core.syncing import sync
from adducir.core.writable import keep_rights


def publish(hidden: Path, target: Path) -> None:
    """Put the folder ``hidden`` in the place of ``target``, whatever is there.

    Raises:
        OSError: It cannot be renamed; ``target`` is what it was then.
    """
    old = None
    if target.is_dir():
        keep_rights(target, hidden)
        if exchanged(hidden, target):
            sync(target.parent)
            shutil.rmtree(hidden, ignore_errors=True)
            return
        old = sibling(target, "old")
        target.rename(old)
    try:
        hidden.rename(target)
    except BaseException:
        if old is not None:
            old.rename(target)
        raise
    sync(target.parent)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def clear_up(target: Path) -> None:
    """Finish or remove what killed builds left; to be called under the lock."""
    begun, old = siblings(target, "building"), siblings(target, "old")
    if not os.path.lexists(target):
        # Killed between two renames: the new artifact is complete, or else the old one.
        for folder in [path for path in begun if (path / MANIFEST).is_file()] + old:
            folder.rename(target)
            break
    for folder in (*begun, *old):
        if folder.exists():
            shutil.rmtree(folder)


def sibling(target: Path, what: str) -> Path:
    """A new hidden name beside ``target``, of this process."""
    return target.with_name(f".{target.name}.{what}-{os.getpid()}-{secrets.token_hex(4)}")


def siblings(target: Path, what: str) -> list[Path]:
    """What stands under such names, of whatever process."""
    start = f".{target.name}.{what}-"
    return sorted(path for path in target.parent.iterdir() if path.name.startswith(start))
