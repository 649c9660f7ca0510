"""Compiles kernels with numba where it is there; without it they run as plain Python.

The compiled code is kept on disk beside the module, or in ``NUMBA_CACHE_DIR``, so that only the
first process ever pays for compiling.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeVar, cast

HAS_NUMBA = find_spec("numba") is not None
"""Whether kernels are compiled; without numba the engine works, slower."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def kernel(function: _Function) -> _Function:
    """Compile ``function`` on its first call; it releases the interpreter lock while it runs."""
    if not HAS_NUMBA:
        return function
    import numba

    return cast("_Function", numba.njit(function, nogil=True, cache=True))
