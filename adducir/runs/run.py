"""A run: the ranking that one system gives each topic."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.errors import UsageError
from adducir.core.texts import MOST_ROWS, html_table
from adducir.corpora.frames import SCORE, rows_of
from adducir.runs.order import Integers, Ties, ordered, topic_numbers

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = {"qid": pl.String, "docno": pl.String, "score": pl.Float64}

# Odd, so that topic numbers are spread over 64 bits one to one (the golden ratio's fraction).
_TOPIC_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_BLOCK = 1 << 19  # bytes looked at together, so that what is derived from them stays in cache


@dataclass(frozen=True, eq=False)
class Run:
    """Ranked documents by topic.

    The constructor takes a frame that is in its final order; :meth:`ranked` takes rows in any.

    Attributes:
        frame: Columns qid (String), docno (String), score (Float64, finite): a topic's rows are
            neighbours, topics stand in order of first appearance, scores do not increase within
            a topic.
        tag: The system's name: the last column of a TREC run.
        path: The file it was read from.

    Raises:
        UsageError: The columns are others, or a value is missing or not finite.
    """

    frame: pl.DataFrame
    tag: str
    path: Path | None = None

    def __post_init__(self) -> None:
        if dict(self.frame.schema) != SCHEMA:
            raise UsageError(
                f"a run's columns are qid and docno (String) and score (Float64), not "
                f"{dict(self.frame.schema)}."
            )
        if any(column.null_count() for column in self.frame.iter_columns()):
            raise UsageError("a run's qids, docnos and scores cannot be missing.")
        if not np.isfinite(self.frame["score"].to_numpy()).all():
            raise UsageError("a run's scores must be finite numbers.")

    @classmethod
    def ranked(
        cls, rows: pl.DataFrame, tag: str, *, path: Path | None = None, ties: Ties = "ascending"
    ) -> "Run":
        """Make a run of rows in any order.

        Args:
            rows: Columns qid, docno, score, which are cast; others are dropped.
            path: The file it was read from.
            ties: The order of docnos that share a score, see :func:`adducir.runs.order.ordered`.

        Raises:
            UsageError: As for the constructor; or a topic ranks a document twice.
        """
        missing = [name for name in SCHEMA if name not in rows.columns]
        if missing:
            raise UsageError(f"a run needs the columns qid, docno and score; {missing} is missing.")
        try:
            frame = rows.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
        except pl.exceptions.PolarsError as error:
            raise UsageError(f"these rows are no run: {error}.") from error
        run = cls(
            ordered(frame.with_columns(pl.col("score").fill_null(np.nan)), ties=ties), tag, path
        )
        if run.duplicates().height:
            qid, docno = run.duplicates().row(0)
            raise UsageError(f"topic {qid} ranks document {docno} twice.")
        return run

    @classmethod
    def of(
        cls, data: "pd.DataFrame | pl.DataFrame | Mapping[str, Mapping[str, float]]", tag: str
    ) -> "Run":
        """Make a run of what a program holds already.

        Args:
            data: A frame of pandas or polars with the columns qid, docno and score (or query_id
                and doc_id), such as PyTerrier's, whose rank column is not read; or a dict
                ``{qid: {docno: score}}``.

        Raises:
            UsageError: As for :meth:`ranked`.
        """
        return cls.ranked(rows_of(data, SCORE, "a run"), tag)

    def __len__(self) -> int:
        return self.frame.height

    @cached_property
    def qids(self) -> list[str]:
        """The topics that have rows, in order."""
        return self.frame["qid"].unique(maintain_order=True).to_list()

    @cached_property
    def topics(self) -> Integers:
        """(n,) for each row the number of its topic in :attr:`qids`."""
        return topic_numbers(self.frame["qid"])

    @cached_property
    def lengths(self) -> Integers:
        """(T,) how many documents each topic of :attr:`qids` has."""
        return np.bincount(self.topics)

    @property
    def depth(self) -> int:
        """How many documents the longest ranking has."""
        return int(self.lengths.max(initial=0))

    @cached_property
    def ranks(self) -> Integers:
        """(n,) ranks within the topic, from 0."""
        starts = np.cumsum(self.lengths) - self.lengths
        return np.arange(len(self)) - np.repeat(starts, self.lengths)

    def top(self, depth: int) -> "Run":
        """The same run with at most ``depth`` documents per topic."""
        return Run(self.frame.filter(pl.Series(self.ranks < depth)), self.tag, self.path)

    def duplicates(self) -> pl.DataFrame:
        """Frame (qid, docno) of the pairs that occur more than once, each once."""
        keys = pair_keys(self.frame["docno"], self.topics)
        if not have_equals(keys):
            return self.frame.select("qid", "docno").clear()
        pairs = self.frame.select("qid", "docno")
        return pairs.filter(pairs.is_duplicated()).unique(maintain_order=True)

    def to_polars(self) -> pl.DataFrame:
        """Columns qid, docno, score and rank (from 0)."""
        return self.frame.with_columns(rank=pl.Series(self.ranks, dtype=pl.Int64))

    def _repr_html_(self) -> str:
        """The first rows, for a notebook."""
        caption = f"{self.tag}: {len(self.qids):,} topics, {len(self):,} documents"
        shown = self.top(MOST_ROWS).to_polars().head(MOST_ROWS)
        return html_table(caption, shown.columns, shown.iter_rows())

    def to_pandas(self) -> "pd.DataFrame":
        """A PyTerrier result frame: columns qid, docno, score and rank (from 0)."""
        import pandas as pd

        return pd.DataFrame(
            {
                "qid": self.frame["qid"].to_list(),
                "docno": self.frame["docno"].to_list(),
                "score": self.frame["score"].to_numpy(),
                "rank": self.ranks,
            }
        )


def pair_keys(docnos: pl.Series, topics: Integers) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    """(n,) hashes of (topic, docno) pairs; equal pairs share one, others hardly ever do."""
    keys: np.ndarray[tuple[int], np.dtype[np.uint64]] = docnos.hash().to_numpy()
    return keys ^ (topics.astype(np.uint64) * _TOPIC_FACTOR)


def have_equals(keys: "np.ndarray[tuple[int], np.dtype[np.uint64]]") -> bool:
    """Whether two keys are equal."""
    placed = np.sort(keys)
    return bool((placed[1:] == placed[:-1]).any())


def regular_lines(data: NDArray[np.uint8]) -> int | None:
    """How many lines there are, if a file of a run has single blanks only, five a line.

    None where there is another control character than the line break, or an empty column.
    """
    blanks = breaks = 0
    if data[0] <= 32:
        return None
    for start in range(0, len(data), _BLOCK):
        block = data[start : start + _BLOCK + 1]  # one more byte, to look across the edge
        space = block <= 32
        if (space[1:] & space[:-1]).any():
            return None
        block, space = block[:_BLOCK], space[:_BLOCK]
        here = int(np.count_nonzero(block == 10))
        if np.count_nonzero(block < 32) != here:
            return None
        breaks += here
        blanks += int(np.count_nonzero(space)) - here
    lines = breaks + int(data[-1] != 10)
    return lines if blanks == 5 * lines and data[-1] != 32 else None
