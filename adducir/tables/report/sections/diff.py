"""The hits of one topic with two systems side by side, lines between the same documents."""

from collections.abc import Iterator

import numpy as np

from adducir.tables.report.drawing import figure, line
from adducir.tables.report.hits import HitLists
from adducir.tables.report.templates import filled
from adducir.tables.report.view import Section, View

HIGH = 34
"""Pixels of a hit; those of the page's style sheet."""
WIDE = 90


def section(view: View, hits: HitLists | None) -> Section | None:
    """The topic on which the first two systems differ most; the script shows any other."""
    if hits is None or view.pair is None or not view.with_values:
        return None
    place = view.with_values[0]
    group, values = view.column(place).group, view.values(place)
    lists = hits.lists.get(group)
    first, second = view.pair
    if lists is None or first not in values or second not in values:
        return None
    if lists[first] is None or lists[second] is None:
        return None
    topic = int(np.argmax(np.abs(values[second] - values[first])))
    lead = (
        f"The first {hits.depth} documents of a topic with both systems; lines join the same "
        "document. The letter is the judgement: R with the grade is relevant, N judged and not "
        "relevant, a hatched U was never judged. +7: seven places higher than in the first list."
    )
    body = _shown(view, hits, group, topic)
    return Section("hits", "Hits of a topic", lead, body)


def _shown(view: View, hits: HitLists, group: str, topic: int) -> str:
    first, second = view.pair or (0, 0)
    left, right = ((hits.lists[group][at] or [])[topic] for at in (first, second))
    qid = next(column.topics[topic] for column in view.table.columns if column.group == group)
    grades = hits.grades[group][topic]
    tall = HIGH * max(len(left), len(right), 1)
    told = f"Lines between the same documents of {view.names[first]} and {view.names[second]}"
    return filled(
        "hits",
        title=f"{qid}  {view.material.topics[group].queries.get(qid, '')}".strip(),
        lists=[
            {"name": view.names[first], "hits": _listed(view, hits, left, grades)},
            {"name": view.names[second], "hits": _listed(view, hits, right, grades, left)},
        ],
        lines=figure("hits-lines", WIDE, tall, told, list(_lines(left, right))),
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
    mine: list[int],
    grades: dict[int, int],
    before: list[int] | None = None,
) -> Iterator[dict[str, str]]:
    """The hits of one list: what the template shows of each, with its way from another list."""
    for at, document in enumerate(mine):
        docno = hits.docnos[document]
        sign, kind = judgement(grades.get(document))
        moved = "" if before is None else moves(before, document, at)
        yield {
            "docno": docno,
            "sign": sign,
            "kind": kind,
            "moved": moved,
            "snippet": view.material.snippets.get(docno, ""),
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
