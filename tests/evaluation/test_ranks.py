"""Known-item search: ranks, their measures, files and table."""

import gzip
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from evaluation_cases import table_of
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import InputError, UsageError
from adducir.evaluation.gold_ranks import (
    GoldRanks,
    at_random,
    rank,
    rank_scores,
    read_ranks,
    recall,
    reciprocal_rank,
    write_ranks,
)
from adducir.tables.ranks import rank_table


def of_ranks(qids, ranks, candidates):
    better = np.asarray(ranks, dtype=np.int64) - 1
    number = np.broadcast_to(np.asarray(candidates, dtype=np.int64), better.shape)
    return GoldRanks(tuple(qids), better, np.ones_like(better), number)


def gold_ranks(better, tied, candidates, **keys):
    qids = tuple(f"q{place}" for place in range(len(better)))
    return GoldRanks(qids, np.array(better), np.array(tied), np.array(candidates), keys)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6), st.data())
def test_every_order_of_tied_candidates_counts_the_same(scores, data):
    gold = data.draw(st.integers(0, len(scores) - 1))
    better, tied = sum(one > scores[gold] for one in scores), scores.count(scores[gold])
    ranks = GoldRanks(("q",), np.array([better]), np.array([tied]), np.array([len(scores)]))
    places = []
    for order in permutations(range(len(scores))):  # a stable sort of every arrival
        ranking = sorted(order, key=lambda one: -scores[one])
        places.append(ranking.index(gold) + 1)
    exact = [Fraction(sum(place <= k for place in places), len(places)) for k in range(1, 8)]
    for k, share in enumerate(exact, 1):
        assert recall(ranks, k, "expected")[0] == pytest.approx(float(share), abs=1e-12)
        assert recall(ranks, k)[0] == (max(places) <= k)
    assert rank(ranks, "expected")[0] == pytest.approx(np.mean(places))
    assert rank(ranks)[0] == max(places)
    mean = float(sum(Fraction(1, place) for place in places) / len(places))
    assert reciprocal_rank(ranks, "expected")[0] == pytest.approx(mean, rel=1e-12)
    assert reciprocal_rank(ranks)[0] == pytest.approx(1 / max(places))


def test_the_random_ranking_is_exact():
    # The paper's test set has 4,888 candidates on average: mean rank 2,444.5, R@100 2.0%.
    ranks = at_random(of_ranks(["a", "b"], [7, 1], [4888, 3]))
    assert rank(ranks, "expected").tolist() == [2444.5, 2.0]
    assert recall(ranks, 100, "expected").tolist() == [100 / 4888, 1.0]
    assert recall(ranks, 1, "expected").tolist() == [1 / 4888, 1 / 3]
    harmonic = sum(1 / place for place in range(1, 4889))
    assert reciprocal_rank(ranks, "expected") == pytest.approx([harmonic / 4888, 11 / 18])
    drawn = np.random.default_rng(0).integers(1, 4889, size=200_000)
    assert harmonic / 4888 == pytest.approx((1 / drawn).mean(), rel=0.05)


def test_scores_hold_the_values_of_each_query():
    scores = rank_scores("s", of_ranks(["a", "b"], [1, 4], 10), cutoffs=(1, 5))
    assert [*scores.measures] == ["R@1", "R@5", "RR", "Rank"]
    assert table_of(scores).tolist() == [[1, 1, 1, 1], [0, 1, 0.25, 4]]
    assert scores.mean("R@1") == 0.5  # asked for by name
    with pytest.raises(UsageError, match="cutoff"):
        rank_scores("s", of_ranks(["a"], [1], 1), cutoffs=(0,))
    with pytest.raises(UsageError, match="not have any queries"):
        rank_scores("s", of_ranks([], [], 1))


TSV = "system\tqid\trank\tcandidates\ttied\tlength\nbm25\tä 1\t2\t9\t3\t1\nbm25\tb\t\t4\t\t10\n"


def test_files_are_read_back_as_written(tmp_path):
    path = tmp_path / "ranks.tsv"
    path.write_text(TSV)
    ranks = read_ranks(path, "unused")["bm25"]
    assert ranks.qids == ("ä 1", "b")
    assert (ranks.better.tolist(), ranks.tied.tolist()) == ([1, 3], [3, 1])
    assert ranks.unranked.tolist() == [False, True]
    assert ranks.keys == {"length": ("1", "10")}
    again = tmp_path / "again.tsv.gz"
    write_ranks(again, {"x": ranks, "y": ranks})
    assert gzip.decompress(again.read_bytes()).count(b"\n") == 5
    both = read_ranks(again, "unused")
    assert list(both) == ["x", "y"]
    for one in both.values():
        assert (one.better.tolist(), one.tied.tolist()) == ([1, 3], [3, 1])
        assert one.unranked.tolist() == [False, True]
        assert one.keys == ranks.keys


HEAD = "qid\trank\tcandidates\n"
OBJECT = '{"qid": 1, "rank": 1, "candidates": 3}\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", None),
        (HEAD, None),
        ("qid\trank\nq\t1\n", 1),
        (HEAD + "q\t1\n", 2),
        (HEAD + "q\t0\t5\n", 2),
        (HEAD + "\nq\t1.5\t5\n", 3),
        (HEAD + "q\t6\t5\n", 2),
        (HEAD + "q\t1\t5\nq\t2\t5\n", 3),
        (HEAD + "\t2\t5\n", 2),
        ("qid\trank\tcandidates\trouge_l\nq\t2\t5\tx\n", 2),
        ("qid\trank\tcandidates\trouge_l\nq\t2\t5\t1.5\n", 2),
        ('{"qid": 1, "rank": 1}\n', 1),
        (OBJECT + '{"qid"\n', 2),
        (OBJECT + "[1]\n", 2),
        ('{"qid": 2, "rank": 1, "candidates": 3, "a": 1}\n' + OBJECT, 2),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path, text, line):
    path = tmp_path / "ranks.tsv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_ranks(path, "s")
    assert (caught.value.path, caught.value.line) == (path, line)


def test_systems_must_rank_the_same():
    one = gold_ranks([0, 1], [1, 1], [5, 5])
    other = gold_ranks([0, 1], [1, 1], [5, 6])
    for wrong in ({"a": one, "b": of_ranks(["q0"], [1], 5)}, {"a": one, "b": other}, {}):
        with pytest.raises(UsageError):
            rank_table({"": {name: {name: ranks} for name, ranks in wrong.items()}})
    with pytest.raises(UsageError):
        rank_table({"": {"random": {"random": one}}}, random=True)
