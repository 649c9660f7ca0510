"""Ratings from files: reading, means, the table of a study."""

import gzip
import re

import numpy as np
import pytest
from scipy import stats

from adducir.core.errors import InputError, UsageError
from adducir.statistics import settings
from adducir.statistics.agreement.counts import count
from adducir.statistics.agreement.summary import agreement_of
from adducir.studies.exemplification.agreement_table import ALL, Study, agreement_table
from adducir.studies.exemplification.rated_systems import (
    item_means,
    rating_scores,
    system_means,
    with_mean_ranks,
)
from adducir.studies.exemplification.ratings_files import read_ratings
from adducir.tables.formats import TABLES, render

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


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text(CSV)
    return path


def test_the_columns_may_stand_in_any_order_with_others_between(tmp_path, file):
    path = tmp_path / "other.csv.gz"
    text = 'note,rating,"system",item,rater\n"well,\n""said""",4, a ,ä 1,anna\n\n,,a,ä 1,ben\n'
    path.write_bytes(gzip.compress(("\ufeff" + text.replace("\n", "\r\n")).encode()))
    ratings = read_ratings(path)
    assert (ratings.items, ratings.raters, ratings.systems) == (("ä 1",), ("anna", "ben"), ("a",))
    assert ratings.rating[0] == 4
    assert np.isnan(ratings.rating[1])
    assert ratings.line.tolist() == [2, 5]
    assert not ratings.has("rank")
    assert read_ratings(file).has("rank")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "the file is empty"),
        ("item,rater,rating\n", 1, "no 'system'"),
        ("item,rater,sytem,rating\n", 1, "did you mean `sytem`"),
        ("item,rater,system,rating,item\n", 1, "'item' is duplicated"),
        ("item,rater,system\ni,r,s\n", 1, "neither a column rating nor"),
        ("item,rater,system,rating\ni,r,s\n", 2, "3 cells where the header names 4"),
        ("item,rater,system,rating\n\ni,,s,1\n", 3, "the cell of 'rater' is empty"),
        ("item,rater,system,rank\ni,r,s,0\n", 2, "rank '0' is not a number of 1 or more"),
        ("item,rater,system,rank\ni,r,s,first\n", 2, "rank 'first' is not a number"),
        ("item,rater,system,rating\ni,r,s,1\ni,r,t,1\ni,r,s,2\n", 4, "twice, first in line 2"),
        ("item,rater,system,rating\ni,r,s,\n", None, "no rating and no rank"),
        ("item,rater,system,rating\n", None, "no rating and no rank"),
        ('item,rater,system,rating\ni,r,"s,1\n', 2, "not CSV"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path, text, line, message):
    path = tmp_path / "broken.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read_ratings(path)
    assert (caught.value.path, caught.value.line) == (path, line)


