"""What a table's footer says of infAP's unjudged documents and of hollow equivalences."""

import numpy as np
import pytest
import pytrec_eval

from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import evaluate
from adducir.evaluation.measures import parse_measures
from adducir.evaluation.scores import Scores
from adducir.runs.run import Run
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.comparison.statements import statements
from adducir.statistics.equivalence import tost
from adducir.tables.builder import build_table

RUN = {f"d{place}": 10.0 - place for place in range(6)}


def inferred(qrels: dict[str, int]) -> float:
    evaluator = pytrec_eval.RelevanceEvaluator({"q": qrels}, {"infAP"})
    return float(evaluator.evaluate({"q": RUN})["q"]["infAP"])


def test_infap_counts_what_the_qrels_do_not_name_as_not_relevant():
    judged = inferred({"d0": 0, "d1": 1, "d2": 0, "d3": 1})
    unnamed = inferred({"d1": 1, "d2": 0, "d3": 1})
    pooled = inferred({"d0": -1, "d1": 1, "d2": 0, "d3": 1})
    spam = inferred({"d0": -2, "d1": 1, "d2": 0, "d3": 1})
    assert unnamed == pytest.approx(judged, abs=1e-4)  # not left out, which would give 0.83
    assert pooled > judged + 0.1  # estimated from the judged ones
    assert spam == pooled  # every negative grade means the same to it


def scores_of(*values: np.ndarray, measures: str = "P@1") -> list[Scores]:
    found = tuple(parse_measures(measures))
    topics = tuple(str(number) for number in range(len(values[0])))
    return [
        Scores(name, topics, found, np.repeat(one[:, None], len(found), axis=1))
        for name, one in zip("abcd", values, strict=False)
    ]


def test_the_footer_says_what_infap_does():
    draw = np.random.default_rng(1)
    some = scores_of(draw.random(20), draw.random(20), measures="infAP Bpref AP")
    footer = build_table(compare(some, baseline="a"), some).footer
    assert "Unjudged documents count as not relevant in infAP, AP." in footer
    assert "Unjudged documents are left out by Bpref." in footer
    assert (
        "infAP estimates the relevance of pooled documents that were not judged (a negative grade)."
        in footer
    )


def remarks(
    *values: np.ndarray, measures: str = "P@1", delta: float = 0.1, test: str = "hall"
) -> str:
    scores = scores_of(*values, measures=measures)
    found = compare(scores, equivalence=delta, against="a", equivalence_test=test, best="mean")
    return " ".join(statements(found)[2:])


def test_identical_scores_are_named_as_not_tested():
    ones = np.ones(40)
    text = remarks(ones, ones, np.arange(40) % 2, measures="P@1 RR")
    assert (
        "Not tested for equivalence, because fewer than 15 topics differ: b and a on P@1 " in text
    )
    assert "b and a on RR (the same score on all 40 topics)." in text
    assert "c and a" not in text
    assert "Warning" not in text
    assert "fewer than 15 topics differ: all pairs." in remarks(ones[:9], ones[:9])


def test_saturated_scores_are_named_likewise():
    ones = np.ones(50)
    one_differs = np.r_[0.0, np.ones(49)]
    half = np.arange(50) % 2
    text = remarks(ones, one_differs, half)
    assert "b and a on P@1 (different scores on 1 of 50 topics only)" in text
    alike = remarks(ones / 2, ones / 2 + 0.01, half)
    assert (
        "or all differ by the same: b and a on P@1 (the same difference on all 50 topics)" in alike
    )


def test_what_cannot_be_tested_is_named_as_such():
    ranks = np.arange(1.0, 31.0)
    text = remarks(ranks, ranks)
    assert "topics differ: all pairs." in text


def test_t_tests_on_few_differing_topics_are_warned_of():
    ones = np.ones(100)
    text = remarks(ones, np.r_[np.zeros(3), np.ones(97)], test="t")
    assert "Warning: do not rely on the equivalence of b and a on P@1" in text
    assert "with fewer than 15 topics that differ the t-test does not hold its level." in text


def test_an_equivalence_that_many_topics_bear_out_needs_no_remark():
    draw = np.random.default_rng(2)
    base = draw.random(50) * 0.6 + 0.2
    for test in ("hall", "t"):
        assert remarks(base, base + draw.normal(0, 0.05, 50), test=test) == ""
        assert remarks(base, base[::-1], test=test) == ""  # not equivalent


def test_differing_topics_are_counted_beyond_rounding():
    found = tost([0.3 - 0.2, 0.5, 1.0], [0.1, 0.5, 0.9], 0.2)
    assert found.differing == 1
    assert found.method == "refused"


def footer_of(qrels: dict[str, int], measures: str, **options: str) -> str:
    judged = Qrels.of({"q": qrels, "r": qrels})
    run = Run.of({"q": RUN, "r": RUN}, tag="a")
    scores = [evaluate(run, judged, measures, system="a", **options)]
    return " ".join(build_table(compare(scores), scores).footer)


def test_qrels_of_positives_only_are_warned_of_where_a_measure_needs_others():
    positives = {"d3": 1, "d5": 2}
    text = footer_of(positives, "nDCG(judged_only=True)@5 Bpref AP")
    assert "hold relevant documents only, and nDCG@5 (condensed), Bpref leave out" in text
    assert "Warning" not in footer_of(positives, "AP R@5")
    assert "Warning" not in footer_of(positives | {"d1": 0}, "Bpref AP")


def test_the_footer_tells_of_negative_grades_what_the_measures_do_with_them():
    qrels = {"d0": -1, "d1": 1, "d2": 0}
    alone = footer_of(qrels, "infAP")
    assert "2 judgements with a negative grade, taken by infAP for pooled and not judged." in alone
    assert "not relevant;" not in alone
    assert "spam" not in alone
    both = footer_of(qrels, "infAP Bpref")
    assert "(spam) counted as judged and not relevant; taken by infAP for pooled" in both
    as_trec_eval = footer_of(qrels, "infAP Bpref", negative="trec_eval")
    assert "by condensed measures and Bpref; taken by infAP for pooled" in as_trec_eval
    assert footer_of(qrels, "AP").count("infAP") == 0
