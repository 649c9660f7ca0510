"""Chosen sets of passages against the sets that would have been right.

Complementary evidence is chosen as a set, two passages of fifty say, and a question may have
several right sets. Of a selected set S and the question's gold sets:

* ``EM``, exact match: 1 if S is one of them, else 0;
* ``F1``: the greatest 2 |S & G| / (|S| + |G|) over the gold sets G;
* ``Cover``: 1 if S holds a whole gold set, whatever else it holds. Where |S| is fixed to the size
  of the gold sets, that is exact match.

A pool of candidates bounds what any selection from it can reach: :func:`upper_bound`.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from adducir.core.errors import UsageError
from adducir.evaluation.named import NamedMeasure
from adducir.evaluation.scores import Scores

Passage = TypeVar("Passage", bound=Hashable)

EXACT_MATCH = NamedMeasure("EM")
F1 = NamedMeasure("F1")
COVER = NamedMeasure("Cover")
MEASURES = (EXACT_MATCH, F1, COVER)


def set_scores(
    system: str,
    chosen: Mapping[str, Collection[Passage]],
    gold: Mapping[str, Sequence[Collection[Passage]]],
) -> Scores:
    """EM, F1 and Cover of every question, as comparisons and tables take them.

    Args:
        chosen: The set chosen for each question; one that is lacking counts 0 and is reported, one
            that ``gold`` lacks is ignored.
        gold: The right sets of each question, one or several, none of them empty.

    Raises:
        UsageError: No question, a question without a right set, an empty right set, or a passage
            that is chosen twice.
    """
    right = _checked(gold)
    values = np.zeros((len(right), len(MEASURES)))
    for row, (qid, sets) in enumerate(right.items()):
        if qid in chosen:
            members = frozenset(chosen[qid])
            if len(members) < len(chosen[qid]):
                raise UsageError(f"{system} chose a passage twice for question {qid}.")
            values[row] = (
                members in sets,
                max(f1(members, one) for one in sets),
                any(one <= members for one in sets),
            )
    missing = tuple(qid for qid in right if qid not in chosen)
    extra = tuple(qid for qid in chosen if qid not in right)
    return _scores(system, tuple(right), values, missing, extra)


def upper_bound(
    pools: Mapping[str, Collection[Passage]],
    gold: Mapping[str, Sequence[Collection[Passage]]],
    *,
    size: int | None = None,
    system: str = "upper bound",
) -> Scores:
    """What the best selection from each question's pool would reach.

    Args:
        pools: The candidates of each question; one that is lacking has none.
        size: How many passages must be chosen; None: as many as one likes.

    Raises:
        UsageError: As for :func:`set_scores`; or ``size`` below 1.
    """
    if size is not None and size < 1:
        raise UsageError(f"a set of {size} passages cannot be chosen.")
    right = _checked(gold)
    values = np.zeros((len(right), len(MEASURES)))
    for row, (qid, sets) in enumerate(right.items()):
        pool = frozenset(pools.get(qid, ()))
        reached = [_best(pool, one, size) for one in sets]
        values[row] = [max(one[place] for one in reached) for place in range(len(MEASURES))]
    missing = tuple(qid for qid in right if qid not in pools)
    return _scores(system, tuple(right), values, missing, ())


def f1(chosen: frozenset[Passage], right: frozenset[Passage]) -> float:
    """The harmonic mean of the shares of right passages chosen and of chosen passages right."""
    return 2 * len(chosen & right) / (len(chosen) + len(right))


def _best(
    pool: frozenset[Passage], right: frozenset[Passage], size: int | None
) -> tuple[float, float, float]:
    """EM, F1 and Cover of the best set in the pool for one right set."""
    found = len(pool & right)
    if size is None:
        return float(found == len(right)), 2 * found / (found + len(right)), float(right <= pool)
    taken = min(size, len(pool))
    hits = min(found, taken)
    return (
        float(hits == len(right) == taken),
        2 * hits / (taken + len(right)),
        float(hits == len(right)),
    )


def _checked(
    gold: Mapping[str, Sequence[Collection[Passage]]],
) -> dict[str, list[frozenset[Passage]]]:
    if not gold:
        raise UsageError("there is no question.")
    right = {qid: [frozenset(one) for one in sets] for qid, sets in gold.items()}
    for qid, sets in right.items():
        if not sets or not all(sets):
            raise UsageError(f"question {qid} has no right set, or an empty one.")
    return right


def _scores(
    system: str,
    qids: tuple[str, ...],
    values: np.ndarray,
    missing: tuple[str, ...],
    extra: tuple[str, ...],
) -> Scores:
    values.setflags(write=False)
    return Scores(system, qids, MEASURES, values, missing, extra)
