"""The best candidates of contexts: a run, or what RELiC's leaderboard takes for its test set.

A submission is one JSON object: for each quotation the numbers of the 100 best candidates::

    {"070789": [99, 4, ...], "070790": [1532, ...]}

Source: README.md and scripts/score_submission.py of
github.com/martiansideofthemoon/relic-retrieval.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import orjson
import polars as pl

from adducir.core.errors import InputError
from adducir.core.files import writing_bytes
from adducir.encoders.ranking import SCORES, Distinct, Floats, Integers, Scores
from adducir.encoders.span_vectors import Scored
from adducir.runs.run import Run
from adducir.studies.literary_evidence.relic import RelicBook, candidate_starts

DEPTH = 100
"""Candidates of a quotation; the official scorer refuses any other number."""


def write_submission(
    rankings: Mapping[str, Sequence[int]], books: Mapping[str, RelicBook], path: Path
) -> int:
    """Write the rankings of a test set's quotations, cut at 100, and return how many there are."""
    best: dict[str, list[int]] = {}
    for book in books.values():
        for name, quote in book.quotes.items():
            best[name] = list(rankings.get(name, ()))[:DEPTH]
            starts = candidate_starts(len(book.sentences), quote.length)
            if len({one for one in best[name] if one in starts}) != DEPTH:
                raise InputError(
                    f"the ranking of quotation {name!r} is not of {DEPTH} different candidates, "
                    f"which are numbered from 0 to {len(starts) - 1}.",
                    path=path,
                )
    with writing_bytes(path) as handle:
        handle.write(orjson.dumps(best) + b"\n")
    return len(best)


def best(
    scores: Scores, queries: int, same: Distinct, depth: int, *, block: int = SCORES
) -> tuple[Integers, Floats]:
    """(Q, depth) numbers and scores of the best candidates, equal ones in order of numbers."""
    size = len(same.of)
    depth = min(depth, size)
    numbers = np.empty((queries, depth), dtype=np.int64)
    found = np.empty((queries, depth), dtype=np.float32)
    step = max(1, block // max(size, 1))
    for first in range(0, queries, step):
        last = min(first + step, queries)
        some = scores(first, last)[:, same.of]
        order = np.argsort(-some, axis=1, kind="stable")[:, :depth]
        numbers[first:last] = order
        found[first:last] = np.take_along_axis(some, order, axis=1)
    return numbers, found


def run_tasks(scored: Iterable[Scored], depth: int = 1000, *, tag: str) -> Run:
    """A run with the best candidates of each context of tasks, whose contexts' ids differ."""
    frames = []
    for task, scores, same in scored:
        numbers, found = best(scores, len(task.spans), same, depth)
        rows = {
            "qid": np.repeat([span.id for span in task.spans], numbers.shape[1]),
            "docno": [task.docnos[number] for number in numbers.ravel().tolist()],
            "score": found.ravel().astype(np.float64),
        }
        frames.append(pl.DataFrame(rows))
    return Run.ranked(pl.concat(frames), tag)


def relic_rankings(scored: Iterable[Scored], depth: int) -> dict[str, list[int]]:
    """The numbers of the best candidates of every quotation of tasks of :func:`book_tasks`."""
    rankings: dict[str, list[int]] = {}
    for task, scores, same in scored:
        numbers, _ = best(scores, len(task.spans), same, depth)
        rankings |= {s.id: row.tolist() for s, row in zip(task.spans, numbers, strict=True)}
    return rankings
