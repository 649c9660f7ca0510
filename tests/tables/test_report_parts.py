"""What a report says and draws, held to the table that it is made from."""

import re
from dataclasses import replace
from html import escape
from itertools import combinations

import numpy as np
import pytest
from sample_tables import small, versus
from scipy.stats import ttest_rel
from statsmodels.stats.multitest import multipletests

from adducir.evaluation.measures import parse_measures
from adducir.evaluation.scores import Scores
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.mean_ranks import groups
from adducir.statistics.outcome import printed_p
from adducir.tables.builder import Layout, build_table
from adducir.tables.material import hits_held
from adducir.tables.report.drawing import shown, ticks
from adducir.tables.report.pairwise import pairwise
from adducir.tables.report.sections import critical_difference, pairs, ranks
from adducir.tables.report.sections.agreement import tau
from adducir.tables.report.sections.boxes import five_numbers
from adducir.tables.report.sections.compare import section as compare_section
from adducir.tables.report.sections.contrast import overlap
from adducir.tables.report.sections.costs import aligned, names_apart, pareto
from adducir.tables.report.sections.critical_difference import Diagram, lanes_of, runs
from adducir.tables.report.sections.diff import judgement, moves
from adducir.tables.report.sections.headline import headline
from adducir.tables.report.sections.provenance import graph
from adducir.tables.report.sections.topics import drawn_topics, heat_map
from adducir.tables.report.templates import asset, script
from adducir.tables.report.view import View
from adducir.tables.stacking import stacked
from adducir.tables.style import Style
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


def test_the_headline_of_one_tested_system() -> None:
    table = table_of((0.2,), (0.3,), baselines=("s0",))

    def with_verdict(verdict: str) -> str:
        against = replace(versus("s0", 0.1), verdict=verdict, difference=0.1)
        row = replace(table.rows[1], cells=(replace(table.rows[1].cells[0], versus=(against,)),))
        return headline(replace(table, rows=(table.rows[0], row)))

    begin = "The one system tested against s0 on M0 "
    assert with_verdict("none") == f"{begin}does not differ significantly."
    assert with_verdict("better").startswith(f"{begin}is significantly better (s1 +0.100")


def scored(values: np.ndarray, layout: Layout | None = None, **testing: object) -> ResultTable:
    """A table of AP of systems, (S, T)."""
    (measure,) = parse_measures("AP")
    qids = tuple(map(str, range(values.shape[1])))
    scores = [Scores(f"s{k}", qids, (measure,), row[:, None]) for k, row in enumerate(values)]
    return build_table(compare(scores, **testing), scores, layout=layout)


def test_a_bound_is_no_system() -> None:
    table = scored(np.random.default_rng(2).random((2, 12)), baseline="s0")
    bounded = replace(table, rows=(Row("bound", (TableCell(1.0, 12),)), *table.rows))
    assert View(bounded).pair == (1, 2)
    assert compare_section(View(bounded)) is not None
    untested = scored(np.array([[0.1, 0.2], [0.3, 0.4]]))
    bounded = replace(untested, rows=(Row("bound", (TableCell(1.0, 2),)), *untested.rows))
    assert headline(bounded).startswith("The best mean on AP: s1 with 0.350")


def test_ranks_take_the_set_of_the_table() -> None:
    draw = np.random.default_rng(3)
    values = draw.random(30) + draw.normal(0, 0.1, (5, 30)) + np.linspace(0, 0.1, 5)[:, None]
    assert "may be the best" not in ranks.section(View(scored(values, baseline="s0"))).body
    table = scored(values, baseline="s0", best="set")
    marked = [row.cells[0].in_set for row in table.rows]
    assert 0 < sum(marked) < 5
    body = ranks.section(View(table)).body
    assert body.count(">may be the best<") == sum(marked)
    for row in table.rows:
        if not row.cells[0].in_set:
            assert f">{escape(printed_p(row.cells[0].p_best))}<" in body
    rows = tuple(replace(r, cells=(replace(r.cells[0], p_best=0.0123),)) for r in table.rows)
    turned = ranks.section(View(replace(table, rows=rows))).body
    assert turned.count(">p = 0.0123<") == 5


def test_each_section_that_is_tested_by_itself_has_its_own_ranks() -> None:
    draw = np.random.default_rng(4)
    values = draw.random(30) + draw.normal(0, 0.05, (3, 30)) + np.array([[0.0], [0.3], [0.6]])
    strong, weak, untested = (values + shift for shift in (9.0, 0.0, 5.0))
    tables = {"strong": scored(strong, baseline="s0"), "weak": scored(weak, baseline="s0")}
    table = stacked({**tables, "untested": scored(untested)})
    body = ranks.section(View(table)).body
    figures = re.findall(r"<svg.*?</svg>", body, re.DOTALL)
    assert [re.search(r'id="(.*?)"', one)[1] for one in figures] == [f"ranks-0-{n}" for n in "012"]
    for name, one in zip(("strong", "weak", "untested"), figures, strict=True):
        assert f"Rank intervals of 3 systems on AP · {name}" in one
        (best,) = re.findall(r">([^<]*): rank 1 to 1, surely 1 to 1<", one)
        assert best == "s2"
    several = Layout(sections={"s0": "a", "s1": "b", "s2": "b"})
    compared = View(scored(weak, layout=several, baseline="s0"))
    body = ranks.section(compared).body
    assert re.findall(r'<svg class="fig" id="(.*?)"', body) == ["ranks-0"]
    assert "s2 · b" in body
    assert "by itself" not in ranks.section(compared).lead


