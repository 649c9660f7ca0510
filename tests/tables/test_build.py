"""From comparisons to tables: figures arrive unrounded, each with its marks."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sample_tables import scores_of

from adducir.evaluation.scores import Scores
from adducir.statistics.comparison import Comparison, compare
from adducir.tables.build import Figure, build_table, figure_table
from adducir.tables.style import Style
from adducir.tables.table import Cell, Column, Layout, Mark, ResultTable, printed_name

MEASURES = "nDCG(judged_only=True)@5 Bpref R@100 Judged@5 NumRet"


def compared(systems: str = "bm25 rm3 qld copy", seed: int = 1, **asked: Any) -> Comparison:
    """A baseline, a slightly better one, a much worse one, the baseline again."""
    return compare(some(systems, seed), **{"baseline": "bm25", **asked})


def some(systems: str, seed: int, topics: int = 40, topic_set: str = "") -> list[Scores]:
    draw = np.random.default_rng(seed)
    base = draw.beta(4, 4, (topics, 5)) * 0.6 + 0.2
    shift = {"bm25": 0.0, "rm3": 0.04, "qld": -0.2, "copy": 0.0}
    values = {}
    for name in systems.split():
        noise = 0 if name in ("bm25", "copy") else draw.normal(0, 0.05, base.shape)
        values[name] = base + shift[name] + noise
        values[name][:, 4] = 1000
    return scores_of(values, MEASURES, topic_set)


def cells_of(table: ResultTable) -> dict[tuple[str, str], Cell]:
    return {(row.system, column.measure): cell for row, column, cell in table.cells()}


def test_figures_are_the_comparisons_own() -> None:
    comparison = compared(equivalence=0.1)
    table = build_table(comparison)
    means = {(row[1], row[2]): row[3] for row in comparison.means.iter_rows()}
    tests = {
        (one["system"], one["measure"], one["claim"] == "difference"): one
        for one in comparison.tests.iter_rows(named=True)
    }
    for row, column, cell in table.cells():
        key = row.system, column.measure
        assert (cell.mean, cell.n) == (40_000 if column.summed else means[key], 40)
        assert cell.text == f"{cell.mean:.{0 if column.summed else 3}f}"
        found = tests.get((*key, True))
        assert len(cell.tests) == (found is not None)
        for one in cell.tests:
            assert one._asdict().items() <= (found or {}).items()
        found = tests.get((*key, False))
        assert (cell.equivalence is None) == (found is None)
        values = table.values(row, column)
        assert values is not None
        assert values.sum() == pytest.approx(cell.mean * (1 if column.summed else 40))
    assert table.topics(table.columns[0]) == tuple(str(n) for n in range(1, 41))


def test_marks_say_what_was_found() -> None:
    table = build_table(compared(equivalence=0.1, against="bm25"))
    cells = cells_of(table)
    measure = "nDCG(judged_only=True)@5"
    assert cells["rm3", measure].marks == (Mark("better"), Mark("equivalent"))
    assert cells["qld", measure].marks == (Mark("worse"),)
    assert cells["copy", measure].marks == cells["bm25", measure].marks == ()
    assert cells["rm3", measure].best
    assert not any(cells[name, "Judged@5"].marks for name in ("rm3", "qld"))
    twin = cells_of(build_table(compared("bm25 qld copy")))
    assert [twin[name, measure].best for name in ("bm25", "qld", "copy")] == [True, False, True]
    alone = build_table(compared("bm25", baseline=None))
    assert not any(cell.best for _, _, cell in alone.cells())


@pytest.mark.parametrize(
    ("measure", "name"),
    [
        ("nDCG(dcg='exp-log2',judged_only=True)@10", "nDCG(dcg='exp-log2')@10 (condensed)"),
        ("nDCG(gains={0:1,1:0},judged_only=True)", "nDCG(gains={0:1,1:0}) (condensed)"),
        ("RR(judged_only=True,rel=2)@10", "RR(rel=2)@10 (condensed)"),
        ("nDCG(judged_only=False)@5", "nDCG(judged_only=False)@5"),
    ],
)
def test_measures_of_condensed_lists_have_one_name(measure: str, name: str) -> None:
    assert printed_name(measure) == name


def test_topic_sets_may_be_sections_that_are_tested_by_themselves() -> None:
    both = [*some("bm25 rm3", 1, 40, "x"), *some("bm25 rm3", 2, 50, "y")]
    places = {"x": ("First", ""), "y": ("Second", "")}
    table = build_table(compare(both, baseline="bm25", best="set"), Layout(places=places))
    assert [(row.section, row.system) for row in table.rows] == [
        ("First", "bm25"),
        ("First", "rm3"),
        ("Second", "bm25"),
        ("Second", "rm3"),
    ]
    alone = build_table(compare(some("bm25 rm3", 2, 50), baseline="bm25", best="set"))
    cells = [replace(cell, topic_set="") for row in table.rows[2:] for cell in row.cells]
    assert cells == [cell for row in alone.rows for cell in row.cells]
    assert table.topics(table.columns[0]) == ()  # of two sets


def test_further_figures_stand_beside_those_that_are_tested() -> None:
    figures = [Figure("", "oracle", "Bpref", 1.0, 40), Figure("", "rm3", "Time", 2.5)]
    seconds = {"Time": Column("Time", higher_is_better=False)}
    table = build_table(compared(), figures=figures, columns=seconds)
    assert table.rows[0].system == "oracle"
    assert table.columns[-1].measure == "Time"
    cells = cells_of(table)
    assert (cells["oracle", "Bpref"].text, cells["oracle", "R@100"].text) == ("1.000", "–")
    assert not cells["oracle", "Bpref"].best
    assert cells["rm3", "Time"].mean == 2.5
    plain = figure_table([Column("n", summed=True)], {"a": [3.0], "b": [None]})
    assert [row.cells[0].text for row in plain.rows] == ["3", "–"]


@pytest.mark.parametrize(
    ("value", "style", "expected"),
    [
        (0.8425, Style(), "0.843"),  # the double is 0.84250000000000003
        (0.0625, Style(3), "0.062"),  # an exact half: to even
        (0.842, Style(leading_zero=False), ".842"),
        (1.0, Style(leading_zero=False), "1.000"),
        (10.5, Style(leading_zero=False), "10.500"),
        (-0.05, Style(leading_zero=False), "-.050"),
        (-0.0001, Style(), "0.000"),
        (100.0, Style(0), "100"),
        (None, Style(), "–"),
    ],
)
def test_numbers_are_rounded_once(value: float | None, style: Style, expected: str) -> None:
    assert style.number(value) == expected
