"""Lines of four columns with a system, a topic, a measure and a value, in any of three orders.

AutoJudge's leaderboards are written as ``ir_measures`` (run, topic, measure), ``tot`` (run,
measure, topic) or ``rag4reports`` (topic, run, measure), and nothing in a file says which. The
topic ``all``, names of known measures and numbers of topics show it; where they do not, it is
asked for.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from adducir.core.errors import InputError, worded
from adducir.core.files import read_lines
from adducir.core.progress import progress


class Order(NamedTuple):
    """The columns of the system, the topic and the measure."""

    system: int
    topic: int
    measure: int

    def __str__(self) -> str:
        names = {self.system: "run", self.topic: "topic", self.measure: "measure"}
        return ", ".join(names[place] for place in range(3))


ORDERS = {
    "ir_measures": Order(0, 1, 2),
    "tot": Order(0, 2, 1),
    "rag4reports": Order(1, 0, 2),
}
MEAN = "all"
_HEADER = {
    **dict.fromkeys(("run", "run_id", "runid", "system"), "run"),
    **dict.fromkeys(("topic", "topic_id", "qid", "query_id", "request_id"), "topic"),
    **dict.fromkeys(("measure", "metric"), "measure"),
}


def rows_of(
    path: Path, stated: str | None, is_measure: Callable[[str], bool]
) -> list[tuple[int, str, str, str, str]]:
    """Line, system, topic, measure and the value's text of each line.

    Args:
        path: The file.
        stated: A name of :data:`ORDERS`; None: as the file shows.
        is_measure: Whether a name is a known measure's.

    Raises:
        InputError: A line does not have four columns, or several orders fit.
    """
    lines = list[tuple[int, list[str]]]()
    for line, text in read_lines(path):
        cells = text.split("\t") if text.count("\t") == 3 else text.split()
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != 4:
            message = f"the line has {len(cells)} columns, but the first one has 4."
            raise InputError(message, path=path, line=line)
        lines.append((line, [cell.strip() for cell in cells]))
    header = ", ".join(_HEADER.get(cell.lower(), "") for cell in lines[0][1][:3])
    named = [name for name, order in ORDERS.items() if str(order) == header]
    lines = lines[bool(named) :]
    columns = [{cells[place] for _, cells in lines} for place in range(3)]
    fitting = [stated] if stated else named or _fitting(columns, is_measure)
    if len(fitting) != 1:
        orders = " or ".join(f"{ORDERS[name]} ({name})" for name in fitting or ORDERS)
        settings = " or ".join(worded("score_columns", name) for name in fitting or ORDERS)
        raise InputError(
            f"the first three of its four columns may be {orders}.",
            path=path,
            line=lines[0][0],
            hint=f"Say which: {settings}.",
        )
    order = ORDERS[fitting[0]]
    if not stated:
        setting = worded("score_columns", fitting[0])
        progress().note_once(f"{path}: columns {order}, value ({setting})")
    return [
        (line, cells[order.system], cells[order.topic], cells[order.measure], cells[3])
        for line, cells in lines
    ]


def _fitting(columns: list[set[str]], is_measure: Callable[[str], bool]) -> list[str]:
    """The orders that fit, by the evidence that tells some of them apart, the surest first."""
    fitting = list(ORDERS)

    def measured(order: Order) -> bool:
        return all(map(is_measure, columns[order.measure]))

    def numbered(order: Order) -> bool:
        return all(name.isdecimal() for name in columns[order.topic] - {MEAN})

    def of_a_run(order: Order) -> bool:
        return len(columns[order.system]) == 1 < len(columns[order.topic])

    evidence: list[Callable[[Order], bool]] = [
        lambda order: MEAN in columns[order.topic],
        measured,
        numbered,
        of_a_run,
    ]
    for holds in evidence:
        fitting = [name for name in fitting if holds(ORDERS[name])] or fitting
    return fitting
