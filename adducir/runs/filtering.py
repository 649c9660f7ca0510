"""Runs without what an evaluation must not count: a residual collection, the query itself, ...

- *Residual collection* (Salton and Buckley, 1990): documents whose judgements the system has seen,
  by relevance feedback or in training, are dropped from the run, as they must be from the qrels.
- The document with the topic's own id, where queries are documents of the collection (ArguAna,
  Quora), as BEIR drops it.
- Topics that the qrels do not have, documents below a depth, and repeated documents but the first.
- Passages, of which only their documents stay (:mod:`adducir.runs.folding`), before all else.
"""

from typing import NamedTuple

import polars as pl

from adducir.core.errors import UsageError
from adducir.corpora.qrels import Qrels
from adducir.runs.run import Run


class Filtered(NamedTuple):
    """A run, and how many documents each filter dropped."""

    run: Run
    dropped: dict[str, int]


def filter_run(
    run: Run,
    *,
    judged: Qrels | None = None,
    own: bool = False,
    topics: Qrels | None = None,
    depth: int | None = None,
    fold: str | None = None,
) -> Filtered:
    """The rest of a run, in the same order with the same scores: what ``adducir filter`` keeps."""
    if judged is None and topics is None and not own and depth is None and fold is None:
        raise UsageError("name at least one filter.")
    frame, dropped = run.frame, dict[str, int]()

    def keep(name: str, kept: pl.DataFrame) -> None:
        nonlocal frame
        dropped[name] = frame.height - kept.height
        frame = kept

    if fold is not None:
        keep("passages", run.fold(fold).frame)
    if topics is not None:
        keep("topics", frame.filter(pl.col("qid").is_in(pl.Series(topics.qids).implode())))
    if own:
        keep("own", frame.filter(pl.col("qid") != pl.col("docno")))
    if judged is not None:
        pairs = judged.frame.select("qid", "docno")
        kept = frame.join(pairs, on=["qid", "docno"], how="anti", maintain_order="left")
        keep("judged", kept)
    rest_of_run = Run(frame, run.tag, run.path)
    if depth is not None:
        top = rest_of_run.top(depth)
        dropped["depth"] = len(rest_of_run) - len(top)
        rest_of_run = top
    return Filtered(rest_of_run, dropped)
