"""Two folders exchange their names in one step, where the system can do that."""

import ctypes
import errno
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path

_HERE = -100  # AT_FDCWD of <fcntl.h>
_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2(2)
_CANNOT = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})


def exchanged(one: Path, other: Path) -> bool:
    """Give each of two folders the other's name, at once; False where that cannot be done.

    Raises:
        OSError: It can be done in general, but not with these two.
    """
    rename = _renameat2()
    if rename is None:
        return False
    ctypes.set_errno(0)
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:  # an old kernel, or a file system that cannot
        return False
    raise OSError(number, os.strerror(number), str(other))


@functools.cache
def _renameat2() -> Callable[..., int] | None:
    """Linux's system call, from the C library that the process has loaded."""
    if sys.platform != "linux":
        return None
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    return function if function is None else _typed(function)


def _typed(function: Callable[..., int]) -> Callable[..., int]:
    function.argtypes = [  # type: ignore[attr-defined]
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_uint,
    ]
    return function
