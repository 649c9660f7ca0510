"""The hits of one topic with two systems side by side, lines between the same documents.

With one system, its hits alone.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adducir.tables.report.drawing import figure, line
from adducir.tables.report.hits import HitLists
from adducir.tables.report.quoted import quoted
from adducir.tables.report.templates import filled
from adducir.tables.report.view import Section, View

HIGH = 34
"""Pixels of a hit; those of the page's style sheet."""
WIDE = 90
WEIGHTS = (
    "In lists of systems that search weighted documents, words are underlined by their weight: "
    "point at a word for it; words of the query have it beside them."
)


def section(view: View, hits: HitLists | None) -> Section | None:
    """The topic on which the first two systems differ most, or the one system's hardest.

    The script shows any other.
    """
    if hits is None or not view.first or not view.with_values:
        return None
    place = view.with_values[0]
    group, values = view.column(place).group, view.values(place)
    lists = hits.lists.get(group)
    if lists is None or any(at not in values or lists[at] is None for at in view.first):
        return None
    shown = [values[at] for at in view.first]
    letters = (
        "The letter is the judgement: R with the grade is relevant, N judged and not relevant, a "
        "hatched U was never judged."
    )
    if len(shown) == 2:
        topic = int(np.argmax(np.abs(shown[1] - shown[0])))
        lead = (
            f"The first {hits.depth} documents of a topic with both systems; lines join the same "
            f"document. {letters} +7: seven places higher than in the first list."
        )
    else:
        sign = 1 if view.column(place).higher_is_better else -1
        topic = int(np.argmin(sign * shown[0]))
        lead = f"The first {hits.depth} documents of a topic, the hardest at first. {letters}"
    if view.material.weights:
        lead = f"{lead} {WEIGHTS}"
    body = _shown(view, hits, group, topic)
    return Section("hits", "Hits of a topic", lead, body)


def _shown(view: View, hits: HitLists, group: str, topic: int) -> str:
    lists = [(hits.lists[group][at] or [])[topic] for at in view.first]
    qid = next(qs for c in view.table.columns if c.group == group and (qs := view.table.topics(c)))[
        topic
    ]
    query = view.material.topics[group].queries.get(qid, "")
    grades = hits.grades[group][topic]
    lines = ""
    if len(lists) == 2:
        tall = HIGH * max(*map(len, lists), 1)
        names = " and ".join(view.names[at] for at in view.first)
        caption = f"Lines between the same documents of {names}"
        lines = figure("hits-lines", WIDE, tall, caption, list(_lines(*lists)))
    return filled(
        "hits",
        title=f"{qid}  {query}".strip(),
        lists=[
            {
                "name": view.names[row],
                "hits": _listed(view, hits, (row, query), mine, grades, before),
            }
            for row, mine, before in zip(view.first, lists, (None, lists[0]), strict=False)
        ],
        lines=lines,
    )


def _lines(left: list[int], right: list[int]) -> Iterator[str]:
    for at, document in enumerate(left):
        if document in right:
            other = right.index(document)
            role = "join" if other == at else "join-up" if other < at else "join-down"
            yield line(0, HIGH * (at + 0.5), WIDE, HIGH * (other + 0.5), role)


def _listed(
    view: View,
    hits: HitLists,
    of: tuple[int, str],
    mine: list[int],
    grades: dict[int, int],
    before: list[int] | None = None,
) -> Iterator[dict[str, Any]]:
    """The hits of a row and a query: what the template shows, with the way from another list."""
    row, query = of
    weights = view.material.weights.get(view.table.rows[row].system, {})
    for at, document in enumerate(mine):
        docno, snippets = hits.docnos[document], view.material.snippets
        sign, kind = judgement(grades.get(document))
        moved = "" if before is None else moves(before, document, at)
        yield {
            "docno": docno,
            "sign": sign,
            "kind": kind,
            "moved": moved,
            "snippet": list(quoted(snippets.get(docno, ""), query, weights.get(docno, ()))),
        }


def moves(before: list[int], document: int, at: int) -> str:
    """How many places a document has gained; ``new`` where it was not there."""
    if document not in before:
        return "new"
    gained = before.index(document) - at
    return f"{gained:+d}".replace("-", "−") if gained else ""


def judgement(grade: int | None) -> tuple[str, str]:
    """The letter and the class of a judgement."""
    if grade is None:
        return "U", "unjudged"
    return (f"R{grade}", "relevant") if grade > 0 else ("N", "irrelevant")
