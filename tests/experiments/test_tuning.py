"""Tuning: choices without the held-out topics, equal to those of a plain loop; folds and grids."""

import csv
import json
import random
from collections import Counter
from dataclasses import replace
from itertools import product
from statistics import fmean

import numpy as np
import polars as pl
import pytest

from adducir import evaluate
from adducir.core.errors import InputError, UsageError
from adducir.corpora.qrels import Qrels
from adducir.corpora.topics import Topics
from adducir.experiments.tuning.design import (
    Folds,
    Grid,
    Hyperparameter,
    JudgedTopics,
    TopicPool,
    by_topic_set,
    from_file,
    from_recipe,
    k_fold,
    plain,
)
from adducir.experiments.tuning.tune import Tunable, tune, write_report
from adducir.runs.read import read_run
from adducir.runs.run import Run

DOCUMENTS = 12


def topic_set(name, qids, seed=1, *, searched=None, queries=None):
    draw = random.Random(f"{name} {seed}")
    rows = [
        (qid, f"d{doc}", draw.choice([-2, 0, 0, 1, 2])) for qid in qids for doc in range(DOCUMENTS)
    ]
    schema = {"qid": pl.String, "docno": pl.String, "grade": pl.Int64}
    qrels = Qrels(pl.DataFrame(rows, schema=schema, orient="row"), f"{name}.qrels")
    arguments = list(qids if searched is None else searched)
    texts = queries or [f"query {qid} of {name}" for qid in arguments]
    return JudgedTopics(name, Topics(arguments, texts, f"{name}.tsv"), qrels)


def pool_of(topics=10, seed=1):
    return TopicPool.of([topic_set("one", [str(qid) for qid in range(1, topics + 1)], seed)])


def shuffled(pool, rows, seed):
    """The pool with the labels of some topics shuffled among the topic's documents."""
    (part,) = pool.sets
    own, chosen = pl.col("grade"), [pool.qids[row] for row in rows]
    grades = pl.when(pl.col("qid").is_in(chosen)).then(own.shuffle(seed=seed).over("qid"))
    qrels = Qrels(part.qrels.frame.with_columns(grade=grades.otherwise(own)), part.qrels.source)
    return TopicPool.of([replace(part, qrels=qrels)])


class Toy:
    """Ranks a topic's documents by chance; the chance depends on query and setting."""

    def run(self, setting, topics):
        rows = []
        for qid, query in zip(topics.qids, topics.queries, strict=True):
            draw = random.Random(f"{query} {sorted(setting.items())}")
            rows += [(qid, f"d{doc}", draw.random()) for doc in range(DOCUMENTS)]
        frame = pl.DataFrame(rows, schema=["qid", "docno", "score"], orient="row")
        return Run.ranked(frame, "toy")


def tuned(values, pool, folds, objective, toy=None):
    system = Tunable((toy or Toy()).run, {"toy": True})
    grid = Grid.of(values, dict.fromkeys("xy", Hyperparameter(low=0)))
    return tune(system, grid, pool, folds, objective)


GRID = {"x": [1, 2, 3], "y": [0.5, 1]}
NDCG = "nDCG(judged_only=True)@5"


def loop(pool, folds, objective):
    """For each fold the chosen setting, and the held-out value of each topic, by plain loops."""
    settings = [{"x": float(x), "y": float(y)} for x, y in product(GRID["x"], GRID["y"])]
    values = [
        evaluate(Toy().run(setting, pool.topics(pool.ids)), pool.qrels, objective).values(objective)
        for setting in settings
    ]
    chosen, held_out = [], {}
    for fold in range(len(folds)):
        means = [fmean(each[row] for row in folds.train(fold)) for each in values]
        best = means.index(max(means))
        chosen.append(settings[best])
        held_out |= {pool.ids[row]: values[best][row] for row in folds.test(fold)}
    return chosen, held_out


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("objective", [NDCG, "AP"])
def test_tuning_equals_a_loop(seed, objective):
    pool = pool_of(11, seed)
    folds = k_fold(pool, 3, seed)
    tuning = tuned(GRID, pool, folds, objective)
    chosen, held_out = loop(pool, folds, objective)
    assert [tuning.setting(fold) for fold in range(3)] == chosen
    assert dict(zip(pool.ids, tuning.held_out, strict=True)) == pytest.approx(held_out)
    assert tuning.result == pytest.approx(fmean(held_out.values()))
    evaluated = evaluate(tuning.run, pool.qrels, objective)
    np.testing.assert_allclose(evaluated.values(objective), tuning.held_out, rtol=0, atol=1e-12)


