"""Models that an engine cannot score by."""

from pathlib import Path
from typing import Literal

from adducir.core.errors import UsageError
from adducir.indexes.models import MODELS, Model

_INDEXES = {"lucene": "an index of Lucene", "memory": "a memory index"}


def refuse_unless_scored(model: Model, engine: Literal["lucene", "memory"], index: Path) -> None:
    """Refuse a model that the engine of an index cannot score by.

    Raises:
        UsageError: It is one; the message says which engine can, and which models this one has.
    """
    engines = model.engines()
    if engine in engines:
        return
    names = MODELS.having(lambda kind: engine in kind.engines())
    build = [f"Build one with 'adducir index --engine {other}', or " for other in engines]
    raise UsageError(
        f"{index} is {_INDEXES[engine]}, which has no model {MODELS.name_of(type(model))!r}.",
        hint=f"{''.join(build[:1]) or 'Here '}choose of {', '.join(names)}.",
    )
