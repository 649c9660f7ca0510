"""Interpolated precision at eleven levels of recall, as trec_eval's ``iprec_at_recall``.

At a level r it is the highest precision at any rank from the one on at which the share r of the
relevant documents is found; 0 where that is never (m_iprec_at_recall.c; Manning, Raghavan and
Schütze 2008, ch. 8.4).
"""

import numpy as np
import polars as pl

from adducir.corpora.qrels import Qrels
from adducir.runs.run import Run

LEVELS = 11
_ROUNDING = 0.9
"""trec_eval takes a level of r of R documents to be reached at the first whole number of documents
of at least r R, where the sum r R + .9 is cut to a whole number."""


def interpolated_precision(run: Run, qrels: Qrels) -> tuple[float, ...]:
    """The mean over all topics of the qrels at recall 0, .1, ..., 1.

    Args:
        run: The run; its order is the ranking.
        qrels: The judgements; grades above 0 are relevant. A topic without a relevant document, or
            without rows in the run, counts 0.
    """
    relevant = qrels.frame.filter(pl.col("grade") > 0).select("qid", "docno")
    counts = dict(relevant.group_by("qid").len().iter_rows())
    ranked = run.frame.select("qid", "docno").with_columns(rank=pl.Series(run.ranks + 1))
    found = ranked.join(relevant, on=["qid", "docno"], how="semi")
    total = np.zeros(LEVELS)
    for (qid,), rows in found.group_by(["qid"]):
        total += _of_topic(np.sort(rows["rank"].to_numpy()), counts[qid])
    return tuple(float(value) for value in total / max(1, len(qrels.qids)))


def _of_topic(ranks: "np.ndarray[tuple[int], np.dtype[np.int64]]", relevant: int) -> np.ndarray:
    """(11,) values from the ranks of the relevant documents that were found, in order."""
    precision = np.arange(1, len(ranks) + 1) / ranks
    highest = np.maximum.accumulate(precision[::-1])[::-1]
    needed = (np.arange(LEVELS) / (LEVELS - 1) * relevant + _ROUNDING).astype(int)
    return np.array([highest[max(one, 1) - 1] if one <= len(ranks) else 0.0 for one in needed])
