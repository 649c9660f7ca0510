"""Folds partition the topics as stated, grids hold exact values, odd ones are refused."""

import json
from collections import Counter

import pytest
from tuning_cases import pool_of, topic_set

from adducir.core.errors import InputError, UsageError
from adducir.experiments.tuning.folds import Pool, by_topic_set, from_file, k_fold
from adducir.experiments.tuning.grid import Grid, Hyperparameter, from_recipe, plain

PINNED = ["4", "6", "8", "11", "12", "13", "15", "16", "17", "19"]
HYPERPARAMETERS = {
    "k1": Hyperparameter(low=0),
    "b": Hyperparameter(low=0, high=1),
    "fb_terms": Hyperparameter(whole=True, low=1),
}


def members(folds, pool):
    return {name: set(ids) for name, ids in folds.members(pool.ids).items()}


@pytest.mark.parametrize("k", [2, 3, 10])
def test_folds_are_a_partition_of_equal_sizes(k):
    folds = k_fold(pool_of(10), k, seed=7)
    sizes = Counter(folds.of.tolist())
    assert set(sizes) == set(range(k))
    assert max(sizes.values()) - min(sizes.values()) <= 1
    for fold in range(k):
        assert sorted([*folds.test(fold), *folds.train(fold)]) == list(range(10))


def test_folds_depend_on_seed_and_qids_only():
    qids = [str(qid) for qid in range(20)]
    pool, other = (Pool.of([topic_set("one", order)]) for order in (qids, qids[::-1]))
    assert members(k_fold(pool, 4), pool) == members(k_fold(other, 4), other)
    assert members(k_fold(pool, 4), pool) != members(k_fold(pool, 4, seed=43), pool)
    # Pinned: published folds must stay what they were.
    assert k_fold(pool, 2).members(pool.ids)["1"] == PINNED
    for wrong in (0, 1, 21):
        with pytest.raises(UsageError, match="2 to 20 folds"):
            k_fold(pool, wrong)


def test_each_year_is_a_fold():
    pool = Pool.of([topic_set("2020", ["1", "2", "3"]), topic_set("2021", ["51", "52"])])
    assert members(by_topic_set(pool), pool) == {"2020": {"1", "2", "3"}, "2021": {"51", "52"}}
    with pytest.raises(UsageError, match="two topic sets"):
        by_topic_set(pool_of(4))


def test_a_topic_of_two_sets_is_in_one_fold():
    """A topic must not be tuned on its own labels of the other set."""
    qids = [str(qid) for qid in range(9)]
    queries = [f"q{qid}" for qid in qids]
    pool = Pool.of([topic_set(name, qids, queries=queries) for name in ("original", "padded")])
    folds = k_fold(pool, 3)
    assert pool.ids[0] == "original:0"
    assert folds.of[:9].tolist() == folds.of[9:].tolist()
    assert sorted(Counter(folds.of.tolist()).values()) == [6, 6, 6]
    with pytest.raises(UsageError, match="topic 0 is in two folds: original and padded"):
        by_topic_set(pool)
    # The same qid with another query is another topic.
    pool = Pool.of([topic_set("a", ["1", "2"]), topic_set("b", ["1", "2"])])
    assert len(set(pool.same.tolist())) == 4


@pytest.mark.parametrize(
    "text", ['[["1", "3"], ["2", "4"]]', "[[1, 3], [2, 4]]", '{"a": ["1", "3"], "b": ["2", "4"]}']
)
def test_folds_from_a_file(tmp_path, text):
    path = tmp_path / "folds"
    path.write_text(text, encoding="utf-8")
    pool = pool_of(4)
    assert list(members(from_file(pool, path), pool).values()) == [{"1", "3"}, {"2", "4"}]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[["1", "2"], ["2", "3", "4"]]', "topic 2 .* 1 and 2"),
        ('{"a": [1, 3], "b": [2]}', "such as 4"),
        ('{"a": [1, 3, 5], "b": [2, 4]}', "such as 5"),
        ("[[1, 2, 3, 4]]", "two or more"),
        ('[["1"], 2]', "list of lists"),
        ('[["1", "2"], [["3"]]]', "qid"),
        ('[["1",\n"2"], [', "folds:2: "),
        ('[["1", "2"], [], ["3", "4"]]', "judged topics"),
        ("", "JSON"),
    ],
)
def test_odd_fold_files_are_refused(tmp_path, text, named):
    path = tmp_path / "folds"
    path.write_text(text)
    with pytest.raises(InputError, match=named):
        from_file(pool_of(4), path)


