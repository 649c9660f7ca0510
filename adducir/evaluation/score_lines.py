"""Lines of three or four columns: a topic, a measure, a value and perhaps a system, in any order.

trec_eval writes the measure first, ir_measures the topic. AutoJudge's leaderboards are written as
``ir_measures`` (run, topic, measure), ``tot`` (run, measure, topic) or ``rag4reports`` (topic, run,
measure). Nothing in a file says which. The topic ``all``, names of known measures and numbers of
topics show it; where they do not, it is asked for of four columns.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from adducir.core.errors import InputError, worded
from adducir.core.files import read_lines
from adducir.core.progress import progress


class Order(NamedTuple):
    """The columns of the topic, the measure and the system, if there is one."""

    topic: int
    measure: int
    system: int | None = None

    def __str__(self) -> str:
        names = {self.system: "run", self.topic: "topic", self.measure: "measure"}
        return ", ".join(names[place] for place in range(3))


ORDERS = {"ir_measures": Order(1, 2, 0), "tot": Order(2, 1, 0), "rag4reports": Order(0, 2, 1)}
_OF_THREE = {"topic first": Order(0, 1), "measure first": Order(1, 0)}
MEAN = "all"
PER_TOPIC = (
    "Give values per topic, from adducir evaluate --per-topic --format csv, ir_measures "
    "--by_query or trec_eval -q. Means cannot be tested; for rankings (from "
    "sentence-transformers with write_predictions=True, or mteb with prediction_folder) use "
    "adducir evaluate."
)
"""The hint about files that are not values."""
_HEADER = {
    **dict.fromkeys(("run", "run_id", "runid", "system"), "run"),
    **dict.fromkeys(("topic", "topic_id", "qid", "query_id", "request_id"), "topic"),
    **dict.fromkeys(("measure", "metric"), "measure"),
}


def rows_of(
    path: Path, width: int, stated: str | None, is_measure: Callable[[str], bool]
) -> list[tuple[int, str, str, str, str]]:
    """Line, system, topic, measure and the value's text of each line.

    Args:
        path: The file.
        width: The columns of its first line: 3 or 4.
        stated: A name of :data:`ORDERS`; None: as the file shows.
        is_measure: Whether a name is a known measure's.

    Raises:
        InputError: A line has other columns, or several orders of four fit.
    """
    lines = list[tuple[int, list[str]]]()
    for line, text in read_lines(path):
        cells = text.split("\t") if text.count("\t") == width - 1 else text.split()
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != width:
            columns = "the 4 of the first one" if width == 4 else "topic, measure and value"
            message = f"the line has {len(cells)} columns, not {columns}."
            raise InputError(message, path=path, line=line, hint=PER_TOPIC)
        if cells[0].strip() != "runid" or width == 4:
            lines.append((line, cells))
    if not lines:
        return []
    orders, named = (_OF_THREE, []) if width == 3 else (ORDERS, _named(lines[0][1]))
    lines = lines[bool(named) :]
    fitting = [stated] if stated else named or _fitting(orders, lines, is_measure)
    if len(fitting) != 1 and width == 4:
        shown = " or ".join(f"{ORDERS[name]} ({name})" for name in fitting or ORDERS)
        settings = " or ".join(worded("score_columns", name) for name in fitting or ORDERS)
        raise InputError(
            f"the first three of its four columns may be {shown}.",
            path=path,
            line=lines[0][0],
            hint=f"Say which: {settings}.",
        )
    order = orders[fitting[0]]
    if not stated and width == 4:
        setting = worded("score_columns", fitting[0])
        progress().note_once(f"{path}: columns {order}, value ({setting})")
    rows = list[tuple[int, str, str, str, str]]()
    for line, cells in lines:
        texts = [cell.strip() for cell in cells]
        system = "" if order.system is None else texts[order.system]
        rows.append((line, system, texts[order.topic], texts[order.measure], texts[-1]))
    return rows


def _named(cells: Sequence[str]) -> list[str]:
    """The order that a header names, if the first line is one."""
    header = ", ".join(_HEADER.get(cell.strip().lower(), "") for cell in cells[:3])
    return [name for name, order in ORDERS.items() if str(order) == header]


def _fitting(
    orders: dict[str, Order],
    lines: Sequence[tuple[int, Sequence[str]]],
    is_measure: Callable[[str], bool],
) -> list[str]:
    """The orders that fit, by the evidence that tells some of them apart, the surest first."""
    first = lines[0][1]
    columns = [{cells[place].strip() for _, cells in lines} for place in range(3)]
    is_padded = first[0] != first[0].strip()  # by trec_eval, which writes the measure first

    def of_a_run(order: Order) -> bool:
        return order.system is not None and len(columns[order.system]) == 1 < len(
            columns[order.topic]
        )

    evidence: list[Callable[[Order], bool]] = [
        lambda order: MEAN in columns[order.topic],
        lambda order: is_measure(first[order.measure].strip()),
        lambda order: is_padded and order.measure == 0,
        lambda order: all(name.isdecimal() for name in columns[order.topic] - {MEAN}),
        of_a_run,
    ]
    fitting = list(orders)
    for holds in evidence:
        fitting = [name for name in fitting if holds(orders[name])] or fitting
    return fitting
