"""Cohen's kappa and the overlap of marked texts, against worked examples and scikit-learn."""

import json

import numpy as np
import pytest

from adducir.cli.app import main
from adducir.statistics.agreement.ratings import make_ratings
from adducir.statistics.agreement.summary import Drawing, agreement_of
from adducir.statistics.agreement.two_raters import unigram_overlap

NONE = float("nan")


def ratings_of(table):
    """Ratings of two raters whose confusion matrix is ``table``."""
    rows, item = [], 0
    for one, counts in enumerate(table):
        for two, count in enumerate(counts):
            for _ in range(count):
                rows += [
                    (f"i{item}", "A", "s", str(one), NONE),
                    (f"i{item}", "B", "s", str(two), NONE),
                ]
                item += 1
    return make_ratings(rows)


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        ([[20, 5], [10, 15]], 0.4),  # Wikipedia's article: P = .7, P_e = .5
        ([[45, 15], [25, 15]], 0.1304),  # and its two others, of equal P
        ([[25, 35], [5, 35]], 0.2593),
        ([[3, 0], [0, 4]], 1.0),
    ],
)
def test_cohens_kappa_of_worked_examples(table, kappa):
    found = agreement_of(ratings_of(table), level="nominal", drawing=Drawing(samples=200))
    assert found.cohen == pytest.approx(kappa, abs=5e-5)
    assert found.cohen_interval.low <= found.cohen + 1e-12
    assert found.cohen - 1e-12 <= found.cohen_interval.high


def test_cohens_kappa_where_there_is_none():
    three = make_ratings([("i", rater, "s", "1", NONE) for rater in "ABC"])
    assert agreement_of(three, level="nominal").cohen is None
    same = make_ratings([(item, rater, "s", "1", NONE) for item in "xy" for rater in "AB"])
    assert np.isnan(agreement_of(same, level="nominal").cohen)
    apart = make_ratings([("x", "A", "s", "1", NONE), ("y", "B", "s", "1", NONE)])
    assert agreement_of(apart, level="nominal").cohen is None


def test_unigram_overlap():
    assert unigram_overlap("The cat, the dog.", "the cat") == pytest.approx(2 * 2 / 6)
    assert unigram_overlap("a a b", "a b b") == pytest.approx(2 * 2 / 6)
    assert unigram_overlap("", "") == 1.0
    assert unigram_overlap("cat", "") == 0.0


def test_both_from_the_command_line(tmp_path, capsys):
    path = tmp_path / "marked.csv"
    path.write_text(
        "item,rater,system,rating\n"
        "1,A,anchor,some fish\n1,B,anchor,fish\n1,A,example,flounder\n1,B,example,flounder\n"
        "2,A,anchor,a government\n2,B,anchor,a government\n2,A,example,the crown\n"
        "2,B,example,a corporation\n"
    )
    assert main(["exemplification", "agreement", str(path), "--unigrams", "--format", "json"]) == 0
    table = json.loads(capsys.readouterr().out)
    names = [column["measure"] for column in table["columns"]]
    assert names[-6:][::3] == ["Cohen's kappa", "unigram overlap"]
    place = names.index("unigram overlap")
    found = {row["system"]: row["cells"][place]["mean"] for row in table["rows"]}
    assert found["anchor"] == pytest.approx((2 / 3 + 1) / 2)
    assert found["example"] == pytest.approx(0.5)
    assert main(["exemplification", "agreement", str(path), "--unigrams", "--level", "ratio"]) == 2
