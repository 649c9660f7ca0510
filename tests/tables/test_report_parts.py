"""What a report says and draws, held to the table that it is made from."""

import re
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sample_tables import scores_of, small
from scipy.stats import ttest_rel
from statsmodels.stats.multitest import multipletests

from adducir.statistics.comparison import compare
from adducir.tables.build import Figure, Layout, build_table, figure_table
from adducir.tables.material import hits_held
from adducir.tables.report.drawing import shown, ticks
from adducir.tables.report.pairwise import pairwise
from adducir.tables.report.sections import pairs, ranks
from adducir.tables.report.sections.agreement import tau
from adducir.tables.report.sections.boxes import five_numbers
from adducir.tables.report.sections.compare import section as compare_section
from adducir.tables.report.sections.contrast import overlap
from adducir.tables.report.sections.costs import aligned, names_apart, pareto
from adducir.tables.report.sections.diff import judgement, moves
from adducir.tables.report.sections.headline import headline
from adducir.tables.report.sections.provenance import graph
from adducir.tables.report.sections.topics import drawn_topics, heat_map
from adducir.tables.report.templates import asset, script
from adducir.tables.report.view import View
from adducir.tables.table import Column, ResultTable


def scored(values: Any, layout: Layout | None = None, **asked: Any) -> ResultTable:
    """A table of AP of systems, (S, T)."""
    named = {f"s{k}": row for k, row in enumerate(np.asarray(values, dtype=float))}
    return build_table(compare(scores_of(named, "AP"), **asked), layout)


def spread(systems: int = 5, gap: float = 0.1) -> np.ndarray:
    draw = np.random.default_rng(3)
    shift = np.linspace(0, gap, systems)[:, None]
    return draw.random(30) + draw.normal(0, 0.1, (systems, 30)) + shift


def test_the_headline_tells_what_differs_and_by_how_much() -> None:
    text = headline(small())
    assert "Of 2 systems tested against BM25 on nDCG@5 (condensed)" in text
    for row, kind in ((1, "better"), (2, "worse")):
        (test,) = small().rows[row].cells[0].tests
        ends = f"[{test.low:+.3f}, {test.high:+.3f}]"
        told = (
            f"1 is significantly {kind} ({small().rows[row].title} {test.difference:+.3f} {ends})"
        )
        assert told in text.replace("−", "-")


def test_the_headline_of_what_was_not_tested_or_not_found() -> None:
    assert headline(scored([[0.2, 0.2], [0.3, 0.3]])) == (
        "The best mean on AP: s1 with 0.300 over 2 topics. No difference was tested."
    )
    assert headline(scored([[0.2, 0.2]])).startswith("One system on AP: s0 with 0.200")
    assert headline(figure_table([Column("J", descriptive=True)], {})) == (
        "Nothing here rates a system."
    )
    noise = np.random.default_rng(1).random((3, 8))
    found = headline(scored(noise, baseline="s0"))
    assert found == "Of 2 systems tested against s0 on AP, none differs significantly."
    one = headline(scored(noise[:2], baseline="s0"))
    assert one == "The one system tested against s0 on AP does not differ significantly."


def test_a_bound_is_no_system() -> None:
    comparison = compare(scores_of({"s0": [0.1, 0.2], "s1": [0.3, 0.3]}, "AP"), baseline="s0")
    table = build_table(comparison, figures=[Figure("", "bound", "AP", 1.0, 2)])
    assert View(table).pair == (1, 2)
    assert compare_section(View(table)) is not None
    assert "bound" not in headline(table)


def test_ranks_take_the_set_of_the_table() -> None:
    plain = ranks.section(View(scored(spread(), baseline="s0")))
    assert plain is not None
    assert "may be the best" not in plain.body
    table = scored(spread(), baseline="s0", best="set")
    marked = [row.cells[0].in_set for row in table.rows]
    assert 0 < sum(marked) < 5
    found = ranks.section(View(table))
    assert found is not None
    assert found.body.count(">may be the best<") == sum(marked)


def test_each_section_that_is_tested_by_itself_has_its_own_ranks() -> None:
    values = spread(3, 0.6)
    scores = [
        one.in_set(name)
        for name, shift in (("strong", 9.0), ("weak", 0.0))
        for one in scores_of({f"s{k}": row + shift for k, row in enumerate(values)}, "AP")
    ]
    places = {name: (name, "") for name in ("strong", "weak")}
    table = build_table(compare(scores, comparisons="all-pairs"), Layout(places=places))
    found = ranks.section(View(table))
    assert found is not None
    figures = re.findall(r"<svg.*?</svg>", found.body, re.DOTALL)
    for name, one in zip(("strong", "weak"), figures, strict=True):
        assert f"Rank intervals of 3 systems on AP · {name}" in one
    shown_pairs = pairs.section(View(table))
    assert shown_pairs is not None
    assert "made for this picture" in shown_pairs.lead