def test_labels_of_a_fold_have_no_part_in_its_choice():
    """However a fold's labels are shuffled, it gets the same setting and the same rankings."""
    pool = pool_of(9)
    folds = k_fold(pool, 3)
    tuning = tuned(GRID, pool, folds, NDCG)
    moved = 0
    for fold, seed in product(range(3), range(6)):
        rows = folds.test(fold)
        other = tuned(GRID, shuffled(pool, rows, seed), folds, NDCG)
        assert other.chosen[fold] == tuning.chosen[fold]
        own = {pool.ids[row] for row in rows}
        frames = [[row for row in one.run.frame.rows() if row[0] in own] for one in (tuning, other)]
        assert frames[0] == frames[1]
        moved += other.chosen != tuning.chosen
    assert moved, "the labels of other folds do matter, or this test shows nothing"


def test_of_equal_settings_the_first_in_the_grid_is_chosen():
    class Flat(Toy):
        def run(self, setting, topics):
            return super().run({"x": setting["x"]}, topics)  # y changes nothing

    pool = pool_of(8)
    tuning = tuned(GRID, pool, k_fold(pool, 2), NDCG, Flat())
    assert all(tuning.setting(fold)["y"] == 0.5 for fold in range(2))
    assert all(len(tuning.best(fold)) >= 2 for fold in range(2))
    # y is tied at both of its ends: nothing lies beyond.
    assert not any(name == "y" for name, *_ in tuning.edges)


def test_topics_are_averaged_not_folds():
    """Folds of 1 and 3 topics: each topic counts the same."""
    pool = pool_of(4)
    folds = Folds(("small", "large"), np.array([0, 1, 1, 1]), "uneven")
    tuning = tuned(GRID, pool, folds, NDCG)
    means = [tuning.test[fold, tuning.chosen[fold]] for fold in range(2)]
    assert tuning.result == pytest.approx((means[0] + 3 * means[1]) / 4)
    assert any("2 topics" in line or "1 topic" in line for line in tuning.warnings())


def test_topics_without_query_count_0_and_those_without_judgements_do_not_count():
    qids = [str(qid) for qid in range(1, 13)]
    pool = TopicPool.of([topic_set("one", qids, searched=[*qids[1:], "99"])])
    tuning = tuned(GRID, pool, k_fold(pool, 3), NDCG)
    assert tuning.held_out[0] == 0
    assert len(tuning.held_out) == 12
    assert set(tuning.run.qids) == set(qids[1:])
    assert "99" in " ".join(tuning.warnings())
    # A fold of nothing but such topics.
    folds = Folds(("a", "b"), np.array([0] + [1] * 11), "by hand")
    assert tuned(GRID, pool, folds, "AP").held_out[0] == 0


def test_edges_are_counted():
    class Peak(Toy):
        def run(self, setting, topics):
            return best if setting["x"] == 3 else super().run(setting, topics)

    pool = pool_of(12)
    best = Run.ranked(pool.qrels.frame.rename({"grade": "score"}), "ideal")
    tuning = tuned(GRID, pool, k_fold(pool, 2), NDCG, Peak())
    assert tuning.edges == {("x", 3, "largest"): 2}
    assert tuning.result == 1


def two_years(shared=False):
    other = ["1", "2", "3"] if shared else ["51", "52", "53"]
    return TopicPool.of([topic_set("2020", ["1", "2", "3", "4"]), topic_set("year 2021", other)])


def rows(path):
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_topic_sets_that_share_qids_have_a_run_each(tmp_path):
    pool = two_years(shared=True)
    tuning = tuned({"x": [1, 2]}, pool, k_fold(pool, 2), NDCG)
    files = write_report(tuning, tmp_path)
    held_out = []
    for name, each in zip(("2020", "year_2021"), pool.sets, strict=True):
        run = read_run(files[f"held-out.{name}.trec.gz"])
        held_out += evaluate(run, each.qrels, NDCG).values(NDCG).tolist()
    np.testing.assert_allclose(held_out, tuning.held_out, rtol=0, atol=1e-12)
    assert from_file(pool, files["folds.json"]).of.tolist() == tuning.folds.of.tolist()
    train = [
        line
        for line in rows(files["grid.csv"])
        if (line["x"], line["fold"], line["part"]) == ("1", "1", "train")
    ]
    assert [line["topic set"] for line in train] == ["all", "2020", "year 2021"]
    total = sum(int(line["topics"]) * float(line[f"mean {NDCG}"]) for line in train[1:])
    assert total / int(train[0]["topics"]) == pytest.approx(float(train[0][f"mean {NDCG}"]))


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
    pool, other = (TopicPool.of([topic_set("one", order)]) for order in (qids, qids[::-1]))
    assert members(k_fold(pool, 4), pool) == members(k_fold(other, 4), other)
    assert members(k_fold(pool, 4), pool) != members(k_fold(pool, 4, seed=43), pool)
    # Pinned: published folds must stay what they were.
    assert k_fold(pool, 2).members(pool.ids)["1"] == PINNED
    for wrong in (0, 1, 21):
        with pytest.raises(UsageError, match="2 to 20 folds"):
            k_fold(pool, wrong)


