"""Compiles kernels with numba.

Compiled code is kept beside the module, else where numba keeps a user's (or in
``NUMBA_CACHE_DIR``); where nothing can be written, every process compiles anew.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])

_SOURCES: dict[str, set[str]] = {}


def kernel(function: _Function, *, allocates: bool = True) -> _Function:
    """Compile ``function`` on its first call; it releases the interpreter lock while it runs.

    Floats are divided as NumPy divides them: by 0 to infinity. A kernel that makes no arrays counts
    no references to those that it is given, which takes longer than a short loop does. By itself
    numba looks at a function's own file for changes, and would go on with old code; here at all
    files with a kernel that it may call.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": allocates}
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no folder that it can write to
        return cast("_Function", numba.njit(**options)(function))
    own = function.__code__.co_filename
    sources = _SOURCES.setdefault(own, {own})
    for value in function.__globals__.values():
        code = getattr(getattr(value, "py_func", None), "__code__", None)
        if code is not None:
            sources |= _SOURCES.get(code.co_filename, set())
    kept: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(kept, "_source_stamp"):
        stats = [Path(source).stat() for source in sorted(sources)]
        kept._source_stamp = tuple((stat.st_mtime, stat.st_size) for stat in stats)
    return cast("_Function", compiled)


def inner(function: _Function) -> _Function:
    """The same for a function that makes no arrays."""
    return kernel(function, allocates=False)
