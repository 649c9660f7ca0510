"""The one order of a run: by score, then by docno, with scores that strictly decrease.

trec_eval ranks equal scores by docno descending and never reads the rank (``form_res_rels.c``);
Anserini writes them by docno ascending; ir_measures follows the provider that a measure comes from.
A run whose scores strictly decrease within each topic is read alike by all of them. trec_eval up to
9.0.7 and pytrec_eval keep scores in single precision: there they must strictly decrease, too, and
of runs that others wrote, scores that are equal there are ties.
"""

from typing import Literal

import numpy as np
import polars as pl

from adducir.core.errors import UsageError
from adducir.corpora.frames import Floats, Integers, topic_numbers

Ties = Literal["ascending", "descending"]

_LARGEST = int(np.finfo(np.float32).max.view(np.int32))
_SIGN = -(2**31)
# Topics are 2**33 apart on the line of keys: more than keys (32 bits) and ranks together span.
_TOPIC_STRIDE = 1 << 33


def ordered(frame: pl.DataFrame, *, ties: Ties, single: bool = False) -> pl.DataFrame:
    """Rows (qid, docno, score) by topic of first appearance, score descending, docno.

    ``ties`` orders the docnos of equal scores, by UTF-8 bytes: ascending as in Anserini, or
    descending as in trec_eval. ``single``: scores equal in single precision become one number.
    """
    frame = frame.select("qid", "docno", "score")
    topic = topic_numbers(frame["qid"])
    score = frame["score"].to_numpy()
    falls = (score[1:] <= score[:-1]) | (topic[1:] != topic[:-1])
    if not falls.all() or (topic[1:] < topic[:-1]).any():
        rows = np.lexsort((-score, topic))
        frame, topic, score = frame[rows], topic[rows], score[rows]
    if single and (merged := _merged(topic, score)) is not None:
        score = merged
        frame = frame.with_columns(score=pl.Series(score))
    places, rows = _tied(topic, score, frame["docno"], descending=ties == "descending")
    if np.array_equal(places, rows):
        return frame
    # Tied rows differ in nothing but their docnos: to exchange these few is all there is to do.
    docnos = frame["docno"]
    return frame.with_columns(docnos.clone().scatter(places, docnos.gather(rows)))


def _merged(topic: Integers, score: Floats) -> Floats | None:
    """The scores, those that only double precision tells apart made equal; None without any."""
    with np.errstate(over="ignore"):
        rounded = score.astype(np.float32)
    same = (rounded[1:] == rounded[:-1]) & (topic[1:] == topic[:-1]) & np.isfinite(rounded[1:])
    apart = same & (score[1:] != score[:-1])
    if not apart.any():
        return None
    group = np.cumsum(np.concatenate(([True], ~same)))
    return np.where(np.isin(group, group[1:][apart]), rounded.astype(np.float64), score)


def _tied(
    topic: Integers, score: Floats, docnos: pl.Series, *, descending: bool
) -> tuple[Integers, Integers]:
    """The places of tied rows, and for each place the row whose docno belongs there."""
    same = (score[1:] == score[:-1]) & (topic[1:] == topic[:-1])
    member = np.zeros(len(score), dtype=bool)
    member[1:] = same
    member[:-1] |= same
    places = np.flatnonzero(member)
    begins = np.ones(len(places), dtype=bool)
    begins[1:] = ~same[places[1:] - 1]
    group = pl.DataFrame(
        {"group": np.cumsum(begins), "docno": docnos.gather(places), "row": places}
    ).sort("group", "docno", descending=[False, descending], maintain_order=True)
    return places, group["row"].to_numpy()


def strictly_decreasing(scores: Floats, topics: Integers | None = None) -> Floats:
    """(n,) scores that strictly decrease in double and in single precision, by the least change.

    Rounded to single precision, scores become integers ``x`` on the line of all floats in order.
    The nearest strictly decreasing line that never rises above it is
    ``y[i] = min(x[j] + j for j <= i) - i``: the first of a group of ties keeps its score and each
    later one moves by one float, and so does what is in the way. Scores whose ``x`` did not have to
    change keep their double-precision value; those beyond single precision move to its end.
    ``scores`` do not increase within a topic; ``topics`` has a number for each, None: all are one.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if not len(scores):
        return scores.copy()
    starts = np.zeros(len(scores), dtype=bool)
    starts[0] = True
    if topics is not None:
        starts[1:] = topics[1:] != topics[:-1]
    if not np.isfinite(scores).all():
        raise UsageError("a score is not a finite number.")
    if ((scores[1:] > scores[:-1]) & ~starts[1:]).any():
        raise UsageError("scores must be in descending order before their ties are broken.")
    with np.errstate(over="ignore"):
        bits = scores.astype(np.float32).view(np.int32).astype(np.int64)
    keys = np.where(bits >= 0, bits, _SIGN - bits)  # in the order of floats; both zeros are 0
    if ((keys[1:] < keys[:-1]) | starts[1:]).all() and abs(keys).max() <= _LARGEST:
        return scores.copy()
    first = np.flatnonzero(starts)
    lengths = np.diff(first, append=len(scores))
    rank = np.arange(len(scores)) - np.repeat(first, lengths)
    below = np.repeat(lengths, lengths) - 1 - rank
    # Each topic lies far below the one before it, so one running minimum serves all of them.
    depth = np.repeat(np.arange(len(first)), lengths) * _TOPIC_STRIDE
    line = np.minimum(keys, _LARGEST) + rank - depth
    new = np.minimum.accumulate(line) - rank + depth
    new = np.maximum(new, below - _LARGEST)  # room for the rest above the lowest float
    lowered = np.where(new >= 0, new, _SIGN - new).astype(np.int32).view(np.float32)
    return np.where(new == keys, scores, lowered.astype(np.float64))
