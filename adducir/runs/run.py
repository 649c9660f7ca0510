"""A run: the ranking that one system gives each topic."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from adducir.core.errors import UsageError
from adducir.core.texts import MOST_ROWS, html_table
from adducir.corpora.frames import SCORE, Framed, Integers, repeated_rows, rows_of, topic_numbers
from adducir.runs.order import Ties, ordered

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = {"qid": pl.String, "docno": pl.String, "score": pl.Float64}


@dataclass(frozen=True, eq=False)
class Run(Framed):
    """Ranked documents by topic; the constructor takes a frame in its final order.

    Attributes:
        frame: Columns qid (String), docno (String), score (Float64, finite): topics in order of
            first appearance, scores that do not increase within a topic.
        tag: The system's name: the last column of a TREC run.
        path: The file it was read from.
    """

    frame: pl.DataFrame
    tag: str
    path: Path | None = None

    def __post_init__(self) -> None:
        if dict(self.frame.schema) != SCHEMA:
            raise UsageError(f"a run's columns are {SCHEMA}, not {dict(self.frame.schema)}.")
        if any(map(pl.Series.null_count, self.frame.iter_columns())):
            raise UsageError("a run's qids, docnos and scores cannot be missing.")
        if not np.isfinite(self.frame["score"].to_numpy()).all():
            raise UsageError("a run's scores must be finite numbers.")

    @classmethod
    def ranked(
        cls, rows: pl.DataFrame, tag: str, *, path: Path | None = None, ties: Ties = "ascending"
    ) -> "Run":
        """Make a run of rows (qid, docno, score) in any order; ``ties`` orders equal scores."""
        try:
            frame = rows.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
        except pl.exceptions.PolarsError as error:
            raise UsageError(f"these rows are not a run: {error}.") from error
        frame = frame.with_columns(pl.col("score").fill_null(np.nan))
        run = cls(ordered(frame, ties=ties), tag, path)
        for qid, docno in run.duplicates().head(1).rows():
            raise UsageError(f"topic {qid} ranks document {docno} twice.")
        return run

    @classmethod
    def of(
        cls, data: "pd.DataFrame | pl.DataFrame | Mapping[str, Mapping[str, float]]", tag: str
    ) -> "Run":
        """Make a run of a frame (qid, docno, score) or a dict ``{qid: {docno: score}}``.

        Columns may be called query_id and doc_id; a rank, as PyTerrier has it, is ignored.
        """
        return cls.ranked(rows_of(data, SCORE, "a run"), tag)

    def __len__(self) -> int:
        return self.frame.height

    @property
    def name(self) -> str:
        """Its file, or else its tag, for messages."""
        return str(self.path or self.tag)

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
        return int(self.lengths.max(initial=0))

    @cached_property
    def ranks(self) -> Integers:
        """(n,) ranks within the topic, from 0."""
        starts = np.cumsum(self.lengths) - self.lengths
        return np.arange(len(self)) - np.repeat(starts, self.lengths)

    def top(self, depth: int) -> "Run":
        return Run(self.frame.filter(pl.Series(self.ranks < depth)), self.tag, self.path)

    def duplicates(self) -> pl.DataFrame:
        """Frame (qid, docno) of the pairs that occur more than once, each once."""
        rows = repeated_rows(self.frame, self.topics)
        return self.frame.select("qid", "docno")[rows].unique(maintain_order=True)

    def to_polars(self) -> pl.DataFrame:
        """Columns qid, docno, score and rank (from 0): in pandas a PyTerrier result frame."""
        return self.frame.with_columns(rank=pl.Series(self.ranks, dtype=pl.Int64))

    def _repr_html_(self) -> str:
        caption = f"{self.tag}: {len(self.qids):,} topics, {len(self):,} documents"
        shown = self.top(MOST_ROWS).to_polars().head(MOST_ROWS)
        return html_table(caption, shown.columns, shown.iter_rows())
