"""Four participants' runs of TREC 2003 Robust: figures at real size against scipy's."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from adducir.corpora.qrels import load_qrels
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.scores import Scores
from adducir.runs.read import read_run
from adducir.statistics.comparison import compare

RUNS = ("SABIR03BASE", "aplrob03a", "pircRBa1", "uic0301")
DRAWS = 20_000


@pytest.fixture(scope="module")
def scores(collections: Path) -> dict[str, Scores]:
    folder = collections / "robust03"
    evaluator = Evaluator(load_qrels(folder / "qrels.txt.gz"), "AP P@5")
    runs = {name: read_run(folder / f"input.{name}.gz") for name in RUNS}
    return {name: evaluator.score(run, system=name) for name, run in runs.items()}


def test_t_agrees_with_scipy(scores: dict[str, Scores]) -> None:
    found = compare(scores.values(), comparisons="all-pairs")
    assert (found.topics, found.tests.height) == ({"": 100}, 12)
    assert "better" in found.tests["verdict"]
    for test in found.tests.iter_rows(named=True):
        pair = (scores[test[side]].values(test["measure"]) for side in ("system", "reference"))
        theirs = stats.ttest_rel(*pair)
        assert test["statistic"] == pytest.approx(theirs.statistic, rel=1e-12)
        assert test["p"] == pytest.approx(theirs.pvalue, rel=1e-12, abs=0)
        ends = tuple(theirs.confidence_interval())
        assert (test["low"], test["high"]) == pytest.approx(ends, rel=1e-10)


def test_randomisation_agrees_with_scipy(scores: dict[str, Scores]) -> None:
    asked = {"test": "randomisation", "permutations": DRAWS, "seed": 3}
    found = compare(scores.values(), comparisons="all-pairs", **asked)
    for test in found.tests.iter_rows(named=True):
        pair = [scores[test[side]].values(test["measure"]) for side in ("system", "reference")]
        sampled = stats.permutation_test(
            pair,
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=DRAWS,
            batch=2000,
            rng=np.random.default_rng(1),
        ).pvalue
        error = np.sqrt(2 * max(sampled * (1 - sampled), 1 / DRAWS) / DRAWS)
        assert abs(test["p"] - sampled) < 5 * error