def test_levels_refuse_what_they_cannot_take(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("item,rater,system,rating\ni,r,s,good\ni,t,s,-1\n")
    ratings = read_ratings(path)
    with pytest.raises(InputError, match="'good' is no number") as caught:
        count(ratings, level="ordinal")
    assert caught.value.line == 2
    assert count(ratings, level="nominal").labels == ("-1", "good")
    path.write_text("item,rater,system,rating\ni,r,s,1\ni,t,s,-1\n")
    with pytest.raises(InputError, match="-1 is below 0") as caught:
        count(read_ratings(path), level="ratio")
    assert caught.value.line == 3


def test_counts_of_one_system(file):
    counts = count(read_ratings(file), "rating", "ordinal", "c")
    assert counts.table.tolist() == [[1, 1], [1, 0]]
    assert (counts.values.tolist(), counts.labels) == ([1, 2], ("1", "2"))
    assert counts.items.tolist() == [0, 1]
    with pytest.raises(UsageError, match="no rating of a system 'd'"):
        count(read_ratings(file), system="d")


def test_means_are_over_items(file):
    found = {one.system: one for one in system_means(read_ratings(file))}
    assert found["a"].mean == pytest.approx((5 + 3.5) / 2)
    assert found["c"].mean == pytest.approx((1.5 + 1) / 2)  # not (1 + 2 + 1) / 3
    assert (found["c"].items, found["c"].judgements) == (2, 3)
    assert found["a"].sd == pytest.approx(np.std([5, 3.5], ddof=1))
    expected = stats.t.interval(0.9, 1, loc=4.25, scale=stats.sem([5, 3.5]))
    ninety = system_means(read_ratings(file), level=0.9)[0]
    assert (ninety.low, ninety.high) == pytest.approx(expected)


def test_a_single_item_has_a_mean_and_no_interval(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("item,rater,system,rating\ni,r,s,4\n")
    (only,) = system_means(read_ratings(path))
    assert only.mean == 4
    assert np.isnan([only.low, only.high, only.sd]).all()
    assert np.isnan(agreement_of(read_ratings(path)).alpha)
    assert "–" in render(agreement_table(read_ratings(path)), "markdown")


def test_ties_of_ranks_can_share_the_mean_of_their_places(file):
    ratings = with_mean_ranks(read_ratings(file))
    places = zip(ratings.item, ratings.rater, ratings.system, strict=True)
    ranks = dict(zip(places, ratings.rank, strict=True))
    assert [ranks[0, 0, system] for system in range(3)] == [1.5, 1.5, 3]  # written 1, 1, 2
    assert [ranks[1, 1, system] for system in range(3)] == [1.5, 1.5, 3]  # written 1, 1, 3
    assert [ranks[1, 0, system] for system in range(2)] == [2, 1]
    assert np.isnan(ranks[1, 0, 2])
    plain = {one.system: one.mean for one in system_means(read_ratings(file), "rank")}
    assert plain["a"] == pytest.approx((1 + 1.5) / 2)


def test_ratings_become_scores_of_paired_tests(file, tmp_path):
    ratings = read_ratings(file)
    scores = rating_scores(ratings)
    assert [one.systems for one in scores] == [("a",), ("b",), ("c",)]
    assert scores[0].qids == ("i1", "i2")
    assert (
        np.column_stack([one.frame["value"] for one in scores]).tolist()
        == item_means(ratings).tolist()
    )
    path = tmp_path / "other.csv"
    path.write_text("item,rater,system,rating\ni1,r,s,4\ni1,r,t,4\ni2,r,s,1\n")
    with pytest.raises(UsageError, match="t has no rating on item i2"):
        rating_scores(read_ratings(path))


def test_kappa_leaves_out_units_with_other_numbers_of_ratings(file):
    found = agreement_of(read_ratings(file), "rating", "nominal", system="c")
    assert (found.kappa.units, found.kappa.raters, found.left_out, found.single) == (1, 2, 1, 1)
    whole = agreement_of(read_ratings(file), "rating", "nominal")
    assert (whole.kappa.units, whole.left_out) == (5, 1)
    assert whole.kappa.all_agree == pytest.approx(2 / 5)
    assert whole.kappa.none_agree == pytest.approx(3 / 5)


def test_the_table_holds_the_figures_and_the_tests(file):
    ratings = read_ratings(file)
    table = agreement_table(ratings, Study(testing=settings.Testing(baseline="c")))
    columns = [f"{column.group}/{column.measure}" for column in table.columns]
    cells = {row.system: dict(zip(columns, row.cells, strict=True)) for row in table.rows}
    assert [row.system for row in table.rows] == ["a", "b", "c", ALL]
    assert cells["a"]["Rating/Mean rating"].mean == pytest.approx(4.25)
    assert cells["a"]["Rating/Mean rating"].best
    assert cells["a"]["Rank/Mean rank"].best
    (versus,) = cells["b"]["Rank/Mean rank"].tests
    assert versus.difference == pytest.approx(1.25 - 2.75)
    assert versus.p == pytest.approx(stats.ttest_rel([1.5, 1], [2.5, 3]).pvalue)
    alpha = agreement_of(ratings, "rank", "ordinal").alpha
    assert cells[ALL]["Rank/alpha"].mean == alpha
    assert cells[ALL]["Rating/Mean rating"].mean is None
    assert any("Paired t-test" in sentence for sentence in table.footer)
    for name in TABLES:
        assert "alpha" in render(table, name)


def test_systems_may_have_other_items_where_nothing_is_tested(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("item,rater,system,rating\ni1,r,s,4\ni1,t,s,4\ni2,r,u,1\ni2,t,u,2\n")
    table = agreement_table(read_ratings(path))
    assert [row.cells[0].mean for row in table.rows] == [4, 1.5, None]
    assert table.columns[0].descriptive
    with pytest.raises(UsageError, match="same items"):
        agreement_table(read_ratings(path), Study(testing=settings.Testing(baseline="s")))
