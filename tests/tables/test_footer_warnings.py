"""What a table's footer says of infAP's unjudged documents and of hollow equivalences."""

import numpy as np
import pytest
import pytrec_eval

from adducir.evaluation.measures import parse_measures
from adducir.evaluation.scores import Scores
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
    assert unnamed == pytest.approx(judged, abs=1e-4)  # not left out, which would give 0.83
    assert pooled > judged + 0.1  # estimated from the judged ones


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
        "infAP estimates the relevance of pooled documents that were not judged (grade -1)."
        in footer
    )


def warnings_of(*values: np.ndarray, measures: str = "P@1", delta: float = 0.1) -> list[str]:
    comparison = compare(scores_of(*values, measures=measures), equivalence=delta, against="a")
    return [one for one in statements(comparison) if one.startswith("Warning")]


def test_an_equivalence_of_identical_scores_is_warned_of():
    zeros, ones = np.zeros(10), np.ones(10)
    (message,) = warnings_of(ones, ones, zeros, measures="P@1 RR")
    assert "b and a on P@1 (the same score on all 10 topics)" in message
    assert "b and a on RR (the same score on all 10 topics)" in message
    assert "c and a" not in message  # not equivalent


def test_an_equivalence_of_saturated_scores_is_warned_of():
    ones = np.ones(50)
    one_differs = np.r_[0.0, np.ones(49)]
    (message,) = warnings_of(ones, one_differs)
    assert "b and a on P@1 (different scores on 1 of 50 topics only)" in message
    (message,) = warnings_of(ones / 2, ones / 2 + 0.01)
    assert "(the same difference on all 50 topics)" in message


def test_an_equivalence_that_many_topics_bear_out_is_not():
    draw = np.random.default_rng(2)
    base = draw.random(50)
    assert warnings_of(base, base + draw.normal(0, 0.05, 50)) == []
    assert warnings_of(np.ones(1000), np.r_[np.zeros(4), np.ones(996)]) == []
    assert warnings_of(base, base[::-1]) == []  # not equivalent: nothing to warn of


def test_differing_topics_are_counted_beyond_rounding():
    found = tost([0.3 - 0.2, 0.5, 1.0], [0.1, 0.5, 0.9], 0.2)
    assert found.differing == 1
    assert found.questionable
