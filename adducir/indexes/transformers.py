"""The base class of transformers: PyTerrier's where it is installed, else one that is called alike.

PyTerrier is a guest: what ranks is a plain callable without it, and gets its pipelines (``>>``,
``+``, ``%``) and experiments with it.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from adducir.core.errors import UsageError

HAS_PYTERRIER = find_spec("pyterrier") is not None

if TYPE_CHECKING or HAS_PYTERRIER:
    from pyterrier import Transformer as Transformer
else:

    class Transformer:
        """What PyTerrier's class of the name does outside pipelines."""

        def __call__(self, inp: Any) -> Any:
            """Returns the output of ``transform``."""
            return self.transform(inp)

        def search(self, query: str, qid: str = "1") -> Any:
            """Returns the output for one query."""
            return self({qid: query})


def refuse_without(frame: Any, *columns: str) -> None:
    """Refuse a frame that lacks columns, with the error that ``pt.inspect`` understands."""
    if HAS_PYTERRIER:
        import pyterrier as pt

        pt.validate.columns(frame, includes=list(columns))
    elif missing := [name for name in columns if name not in frame.columns]:
        raise UsageError(f"the input lacks the column {missing[0]!r}.")
