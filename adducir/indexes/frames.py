"""What a search finds as PyTerrier's frames have it."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pyterrier as pt

from adducir.indexes.index import Hits, Query


def ranked(inp: pd.DataFrame, search: Callable[[list[Query]], Hits]) -> pd.DataFrame:
    """What a search finds for each query of a frame, as PyTerrier has it.

    Args:
        inp: With the columns ``qid`` and ``query``, and perhaps ``query_toks``.

    Returns:
        One row a hit, with ``docno``, ``score``, ``rank`` (from 0) and the query's other columns.
    """
    pt.validate.columns(inp, includes=["qid", "query"])
    topics = inp.drop(columns=["docno", "docid", "score", "rank"], errors="ignore")
    topics = topics.drop_duplicates(subset="qid").reset_index(drop=True)
    hits = search(list(topics["query_toks" if "query_toks" in topics else "query"]))
    found = topics.loc[np.repeat(np.arange(len(topics)), hits.counts)].reset_index(drop=True)
    ranks = [np.arange(count) for count in hits.counts]
    return found.assign(
        docno=hits.docnos.to_list(),
        score=hits.scores.astype(np.float64),
        rank=np.concatenate(ranks) if ranks else np.array([], dtype=np.int64),
    )
