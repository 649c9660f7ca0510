"""The hits of all systems as the report holds them: documents by number, grades, ranks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adducir.tables.material import TopicHits, hits_held
from adducir.tables.report.view import View


@dataclass
class HitLists:
    """Documents by number, for each topic set the lists of each row and topic.

    Attributes:
        docnos: All documents that are held.
        lists: By topic set, row and topic: the numbers of the documents in their order; None for
            a row without a run there.
        grades: By topic set and topic: the grade of each judged document that is held.
        depth: How many documents of each topic are held.
    """

    docnos: list[str] = field(default_factory=list)
    lists: dict[str, list[list[list[int]] | None]] = field(default_factory=dict)
    grades: dict[str, list[dict[int, int]]] = field(default_factory=dict)
    depth: int = 0

    def as_data(self) -> dict[str, Any]:
        """For the page's script."""
        return {
            "docnos": self.docnos,
            "lists": self.lists,
            "grades": self.grades,
            "depth": self.depth,
        }


def hit_lists(view: View) -> HitLists | None:
    """The hits of a table; None where it has none, or too many to hold."""
    found = HitLists()
    numbers: dict[str, int] = {}
    for name, topics in _topic_sets(view).items():
        qids, one = topics
        depth = hits_held(len(qids), len(one.runs))
        if not one.runs or not depth:
            continue
        found.depth = max(found.depth, depth)
        places = {qid: at for at, qid in enumerate(qids)}
        found.lists[name] = [
            _lists(one, row.system, places, depth, numbers) for row in view.table.rows
        ]
        found.grades[name] = _grades(one, places, numbers)
    found.docnos = list(numbers)
    return found if any(one for lists in found.lists.values() for one in lists if one) else None


def _topic_sets(view: View) -> Mapping[str, tuple[tuple[str, ...], TopicHits]]:
    """The topics of each group of columns, with what is known of them."""
    qids = {
        column.group: topics
        for column in view.table.columns
        if (topics := view.table.topics(column))
    }
    known = view.material.topics
    return {name: (topics, known[name]) for name, topics in qids.items() if name in known}


def _lists(
    one: TopicHits, system: str, places: Mapping[str, int], depth: int, numbers: dict[str, int]
) -> list[list[int]] | None:
    run = one.runs.get(system)
    if run is None:
        return None
    lists: list[list[int]] = [[] for _ in places]
    for qid, docno in run.select("qid", "docno").iter_rows():
        at = places.get(qid)
        if at is not None and len(lists[at]) < depth:
            lists[at].append(numbers.setdefault(docno, len(numbers)))
    return lists


def _grades(
    one: TopicHits, places: Mapping[str, int], numbers: Mapping[str, int]
) -> list[dict[int, int]]:
    grades: list[dict[int, int]] = [{} for _ in places]
    if one.grades is not None:
        for qid, docno, grade in one.grades.select("qid", "docno", "grade").iter_rows():
            if qid in places and docno in numbers:
                grades[places[qid]][numbers[docno]] = grade
    return grades
