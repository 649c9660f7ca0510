"""Forcing what was written to the disk."""

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Force a file or folder to the disk, where the file system can.

    Raises:
        OSError: The file cannot be opened, or the disk is full.
    """
    if os.name == "nt":
        return  # Windows neither opens folders nor syncs read-only handles.
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
