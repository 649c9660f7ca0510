"""What the page's script draws from: names, figures, tests and hits, as one compressed block."""

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any

from adducir.tables.formats.data import CSV
from adducir.tables.formats.latex import Latex
from adducir.tables.formats.markdown import Markdown
from adducir.tables.material import TopicHits, hits_held
from adducir.tables.table import ResultTable

MOST_VALUES = 1_000_000
"""Values per topic that are held; of more, the means are all there is."""
_VERDICTS = {"better": 1, "worse": -1}


def visible(text: str) -> str:
    """A text whose control characters (such as those that turn its direction) can be seen."""
    return "".join(char if char.isprintable() else f"⟨U+{ord(char):04X}⟩" for char in text)


class ReportData:
    """A table as the page has it: systems and columns by number, in the table's order."""

    def __init__(self, table: ResultTable) -> None:
        self.table, self.material = table, table.material
        several = len({row.section for row in table.rows}) > 1
        self.names = [
            visible(f"{row.title} · {row.section}" if several and row.section else row.title)
            for row in table.rows
        ]
        self.titles = [
            visible(f"{column.group}: {column.title}" if column.group else column.title)
            for column in table.columns
        ]

    @cached_property
    def rated(self) -> list[int]:
        columns = enumerate(self.table.columns)
        return [place for place, column in columns if not (column.descriptive or column.summed)]

    def ranked(self, place: int) -> list[int]:
        sign = -1 if self.table.columns[place].higher_is_better else 1
        means = [row.cells[place].mean for row in self.table.rows]
        known = [(sign * mean, at) for at, mean in enumerate(means) if mean is not None]
        return [at for _, at in sorted(known)]

    @cached_property
    def base(self) -> int | None:
        named = () if self.table.pairs else self.table.references[:1]
        return next((at for at, row in enumerate(self.table.rows) if row.system in named), None)

    @cached_property
    def values(self) -> dict[int, list[list[float] | None]]:
        """By column, the values per topic of each row (means over its runs), in six digits."""
        found: dict[int, list[list[float] | None]] = {}
        left = MOST_VALUES
        for place in self.rated:
            column = self.table.columns[place]
            if not self.table.topics(column):
                continue
            every = [self.table.values(row, column) for row in self.table.rows]
            left -= sum(each.shape[1] for each in every if each is not None)
            if left < 0:
                break
            found[place] = [
                None if each is None else [float(f"{v:.6g}") for v in each.mean(axis=0).tolist()]
                for each in every
            ]
        return found

    @cached_property
    def tests(self) -> dict[int, list[dict[str, Any]]]:
        every = {place: list(self._tests(place)) for place in self.rated}
        return {place: tests for place, tests in every.items() if tests}

    def _tests(self, place: int) -> Iterator[dict[str, Any]]:
        rows = list(enumerate(self.table.rows))
        for at, row in rows:
            cell = row.cells[place]
            for test in cell.tests:
                named = [to for to, one in rows if one.system == test.reference]
                # Of several sections, the reference is that of the same one.
                same = [to for to in named if self.table.rows[to].section == row.section]
                if named:
                    yield {
                        "row": at,
                        "ref": (same or named)[0],
                        "difference": test.difference,
                        "low": test.low,
                        "high": test.high,
                        "p": test.p_corrected,
                        "verdict": _VERDICTS.get(test.verdict or "", 0),
                        "equivalent": bool(cell.equivalence and cell.equivalence.verdict),
                    }

    @cached_property
    def topics(self) -> dict[str, tuple[str, ...]]:
        known = {column.group: self.table.topics(column) for column in self.table.columns}
        return {group: qids for group, qids in known.items() if qids}

    @cached_property
    def hits(self) -> dict[str, Any] | None:
        """Documents by number; for each topic set each row's lists, and the judged ones' grades."""
        numbers: dict[str, int] = {}
        lists: dict[str, list[list[list[int]] | None]] = {}
        grades: dict[str, list[dict[int, int]]] = {}
        for group, qids in self.topics.items():
            known = self.material.topics.get(group)
            depth = hits_held(len(qids), len(known.runs)) if known else 0
            if known is None or not known.runs or not depth:
                continue
            places = {qid: at for at, qid in enumerate(qids)}
            lists[group] = [
                _lists(known, row.system, places, depth, numbers) for row in self.table.rows
            ]
            grades[group] = [{} for _ in qids]
            if known.grades is not None:
                for qid, docno, grade in known.grades.select("qid", "docno", "grade").iter_rows():
                    if qid in places and docno in numbers:
                        grades[group][places[qid]][numbers[docno]] = grade
        if not numbers:
            return None
        return {"docnos": list(numbers), "lists": lists, "grades": grades}

    @cached_property
    def bounds(self) -> list[dict[str, Any]]:
        """Means with their bounds from unjudged documents, a figure for each measure."""
        columns = [(column.group, column.measure) for column in self.table.columns]
        titles, found = dict(zip(columns, self.titles, strict=True)), []
        for group, topics in self.material.topics.items():
            for measure, known in topics.bounds.items():
                title = titles.get((group, measure))
                rows = enumerate(row.system for row in self.table.rows)
                placed = [(at, *known[system]) for at, system in rows if system in known]
                title = title or visible(f"{group}: {measure}" if group else measure)
                found.append(
                    {"title": title, "rows": sorted(placed, key=lambda row: -float(row[2]))}
                )
        return found

    @cached_property
    def recall(self) -> dict[str, dict[int, list[float]]]:
        """By topic set and row, interpolated precision at eleven levels of recall."""
        rows = {row.system: at for at, row in enumerate(self.table.rows)}
        every = {
            group: {rows[name]: list(c) for name, c in topics.precision.items() if name in rows}
            for group, topics in self.material.topics.items()
        }
        return {group: curves for group, curves in every.items() if curves}

    @cached_property
    def ranks(self) -> dict[int, list[list[int]]]:
        """By column, each row with the ends of its rank interval: what all pairs' tests leave open.

        Of S systems, one that b are significantly better than and w significantly worse has a rank
        from 1 + b to S - w, all intervals at once (Mogstad, Romano, Shaikh and Wilhelm, 2024).
        """
        comparison = self.table.comparison
        # Benjamini-Hochberg's correction, and none, hold for no whole family.
        if comparison is None or comparison.testing.correction in ("bh", "none"):
            return {}
        found: dict[int, list[list[int]]] = {}
        for place, tests in self.tests.items() if self.table.pairs else ():
            order = self.ranked(place)
            verdicts = {at: [one["verdict"] for one in tests if one["row"] == at] for at in order}
            found[place] = [
                [at, 1 + verdicts[at].count(-1), len(order) - verdicts[at].count(1)] for at in order
            ]
        return found

    @cached_property
    def costs(self) -> list[tuple[int, float | None, float | None, float | None]]:
        rows = enumerate(self.table.rows)
        known = [(at, self.material.costs.get(row.system)) for at, row in rows]
        return [
            (
                at,
                cost.milliseconds,
                cost.index_bytes and cost.index_bytes / 1e6,
                cost.training_seconds,
            )
            for at, cost in known
            if cost is not None
        ]

    def block(self) -> str:
        """All of it: JSON, gzip, base64; the same table gives the same text."""
        text = json.dumps(self._whole(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()

    def _whole(self) -> dict[str, Any]:
        table, rows = self.table, self.table.rows
        order = self.ranked(self.rated[0]) if self.rated else []
        base = self.base if self.base is not None else (order[-1] if order else 0)
        others = [at for at in order if at != base]
        asked = table.comparison.testing if table.comparison else None
        band = asked.equivalence if asked and asked.against in table.references else None
        return {
            "decimals": table.style.decimals,
            "names": self.names,
            "first": [base, *others[:1]],
            "rated": self.rated,
            "columns": [
                {"title": title, "group": column.group, "higher": column.higher_is_better}
                for title, column in zip(self.titles, table.columns, strict=True)
            ],
            "means": [[row.cells[at].mean for row in rows] for at in range(len(table.columns))],
            "values": self.values,
            "tested": [] if table.pairs else list(self.tests),
            "tests": {} if table.pairs else self.tests,
            "pairs": self.tests if table.pairs else {},
            "reference": self.names[self.base] if self.base is not None else "",
            "bound": dict.fromkeys(self.tests, band),
            "ranks": self.ranks,
            "topics": {
                group: [visible(qid) for qid in qids] for group, qids in self.topics.items()
            },
            "queries": {
                group: [visible(known.queries.get(qid, "")) for qid in qids] if known else []
                for group, qids in self.topics.items()
                for known in [self.material.topics.get(group)]
            },
            "hits": self.hits and {**self.hits, "docnos": list(map(visible, self.hits["docnos"]))},
            "snippets": [
                visible(self.material.snippets.get(docno, ""))
                for docno in (self.hits or {}).get("docnos", ())
                if self.material.snippets
            ],
            "recall": self.recall,
            "bounds": self.bounds,
            "costs": self.costs,
            "curves": [
                {"name": visible(name), **asdict(curve)}
                for name, curve in self.material.curves.items()
            ],
            "copies": {
                "latex": Latex().render(table),
                "markdown": Markdown().render(table),
                "csv": CSV(per_topic=False).render(table),
            },
        }


def _lists(
    known: TopicHits, system: str, places: Mapping[str, int], depth: int, numbers: dict[str, int]
) -> list[list[int]] | None:
    run = known.runs.get(system)
    if run is None:
        return None
    lists: list[list[int]] = [[] for _ in places]
    for qid, docno in run.select("qid", "docno").iter_rows():
        at = places.get(qid)
        if at is not None and len(lists[at]) < depth:
            lists[at].append(numbers.setdefault(docno, len(numbers)))
    return lists