@pytest.mark.parametrize("correction", ["holm", "none", "maxt"])
def test_the_pairs_of_the_picture_are_those_of_the_table(correction: str) -> None:
    table = scored(spread(), comparisons="all-pairs", correction=correction)
    found = pairwise(View(table), 0)
    assert found is not None
    for i, j in combinations(range(5), 2):
        cell = table.rows[found.rows[i]].cells[0]
        test = cell.against(table.rows[found.rows[j]].system)
        assert test is not None
        assert found.p[i, j] == test.p_corrected


def test_pairs_that_were_not_planned_are_corrected_together() -> None:
    found = pairwise(View(scored(spread(), baseline="s0")), 0)
    assert found is not None
    best = found.best(3)
    assert best.rows == found.rows[:3]
    assert (best.p == found.p[:3, :3]).all()
    upper = np.triu_indices(5, 1)
    raw = [ttest_rel(found.values[i], found.values[j]).pvalue for i, j in zip(*upper, strict=True)]
    assert found.p[upper] == pytest.approx(multipletests(np.array(raw), method="holm")[1])


def test_less_is_better_puts_the_lowest_first() -> None:
    table = figure_table([Column("rank", higher_is_better=False)], {"a": [3.0], "b": [2.0]})
    assert View(table).ranked(0) == [1, 0]


def test_taus_of_measures_that_agree_and_that_do_not() -> None:
    columns = [Column("a"), Column("b"), Column("c")]
    rows = {"s": [1.0, 3.0, 5.0], "t": [2.0, 2.0, 7.0], "u": [3.0, 1.0, 9.0]}
    view = View(figure_table(columns, rows))
    assert tau(view, 0, 2) == pytest.approx(1)
    assert tau(view, 0, 1) == pytest.approx(-1)
    columns[1] = replace(columns[1], higher_is_better=False)
    assert tau(View(figure_table(columns, rows)), 0, 1) == pytest.approx(1)


def test_the_heat_map_has_a_cell_for_each_topic_and_system() -> None:
    drawn = heat_map(View(small()), 0)
    assert sum(path.count("M") for path in re.findall(r' d="([^"]+)"', drawn)) == 3 * 20


def test_the_script_is_small_and_loses_nothing_but_blanks_and_comments() -> None:
    source = asset("page.js")
    for line in source.splitlines():
        bare = line.strip()
        assert bare.count("`") % 2 == 0, line  # no text spans lines
        assert not bare.endswith("\\"), line
        assert ("/*" in bare) == ("*/" in bare), line
        if bare.startswith("/*"):
            assert bare.index("*/") == len(bare) - 2, line
    whole = re.sub(r"^\s*(//.*|/\*.*\*/)$", "", source, flags=re.MULTILINE)
    assert "".join(script().split()) == "".join(whole.split())
    assert len(script().encode()) <= 20_000
    assert "</script" not in script()


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


def test_names_in_the_figure_of_costs_stand_on_nothing() -> None:
    draw = np.random.default_rng(1)
    places = {n: (float(x), float(y)) for n, (x, y) in enumerate(draw.uniform(0, 300, (60, 2)))}
    marks = names_apart({n: f"system {n}" for n in places}, places)
    found = [
        (float(x), float(y)) for x, y in re.findall(r'x="([-\d.]+)" y="([-\d.]+)"', "".join(marks))
    ]
    assert 5 < len(found) < 60
    for (x, y), (left, top) in combinations(found, 2):
        assert abs(y - top) > 10 or abs(x - left) > 50
    for x, y in found:
        assert not [one for one in places.values() if x < one[0] < x + 50 and abs(one[1] - y) < 10]


def test_moves_and_judgements() -> None:
    assert [moves([5, 6, 7], document, 1) for document in (5, 6, 7, 8)] == ["−1", "", "+1", "new"]
    assert [judgement(grade)[0] for grade in (None, 0, -2, 3)] == ["U", "N", "N", "R3"]


def test_overlap_by_hand() -> None:
    assert overlap([1, 2, 3], [1, 2, 3], 3) == pytest.approx(1)
    assert overlap([1, 2], [3, 4], 2) == 0
    # Shared so far: 0 of 1, 2 of 2; weights 1 and .9.
    assert overlap([1, 2], [2, 1], 2) == pytest.approx(0.9 / 1.9)


def test_of_many_topics_the_hardest_and_the_most_diverse_are_drawn() -> None:
    values = np.full((2, 500), 0.5)
    values[:, 400:450] = 0.1
    values[0, 100:150] = 0.9
    assert set(drawn_topics(values, higher=True)) == {*range(400, 450), *range(100, 150)}


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
