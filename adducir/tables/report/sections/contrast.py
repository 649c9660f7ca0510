"""Topics by contrast: where two systems rank the most different documents, and what comes of it.

Rank-biased overlap is :func:`adducir.evaluation.reproduction.rank_biased_overlap` of the hits that
are held.
"""

from collections.abc import Sequence
from html import escape

from adducir.evaluation.reproduction import rank_biased_overlap
from adducir.tables.report.hits import HitLists
from adducir.tables.report.view import Section, View

MOST = 12
"""Topics that are listed."""
PERSISTENCE = 0.9


def section(view: View, hits: HitLists | None) -> Section | None:
    """The topics with the least overlap of the first two systems; the script lists any others."""
    if hits is None or view.pair is None or not view.with_values:
        return None
    place, (first, second) = view.with_values[0], view.pair
    lists = hits.lists.get(view.column(place).group)
    values = view.values(place)
    if lists is None or first not in values or second not in values:
        return None
    left, right = lists[first], lists[second]
    if left is None or right is None:
        return None
    found = [
        (overlap(one, other, hits.depth), at)
        for at, (one, other) in enumerate(zip(left, right, strict=True))
    ]
    rows = "".join(
        _row(view, place, at, rbo, (left[at], right[at])) for rbo, at in sorted(found)[:MOST]
    )
    heads = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("Topic", "difference", "overlap (RBO)", "documents in both")
    )
    body = (
        '<div class="scroll" tabindex="0" role="group" aria-label="Topics by contrast">'
        f'<table class="figures" id="contrasts"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    lead = (
        f"The {min(MOST, len(found))} topics on which both systems' first {hits.depth} documents "
        f"overlap least (rank-biased overlap, p = {PERSISTENCE})."
    )
    return Section("contrast", "Topics by contrast", lead, body)


def overlap(first: Sequence[int], second: Sequence[int], depth: int) -> float:
    """Rank-biased overlap of two lists of documents' numbers, from 0 to 1."""
    left, right = ([str(one) for one in side] for side in (first, second))
    return rank_biased_overlap(left, right, p=PERSISTENCE, depth=depth)


def _row(view: View, place: int, at: int, rbo: float, lists: tuple[list[int], list[int]]) -> str:
    column, (first, second) = view.column(place), view.pair or (0, 0)
    values, known = view.values(place), view.material.topics[column.group].queries
    qid = view.topics(place)[at]
    cells = (
        view.number(float(values[second][at] - values[first][at]), signed=True),
        f"{rbo:.2f}",
        str(len(set(lists[0]) & set(lists[1]))),
    )
    name = escape(f"{qid}  {known.get(qid, '')}".strip())
    figures = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr><th scope="row">{name}</th>{figures}</tr>'
