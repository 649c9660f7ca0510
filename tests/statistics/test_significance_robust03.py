"""Four participants' runs of TREC 2003 Robust: figures at real size against scipy's."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from adducir.corpora.qrels import load_qrels
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.scores import Scores
from adducir.runs.read import read_run
from adducir.statistics.all_pairs import all_pairs, all_pairs_randomisation
from adducir.statistics.comparison.comparison import compare

RUNS = ("SABIR03BASE", "aplrob03a", "pircRBa1", "uic0301")
PERMUTATIONS = 20_000


@pytest.fixture(scope="module")
def scores(collections: Path) -> list[Scores]:
    folder = collections / "robust03"
    evaluator = Evaluator(load_qrels(folder / "qrels.txt.gz"), "AP P@5")
    return [evaluator.score(read_run(folder / f"input.{name}.gz"), system=name) for name in RUNS]


def test_t_agrees_with_scipy(scores: list[Scores]) -> None:
    found = compare(scores, baseline="SABIR03BASE", equivalence=0.1)
    assert found.topics == 100
    for measure in found.measures:
        base = scores[0].of(measure)
        p = []
        for one in scores[1:]:
            test = found.cell(one.system, measure).test
            theirs = stats.ttest_rel(one.of(measure), base)
            assert test.result.statistic == pytest.approx(theirs.statistic, rel=1e-12)
            assert test.p == pytest.approx(theirs.pvalue, rel=1e-12, abs=0)
            assert test.interval == pytest.approx(tuple(theirs.confidence_interval()), rel=1e-10)
            p.append(theirs.pvalue)
        corrected = [found.cell(name, measure).test.p_corrected for name in RUNS[1:]]
        assert min(corrected) == pytest.approx(min(1.0, 3 * min(p)))
        assert found.cell(found.best(measure), measure).mean == max(
            one.mean(measure) for one in scores
        )
    assert {cell.verdict for cell in found.cells.values()} >= {"better"}


def test_all_pairs_agree_with_scipy(scores: list[Scores]) -> None:
    for measure in scores[0].measures:
        values = np.array([one.of(measure) for one in scores])
        t = all_pairs(values)
        drawn = all_pairs_randomisation(values, permutations=PERMUTATIONS, seed=3)
        for i, j in combinations(range(len(RUNS)), 2):
            theirs = stats.ttest_rel(values[i], values[j])
            assert t.p[i, j] == pytest.approx(theirs.pvalue, rel=1e-12, abs=0)
            sampled = stats.permutation_test(
                (values[i], values[j]),
                lambda x, y, axis: np.mean(x - y, axis=axis),
                permutation_type="samples",
                vectorized=True,
                n_resamples=PERMUTATIONS,
                batch=2000,
                rng=np.random.default_rng(1),
            ).pvalue
            error = np.sqrt(2 * max(sampled * (1 - sampled), 1 / PERMUTATIONS) / PERMUTATIONS)
            assert abs(drawn.p[i, j] - sampled) < 5 * error


def test_a_table_of_randomisation_tests_is_the_pairs(scores: list[Scores]) -> None:
    found = compare(scores, family="pairs", test="randomisation", permutations=PERMUTATIONS, seed=3)
    assert found.tests_in_family == dict.fromkeys(found.measures, 6)
    for measure in found.measures:
        values = np.array([one.of(measure) for one in scores])
        drawn = all_pairs_randomisation(values, permutations=PERMUTATIONS, seed=3)
        for i, j in combinations(range(len(RUNS)), 2):
            assert found.cell(RUNS[j], measure).against(RUNS[i]).p == drawn.p[i, j]
