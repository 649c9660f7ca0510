"""Several files that belong together, such as the parts of a split, published as one.

Files in a folder of the user's have no common name that one rename could give them. So all are
written first; then the older ones are removed, and the new ones take their places. A kill in
between leaves files missing, which is noticed, and never a part of one split beside a part of
another.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from adducir.core.errors import explaining_writes
from adducir.core.paths import sync

_waiting: ContextVar[dict[Path, Path | None]] = ContextVar("files to publish together")


@contextmanager
def publishing_together(paths: Iterable[Path]) -> Iterator[None]:
    """Publish those of these files that are written inside the block when it ends, all or none."""
    waiting: dict[Path, Path | None] = {Path(os.path.realpath(path)): None for path in paths}
    token = _waiting.set(waiting)
    try:
        yield
        written = {target: hidden for target, hidden in waiting.items() if hidden is not None}
        for target in written if len(written) > 1 else ():
            with explaining_writes(target):
                target.unlink(missing_ok=True)
        for target, hidden in written.items():
            with explaining_writes(target):
                hidden.replace(target)
        for folder in {target.parent for target in written}:
            with explaining_writes(folder):
                sync(folder)
    finally:
        _waiting.reset(token)
        for left in waiting.values():
            if left is not None:
                left.unlink(missing_ok=True)


def wait(hidden: Path, target: Path) -> bool:
    """Whether a written file waits for others before it takes its place; see above."""
    waiting = _waiting.get({})
    if target not in waiting:
        return False
    older = waiting[target]
    if older is not None:
        older.unlink(missing_ok=True)
    waiting[target] = hidden
    return True
