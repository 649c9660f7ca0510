"""The sentences that the page begins with: who leads, and how sure that is."""

from adducir.tables.report.data import ReportData, visible
from adducir.tables.table import Cell, PairResult

NAMED = 3
"""So many measures are named before the rest is counted."""


def headline(data: ReportData) -> str:
    """The leader on the first measure, what tests say of it, and who leads on the others."""
    table = data.table
    place = next((at for at in data.rated if data.ranked(at)), None)
    if place is None:
        return "Nothing here rates a system."
    order = data.ranked(place)
    cells = [table.rows[at].cells[place] for at in order]
    leader, name, n = cells[0], data.names[order[0]], cells[0].n
    topics = f" over {n:,} topic{'s' * (n != 1)}" if n else ""
    mean = f"{leader.text.replace('-', '−')}{topics}"
    if len(order) == 1:
        return (
            f"{name} has {data.titles[place]} {mean}; with one system there is nothing to compare."
        )
    tied = sum(cell.mean == leader.mean for cell in cells) - 1
    first = f"{name} leads on {data.titles[place]}: {mean}"
    if tied:
        first = f"{name} and {tied} other{'s' * (tied > 1)} lead on {data.titles[place]}: {mean}"
    told = [f"{first}.", *_confidence(data, cells), _elsewhere(data, order[0], place)]
    return " ".join(filter(None, told))


def _confidence(data: ReportData, cells: list[Cell]) -> list[str]:
    table, leader = data.table, cells[0]
    tests = [test for test in leader.tests if test.p is not None]
    told = []
    if table.pairs and tests:
        beaten = sum(test.verdict == "better" for test in tests)
        told.append(f"It is significantly better than {beaten} of the {len(tests)} others.")
    elif tests:
        told.append(_difference(data, tests[0]))
    if not table.pairs and table.references:
        reference = table.references[0]
        found = [test for cell in cells if (test := cell.against(reference)) and test.p is not None]
        better = sum(test.verdict == "better" for test in found)
        worse = sum(test.verdict == "worse" for test in found)
        if len(found) > 1 or (found and not tests):
            whom = visible(table.title_of(reference)) if tests else "it"
            if better + worse:
                what = f"{better} significantly better" + (
                    f", {worse} significantly worse" * (worse > 0)
                )
                told.append(f"Of {len(found)} systems, {what} than {whom}.")
            else:
                told.append(f"On this measure, no system differs significantly from {whom}.")
    best = [cell for cell in cells if cell.p_best is not None]
    if best and table.comparison is not None:
        level = 100 * (1 - table.comparison.testing.alpha)
        inside = sum((cell.p_best or 0.0) > table.comparison.testing.alpha for cell in best)
        told.append(f"{inside} of {len(best)} may be the best (confidence set at {level:g}%).")
    return told if told else ["No difference was tested."]


def _difference(data: ReportData, test: PairResult) -> str:
    style = data.table.style
    text = style.number(test.difference, signed=True)
    if test.low is not None and test.high is not None:
        text += f" [{style.number(test.low, signed=True)}, {style.number(test.high, signed=True)}]"
    text = text.replace("-", "−")
    significant = "is" if test.verdict else "is not"
    p = style.p_value(test.p_corrected)
    whom = visible(data.table.title_of(test.reference))
    return f"Its difference from {whom}, {text}, {significant} significant (p {p[0]} {p[1:]})."


def _elsewhere(data: ReportData, leader: int, place: int) -> str:
    others: dict[int, list[str]] = {}
    for at in data.rated:
        if at != place and (order := data.ranked(at)):
            others.setdefault(order[0], []).append(data.titles[at])
    also = [f"It also leads on {_listed(others.pop(leader))}."] if leader in others else []
    also += [f"{data.names[at]} leads on {_listed(titles)}." for at, titles in others.items()]
    return " ".join(also[:NAMED])


def _listed(titles: list[str]) -> str:
    if len(titles) > NAMED:
        return f"{', '.join(titles[:NAMED])} and {len(titles) - NAMED} more"
    return " and ".join([", ".join(titles[:-1]), titles[-1]] if len(titles) > 1 else titles)