def test_pairs_of_each_section_are_not_the_pairs_of_the_table() -> None:
    draw = np.random.default_rng(5)
    values = draw.random(30) + draw.normal(0, 0.1, (3, 30)) + np.array([[0.0], [0.02], [0.3]])
    each = {name: scored(values + shift, family="pairs") for name, shift in (("a", 0), ("b", 0.1))}
    view = View(stacked(each))
    found = pairwise(view, 0)
    alone = pairwise(View(scored(np.vstack([values, values + 0.1]))), 0)
    assert found.how == alone.how
    assert np.array_equal(found.p, alone.p)
    assert "made for this picture" in pairs.section(view).lead
    assert "those of the table's tests" in pairs.section(View(each["a"])).lead


def test_less_is_better_puts_the_lowest_first() -> None:
    table = table_of((3.0,), (2.0,))
    table = replace(table, columns=(Column("rank", higher_is_better=False),))
    assert View(table).ranked(0) == [1, 0]


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


def test_a_critical_difference_diagram_has_a_bar_for_each_group() -> None:
    bars = [[0, 1], [1, 2, 3], [1, 3]]
    wanted = Diagram("cd", "four", list("ABCD"), [1.2, 2.1, 2.9, 3.8], bars, "a note")
    drawn = wanted.round_an_axis()
    assert drawn.count('class="thick"') == 3
    # The third passes C: it has dots at its own systems only.
    assert drawn.count('class="point"') == 2
    assert [f"{name} (" in drawn for name in "ABCD"] == [True] * 4
    start, end = re.findall(r'<line class="axis" x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)"', drawn)[0]
    names = [float(x) for x in re.findall(r'class="whisker" d="M([\d.]+)', drawn)]
    width = (float(end) - float(start)) / 3
    assert [1 + (x - float(start)) / width for x in names] == pytest.approx(
        [1.2, 2.1, 2.9, 3.8], abs=1e-3
    )
    lines = wanted.in_lines()
    assert lines.count('class="thick"') == 4  # the third is broken at C
    assert lines.count('class="whisker"') == 1


def test_bars_share_a_line_where_they_do_not_touch() -> None:
    assert lanes_of([(0, 100), (50, 150), (120, 200), (140, 300)]) == [0, 1, 0, 2]
    assert runs([1, 2, 3, 5, 8, 9]) == [(1, 3), (5, 5), (8, 9)]


def with_diagram(kind: str, **testing: object) -> ResultTable:
    draw = np.random.default_rng(4)
    rows = np.array([draw.uniform(0.12 * n, 1, 30) for n in range(5)])
    qids = tuple(map(str, range(30)))
    scores = [Scores(f"s{k}", qids, ("AP",), row[:, None]) for k, row in enumerate(rows)]  # type: ignore[arg-type]
    layout = Layout(style=Style(critical_difference=kind))  # type: ignore[arg-type]
    return build_table(compare(scores, **testing), scores, layout=layout)  # type: ignore[arg-type]


def test_critical_difference_diagrams_are_drawn_on_request_only() -> None:
    assert critical_difference.section(View(with_diagram("none"))) is None
    assert critical_difference.section(View(with_diagram("tests"))) is not None


@pytest.mark.parametrize("correction", ["holm", "none", "maxt"])
def test_bars_join_what_the_tables_tests_of_all_pairs_do_not_separate(correction: str) -> None:
    table = with_diagram("tests", family="pairs", correction=correction)
    found = pairwise(View(table), 0)
    assert found is not None
    names = [table.rows[at].system for at in found.rows]
    for i, j in combinations(range(5), 2):
        cell = table.rows[found.rows[i]].cells[0]
        assert found.differ[i, j] == (cell.against(names[j]).verdict != "none")  # type: ignore[union-attr]
    section = critical_difference.section(View(table))
    assert section is not None
    assert section.body.count('class="thick"') == len(groups(~found.differ))
    how = {"holm": "Holm", "none": "not corrected", "maxt": "Westfall-Young max-T"}[correction]
    assert f"Paired t-test, {how}, alpha = 0.05; 30 topics" in section.body


def test_of_many_systems_the_best_are_shown_with_tests_among_all() -> None:
    found = pairwise(View(with_diagram("tests")), 0)
    assert found is not None
    best = found.best(3)
    assert best.rows == found.rows[:3]
    assert (best.p == found.p[:3, :3]).all()
    upper = np.triu_indices(5, 1)
    raw = np.array(
        [ttest_rel(found.values[i], found.values[j]).pvalue for i, j in zip(*upper, strict=True)]
    )
    holm = multipletests(raw, method="holm")[1]
    assert found.p[upper] == pytest.approx(holm)
