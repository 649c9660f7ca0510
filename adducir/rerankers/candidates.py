"""What is put in a new order: queries with their documents, as columns or in a file."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import polars as pl
from numpy.typing import NDArray

from adducir.core.files import publishing

_SCHEMA: dict[str, Any] = {"qid": pl.String, "query": pl.String, "docnos": pl.List(pl.String)}
_ROWS = 16
"""Topics whose docnos are Python's own texts at a time."""


class Candidates(NamedTuple):
    """A query with the documents that are put in a new order."""

    qid: str
    query: str
    docnos: list[str]


class CandidateTable:
    """Candidates of many topics.

    Args:
        frame: Columns qid, query (String) and docnos (List of String), a row for each topic.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    @classmethod
    def of(cls, topics: Iterable[Candidates]) -> "CandidateTable":
        """The same as columns."""
        return cls(pl.DataFrame(list(topics), schema=_SCHEMA, orient="row"))

    def __len__(self) -> int:
        return len(self._frame)

    def __iter__(self) -> Iterator[Candidates]:
        return map(Candidates._make, self._frame.iter_rows(buffer_size=_ROWS))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(T,) how many documents each topic has."""
        return self._frame["docnos"].list.len().to_numpy().astype(np.int64)

    def filed(self, path: Path) -> "CandidateFile":
        """The same in a file, which is written unless it is there."""
        if not path.is_file():
            with publishing(path) as hidden, hidden.open("wb") as file:
                file.writelines(orjson.dumps([*one]) + b"\n" for one in self)
        return CandidateFile(path, len(self))


class CandidateFile:
    """Candidates in a file, a topic a line; another process is given its name.

    Args:
        count: How many topics it has.
    """

    def __init__(self, path: Path, count: int) -> None:
        self._path, self._count = path, count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Candidates]:
        with self._path.open("rb") as lines:
            yield from map(Candidates._make, map(orjson.loads, lines))
