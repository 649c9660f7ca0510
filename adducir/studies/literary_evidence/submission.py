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
from adducir.core.texts import repeated
from adducir.corpora.relic import RelicBook, candidate_starts

DEPTH = 100
"""Candidates of a quotation; the official scorer refuses any other number."""


def write_submission(
    rankings: Mapping[str, Sequence[int]], books: Mapping[str, RelicBook], path: Path
) -> int:
    """Write the rankings of the quotations of ``books``, whole or not at all.

    Args:
        rankings: For each quotation's id the numbers of candidates, best first; what is beyond
            the first 100 is left out.
        books: The test set, as read; it determines the order in the file.

    Returns:
        How many quotations it has.

    Raises:
        InputError: A quotation is missing or unknown, or a ranking is too short, names a
            candidate twice or one that the book does not have.
    """
    named = {name: [int(one) for one in ranking[:DEPTH]] for name, ranking in rankings.items()}
    error = error_of_submission(named, books)
    if error:
        raise InputError(f"this submission cannot be written: {error}", path=path)
    ordered = {name: named[name] for book in books.values() for name in book.quotes}
    with writing_bytes(path) as handle:
        handle.write(orjson.dumps(ordered) + b"\n")
    return len(ordered)


def read_submission(path: Path, books: Mapping[str, RelicBook]) -> dict[str, list[int]]:
    """Read a submission and check it against its test set.

    Raises:
        InputError: It is no JSON object, or has an error as :func:`write_submission` names them.
    """
    data = json_value(read_text(path), path)
    if not isinstance(data, dict):
        raise InputError("this is not a JSON object with a ranking at each id.", path=path)
    error = error_of_submission(data, books)
    if error:
        raise InputError(error, path=path)
    return data


def error_of_submission(
    rankings: Mapping[str, object], books: Mapping[str, RelicBook]
) -> str | None:
    """The first thing that the official scorer would stumble over or count wrongly, or None."""
    wanted = {name: (title, book) for title, book in books.items() for name in book.quotes}
    unknown = [name for name in rankings if name not in wanted]
    if unknown:
        return f"there is no quotation {unknown[0]!r} in the test set."
    for name, (title, book) in wanted.items():
        if name not in rankings:
            return f"quotation {name!r} of {title!r} has no ranking."
        places = candidate_starts(len(book.sentences), book.quotes[name].length)
        what = _fault_of_ranking(rankings[name], places)
        if what:
            return f"quotation {name!r} of {title!r}: {what}"
    return None


def _fault_of_ranking(ranking: object, places: range) -> str | None:
    if not isinstance(ranking, list) or not all(type(one) is int for one in ranking):
        return "its ranking is not a list of whole numbers."
    if len(ranking) != DEPTH:
        return f"its ranking has {len(ranking)} candidates, not {DEPTH}."
    if len(set(ranking)) != DEPTH:
        twice = repeated(ranking)[0]
        return f"its ranking has candidate {twice} twice."
    outside = [one for one in ranking if one not in places]
    if outside:
        return f"there is no candidate {outside[0]}; the last is {len(places) - 1}."
    return None
