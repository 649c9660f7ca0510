"""What a search gives: for each query its documents, best first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from adducir.core.errors import UsageError
from adducir.core.texts import typed

if TYPE_CHECKING:
    import pandas as pd

    from adducir.corpora.frames import Nested, Tabular


@dataclass(frozen=True)
class Hits:
    """The rankings of q queries with n hits in all; queries have qids in frames and dicts alone."""

    counts: np.ndarray  # (q,) int32: how many hits each query has
    docnos: pl.Series  # (n,) query after query, best first
    scores: np.ndarray  # (n,) float32 or float64, by the model; not increasing within a query
    passages: pl.Series | None = None  # (n,) folded documents' best (or first) passages

    @classmethod
    def of(cls, data: "Tabular | Nested") -> "Hits":
        """Make hits from what :meth:`adducir.Run.of` makes a run from; qids are not kept."""
        from adducir.runs.run import Run

        run = Run.of(data, "hits")
        scores = run.frame["score"].to_numpy()
        return cls(run.lengths.astype(np.int32), run.frame["docno"], scores)

    @typed
    def to_polars(self, qids: Sequence[str] | None = None) -> pl.DataFrame:
        """The columns qid, docno and score; ``qids`` names the queries, by default 1, 2, ..."""
        if qids is None:
            qids = [str(number) for number in range(1, len(self.counts) + 1)]
        if len(qids) != len(self.counts):
            raise UsageError(f"`qids` names {len(qids)} queries, not {len(self.counts)}.")
        rows = np.repeat(np.arange(len(qids)), self.counts)
        names = pl.Series(list(qids), dtype=pl.String).gather(rows)
        scores = pl.Series(self.scores).cast(pl.Float64)
        return pl.DataFrame({"qid": names, "docno": self.docnos, "score": scores})

    def to_pandas(self, qids: Sequence[str] | None = None) -> "pd.DataFrame":
        from adducir.corpora.frames import as_pandas

        return as_pandas(self.to_polars(qids))

    def to_dict(self, qids: Sequence[str] | None = None) -> dict[str, dict[str, float]]:
        """The scores of documents by query: ``{qid: {docno: score}}``."""
        from adducir.corpora.frames import as_dict

        return as_dict(self.to_polars(qids))
