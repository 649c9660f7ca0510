"""Folds partition the topics, as stated, or are refused."""

import json
from collections import Counter

import pytest
from tuning_cases import pool_of, topic_set

from adducir.core.errors import AdducirError, InputError, UsageError
from adducir.experiments.tuning.folds import Pool, by_topic_set, from_file, k_fold

PINNED = ["4", "6", "8", "11", "12", "13", "15", "16", "17", "19"]


def two_years():
    return Pool.of([topic_set("2020", ["1", "2", "3"]), topic_set("2021", ["51", "52"])])


def members(folds, pool):
    return {name: set(ids) for name, ids in folds.members(pool.ids).items()}


@pytest.mark.parametrize("k", [2, 3, 5, 10])
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
    assert k_fold(pool, 4).rule == "4 folds over 20 topics, seed 42"


@pytest.mark.parametrize("k", [0, 1, 11])
def test_too_few_or_too_many_folds(k):
    with pytest.raises(UsageError, match="2 to 10 folds"):
        k_fold(pool_of(10), k)


def test_each_year_is_a_fold():
    pool = two_years()
    folds = by_topic_set(pool)
    assert members(folds, pool) == {"2020": {"1", "2", "3"}, "2021": {"51", "52"}}
    with pytest.raises(UsageError, match="two topic sets"):
        by_topic_set(pool_of(4))


def test_a_topic_in_two_folds_by_topic_set_is_refused():
    pool = Pool.of(
        [
            topic_set("a", ["1", "2"], queries=["p", "q"]),
            topic_set("b", ["2", "3"], queries=["q", "r"]),
        ]
    )
    with pytest.raises(UsageError, match="topic 2 is in two folds: a and b"):
        by_topic_set(pool)


def test_one_topic_of_two_sets_is_in_one_fold():
    """The same topics with two qrels: a topic must not be tuned on its own other labels."""
    qids = [str(qid) for qid in range(9)]
    queries = [f"q{qid}" for qid in qids]
    pool = Pool.of([topic_set(name, qids, queries=queries) for name in ("original", "padded")])
    folds = k_fold(pool, 3)
    assert pool.ids[0] == "original:0"
    assert folds.of[:9].tolist() == folds.of[9:].tolist()
    assert sorted(Counter(folds.of.tolist()).values()) == [6, 6, 6]


def test_other_topics_of_the_same_qid_are_other_topics():
    pool = Pool.of([topic_set("a", ["1", "2"]), topic_set("b", ["1", "2"])])
    assert len(by_topic_set(pool)) == 2
    assert len(set(pool.same.tolist())) == 4


@pytest.mark.parametrize(
    "text",
    [
        '[["1", "3"], ["2", "4"]]',
        "[[1, 3], [2, 4]]",
        '{"one": ["1", "3"], "two": ["2", "4"]}',
    ],
)
def test_folds_from_a_file(tmp_path, text):
    path = tmp_path / "folds"
    path.write_text(text, encoding="utf-8")
    pool = pool_of(4)
    folds = from_file(pool, path)
    assert list(members(folds, pool).values()) == [{"1", "3"}, {"2", "4"}]
    assert folds.rule == "2 folds from folds"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[["1", "2"], ["2", "3", "4"]]', "topic 2 is in two folds: 1 and 2"),
        ('{"a": [1, 3], "b": [2]}', "1 judged topics are in no fold, such as 4"),
        ('{"a": [1, 3, 5], "b": [2, 4]}', "1 are not topics, such as 5"),
        ("[[1, 2, 3, 4]]", "one fold only"),
        ("1 a\n2 b\n", "this is not JSON"),
        ('[["1"], 2]', "list of lists"),
        ('[["1", "2"], [["3"]]]', "is not a qid"),
        ('[["1",\n"2"], [', "folds:2: this is not JSON"),
        ('[["1", "2"], [], ["3", "4"]]', "fold 2 has no judged topic"),
        ("", "this is not JSON"),
    ],
)
def test_odd_fold_files_are_refused(tmp_path, text, message):
    path = tmp_path / "folds"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        from_file(pool_of(4), path)


def test_unjudged_topics_may_stand_in_a_fold_file(tmp_path):
    """Robust04's file has 250 topics, of which one has no judgements."""
    pool = Pool.of([topic_set("one", ["1", "2"], searched=["1", "2", "672"])])
    path = tmp_path / "folds.json"
    path.write_text('[["1", "672"], ["2"]]')
    assert members(from_file(pool, path), pool) == {"1": {"1"}, "2": {"2"}}
    path.write_text('[["1", "2"], ["672"]]')
    with pytest.raises(InputError, match="fold 2 has no judged topic"):
        from_file(pool, path)


def test_shared_qids_in_a_fold_file(tmp_path):
    pool = Pool.of([topic_set("a", ["1", "2"]), topic_set("b", ["1", "3"])])
    path = tmp_path / "folds.json"
    path.write_text('[["1", "2"], ["3"]]')
    with pytest.raises(InputError, match="SET:1"):
        from_file(pool, path)
    path.write_text(json.dumps([["a:1", "2"], ["b:1", "3"]]))
    assert list(members(from_file(pool, path), pool).values()) == [{"a:1", "2"}, {"b:1", "3"}]


def test_what_is_no_pool_is_refused():
    with pytest.raises(AdducirError, match="no qid in common"):
        Pool.of([topic_set("one", ["1"], searched=["2"])])
    with pytest.raises(UsageError, match="a name of its own"):
        Pool.of([topic_set("one", ["1"]), topic_set("one", ["2"])])
    with pytest.raises(UsageError):
        Pool.of([])
