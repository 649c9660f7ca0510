"""What a kind's method returns, checked where it is used: a wrong value is its package's fault."""

import inspect
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from adducir.core.errors import MachineError
from adducir.core.packages import package_with
from adducir.core.texts import shortened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")


def numbers(
    kind: object, method: str, value: Any, *shape: int, meaning: str, finite: bool = True
) -> "NDArray[np.float64]":
    """The value as numbers of a shape, of which -1 is any length.

    Raises:
        MachineError: It is something else; names the package, its file, and what was expected.
    """
    import numpy as np

    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        refuse(kind, method, value, meaning)
    fits = found.ndim == len(shape) and all(
        wanted in (-1, length) for wanted, length in zip(shape, found.shape, strict=True)
    )
    if not fits:
        refuse(kind, method, f"an array of shape {found.shape}", f"{meaning}, of shape {shape}")
    if finite and not np.isfinite(found).all():
        refuse(kind, method, float(found[~np.isfinite(found)][0]), f"{meaning}, all finite")
    return found


def instance(kind: object, method: str, value: Any, wanted: type[T]) -> T:
    """The value, which must be of a type; errors as of :func:`numbers`."""
    if not isinstance(value, wanted):
        refuse(kind, method, value, f"a {wanted.__name__}")
    return value


def refuse(kind: object, method: str, value: Any, meaning: str) -> NoReturn:
    """Raise the error of a method that returned ``value`` where ``meaning`` was expected."""
    owner = type(kind)
    path = getattr(sys.modules.get(owner.__module__), "__file__", None)
    line = None
    with suppress(AttributeError, OSError, TypeError):
        line = inspect.getsourcelines(getattr(owner, method))[1]
    whose = f" of {package}" if (package := path and package_with(Path(path))) else ""
    shown = value if isinstance(value, str) and value.startswith("an array") else repr(value)
    raise MachineError(
        f"{owner.__name__}.{method}(){whose} returned {shortened(shown)}, not {meaning}.",
        path=path,
        line=line,
        hint="Report it to the authors of that package." if whose else None,
    )
