"""The sentence that the report begins with, made from the tests and nothing else."""

from adducir.tables.report.view import View
from adducir.tables.table import PairResult, ResultTable

NAMED = 3
"""So many systems are named before the rest is counted."""


def headline(table: ResultTable) -> str:
    """What was found on the first measure, and on how many further ones; plain text."""
    view = View(table)
    if not view.rated or not table.rows:
        return "Nothing here rates a system."
    place = view.rated[0]
    order = view.systems(place)
    if not order:
        return f"No system was evaluated on {view.title(place)}."
    if len(order) == 1:
        return f"{_best(view, place)}; with one system there is nothing to compare."
    if not any(cell.tests for row in table.rows for cell in row.cells):
        return f"{_best(view, place)}. No difference was tested."
    finding = _pairs(view, place) if table.pairs else _against_baseline(view, place)
    return " ".join(filter(None, [finding, _elsewhere(view), _equivalent(view, place)]))


def _best(view: View, place: int) -> str:
    at = view.systems(place)[0]
    cell = view.table.rows[at].cells[place]
    topics = f"{cell.n:,} topic{'s' * (cell.n != 1)}"
    most = "One system" if len(view.systems(place)) == 1 else "The best mean"
    name, mean = view.names[at], view.number(cell.mean)
    return f"{most} on {view.title(place)}: {name} with {mean} over {topics}"


def _found(view: View, place: int) -> dict[str, list[tuple[int, PairResult]]]:
    """The rows by their verdict against the first baseline, the greatest difference first."""
    found: dict[str, list[tuple[int, PairResult]]] = {"better": [], "worse": [], "none": []}
    for at in view.ranked(place):
        entry = view.table.rows[at].cells[place].against(view.table.references[0])
        if entry is not None and entry.p is not None:
            found[entry.verdict or "none"].append((at, entry))
    found["worse"].reverse()
    return found


def _against_baseline(view: View, place: int) -> str:
    found = _found(view, place)
    tested = sum(map(len, found.values()))
    base = view.table.title_of(view.table.references[0])
    if not tested:
        return f"{_best(view, place)}. No difference was tested on it."
    parts = []
    for verdict in ("better", "worse"):
        if found[verdict]:
            shown = [_difference(view, at, one) for at, one in found[verdict][:NAMED]]
            rest = len(found[verdict]) - len(shown)
            named = "; ".join(shown) + (f"; and {rest} more" if rest else "")
            verb = "is" if len(found[verdict]) == 1 else "are"
            count = f"{len(found[verdict])} {verb}" if tested > 1 else verb
            parts.append(f"{count} significantly {verdict} ({named})")
    against = f"tested against {base} on {view.title(place)}"
    if tested == 1:
        what = "".join(parts) or "does not differ significantly"
        return f"The one system {against} {what}."
    what = " and ".join(parts) or "none differs significantly"
    return f"Of {tested} systems {against}, {what}."


def _difference(view: View, at: int, one: PairResult) -> str:
    text = f"{view.names[at]} {view.number(one.difference, signed=True)}"
    if one.low is not None:
        low, high = (view.number(end, signed=True) for end in (one.low, one.high))
        text += f" [{low}, {high}]"
    return text


def _pairs(view: View, place: int) -> str:
    cells = [row.cells[place] for row in view.table.rows]
    total = sum(one.p is not None for cell in cells for one in cell.tests) // 2
    differ = sum(one.verdict is not None for cell in cells for one in cell.tests) // 2
    return (
        f"{_best(view, place)}. Of {total} pairs of systems, {differ} "
        f"differ{'s' * (differ == 1)} significantly."
    )


def _elsewhere(view: View) -> str:
    """The further measures on which anything differs from the baseline."""
    others = view.rated[1:]
    if not others:
        return ""
    found = [
        view.title(place)
        for place in others
        if any(one.verdict for row in view.table.rows for one in row.cells[place].tests)
    ]
    if not found:
        further = f"the {len(others)} other measures" if len(others) > 1 else view.title(others[0])
        return f"Nothing differs significantly on {further}."
    some = found[:NAMED]
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return f"Systems differ significantly on {', '.join(some)}{more}."


def _equivalent(view: View, place: int) -> str:
    cells = [(at, row.cells[place].equivalence) for at, row in enumerate(view.table.rows)]
    tested = [(at, one) for at, one in cells if one is not None]
    if not tested:
        return ""
    same = [view.names[at] for at, one in tested if one.verdict]
    comparison = view.table.comparison
    bound = comparison.testing.equivalence if comparison else None
    against = view.table.title_of(tested[0][1].reference)
    within = f" within ±{bound:g}" if bound else ""
    if not same:
        return f"No system was shown to be equivalent to {against}{within}."
    more = f" and {len(same) - NAMED} more" if len(same) > NAMED else ""
    verb = "is" if len(same) == 1 else "are"
    shown = f"{', '.join(same[:NAMED])}{more} {verb} equivalent to {against}{within}"
    return f"On {view.title(place)}, {shown}."
