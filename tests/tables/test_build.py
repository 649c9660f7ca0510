"""From comparisons to tables: figures unrounded, each with its marks, and the lines below."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sample_tables import scores_of

from adducir import evaluate
from adducir.core.errors import UsageError
from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.scores import Scores
from adducir.runs.run import Run
from adducir.statistics.comparison import Comparison, compare
from adducir.tables.build import Figure, build_table, figure_table
from adducir.tables.run_facts import RunFacts
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


RUN = {f"d{place}": 10.0 - place for place in range(6)}


def lines(table: ResultTable) -> list[str]:
    return table.footer()


def of(values: Any, measures: str = "AP", layout: Layout | None = None, **asked: Any) -> list[str]:
    named = dict(zip("abcd", np.asarray(values, dtype=float), strict=False))
    named = {k: np.repeat(v[:, None], len(measures.split()), axis=1) for k, v in named.items()}
    return lines(build_table(compare(scores_of(named, measures), **asked), layout))


def drawn(systems: int = 3, topics: int = 40) -> np.ndarray:
    rng = np.random.default_rng(5)
    shift = np.linspace(0, 0.2, systems)[:, None]
    return rng.random(topics) * 0.5 + shift + rng.normal(0, 0.05, (systems, topics))


def hollow(*values: np.ndarray, measures: str = "P@1", test: str = "hall") -> str:
    return of(values, measures, equivalence=0.1, against="a", equivalence_test=test)[-1]


def test_hollow_equivalences_are_named() -> None:
    ones = np.ones(50)
    text = hollow(ones, ones, np.arange(50) % 2, measures="P@1 RR")
    assert "scores differ on fewer than 15 topics, or equally on all: b and a (P@1)" in text
    assert "b and a (RR)" in text
    assert "c and a" not in text
    assert hollow(ones[:9], ones[:9]).startswith("Equivalence within ±0.1 was not tested: ")
    few = np.r_[np.zeros(3), np.ones(97)]
    text = hollow(np.ones(100), few, test="t")
    assert "Warning: do not rely on the equivalence of b and a (P@1): with fewer than 15" in text
    base = drawn(1)[0]
    for test in ("hall", "t"):
        near = base + np.random.default_rng(2).normal(0, 0.05, 40)
        for other in (near, base[::-1]):
            text = hollow(base, other, test=test)
            assert "Not tested" not in text
            assert "Warning" not in text


def evaluated(qrels: dict[str, int], measures: str, **options: Any) -> str:
    judged, run = Qrels.of({"q": qrels, "r": qrels}), Run.of({"q": RUN, "r": RUN}, tag="a")
    return " ".join(lines(build_table(compare(evaluate(run, judged, measures, **options)))))


def test_qrels_that_tell_little_are_warned_of() -> None:
    positives = {"d3": 1, "d5": 2}
    text = evaluated(positives, "nDCG(judged_only=True)@5 Bpref AP")
    assert "all judged documents are relevant" in text
    assert "left out by nDCG@5 (condensed), Bpref: these figures" in text
    assert "Warning" not in evaluated(positives, "AP R@5")
    assert "Warning" not in evaluated(positives | {"d1": 0}, "Bpref AP")
    assert "Warning" not in evaluated({"x": 1, "y": 0}, "AP")  # it stands above the table
    spam = {"d0": -1, "d1": 1, "d2": 0}
    assert "2 judgements with a negative grade counted as judged" in evaluated(spam, "AP")
    as_trec_eval = evaluated(spam, "Bpref", negative_grades="trec_eval")
    assert "left out as unjudged by condensed measures and Bpref" in as_trec_eval


def test_judgements_of_a_model_must_be_of_all_topics_and_of_more() -> None:
    human = Qrels.of({"1": {"d0": 1}, "2": {"d1": 1}})
    for other in ({"1": {"d0": 1}}, {"1": {"d0": 1}, "2": {"d1": 1}, "3": {"d1": 1}}):
        mine, theirs = Evaluator(human, "AP"), Evaluator(Qrels.of(other), "AP")
        facts = RunFacts(human, mine.measures, model=theirs, judge="Judge 1")
        run = Run.of(dict.fromkeys("123", RUN), tag="a")
        facts.add(run, "a")
        with pytest.raises(UsageError):
            facts.notes(compare(mine.score(run)), Style())


def test_bounds_from_unjudged_documents_are_stated() -> None:
    qrels = Qrels.of({"q": {"d0": 1, "d9": 1}})
    notes = RunFacts(qrels, Evaluator(qrels, "RBP(rel=1)@2 P@2").measures, unjudged=True)
    for name, docnos in (("full", ("d0", "d9")), ("open", ("x", "y"))):
        notes.add(Run.of({"q": dict(zip(docnos, (2.0, 1.0), strict=True))}, tag=name), name)
    comparison = compare(scores_of({"full": [1.0, 1.0], "open": [0.0, 0.0]}, "AP"))
    (text,) = notes.notes(comparison, Style())
    assert text.startswith(
        "Bounds of RBP(rel=1)@2 over all grades of unjudged documents: full 0.360 to"
    )
    assert text.endswith("no two systems.")
    with pytest.raises(UsageError, match="none of the measures has bounds"):
        RunFacts(qrels, Evaluator(qrels, "P@2").measures, unjudged=True).notes(comparison, Style())


def lines_below(**asked: Any) -> str:
    return " ".join(build_table(compared(**asked), Layout(style=Style(details=("ci",)))).footer())


def test_the_lines_below_name_the_family_and_what_is_not_corrected() -> None:
    by_holm, by_tukey, alone = (lines_below(correction=name) for name in ("holm", "tukey", "none"))
    assert "Holm-corrected over the 3 tests of each measure" in by_holm
    assert "over the 6 pairs of systems, whichever are tested, of each measure" in by_tukey
    assert "confidence interval of the difference, not corrected" in by_holm
    assert "confidence interval of the difference." in alone


def test_equal_systems_have_no_best() -> None:
    table = build_table(compare(scores_of({"a": [0.5, 0.2], "b": [0.2, 0.5]}, "AP")))
    assert [cell.best for _, _, cell in table.cells()] == [False, False]