def test_fold_files_with_unjudged_topics_and_shared_qids(tmp_path):
    """Robust04's file has 250 topics, of which one has no judgements."""
    pool = Pool.of([topic_set("one", ["1", "2"], searched=["1", "2", "672"])])
    path = tmp_path / "folds.json"
    path.write_text('[["1", "672"], ["2"]]')
    assert members(from_file(pool, path), pool) == {"1": {"1"}, "2": {"2"}}
    pool = Pool.of([topic_set("a", ["1", "2"]), topic_set("b", ["1", "3"])])
    path.write_text('[["1", "2"], ["3"]]')
    with pytest.raises(InputError, match="SET:1"):
        from_file(pool, path)
    path.write_text(json.dumps([["a:1", "2"], ["b:1", "3"]]))
    assert list(members(from_file(pool, path), pool).values()) == [{"a:1", "2"}, {"b:1", "3"}]


def span(first, last, step):
    return from_recipe({"from": first, "to": last, "step": step})


@pytest.mark.parametrize(
    ("ends", "values"),
    [
        ((0.2, 1.0, 0.2), [0.2, 0.4, 0.6, 0.8, 1.0]),  # adding floats would give 0.6000000000000001
        ((4, 14, 2), [4, 6, 8, 10, 12, 14]),
        ((3, 3, 1), [3]),
        ((-1, 1, 1), [-1, 0, 1]),
        ((1e3, 3e3, 1e3), [1000, 2000, 3000]),
    ],
)
def test_values_are_those_a_person_would_write(ends, values):
    assert [float(value) for value in span(*ends)] == values


@pytest.mark.parametrize(
    ("ends", "named"),
    [
        ((0.5, 2.4, 0.5), "2 or 2.5"),
        ((1, 2, 0), "step"),
        ((2, 1, 1), "from 2 to 1"),
        (("a", 2, 1), "'a'"),
        ((1, "inf", 1), "inf"),
        ((0, 1, 1e-7), "100,000"),
    ],
)
def test_odd_ranges_are_refused(ends, named):
    with pytest.raises(UsageError, match=named):
        span(*ends)


def test_settings_go_up_and_the_last_parameter_varies_fastest():
    grid = Grid.of({"k1": [1.2, 0.9], "fb_terms": [10, 5, 20]}, HYPERPARAMETERS)
    assert [grid.setting(number) for number in range(len(grid))] == [
        {"k1": k1, "fb_terms": terms} for k1 in (0.9, 1.2) for terms in (5, 10, 20)
    ]
    assert isinstance(grid.setting(0)["fb_terms"], int)
    assert isinstance(Grid.of({"k1": [1]}, HYPERPARAMETERS).setting(0)["k1"], float)
    assert [plain(value) for value in (4.0, 0.4, 1e-7, 2.50)] == ["4", "0.4", "0.0000001", "2.5"]


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({}, "nothing"),
        ({"k2": [1]}, "`k1`"),
        ({"k1": []}, "k1"),
        ({"k1": from_recipe([0.4, 0.4])}, "0.4"),
        ({"fb_terms": [2.5]}, "2.5"),
        ({"b": [0.5, 1.5]}, "0 to 1, not 1.5"),
        ({"k1": from_recipe([-1])}, "-1"),
    ],
)
def test_odd_grids_are_refused(values, named):
    with pytest.raises(UsageError, match=named):
        Grid.of(values, HYPERPARAMETERS)


def test_an_edge_is_where_more_could_be_tried():
    k1, b, terms = Grid.of(
        {"k1": [0, 1, 2], "b": [0.5, 1], "fb_terms": [5]}, HYPERPARAMETERS
    ).parameters
    assert [k1.is_edge(value) for value in k1.values] == [False, False, True]  # k1 ends at 0
    assert [b.is_edge(value) for value in b.values] == [True, False]  # b ends at 1
    assert not terms.is_edge(5)  # nothing was tuned
