"""Compile kernels with numba.

Compiled code is cached beside the module, or in numba's user cache (``NUMBA_CACHE_DIR``); if
neither is writable, every process compiles again.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

_Function = TypeVar("_Function", bound=Callable[..., Any])

_SOURCES: dict[str, set[str]] = {}
_GLOBALS: dict[str, dict[str, Any]] = {}


def kernel(function: _Function, *, allocates: bool = True) -> _Function:
    """Compile ``function`` on its first call; it releases the interpreter lock while it runs.

    Division by 0 is infinity, as in NumPy. A kernel that does not create arrays does not count
    references to its arguments either, because that takes longer than a short loop. By default,
    numba checks only a function's own file for changes and could use stale code; here it checks all
    files with kernels that it may call, and the numbers that these import from others.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": allocates}
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no writable folder
        return cast("_Function", numba.njit(**options)(function))
    source = function.__code__.co_filename
    sources = _SOURCES.setdefault(source, {source})
    _GLOBALS[source] = function.__globals__
    for value in function.__globals__.values():
        code = getattr(getattr(value, "py_func", None), "__code__", None)
        if code is not None:
            sources |= _SOURCES.get(code.co_filename, set())
    kept: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(kept, "_source_stamp"):
        stats = [Path(source).stat() for source in sorted(sources)]
        values = [pair for source in sorted(sources) for pair in _GLOBALS[source].items()]
        numbers = [pair for pair in values if type(pair[1]) in (int, float)]
        kept._source_stamp = (*((stat.st_mtime, stat.st_size) for stat in stats), *numbers)
        kept._load_index = partial(_index_of, kept._load_index)
    return cast("_Function", compiled)


def _index_of(load: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
    """What is cached: nothing if other code wrote it, whose classes may have other names."""
    try:
        return load()
    except Exception:  # noqa: BLE001  (whatever unpickling may raise)
        return {}


def inner(function: _Function) -> _Function:
    """The same for a function that does not create arrays."""
    return kernel(function, allocates=False)


def was_compiled(function: Any) -> bool:
    """Whether an earlier process left compiled code of a kernel."""
    kept: Any = getattr(getattr(function, "_cache", None), "_cache_file", None)
    return kept is not None and Path(kept._index_path).exists()


def _fetch(_: Any, array: Any, place: Any) -> Any:
    """Ask the processor for the memory of ``array[place]``, which is read soon."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        held = context.make_array(signature.args[0])(context, builder, values[0])
        address = builder.bitcast(builder.gep(held.data, [values[1]]), cgutils.voidptr_t)
        number = cgutils.int32_t
        arguments = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", (address.type,), arguments)
        builder.call(call, [address, number(0), number(3), number(1)])  # to read; to keep; data
        return context.get_dummy_value()

    return types.void(array, types.uint64), generate


fetch: Any = intrinsic(_fetch)


def _exceeding(_: Any, array: Any, start: Any, threshold: Any) -> Any:
    """Which of the 64 values from ``array[start]`` on exceed the threshold, as bits."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        held = context.make_array(signature.args[0])(context, builder, values[0])
        kind, number = ir.VectorType(values[2].type, 64), cgutils.int32_t
        address = builder.bitcast(builder.gep(held.data, [values[1]]), kind.as_pointer())
        loaded = builder.load(address, align=array.dtype.bitwidth // 8)
        empty = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(empty, values[2], number(0))
        same = builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(number, 64), None))
        return builder.bitcast(builder.icmp_unsigned(">", loaded, same), ir.IntType(64))

    return types.uint64(array, types.uint64, array.dtype), generate


exceeding: Any = intrinsic(_exceeding)


def _of_word(instruction: Callable[[Any, Any], Any]) -> Any:
    def counted(_: Any, word: Any) -> Any:
        def generate(_: Any, builder: Any, signature: Any, values: Any) -> Any:
            return instruction(builder, values[0])

        return types.uint64(types.uint64), generate

    return intrinsic(counted)


ones = _of_word(lambda builder, word: builder.ctpop(word))
"""How many bits of a word are set."""
lowest = _of_word(lambda builder, word: builder.cttz(word, ir.Constant(ir.IntType(1), 1)))
"""The place of the lowest bit of a word, which is not 0."""
