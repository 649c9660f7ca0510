"""Checks of a run by itself: repeated documents, scores, ties."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from adducir.runs.findings import Finding, counted, some
from adducir.runs.order import Ties, ordered
from adducir.runs.run import Run

_TOP = 10


def check_scores(run: Run, qrels: pl.DataFrame | None) -> Iterator[Finding]:
    """Everything that scores can be suspected of.

    Args:
        qrels: Columns qid, docno and grade, to see whether ties matter.
    """
    yield from _duplicates(run)
    yield from _constant(run)
    yield from _ties(run, qrels)
    score = run.frame["score"].to_numpy()
    negative = int(np.count_nonzero(score < 0))
    if negative:
        yield Finding(
            "info",
            "negative-scores",
            f"{negative:,} of {len(run):,} scores are negative. Rankings do not mind; adding raw "
            "scores of several runs does.",
        )


def _duplicates(run: Run) -> Iterator[Finding]:
    pairs = run.duplicates()
    if pairs.height:
        shown = [f"{docno} (topic {qid})" for qid, docno in pairs.rows()]
        yield Finding(
            "error", "duplicate", f"topics rank the same document more than once: {some(shown)}."
        )


def _constant(run: Run) -> Iterator[Finding]:
    if not len(run):
        return
    score = run.frame["score"].to_numpy()
    starts = np.cumsum(run.lengths) - run.lengths
    flat = np.maximum.reduceat(score, starts) == np.minimum.reduceat(score, starts)
    flat &= run.lengths > 1
    if flat.any():
        qids = [run.qids[place] for place in np.flatnonzero(flat)]
        every = len(qids) == np.count_nonzero(run.lengths > 1)
        yield Finding(
            "error" if every else "warning",
            "constant-scores",
            f"all documents of {counted(len(qids), 'topic')} ({some(qids)}) have the same score, "
            "so that docnos alone make their order. Often a reranker did not run.",
        )


def _ties(run: Run, qrels: pl.DataFrame | None) -> Iterator[Finding]:
    score = run.frame["score"].to_numpy()
    same = (score[1:] == score[:-1]) & (run.topics[1:] == run.topics[:-1])
    if not same.any():
        return
    tied = np.zeros(len(score), dtype=bool)
    tied[1:] = same
    tied[:-1] |= same
    topics = len(np.unique(run.topics[tied]))
    message = (
        f"{counted(int(tied.sum()), 'document')} of {counted(topics, 'topic')} share their score "
        "with another one, in single precision. trec_eval orders them by docno descending, "
        "Anserini ascending: "
    )
    down, up = _first(run, "descending"), _first(run, "ascending")
    changed = _topics_that_differ(down, up, "docno")
    if not changed:
        yield Finding("info", "ties", message + f"this does not touch the first {_TOP}.")
        return
    message += f"the first {_TOP} differ in {counted(changed, 'topic')}"
    if qrels is None:
        yield Finding("warning", "ties", message + ".")
        return
    matter = _topics_that_differ(_graded(down, qrels), _graded(up, qrels), "grade")
    if matter:
        yield Finding("warning", "ties", message + f", and so do their judgements in {matter:,}.")
    else:
        yield Finding("info", "ties", message + ", but their judgements in none.")


def _first(run: Run, ties: Ties) -> pl.DataFrame:
    """Frame (qid, docno, rank): the first documents of each topic."""
    frame = ordered(run.frame, ties=ties).with_columns(rank=pl.Series(run.ranks))
    return frame.filter(pl.col("rank") < _TOP).drop("score")


def _graded(first: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
    """The frame with its documents' grades, null where they are not judged."""
    return first.join(qrels, on=["qid", "docno"], how="left")


def _topics_that_differ(one: pl.DataFrame, other: pl.DataFrame, column: str) -> int:
    both = one.join(other, on=["qid", "rank"])
    return both.filter(pl.col(column).ne_missing(pl.col(f"{column}_right")))["qid"].n_unique()
