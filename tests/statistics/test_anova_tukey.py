"""Analysis of variance and Tukey's HSD against statsmodels, scipy and enumeration."""

from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from adducir.core.errors import UsageError
from adducir.evaluation.scores import Scores
from adducir.statistics.anova import two_way_anova
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.comparison.statements import statements
from adducir.statistics.corrections import CORRECTIONS
from adducir.statistics.corrections.correction import PairFamily


def values_of(systems: int, topics: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shift = np.linspace(0, 0.15, systems)[:, None]
    return rng.beta(2, 3, topics) + shift + rng.normal(0, 0.1, (systems, topics))


def all_pairs_of(values: np.ndarray) -> PairFamily:
    first, second = np.triu_indices(len(values), 1)
    return PairFamily(np.ones(first.size), values, first, second)


def scores_of(values: np.ndarray) -> list[Scores]:
    qids = tuple(map(str, range(values.shape[1])))
    return [Scores(f"s{k}", qids, ("AP",), row[:, None]) for k, row in enumerate(values)]


@pytest.mark.parametrize(("systems", "topics"), [(2, 5), (4, 20)])
def test_anova_is_statsmodels(systems: int, topics: int) -> None:
    values = values_of(systems, topics)
    rows = [(s, t, values[s, t]) for s in range(systems) for t in range(topics)]
    model = ols("y ~ C(s) + C(t)", pd.DataFrame(rows, columns=["s", "t", "y"])).fit()
    table = anova_lm(model)
    found = two_way_anova(values)
    assert (found.f, found.p) == pytest.approx(tuple(table.loc["C(s)", ["F", "PR(>F)"]]), rel=1e-9)
    topics_row = tuple(table.loc["C(t)", ["F", "PR(>F)"]])
    assert (found.f_topics, found.p_topics) == pytest.approx(topics_row, rel=1e-7)
    assert found.error == pytest.approx(table.loc["Residual", "mean_sq"], rel=1e-9)
    assert found.df == table.loc["Residual", "df"]
    shares = table["sum_sq"] / table["sum_sq"].sum()
    assert (found.systems, found.topics) == pytest.approx(tuple(shares[["C(s)", "C(t)"]]))


def test_tukey_of_two_systems_is_the_paired_t_test() -> None:
    values = values_of(2, 15)
    (p,) = CORRECTIONS.make("tukey").of_pairs(all_pairs_of(values))
    assert p == pytest.approx(stats.ttest_rel(values[0], values[1]).pvalue, rel=1e-6)


def test_tukey_is_the_studentised_range_of_the_residuals() -> None:
    values = values_of(4, 30)
    residual = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    error = np.sqrt((residual**2).sum() / (3 * 29) / 30)
    found = CORRECTIONS.make("tukey").of_pairs(all_pairs_of(values))
    for p, (i, j) in zip(found, combinations(range(4), 2), strict=True):
        gap = abs(values[i].mean() - values[j].mean()) / error
        assert p == pytest.approx(stats.studentized_range.sf(gap, 4, 87), abs=1e-9)


def test_tukey_keeps_the_rate_of_any_false_claim() -> None:
    rng = np.random.default_rng(7)
    kind = CORRECTIONS.make("tukey-randomised", {"permutations": 199})
    smallest = [
        min(kind.of_pairs(all_pairs_of(rng.random(15) + rng.normal(0, 0.1, (4, 15)))))
        for _ in range(300)
    ]
    assert np.mean(np.array(smallest) <= 0.1) < 0.15


def test_randomised_tukey_is_the_enumeration_of_all_exchanges() -> None:
    values = np.round(values_of(3, 5, seed=4), 1)
    orders = list(permutations(range(3)))
    ranges = []
    for exchange in product(orders, repeat=5):
        moved = np.array([values[list(order), t] for t, order in enumerate(exchange)])
        ranges.append(np.ptp(moved.mean(axis=0)))
    expected = [
        np.mean(np.array(ranges) >= abs(values[i].mean() - values[j].mean()) - 1e-9)
        for i, j in combinations(range(3), 2)
    ]
    kind = CORRECTIONS.make("tukey-randomised", {"permutations": 60_000})
    assert kind.of_pairs(all_pairs_of(values)) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("name", ["tukey", "tukey-randomised"])
def test_equal_systems_have_p_1(name: str) -> None:
    values = np.repeat(values_of(1, 10), 3, axis=0)
    kind = CORRECTIONS.make(name, {"permutations": 99} if "randomised" in name else {})
    assert (kind.of_pairs(all_pairs_of(values)) == 1.0).all()


def test_tukey_without_error_gives_the_exact_randomisation_p() -> None:
    base = values_of(1, 6)[0]
    values = np.array([base, base + 1e-16, base + 0.1])
    kind = CORRECTIONS.make("tukey", {})
    assert kind.of_pairs(all_pairs_of(values)).tolist() == [1.0, 2.0**-5, 2.0**-5]


def test_presets_and_footers() -> None:
    scores = scores_of(values_of(4, 25))
    found = compare(scores, family="pairs", preset="tukey-randomised", permutations=999)
    text = " ".join(statements(found))
    assert "corrected by randomised Tukey HSD over the 6 tests of each measure" in text
    assert "999 permutations" in text
    wilcoxon = compare(scores, baseline="s0", preset="wilcoxon-bh")
    assert (wilcoxon.settings.test, wilcoxon.settings.correction) == ("wilcoxon", "bh")
    same = compare(scores, baseline="s0", test="wilcoxon", correction="bh")
    key = ("s3", "AP")
    assert wilcoxon.cells[key].test == same.cells[key].test
    for wrong, what in (
        ({"preset": "wilcoxon-bh", "test": "sign"}, "sets test and correction"),
        ({"preset": "wilcoxon-bh", "test": "t"}, "cannot be combined with t"),
        ({"preset": "t-maxt", "correction": "holm"}, "cannot be combined with holm"),
        ({"preset": "none"}, "no preset"),
        ({"correction": "tukey", "family": "table"}, "cannot be combined with the family table"),
        ({"correction": "tukey", "test": "sign"}, "needs the test t, not sign"),
    ):
        with pytest.raises(UsageError, match=what):
            compare(scores, baseline="s0", **wrong)


def test_what_has_no_variance_is_refused() -> None:
    with pytest.raises(UsageError, match="two systems"):
        two_way_anova([[0.1, 0.2]])
    with pytest.raises(UsageError, match="up to a constant"):
        two_way_anova([[0.1, 0.2], [0.2, 0.3]])


def test_the_analysis_of_variance_stands_in_the_footer() -> None:
    values = values_of(3, 20)
    found = compare(scores_of(values), family="pairs", correction="tukey")
    one = two_way_anova(values)
    sentence = (
        f"Two-way analysis of variance (systems, topics): AP F(2, 38) = {one.f:.4g}, "
        f"p < .001, shares of the sum of squares: systems {one.systems:.3f}, "
        f"topics {one.topics:.3f}."
    )
    assert sentence in statements(found)
    assert "variance" not in " ".join(statements(compare(scores_of(values), family="pairs")))
    shifted = values[:1] + np.array([[0.0], [0.1], [0.2]])  # no error, and so no analysis
    footer = " ".join(statements(compare(scores_of(shifted), family="pairs", correction="tukey")))
    assert "Two-way" not in footer
