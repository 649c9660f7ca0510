"""What a report says and draws, held to the table that it is made from."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sample_tables import small, versus

from adducir.tables.material import hits_held
from adducir.tables.report.drawing import shown, ticks
from adducir.tables.report.sections.agreement import tau
from adducir.tables.report.sections.boxes import five_numbers
from adducir.tables.report.sections.contrast import overlap, tau_ap
from adducir.tables.report.sections.costs import aligned, pareto
from adducir.tables.report.sections.diff import judgement, moves
from adducir.tables.report.sections.headline import headline
from adducir.tables.report.sections.provenance import graph
from adducir.tables.report.sections.topics import drawn_topics, heat_map
from adducir.tables.report.view import View
from adducir.tables.table import Column, Equivalence, ResultTable, Row, TableCell


def table_of(*means: tuple[float, ...], **more: object) -> ResultTable:
    columns = tuple(Column(f"M{n}") for n in range(len(means[0])))
    rows = tuple(
        Row(f"s{n}", tuple(TableCell(mean, 5) for mean in many)) for n, many in enumerate(means)
    )
    return ResultTable(columns, rows, **more)  # type: ignore[arg-type]


def test_the_headline_tells_what_differs_and_by_how_much() -> None:
    text = headline(small())
    assert "Of 2 systems tested against BM25 on nDCG@5 (condensed)" in text
    assert "1 is significantly better (BM25+RM3 +0.088 [+0.068, +0.108])" in text
    assert "1 is significantly worse (QLD −0.412 [−0.432, −0.392])" in text
    assert "No system was shown to be equivalent" in text


def test_the_headline_of_what_was_not_tested() -> None:
    assert headline(table_of((0.2,), (0.3,))) == (
        "The best mean on M0: s1 with 0.300 over 5 topics. No difference was tested."
    )
    assert headline(table_of((0.2,))) == (
        "One system on M0: s0 with 0.200 over 5 topics; "
        "with one system there is nothing to compare."
    )
    assert headline(ResultTable((Column("J", descriptive=True),), ())) == (
        "Nothing here rates a system."
    )


def test_the_headline_of_nothing_found() -> None:
    table = table_of((0.2,), (0.3,), (0.1,), baselines=("s0",))
    rows = tuple(
        replace(row, cells=(replace(row.cells[0], versus=(versus("s0", 0.1),)),))
        for row in table.rows[1:]
    )
    found = headline(replace(table, rows=(table.rows[0], *rows)))
    assert found == "Of 2 systems tested against s0 on M0, none differs significantly."
    cells = replace(rows[0].cells[0], equivalence=Equivalence("s1", True, 0.1))
    rows = (replace(rows[0], cells=(cells,)), rows[1])
    assert headline(replace(table, rows=(table.rows[0], *rows))).endswith(
        "On M0, s1 is equivalent to s1 within ±0.1."
    )


def test_less_is_better_puts_the_lowest_first() -> None:
    table = table_of((3.0,), (2.0,))
    table = replace(table, columns=(Column("rank", higher_is_better=False),))
    assert View(table).ranked(0) == [1, 0]


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (-0.05, 0.05, [-0.04, -0.02, 0, 0.02, 0.04]), (2, 2, [2])],
)
def test_ticks_are_tidy(low: float, high: float, wanted: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(wanted)


def test_numbers_on_axes() -> None:
    assert [shown(-0.1), shown(0.30000000000000004), shown(0.5, signed=True)] == [
        "−0.1",
        "0.3",
        "+0.5",
    ]


def test_quartiles_and_whiskers() -> None:
    values = np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 100])
    assert five_numbers(values) == (1, 3, 5, 7, 8)


def test_the_front_holds_what_nothing_beats() -> None:
    points = {0: (1.0, 0.2), 1: (2.0, 0.1), 2: (3.0, 0.5), 3: (3.0, 0.4), 4: (9.0, 0.5)}
    assert pareto(points) == [0, 2]


def test_taus_of_measures_that_agree_and_that_do_not() -> None:
    view = View(table_of((1, 3, 5), (2, 2, 7), (3, 1, 9)))
    assert tau(view, 0, 2) == pytest.approx(1)
    assert tau(view, 0, 1) == pytest.approx(-1)
    turned = replace(view.table.columns[1], higher_is_better=False)
    view = View(replace(view.table, columns=(view.table.columns[0], turned, view.table.columns[2])))
    assert tau(view, 0, 1) == pytest.approx(1)


def test_moves_and_judgements() -> None:
    assert [moves([5, 6, 7], document, 1) for document in (5, 6, 7, 8)] == ["−1", "", "+1", "new"]
    assert [judgement(grade)[0] for grade in (None, 0, -2, 3)] == ["U", "N", "N", "R3"]


def test_overlap_and_tau_ap_by_hand() -> None:
    assert overlap([1, 2, 3], [1, 2, 3], 3) == pytest.approx(1)
    assert overlap([1, 2], [3, 4], 2) == 0
    # Shared so far: 0 of 1, 2 of 2; weights 1 and .9.
    assert overlap([1, 2], [2, 1], 2) == pytest.approx(0.9 / 1.9)
    assert tau_ap([1, 2, 3], [1, 2, 3]) == 1
    assert tau_ap([1, 2, 3], [3, 2, 1]) == -1
    # In the order 2, 1, 3: above 1 stands 0 of 1 rightly, above 3 both.
    assert tau_ap([1, 2, 3], [2, 1, 9, 3]) == pytest.approx(2 / 2 * (0 + 1) - 1)
    assert np.isnan(tau_ap([1], [1, 2]))


def test_of_many_topics_the_hardest_and_the_most_diverse_are_drawn() -> None:
    values = np.full((2, 500), 0.5)
    values[:, 400:450] = 0.1
    values[0, 100:150] = 0.9
    assert set(drawn_topics(values, higher=True)) == {*range(400, 450), *range(100, 150)}


def test_the_heat_map_has_a_cell_for_each_topic_and_system() -> None:
    drawn = heat_map(View(small()), 0)
    cells = sum(path.count("M") for path in re.findall(r' d="([^"]+)"', drawn))
    assert cells == 3 * 6


def test_steps_of_a_plan_stand_right_of_what_they_are_made_from() -> None:
    drawn = graph((("index", ()), ("run", ("index",)), ("fusion", ("run", "index"))))
    places = dict(re.findall(r'<rect class="step" x="([\d.]+)".*?<title>(\w+)</title>', drawn))
    order = sorted(places, key=float)
    assert [places[x] for x in order] == ["index", "run", "fusion"]
    assert drawn.count('class="whisker"') == 3


def test_fewer_hits_of_more_lists() -> None:
    assert [hits_held(50, 28), hits_held(1000, 20), hits_held(10_000, 200)] == [20, 10, 0]


def test_costs_stand_with_equal_decimals_below_each_other() -> None:
    assert aligned([22.2, 151, 5.53, None]) == ["22.2", "151.0", "5.5", "–"]
    assert aligned([0.264, 0.0]) == ["0.26", "0.00"]
    assert aligned([1200.0, 88.0]) == ["1,200", "88"]
