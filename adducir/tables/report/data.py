"""Data for the page's script: names, figures, tests and hits, as one compressed block."""

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from adducir.tables.formats.data import CSV, Markdown
from adducir.tables.formats.latex import Latex
from adducir.tables.report_data import hits_held
from adducir.tables.table import ResultTable

MOST_VALUES = 1_000_000
"""The maximum number of values per topic; beyond it, only means are included."""
_VERDICTS = {"better": 1, "worse": -1}

Topics = Mapping[str, Sequence[str]]


def visible(text: str) -> str:
    """A text with visible control characters, such as those that change its direction."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else f"⟨U+{ord(char):04X}⟩" for char in text)


def block(data: Mapping[str, Any]) -> str:
    """All data: JSON, gzip, base64; deterministic."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def report_data(table: ResultTable) -> dict[str, Any]:
    """A table for the page: systems and columns by number, in the table's order."""
    rows, material, comparison = table.rows, table.material, table.comparison
    several = len(table.by_section()) > 1
    names = [
        visible(f"{row.title} · {row.section}" if several and row.section else row.title)
        for row in rows
    ]
    columns, means, rated = list[dict[str, Any]](), list[list[float | None]](), list[int]()
    values: dict[int, list[list[float] | None]] = {}
    tests: dict[int, list[dict[str, Any]]] = {}
    topics, left = dict[str, Sequence[str]](), MOST_VALUES
    for place, column in enumerate(table.columns):
        title = visible(f"{column.group}: {column.title}" if column.group else column.title)
        higher = column.higher_is_better
        columns.append({"title": title, "group": column.group, "higher": higher})
        means.append([row.cells[place].mean if row.rates else None for row in rows])
        if qids := table.topics(column):
            topics[column.group] = qids
        if column.descriptive or column.summed:
            continue
        rated.append(place)
        if pairs := list(_tests(table, place)):
            tests[place] = pairs
        rows_of = [table.values(row, column) for row in rows] if qids else []
        left -= sum(len(row) for row in rows_of if row is not None)
        if qids and left >= 0:  # means over the runs of a system, in six digits
            values[place] = [
                None if row is None else [float(f"{v:.6g}") for v in row.tolist()]
                for row in rows_of
            ]
    data: dict[str, Any] = {"columns": columns, "means": means, "rated": rated}
    baselines = () if table.pairs else table.references[:1]
    named = next((at for at, row in enumerate(rows) if row.system in baselines), None)
    order = ranked(data, rated[0]) if rated else []
    base = named if named is not None else (order[-1] if order else 0)
    testing = comparison.testing if comparison else None
    band = testing.equivalence if testing and testing.against in table.references else None
    hits = _hits(table, topics)
    docnos = hits["docnos"] if hits else []
    return data | {
        "decimals": table.style.decimals,
        "names": names,
        "first": [base, *[at for at in order if at != base][:1]],
        "values": values,
        "tested": [] if table.pairs else list(tests),
        "tests": {} if table.pairs else tests,
        "pairs": tests if table.pairs else {},
        "reference": names[named] if named is not None else "",
        "bound": dict.fromkeys(tests, band),
        # Benjamini-Hochberg's correction and none do not control the family-wise error.
        "ranks": _ranks(data, tests)
        if testing and table.pairs and testing.correction not in ("bh", "by", "none")
        else {},
        "topics": {group: list(map(visible, qids)) for group, qids in topics.items()},
        "queries": {
            group: [visible(hits.queries.get(qid, "")) for qid in qids] if hits else []
            for group, qids in topics.items()
            for hits in [material.topics.get(group)]
        },
        "hits": hits and {**hits, "docnos": list(map(visible, docnos))},
        "snippets": [visible(material.snippets.get(docno, "")) for docno in docnos]
        if material.snippets
        else [],
        **_facts(table, columns),
        "copies": {
            "latex": Latex().render(table),
            "markdown": Markdown().render(table),
            "csv": CSV(per_topic=False).render(table),
        },
    }


def ranked(data: Mapping[str, Any], place: int) -> list[int]:
    """The rows with a mean in a column, best first."""
    sign = -1 if data["columns"][place]["higher"] else 1
    means = [(sign * mean, at) for at, mean in enumerate(data["means"][place]) if mean is not None]
    return [at for _, at in sorted(means)]


