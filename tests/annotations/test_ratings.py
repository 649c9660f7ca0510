"""Ratings and how far raters agree: published examples, plain references, the table."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_kappa

from adducir.annotations.ratings import agreement_of, read_ratings, unigram_overlap
from adducir.core.errors import InputError, UsageError
from adducir.statistics.settings import Bootstrap

LEVELS = ("nominal", "ordinal", "interval", "ratio")
# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), example C: 4 observers, 12
# units, missing data; its sections C to F give .743, .815, .849 and .797.
OBSERVERS = [
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]
PUBLISHED = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797}
# Fleiss (1971), table 1: 30 patients, 6 psychiatrists each, 5 diagnoses; kappa = .430.
DIAGNOSES = """
0 0 0 6 0  0 3 0 0 3  0 1 4 0 1  0 0 0 0 6  0 3 0 3 0  2 0 4 0 0  0 0 4 0 2  2 0 3 1 0
2 0 0 4 0  0 0 0 0 6  1 0 0 5 0  1 1 0 4 0  0 3 3 0 0  1 0 0 5 0  0 2 0 3 1  0 0 5 0 1
3 0 0 1 2  5 1 0 0 0  0 2 0 4 0  1 0 2 0 3  0 0 0 0 6  0 1 0 5 0  0 2 0 1 3  2 0 0 4 0
1 0 0 4 1  0 5 0 1 0  4 0 0 0 2  0 2 0 4 0  1 0 5 0 0  0 0 0 0 6
"""
# Two items, two raters, three systems; anna gave no rating to c on i2.
CSV = """item,rater,system,rating,rank
i1,anna,a,5,1
i1,anna,b,4,1
i1,anna,c,1,2
i1,ben,a,5,1
i1,ben,b,2,2
i1,ben,c,2,3
i2,anna,a,3,2
i2,anna,b,4,1
i2,anna,c,,
i2,ben,a,4,1
i2,ben,b,4,1
i2,ben,c,1,3
"""
HEAD = "item,rater,system,rating\n"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("ratings") / "ratings.csv"

    def read(text):
        path.write_text(text)
        return read_ratings(path)

    return read


def csv_of(units):
    """A file with a rating by each of as many raters as a unit has values."""
    rows = [f"i{n},r{m},s,{value}" for n, unit in enumerate(units) for m, value in enumerate(unit)]
    return HEAD + "\n".join(row for row in rows if not row.endswith(",."))


def figures_of(ratings, level="nominal", samples=1, **more):
    return agreement_of(ratings, "rating", level, Bootstrap(samples=samples), **more).figures


def plain_alpha(units, level):
    """Alpha by its definition, pair by pair."""
    units = [unit for unit in units if len(unit) > 1]
    every = sorted(value for unit in units for value in unit)

    def apart(c, k):
        if c == k or level == "nominal":
            return float(c != k)
        if level == "interval":
            return (c - k) ** 2
        if level == "ratio":
            return ((c - k) / (c + k)) ** 2
        low, high = min(c, k), max(c, k)
        between = sum(low <= value <= high for value in every)
        return (between - (every.count(low) + every.count(high)) / 2) ** 2

    observed = sum(
        2 * apart(a, b) / (len(unit) - 1) for unit in units for a, b in combinations(unit, 2)
    )
    expected = sum(2 * apart(a, b) for a, b in combinations(every, 2)) / (len(every) - 1)
    return 1 - observed / expected


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_of_krippendorffs_own_examples(written, level):
    ratings = written(csv_of(zip(*(row.split() for row in OBSERVERS), strict=True)))
    assert round(figures_of(ratings, level)["alpha"], 3) == PUBLISHED[level]
    # Example A: two observers of 10 units, 0 or 1; of two values the levels make no difference.
    ratings = written(csv_of(zip("0100000010", "1110010000", strict=True)))
    assert round(figures_of(ratings, level)["alpha"], 3) == 0.095


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.0]), max_size=5), min_size=1, max_size=12
    ).filter(any),
    st.sampled_from(LEVELS),
)
def test_alpha_against_its_definition(written, units, level):
    alpha = figures_of(written(csv_of(units)), level)["alpha"]
    if len({value for unit in units if len(unit) > 1 for value in unit}) < 2:
        assert alpha is None
    else:
        assert alpha == pytest.approx(plain_alpha(units, level), abs=1e-12)


def test_alpha_far_from_zero_keeps_its_digits(written):
    units = [[1, 2], [5, 5], [3, 4]]
    far = csv_of([[100_000_000 + value for value in unit] for unit in units])
    near = figures_of(written(csv_of(units)), "interval")["alpha"]
    assert figures_of(written(far), "interval")["alpha"] == pytest.approx(near, rel=1e-12)


def test_kappa_of_fleiss_own_example(written):
    counts = np.array(DIAGNOSES.split(), dtype=int).reshape(-1, 5)
    found = agreement_of(
        written(csv_of([np.repeat([*"abcde"], row) for row in counts])),
        "rating",
        "nominal",
        Bootstrap(samples=1),
    )
    assert round(found.figures["kappa"], 3) == 0.430
    assert (found.units, found.raters) == (30, 6)
    assert (found.figures["all agree"], found.figures["none agree"]) == (5 / 30, 0)


@given(
    st.integers(2, 5).flatmap(
        lambda raters: st.lists(
            st.lists(st.integers(0, 3), min_size=raters, max_size=raters), min_size=2, max_size=15
        )
    )
)
def test_kappa_against_statsmodels(written, units):
    table = np.array([[unit.count(value) for value in range(4)] for unit in units])
    found = figures_of(written(csv_of(units)))
    if table.any(axis=0).sum() == 1:
        assert found["kappa"] is None
        return
    assert found["kappa"] == pytest.approx(statsmodels_kappa(table), abs=1e-12)
    assert found["all agree"] == sum(len(set(unit)) == 1 for unit in units) / len(units)


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        ([[20, 5], [10, 15]], 0.4),  # Wikipedia's article: P = .7, P_e = .5
        ([[45, 15], [25, 15]], 0.1304),  # and its two others, of equal P
        ([[25, 35], [5, 35]], 0.2593),
        ([[3, 0], [0, 4]], 1.0),
    ],
)
def test_cohens_kappa_of_worked_examples(written, table, kappa):
    units = [pair for one in (0, 1) for two in (0, 1) for pair in [(one, two)] * table[one][two]]
    found = figures_of(written(csv_of(units)), samples=200)
    assert found["Cohen's kappa"] == pytest.approx(kappa, abs=5e-5)
    assert found["Cohen's kappa low"] <= found["Cohen's kappa"] + 1e-12
    assert "Cohen's kappa" not in figures_of(written(csv_of(["111"])))
    units = [(one, f"{two}.0") for one, two in units]
    assert figures_of(written(csv_of(units)), "interval")["Cohen's kappa"] == found["Cohen's kappa"]


def test_the_bootstrap_draws_items_whole_and_is_that_of_a_plain_loop(written):
    rng = np.random.default_rng(11)
    units = [[float(one) for one in rng.integers(1, 4, size=3)] for _ in range(40)]
    found = figures_of(written(csv_of(units)), "nominal", samples=4000)
    plain = [
        plain_alpha([units[n] for n in rng.integers(0, 40, size=40)], "nominal") for _ in range(500)
    ]
    ends = np.quantile(plain, [0.025, 0.975])
    assert [found["alpha low"], found["alpha high"]] == pytest.approx(ends, abs=0.05)
    assert found == figures_of(written(csv_of(units)), "nominal", samples=4000)


def test_samples_without_a_value_are_left_out(written):
    found = figures_of(written(csv_of(["11", "22"])), samples=400)
    assert (found["alpha low"], found["alpha high"]) == (1.0, 1.0)


def test_unigram_overlap():
    assert unigram_overlap("The cat, the dog.", "the cat") == pytest.approx(2 * 2 / 6)
    assert unigram_overlap("a a b", "a b b") == pytest.approx(2 * 2 / 6)
    assert unigram_overlap("", "") == 1.0
    assert unigram_overlap("cat", "") == 0.0


def test_levels_refuse_what_they_cannot_take(written):
    with pytest.raises(InputError, match="'good'") as caught:
        figures_of(written(HEAD + "i,r,s,good\ni,t,s,-1\n"), "ordinal")
    assert caught.value.line == 2
    with pytest.raises(InputError, match="-1") as caught:
        figures_of(written(HEAD + "i,r,s,1\ni,t,s,-1\n"), "ratio")
    assert caught.value.line == 3


def test_means_are_over_items(written):
    ratings = written(CSV)
    a, c = (ratings.described("rating", system, 0.9) for system in "ac")
    assert a["Mean rating"] == pytest.approx((5 + 3.5) / 2)
    assert c["Mean rating"] == pytest.approx((1.5 + 1) / 2)  # not (1 + 2 + 1) / 3
    expected = stats.t.interval(0.9, 1, loc=4.25, scale=stats.sem([5, 3.5]))
    assert (a["low"], a["high"]) == pytest.approx(expected)
    ranks = ratings.with_mean_ranks().frame["rank"].to_list()
    assert ranks[:6] == [1.5, 1.5, 3, 1, 2, 3]  # anna wrote 1, 1, 2
    assert ranks[9:] == [1.5, 1.5, 3]  # ben wrote 1, 1, 3


def test_kappa_leaves_out_units_with_other_numbers_of_ratings(written):
    ratings = written(CSV)
    found = agreement_of(ratings, "rating", "nominal", Bootstrap(samples=1), system="c")
    assert (found.units, found.raters, found.left_out, found.single) == (1, 2, 1, 1)
    whole = agreement_of(ratings, "rating", "nominal", Bootstrap(samples=1))
    assert (whole.units, whole.left_out) == (5, 1)
    assert whole.figures["all agree"] == pytest.approx(2 / 5)


def test_paired_tests_need_the_same_items(written):
    ratings = written(HEAD + "i1,r,s,4\ni1,r,t,4\ni2,r,s,1\n")
    with pytest.raises(UsageError, match="t lacks a rating on item i2"):
        ratings.scores("rating")
