"""The sentences at the top of the page: the leader, and how certain that is."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adducir.statistics.differences import NOISE
from adducir.statistics.settings import CORRECTIONS
from adducir.tables.report.data import ranked, visible
from adducir.tables.table import Cell, ResultTable

NAMED = 3
"""This many measures are named; the rest are counted."""


def headline(table: ResultTable, data: Mapping[str, Any]) -> str:
    """The leader on the first measure, its tests, and the leaders on the others."""
    orders = {place: order for place in data["rated"] if (order := ranked(data, place))}
    if not orders:
        return "Nothing here rates a system."
    place, order = next(iter(orders.items()))
    names, title = data["names"], data["columns"][place]["title"]
    cells = [table.rows[at].cells[place] for at in order]
    leader, n = cells[0], cells[0].n
    topics = f" over {n:,} topic{'s' * (n != 1)}" if n else ""
    mean = f"{leader.text.replace('-', '−')}{topics}"
    if len(order) == 1:
        return f"{names[order[0]]} has {title} {mean}; with one system there is nothing to compare."
    tied = len(_leaders(data["means"][place], leader.mean)) - 1
    first = f"{names[order[0]]} leads on {title}: {mean}."
    if tied:
        others = f"{tied} other{'s' * (tied > 1)}"
        first = f"{names[order[0]]} and {others} lead on {title}: {mean}."
    sentences = list(_confidence(table, cells)) or ["No difference was tested."]
    leads: dict[int, list[str]] = {order[0]: []}
    for at in orders:
        means = data["means"][at]
        if at != place and len(_leaders(means, means[orders[at][0]])) == 1:
            leads.setdefault(orders[at][0], []).append(data["columns"][at]["title"])
    elsewhere = list[str]()
    for at, titles in leads.items():
        if titles:
            whose = "It also" if at == order[0] else names[at]
            elsewhere.append(f"{whose} leads on {_listed(titles)}.")
    return " ".join([first, *sentences, *elsewhere[:NAMED]])


def _leaders(means: Sequence[float | None], best: float | None) -> list[float]:
    noise = NOISE * abs(best or 0)
    return [mean for mean in means if mean is not None and abs(mean - (best or 0)) <= noise]


def _confidence(table: ResultTable, cells: Sequence[Cell]) -> Iterator[str]:
    style, titles = table.style, {row.system: row.title for row in reversed(table.rows)}
    tests = [test for test in cells[0].tests if test.p is not None]
    if table.pairs and tests:
        beaten = [test.verdict for test in tests].count("better")
        losers = f"{beaten} of the {len(tests)} others" if beaten else "none of the others"
        yield f"It is significantly better than {losers}."
    elif tests:
        test, testing = tests[0], table.comparison and table.comparison.testing
        corrects = bool(testing and CORRECTIONS.kind(testing.correction).title)
        text = style.number(test.difference, signed=True)
        if test.low is not None:
            low, high = style.number(test.low, signed=True), style.number(test.high, signed=True)
            text += f" [{low}, {high}]{' (not corrected)' * corrects}"
        significant = "is" if test.verdict else "is not"
        whom, p = visible(titles[test.reference]), style.p_value(test.p_corrected)
        yield (
            f"Its difference from {whom}, {text.replace('-', '−')}, {significant} significant "
            f"({'corrected ' * corrects}p {p[0]} {p[1:]})."
        )
    for reference in () if table.pairs else table.references[:1]:
        verdicts = [
            test.verdict
            for cell in cells
            for test in cell.tests
            if test.reference == reference and test.p is not None
        ]
        better, worse = verdicts.count("better"), verdicts.count("worse")
        if len(verdicts) > 1 or (verdicts and not tests):
            whom = visible(titles.get(reference, reference)) if tests else "it"
            if better + worse:
                verdict = f"{better} significantly better"
                verdict += f", {worse} significantly worse" * (worse > 0)
                yield f"Of {len(verdicts)} systems, {verdict} than {whom}."
            else:
                yield f"On this measure, no system differs significantly from {whom}."
    if table.comparison is not None:
        alpha = table.comparison.testing.alpha
        best = [cell.p_best for cell in cells if cell.p_best is not None]
        if best:
            inside, level = sum(p > alpha for p in best), 100 * (1 - alpha)
            yield f"{inside} of {len(best)} may be the best (confidence set at {level:g}%)."


def _listed(titles: list[str]) -> str:
    if len(titles) > NAMED:
        return f"{', '.join(titles[:NAMED])} and {len(titles) - NAMED} more"
    return " and ".join([", ".join(titles[:-1]), titles[-1]] if len(titles) > 1 else titles)
