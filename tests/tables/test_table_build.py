"""From scores over comparisons to tables: figures arrive unrounded, footers say what holds."""

import numpy as np
import pytest

from adducir.core.errors import UsageError
from adducir.evaluation.measures import parse_measures
from adducir.evaluation.scores import Scores
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.comparison.results import Comparison
from adducir.tables.builder import Layout, build_table
from adducir.tables.formats.layout import letter_of_row, marks
from adducir.tables.table import Style

MEASURES = "nDCG(judged_only=True)@5 Bpref R@100 Judged@5 NumRet"


def scores(seed: int = 1, topics: int = 40, systems: str = "bm25 rm3 qld copy") -> list[Scores]:
    """Four systems: a baseline, a slightly better one, a much worse one, the baseline again."""
    draw = np.random.default_rng(seed)
    base = draw.beta(4, 4, (topics, 5))
    shift = {"bm25": 0.0, "rm3": 0.04, "qld": -0.2, "copy": 0.0}
    found = []
    for name in systems.split():
        noise = 0 if name in ("bm25", "copy") else draw.normal(0, 0.05, base.shape)
        values = np.clip(base + shift[name] + noise, 0, 1)
        values[:, 4] = 1000
        found.append(
            Scores(
                name,
                tuple(str(n) for n in range(1, topics + 1)),
                tuple(parse_measures(MEASURES)),
                values,
                missing=("7", "9") if name == "qld" else (),
                extra=("99",) if name != "bm25" else (),
                negatives=3,
            )
        )
    return found


def compared(some: list[Scores], **options: object) -> Comparison:
    return compare(some, **{"baseline": "bm25", **options})  # type: ignore[arg-type]


def test_figures_are_the_comparisons_own() -> None:
    some = scores()
    comparison = compared(some, equivalence=0.1)
    table = build_table(comparison, some)
    for row, column, cell in table.cells():
        measure = next(m for m in comparison.measures if str(m) == column.measure)
        expected = comparison.cell(row.system, measure)
        if column.summed:
            assert cell.mean == 40_000
            continue
        assert cell.mean == expected.mean
        assert cell.n == 40
        assert cell.values == tuple(some[[s.system for s in some].index(row.system)].of(measure))
        if row.system == "bm25" or column.descriptive:
            assert cell.versus == ()
            continue
        (versus,) = cell.versus
        assert expected.test is not None
        assert versus.baseline == "bm25"
        assert versus.p == expected.test.p
        assert versus.p_corrected == expected.test.p_corrected
        assert versus.ci == expected.test.interval
        assert versus.effect == expected.test.effect.d_z
        assert (versus.wins, versus.ties, versus.losses) == (
            expected.test.effect.wins,
            expected.test.effect.ties,
            expected.test.effect.losses,
        )
        assert (cell.equivalence is None) == (expected.equivalence is None)


def test_worse_is_marked_worse_and_a_copy_is_not_marked_at_all() -> None:
    table = build_table(compared(scores()))
    by_name = {row.system: row for row in table.rows}
    assert by_name["qld"].cells[0].versus[0].verdict == "worse"
    assert by_name["copy"].cells[0].versus[0].verdict == "none"
    assert by_name["copy"].cells[0].versus[0].p == 1.0


def test_equal_best_means_are_all_best() -> None:
    table = build_table(compared(scores(systems="bm25 qld copy")))
    assert [row.cells[0].best for row in table.rows] == [True, False, True]


def test_a_lone_system_is_not_the_best_of_anything() -> None:
    table = build_table(compare(scores(systems="bm25")))
    assert not any(cell.best for _, _, cell in table.cells())
    assert table.baselines == ()


def test_descriptive_and_summed_measures_are_reported_apart() -> None:
    columns = {column.measure: column for column in build_table(compared(scores())).columns}
    assert columns["Judged@5"].descriptive
    assert not columns["Judged@5"].summed
    assert columns["NumRet"].descriptive
    assert columns["NumRet"].summed
    assert not columns["Bpref"].descriptive


def test_lower_is_better_reaches_the_column() -> None:
    (bpref,) = parse_measures("Bpref")
    table = build_table(compared(scores(), lower_is_better=[bpref]))
    assert [column.higher_is_better for column in table.columns[:2]] == [True, False]
    qld = next(row for row in table.rows if row.system == "qld")
    ndcg, bpref_cell = (cell.versus[0] for cell in qld.cells[:2])
    assert (ndcg.verdict, bpref_cell.verdict) == ("worse", "better")
    assert ndcg.wins < ndcg.losses
    assert bpref_cell.wins > bpref_cell.losses


