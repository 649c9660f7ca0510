"""The model confidence set against arch, and rank intervals against what they mean."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from arch.bootstrap import MCS

from adducir.core.errors import UsageError
from adducir.evaluation.measures import parse_measures
from adducir.evaluation.scores import Scores
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.comparison.results import Comparison
from adducir.statistics.ranking import ranking
from adducir.tables.builder import Layout, build_table
from adducir.tables.formats import render
from adducir.tables.formats.layout import legend
from adducir.tables.report.view import View
from adducir.tables.stacking import stacked


def scores_of(systems: int, topics: int, seed: int, spread: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shift = np.linspace(0, spread, systems)[:, None]
    return rng.beta(2, 3, topics) + shift + rng.normal(0, 0.1, (systems, topics))


@pytest.mark.parametrize(("systems", "seed"), [(2, 1), (6, 2), (10, 3)])
def test_the_set_is_archs_model_confidence_set(systems: int, seed: int) -> None:
    values = scores_of(systems, 50, seed, 0.06)
    theirs = MCS(1 - values.T, 0.1, reps=8_000, block_size=1, bootstrap="circular", seed=4)
    theirs.compute()
    p = theirs.pvalues["Pvalue"].sort_index().to_numpy()
    found = ranking(values, alpha=0.1, samples=8_000)
    assert found.p_best == pytest.approx(p, abs=0.03)
    assert np.flatnonzero(found.best).tolist() == theirs.included
    assert found.p_best.max() == 1.0


def test_lower_may_be_better() -> None:
    values = scores_of(5, 40, 5, 0.4)
    found, turned = (
        ranking(values, samples=500),
        ranking(-values, lower_is_better=True, samples=500),
    )
    assert found.rank.tolist() == turned.rank.tolist() == [5, 4, 3, 2, 1]
    assert (found.p_best == turned.p_best).all()
    assert (found.high == turned.high).all()


def test_intervals_of_ranks_by_hand() -> None:
    values = scores_of(4, 30, 6, 0.05)
    found = ranking(values, samples=4_000, seed=1)
    rng = np.random.default_rng(9)
    drawn = values[:, rng.integers(0, 30, (4_000, 30))].mean(axis=2)
    ranks = 1 + (drawn[None] > drawn[:, None]).sum(axis=1)
    low, high = np.quantile(ranks, [0.025, 0.975], axis=1, method="inverted_cdf")
    assert np.abs(found.low - low).max() <= 1
    assert np.abs(found.high - high).max() <= 1
    assert (found.low <= found.rank).all()
    assert (found.rank <= found.high).all()
    assert (found.surely_low <= found.rank).all()
    assert (found.rank <= found.surely_high).all()


def test_sure_differences_separate_and_equal_systems_do_not() -> None:
    base = np.random.default_rng(7).random(40)
    wide = np.random.default_rng(8).normal(0, 0.01, (3, 40))
    found = ranking(np.array([base, base + 0.2, base + 0.4]) + wide, samples=999)
    assert found.best.tolist() == [False, False, True]
    for low, high in ((found.low, found.high), (found.surely_low, found.surely_high)):
        assert low.tolist() == high.tolist() == [3, 2, 1]
    same = ranking(np.array([base, base, base - 0.3 + wide[0]]), samples=999)
    assert same.rank.tolist() == [1, 1, 3]
    assert same.best.tolist() == [True, True, False]
    assert same.surely_high.tolist() == [2, 2, 3]


def test_a_constant_difference_separates_without_a_warning() -> None:
    base = np.random.default_rng(7).random(40)
    found = ranking(np.array([base, base + 0.25]), samples=999)
    assert found.best.tolist() == [False, True]


def test_few_topics_eliminate_nothing() -> None:
    base = np.linspace(0.1, 0.5, 5)
    for shift in (0.3, np.linspace(0.3, 0.31, 5)):
        few = ranking(np.array([base, base + shift]), samples=999)
        assert (few.p_best.tolist(), few.best.all()) == ([2.0**-4, 1.0], True)


def test_one_system_is_the_best_and_one_topic_is_refused() -> None:
    alone = ranking([[0.1, 0.2, 0.4]])
    assert (alone.best.tolist(), alone.low.tolist(), alone.high.tolist()) == ([True], [1], [1])
    with pytest.raises(UsageError, match="two topics"):
        ranking([[0.1], [0.2]])
    with pytest.raises(UsageError, match="alpha"):
        ranking([[0.1, 0.2], [0.2, 0.3]], alpha=5)


@pytest.mark.slow
def test_the_set_and_the_intervals_keep_their_level() -> None:
    """All systems equal: 1 - alpha of the sets hold them all, and of the intervals all ranks."""
    rng = np.random.default_rng(10)
    whole = [
        ranking(rng.beta(1, 2, 30) + rng.normal(0, 0.1, (5, 30)), alpha=0.1, samples=500)
        for _ in range(400)
    ]
    assert np.mean([one.best.all() for one in whole]) > 0.84  # .857 with 30 topics
    sure = [(one.surely_low == 1).all() and (one.surely_high == 5).all() for one in whole]
    assert np.mean(sure) > 0.86


def test_a_comparison_marks_the_set_and_says_so() -> None:
    values = scores_of(6, 40, 3, 0.1)
    qids = tuple(map(str, range(40)))
    scores = [
        Scores(f"s{k}", qids, tuple(parse_measures("AP Judged@5")), np.column_stack([row, row]))
        for k, row in enumerate(values)
    ]
    found = compare(scores, best="set", samples=2_000)
    ap, judged = found.measures
    expected = ranking(values, samples=2_000)
    assert found.p_best[ap].tolist() == expected.p_best.tolist()
    assert [found.cell(f"s{k}", ap).in_set for k in range(6)] == expected.best.tolist()
    assert [found.cell(f"s{k}", ap).best for k in range(6)] == [False] * 5 + [True]
    assert 1 < expected.best.sum() < 6
    assert found.best(ap) == "s5"
    assert not any(found.cell(f"s{k}", judged).in_set for k in range(6))
    table = build_table(found, scores)
    assert [kinds for kinds, _ in legend(table)] == [("best",), ("set",)]
    assert any("level 95%, 2,000 samples, seed 0" in sentence for sentence in table.footer)
    assert "Warning" not in " ".join(table.footer)
    assert compare(scores).p_best == {}
    assert compare(scores[:1], best="set").p_best == {}
    for topics, warned in ((30, True), (31, False)):
        few = [replace(one, qids=qids[:topics], values=one.values[:topics]) for one in scores]
        text = " ".join(build_table(compare(few, best="set", samples=99), few).footer)
        assert ("Warning" in text) == warned


def compared(values: np.ndarray, measures: str = "AP", **settings: object) -> Comparison:
    qids = tuple(map(str, range(values.shape[1])))
    parsed = tuple(parse_measures(measures))
    columns = [np.column_stack([row] * len(parsed)) for row in values]
    scores = [Scores(f"s{k}", qids, parsed, one) for k, one in enumerate(columns)]
    return compare(scores, **settings)


@pytest.mark.parametrize("tests", [{"baseline": "s0"}, {"family": "pairs"}, {"equivalence": 0.1}])
def test_the_best_mean_alone_is_marked_unless_the_set_is_asked_for(tests) -> None:
    values = scores_of(6, 40, 3, 0.1)
    found = compared(values, **tests)
    assert (found.settings.best, found.p_best) == ("mean", {})
    assert [cell.best for cell in found.cells.values()] == [False] * 5 + [True]
    assert not any(cell.in_set for cell in found.cells.values())
    asked = compared(values, best="set", **tests)
    assert [cell.in_set for cell in asked.cells.values()] == ranking(values).best.tolist()
    descriptive = compared(values, "Judged@5", best="set", **tests)
    assert descriptive.p_best == {}
    assert "confidence set" not in " ".join(build_table(descriptive).footer)


def test_no_set_is_marked_where_every_system_may_be_the_best() -> None:
    values = scores_of(4, 12, 6, 0.0)
    found = compared(values, "AP nDCG@5 Judged@5", best="set")
    assert [found.undecided(one) for one in found.measures] == [True, True, False]
    table = build_table(found)
    assert not any(cell.in_set for _, _, cell in table.cells())
    assert [kinds for kinds, _ in legend(table)] == [("best",)]
    shown = [cell.p_best for _, column, cell in table.cells() if column.measure == "AP"]
    assert shown == found.p_best[found.measures[0]].tolist()
    assert min(shown) > 0.05
    assert any("every system on every measure" in one for one in table.footer)
    assert "Warning" not in " ".join(table.footer)  # that the set lacks one
    one, named = compared(values, best="set"), Layout(measure_names={"AP": "MAP"})
    footer = build_table(one, layout=named).footer
    assert any("every system on MAP" in sentence for sentence in footer)


def test_each_section_of_a_stacked_table_marks_its_own_set() -> None:
    told, untold = scores_of(4, 40, 3, 0.3), scores_of(4, 40, 6, 0.0)
    each = {"told": build_table(compared(told, best="set"))}
    each["untold"] = build_table(compared(untold, best="set"))
    for order in (("told", "untold"), ("untold", "told")):
        table = stacked({name: each[name] for name in order})
        marked = {row.section for row, _, cell in table.cells() if cell.in_set}
        assert marked == {"told"}
        assert any(text.startswith("untold: The set holds every") for text in table.footer)


def test_a_stacked_table_has_the_level_of_a_section_that_was_tested() -> None:
    values = scores_of(4, 40, 3, 0.3)
    first = build_table({"all": compared(values)})
    tested = {"baseline": "s0", "alpha": 0.01, "equivalence": 0.1, "non_inferiority": True}
    second = build_table({"all": compared(values, **tested, against="s1")})
    table = stacked({"untested": first, "tested": second})
    assert (table.alpha, table.equivalence_against) == (0.01, "s1")
    assert table.non_inferiority
    assert View(table).alpha(0) == View(table).alpha(0, "untested") == 0.01
    pairs = build_table(compared(values, family="pairs"))
    assert stacked({"untested": build_table(compared(values)), "pairs": pairs}).pairs
    third = build_table({"all": compared(values, baseline="s0", alpha=0.2)})
    view = View(stacked({"a": first, "b": second, "c": third}))
    assert [view.alpha(0, name) for name in "abc"] == [0.01, 0.01, 0.2]


def test_every_format_marks_and_explains_the_set() -> None:
    values = scores_of(6, 40, 3, 0.1)
    table = build_table(compared(values, baseline="s0", best="set"))
    marked = ranking(values).best.sum()
    said = "may be the best of the column (model confidence set, alpha = 0.05)."
    signs = {
        "terminal": ("°", "•"),
        "markdown": ("°", "**0"),
        "latex": (r"\circ", r"\textbf{0"),
        "html": ('class="set" title', "<b>0"),
    }
    for kind, (sign, best) in signs.items():
        text = render(table, kind)
        assert said in " ".join(text.split())
        assert text.count(sign) == marked + (kind != "html")  # the legend's own
        assert text.count(best) == 1 + (kind == "terminal")
    lines = list(csv.DictReader(io.StringIO(render(table, "csv"))))
    assert [line["best"] == "true" for line in lines] == [False] * 5 + [True]
    assert [line["in_set"] == "true" for line in lines] == ranking(values).best.tolist()
    assert [float(line["p_best"]) for line in lines] == ranking(values).p_best.tolist()
