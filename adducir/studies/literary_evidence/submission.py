"""The file that RELiC's leaderboard takes for the hidden test set.

One JSON object: for each quotation the numbers of the 100 best candidates, best first::

    {"070789": [99, 4, ...], "070790": [1532, ...]}

Source: README.md and scripts/score_submission.py of
github.com/martiansideofthemoon/relic-retrieval.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from adducir.core.errors import InputError
from adducir.core.files import writing_bytes
from adducir.corpora.relic import RelicBook, candidate_starts

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