def test_each_year_is_a_fold():
    pool = TopicPool.of([topic_set("2020", ["1", "2", "3"]), topic_set("2021", ["51", "52"])])
    assert members(by_topic_set(pool), pool) == {"2020": {"1", "2", "3"}, "2021": {"51", "52"}}
    with pytest.raises(UsageError, match="two topic sets"):
        by_topic_set(pool_of(4))


def test_a_topic_of_two_sets_is_in_one_fold(tmp_path):
    """A topic must not be tuned on its own labels of the other set."""
    qids = [str(qid) for qid in range(9)]
    queries = [f"q{qid}" for qid in qids]
    pool = TopicPool.of([topic_set(name, qids, queries=queries) for name in ("original", "padded")])
    folds = k_fold(pool, 3)
    assert pool.ids[0] == "original:0"
    assert folds.of[:9].tolist() == folds.of[9:].tolist()
    assert sorted(Counter(folds.of.tolist()).values()) == [6, 6, 6]
    with pytest.raises(UsageError, match="topic 0 is in two folds: original and padded"):
        by_topic_set(pool)
    # So is a topic with two queries, by its judgements, and in folds from a file.
    one, two = topic_set("a", qids, queries=queries), topic_set("b", qids, queries=[*"abcdefghi"])
    forms = TopicPool.of([one, replace(two, qrels=one.qrels)])
    assert forms.same.tolist()[:9] == forms.same.tolist()[9:]
    path = tmp_path / "folds.json"
    path.write_text(json.dumps([[f"a:{qid}" for qid in qids], [f"b:{qid}" for qid in qids]]))
    with pytest.raises(InputError, match="topic 0 is in two folds: 1 and 2"):
        from_file(forms, path)
    # The same qid with another query is another topic.
    pool = TopicPool.of([topic_set("a", ["1", "2"]), topic_set("b", ["1", "2"])])
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
        ('{"a": [1, 3], "b": [2]}', "not in any fold: 4"),
        ('{"a": [1, 3, 5], "b": [2, 4]}', "not topics: 5"),
        ("[[1, 2, 3, 4]]", "at least two"),
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
    pool = TopicPool.of([topic_set("one", ["1", "2"], searched=["1", "2", "672"])])
    path = tmp_path / "folds.json"
    path.write_text('[["1", "672"], ["2"]]')
    assert members(from_file(pool, path), pool) == {"1": {"1"}, "2": {"2"}}
    pool = TopicPool.of([topic_set("a", ["1", "2"]), topic_set("b", ["1", "3"])])
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


def test_settings_go_up_and_the_last_parameter_varies_fastest():
    grid = Grid.of({"k1": [1.2, 0.9], "fb_terms": [10, 5, 20]}, HYPERPARAMETERS)
    assert grid.settings == [
        {"k1": k1, "fb_terms": terms} for k1 in (0.9, 1.2) for terms in (5, 10, 20)
    ]
    assert isinstance(grid.settings[0]["fb_terms"], int)
    assert isinstance(Grid.of({"k1": [1]}, HYPERPARAMETERS).settings[0]["k1"], float)
    assert [plain(value) for value in (4.0, 0.4, 1e-7, 2.50)] == ["4", "0.4", "0.0000001", "2.5"]


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({}, "nothing"),
        ({"k2": [1]}, "`k1`"),
        ({"k1": []}, "k1"),
        ({"k1": [0.4, 0.4]}, "0.4"),
        ({"fb_terms": [2.5]}, "2.5"),
        ({"b": [0.5, 1.5]}, "0 to 1, not 1.5"),
        ({"k1": [-1]}, "-1"),
        ({"k1": {"from": 0.5, "to": 2.4, "step": 0.5}}, "2 or 2.5"),
        ({"k1": {"from": 1, "to": 2, "step": 0}}, "step"),
        ({"k1": {"from": 2, "to": 1, "step": 1}}, "from 2 to 1"),
        ({"k1": {"from": "a", "to": 2, "step": 1}}, "'a'"),
        ({"k1": {"from": 1, "to": "inf", "step": 1}}, "inf"),
        ({"k1": {"from": 0, "to": 1, "step": 1e-7}}, "100,000"),
    ],
)
def test_odd_grids_are_refused(values, named):
    with pytest.raises(UsageError, match=named):
        Grid.of({key: from_recipe(some) for key, some in values.items()}, HYPERPARAMETERS)


def test_an_edge_is_where_more_could_be_tried():
    k1, b, terms = Grid.of(
        {"k1": [0, 1, 2], "b": [0.5, 1], "fb_terms": [5]}, HYPERPARAMETERS
    ).parameters
    assert [k1.is_edge(value) for value in k1.values] == [False, False, True]  # k1 ends at 0
    assert [b.is_edge(value) for value in b.values] == [True, False]  # b ends at 1
    assert not terms.is_edge(5)  # nothing was tuned
