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
from adducir.core.files import read_text, writing_bytes
from adducir.core.json_lines import json_value
from adducir.corpora.relic import RelicBook, candidate_starts

DEPTH = 100
"""Candidates of a quotation; the official scorer refuses any other number."""


def write_submission(
    rankings: Mapping[str, Sequence[int]], books: Mapping[str, RelicBook], path: Path
) -> int:
    """Write the rankings of the quotations of a test set, whole or not at all.

    What is beyond the first 100 is left out. Returns how many quotations it has.
    """
    named = {name: list(rankings[name])[:DEPTH] for book in books.values() for name in book.quotes}
    _check(named, books, path)
    with writing_bytes(path) as handle:
        handle.write(orjson.dumps(named) + b"\n")
    return len(named)


def read_submission(path: Path, books: Mapping[str, RelicBook]) -> dict[str, list[int]]:
    """Read a submission and check it against its test set."""
    data = json_value(read_text(path), path)
    if not isinstance(data, dict):
        raise InputError("this is not a JSON object with a ranking at each id.", path=path)
    _check(data, books, path)
    return data


def _check(rankings: Mapping[str, object], books: Mapping[str, RelicBook], path: Path) -> None:
    """Refuse what the official scorer would stumble over or count wrongly."""
    places = {
        name: candidate_starts(len(book.sentences), quote.length)
        for book in books.values()
        for name, quote in book.quotes.items()
    }
    if strange := rankings.keys() ^ places.keys():
        what = f"quotation {min(strange)!r} is in one of submission and test set, not in both."
        raise InputError(what, path=path)
    for name, ranking in rankings.items():
        numbers = ranking if isinstance(ranking, list) else []
        known = {one for one in numbers if type(one) is int and one in places[name]}
        if len(numbers) != DEPTH or len(known) != DEPTH:
            raise InputError(
                f"the ranking of quotation {name!r} is not of {DEPTH} different candidates, which "
                f"are numbered from 0 to {len(places[name]) - 1}.",
                path=path,
            )