def _tests(table: ResultTable, place: int) -> Iterator[dict[str, Any]]:
    rows: dict[str | tuple[str, str], int] = {}
    for at, row in enumerate(table.rows):
        rows.setdefault(row.system, at)
        rows[row.section, row.system] = at
    for at, row in enumerate(table.rows):
        cell = row.cells[place]
        for test in cell.tests:
            # With several sections, the reference is in the same one.
            reference = rows.get((row.section, test.reference), rows.get(test.reference))
            if reference is not None:
                yield {
                    "row": at,
                    "ref": reference,
                    "difference": test.difference,
                    "low": test.low,
                    "high": test.high,
                    "p": test.p_corrected,
                    "verdict": _VERDICTS.get(test.verdict or "", 0),
                    "equivalent": bool(cell.equivalence and cell.equivalence.verdict),
                }


def _ranks(
    data: Mapping[str, Any], tests: Mapping[int, list[dict[str, Any]]]
) -> dict[int, list[list[int]]]:
    """By column, each row with the ends of its rank interval from all pairs' tests.

    Of S systems, one with b significantly better and w significantly worse systems ranks from 1 + b
    to S - w, simultaneously for all (Mogstad, Romano, Shaikh and Wilhelm, 2024).
    """
    ranks: dict[int, list[list[int]]] = {}
    for place, pairs in tests.items():
        order = ranked(data, place)
        ends = {at: [at, 1, len(order)] for at in order}
        for pair in pairs:
            ends[pair["row"]][1] += pair["verdict"] == -1
            ends[pair["row"]][2] -= pair["verdict"] == 1
        ranks[place] = list(ends.values())
    return ranks


def _hits(table: ResultTable, topics: Topics) -> dict[str, Any] | None:
    """Documents by number; for each topic set each row's lists, and the judged ones' grades."""
    numbers: dict[str, int] = {}
    lists: dict[str, list[list[list[int]] | None]] = {}
    grades: dict[str, list[dict[int, int]]] = {}
    for group, qids in topics.items():
        hits = table.material.topics.get(group)
        depth = hits_held(len(qids), len(hits.runs)) if hits else 0
        if hits is None or not hits.runs or not depth:
            continue
        places = {qid: at for at, qid in enumerate(qids)}
        lists[group] = []
        for row in table.rows:
            run = hits.runs.get(row.system)
            numbers_of: list[list[int]] = [[] for _ in qids]
            lists[group].append(None if run is None else numbers_of)
            for qid, docno in () if run is None else run.select("qid", "docno").iter_rows():
                if qid in places and len(numbers_of[places[qid]]) < depth:
                    numbers_of[places[qid]].append(numbers.setdefault(docno, len(numbers)))
        grades[group] = [{} for _ in qids]
        judged = hits.grades
        for qid, docno, grade in () if judged is None else judged.iter_rows():
            if qid in places and docno in numbers:
                grades[group][places[qid]][numbers[docno]] = grade
    return {"docnos": list(numbers), "lists": lists, "grades": grades} if numbers else None


def _facts(table: ResultTable, columns: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Recall, bounds, costs and trainings.

    Recall: by topic set and row, interpolated precision at eleven levels of recall. Bounds: means
    with those that unjudged documents allow, a figure for each measure.
    """
    recall, bounds = dict[str, dict[int, list[float]]](), list[dict[str, Any]]()
    titles = {
        (column.group, column.measure): shown["title"]
        for column, shown in zip(table.columns, columns, strict=True)
    }
    numbered = list(enumerate(row.system for row in table.rows))
    for group, hits in table.material.topics.items():
        curves = {at: hits.precision[name] for at, name in numbered if name in hits.precision}
        if curves:
            recall[group] = curves
        for measure, means in hits.bounds.items():
            title = visible(f"{group}: {measure}" if group else measure)
            rows = [(at, *means[name]) for at, name in numbered if name in means]
            rows.sort(key=lambda row: -row[2])
            bounds.append({"title": titles.get((group, measure), title), "rows": rows})
    costs = list[tuple[int | float | None, ...]]()
    for at, name in numbered:
        if cost := table.material.costs.get(name):
            size = cost.index_bytes and cost.index_bytes / 1e6
            seconds = cost.training_seconds, cost.expansion_seconds
            costs.append((at, cost.milliseconds, size, cost.index_tokens, *seconds))
    curves_of = [
        {"name": visible(name), **asdict(curve)} for name, curve in table.material.curves.items()
    ]
    return {"recall": recall, "bounds": bounds, "costs": costs, "curves": curves_of}
