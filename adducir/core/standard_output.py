"""Standard output in the place of a file that is written: ``-``."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NAMES = frozenset({"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})


def is_standard_output(path: Path) -> bool:
    """Whether a file's name means standard output: ``-``, or the device."""
    return str(path) in _NAMES


@contextmanager
def to_standard_output() -> Iterator[Path]:
    """A file whose bytes go to standard output when the block ends well."""
    with tempfile.TemporaryDirectory(prefix="adducir-") as folder:
        hidden = Path(folder) / "output"
        yield hidden
        sys.stdout.flush()
        with hidden.open("rb") as handle:
            shutil.copyfileobj(handle, sys.stdout.buffer)
        sys.stdout.buffer.flush()