def test_several_baselines_get_letters_and_are_tested_against_each_other() -> None:
    table = build_table(compared(scores(), baseline=["bm25", "qld"]))
    assert table.baselines == ("bm25", "qld")
    by_name = {row.system: row for row in table.rows}
    assert letter_of_row(table, by_name["qld"]) == "b"
    assert letter_of_row(table, by_name["rm3"]) == ""
    assert [v.baseline for v in by_name["rm3"].cells[0].versus] == ["bm25", "qld"]
    (mark,) = marks(table, table.columns[0], by_name["copy"].cells[0])
    assert mark == ("better", "b")
    assert [v.baseline for v in by_name["bm25"].cells[0].versus] == ["qld"]


def test_all_pairs_make_every_system_a_reference() -> None:
    table = build_table(compare(scores(), family="pairs"))
    assert table.pairs
    assert table.baselines == ("bm25", "rm3", "qld", "copy")
    assert len(table.rows[0].cells[0].versus) == 3


def test_footer_shows_what_a_reader_must_know() -> None:
    some = scores()
    layout = Layout(
        system_names={"bm25": "BM25", "qld": "LM"},
        measure_names={"R@100": "Recall"},
        notes=["Topics are Touché's."],
    )
    table = build_table(compared(some, equivalence=0.1), some, layout=layout)
    text = "\n".join(table.footer)
    assert "40 topics." in text
    assert "against BM25; Holm-corrected over the 3 tests of each measure, alpha = 0.05" in text
    assert "within ±0.1" in text
    assert "LM lacks 2 of the topics, which count 0: 7, 9." in text
    assert "Ignored, because the qrels lack them: 1 topic of rm3, LM, copy (99)." in text
    assert "3 judgements with a negative grade (spam) counted as judged and not relevant." in text
    assert "Unjudged documents count as not relevant in Recall." in text
    assert "Unjudged documents are left out by nDCG@5 (condensed), Bpref." in text
    assert "Not tested, because it is descriptive: Judged@5, NumRet." in text
    assert table.footer[-1] == "Topics are Touché's."


def test_footer_says_when_negative_grades_stayed_negative() -> None:
    from dataclasses import replace

    some = [replace(one, negative="trec_eval") for one in scores()]
    text = "\n".join(build_table(compared(some), some).footer)
    assert "taken as trec_eval does" in text
    assert "counted as judged" not in text


def test_draws_and_seed_are_stated() -> None:
    some = scores()
    table = build_table(compared(some, test="randomisation", permutations=500, seed=3))
    assert any("500 permutations, seed 3" in sentence for sentence in table.footer)


def test_topic_sets_become_groups_and_shared_sentences_are_said_once() -> None:
    years = {"2020": scores(1, 40), "2021": scores(2, 50)}
    table = build_table({year: compared(some) for year, some in years.items()}, years)
    assert [column.group for column in table.columns] == ["2020"] * 5 + ["2021"] * 5
    assert len(table.columns[0].topics) == 40
    assert len(table.rows[0].cells[5].values) == 50
    assert table.footer[:2] == ("2020: 40 topics.", "2021: 50 topics.")
    assert sum("Holm" in sentence for sentence in table.footer) == 1
    assert [part["topics"] for part in table.facts["topic_sets"]] == [40, 50]


def test_a_system_of_one_topic_set_only_has_empty_cells_in_the_other() -> None:
    table = build_table(
        {"2020": compared(scores()), "2021": compared(scores(2, systems="bm25 qld"))}
    )
    rm3 = next(row for row in table.rows if row.system == "rm3")
    assert rm3.cells[0].mean is not None
    assert rm3.cells[5].mean is None


def test_sections_keep_their_systems_together_in_the_order_given() -> None:
    layout = Layout(sections={"bm25": "Original", "rm3": "DeepCT", "qld": "Original"})
    table = build_table(compared(scores()), layout=layout)
    assert [(row.section, row.system) for row in table.rows] == [
        ("Original", "bm25"),
        ("Original", "qld"),
        ("DeepCT", "rm3"),
        ("", "copy"),
    ]


def test_style_and_provenance_are_kept() -> None:
    layout = Layout(title="T", style=Style(2), provenance={"command": "adducir evaluate"})
    table = build_table(compared(scores()), layout=layout)
    assert (table.title, table.style.decimals) == ("T", 2)
    assert table.provenance == {"command": "adducir evaluate"}


def test_scores_of_other_systems_are_refused() -> None:
    with pytest.raises(UsageError, match="differ in their systems: qld"):
        build_table(compared(scores()), scores(systems="bm25 rm3 copy"))


def test_scores_of_other_topics_are_refused() -> None:
    with pytest.raises(UsageError, match=r"scores of 30 topics, the comparison is of 40"):
        build_table(compared(scores()), scores(topics=30))


def test_scores_of_other_topic_sets_are_refused() -> None:
    with pytest.raises(UsageError, match=r"2020.*the scores of 2021"):
        build_table({"2020": compared(scores())}, {"2021": scores()})
    with pytest.raises(UsageError, match="at least one comparison"):
        build_table({})
