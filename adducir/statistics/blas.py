"""Keep numpy's matrix products on one thread where threads would hurt.

The products of the significance tests are small and many. Spread over threads they gain
nothing on an idle machine, and on a busy one they wait for each other: 50 systems over
1,000 topics took 35 ms instead of 0.8 ms with as many busy processes as cores.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    """The control of the loaded BLAS libraries; None without threadpoolctl."""
    try:
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]
    except ImportError:  # it comes with scikit-learn, which pyserini needs
        return None
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS uses one thread; without effect where it cannot be determined."""
    controller = _controller()
    if controller is None:
        return nullcontext()
    limit: AbstractContextManager[Any] = controller.limit(limits=1, user_api="blas")
    return limit
