"""Westfall and Young's max-T against full enumeration with t statistics themselves."""

import tracemalloc
from itertools import combinations, product

import numpy as np
import pytest

from adducir.core.errors import UsageError
from adducir.evaluation.scores import Scores
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.comparison.statements import statements
from adducir.statistics.corrections import CORRECTIONS, correct, max_t
from adducir.statistics.corrections.correction import PairFamily
from adducir.statistics.differences import tolerance
from adducir.statistics.tests.randomisation import pairwise
from adducir.statistics.tests.student import t_values


def family_of(values: np.ndarray, pairs: list[tuple[int, int]]) -> PairFamily:
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    return PairFamily(np.ones(len(pairs)), values, first, second)


def by_enumeration(difference: np.ndarray) -> np.ndarray:
    """Algorithm 2.8 as it is written, over all sign vectors and |t| itself."""
    pairs, topics = difference.shape
    noise = np.full(pairs, 1e-12)
    observed = np.abs(t_values(difference, noise)[0])
    order = np.argsort(-observed, kind="stable")
    counts = np.zeros(pairs)
    for signs in product((1.0, -1.0), repeat=topics):
        t = np.abs(t_values(difference * signs, noise)[0])[order]
        largest = np.maximum.accumulate(t[::-1])[::-1]
        counts += largest >= observed[order] * (1 - 1e-9)
    adjusted = np.empty(pairs)
    adjusted[order] = np.maximum.accumulate(counts / 2.0**topics)
    return adjusted


@pytest.mark.parametrize("seed", range(4))
def test_max_t_is_its_definition_by_full_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.random((4, 9)) + np.array([[0.0], [0.1], [0.3], [0.3]])
    if seed == 1:
        values = np.round(values, 1)  # ties
    if seed == 2:
        values[1] = values[0]
        values[3] = values[2] + 0.25  # a constant difference: t is infinite
    pairs = list(combinations(range(4), 2))
    expected = by_enumeration(np.array([values[i] - values[j] for i, j in pairs]))
    found = CORRECTIONS.make("maxt").of_pairs(family_of(values, pairs))
    assert found == pytest.approx(expected, abs=1e-12)


def test_differences_are_summed_in_blocks_to_the_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    values = np.vstack([rng.random((6, 50)), np.round(rng.random((6, 50)), 1)])
    values[1] = values[0] + 1e-14
    first, second = np.triu_indices(12, 1)
    difference = values[first] - values[second]
    difference[np.abs(difference) <= tolerance(values[first], values[second])[:, None]] = 0.0
    for cells in (1, 350, 1 << 18):  # a pair, 7 pairs, and all 66 at a time
        monkeypatch.setattr(max_t, "_CELLS", cells)
        summed, squares = max_t._summed(values, first, second)
        assert (summed == difference.sum(axis=1)).all()
        assert (squares == np.square(difference).sum(axis=1)).all()
    assert (summed[0], squares[0]) == (0.0, 0.0)  # noise alone


def test_memory_does_not_grow_with_pairs_times_topics() -> None:
    values = np.random.default_rng(0).random((60, 3_000))
    first, second = np.triu_indices(60, 1)
    family = PairFamily(np.ones(first.size), values, first, second)  # 42 MB of differences
    correction = CORRECTIONS.make("maxt", {"permutations": 50})
    tracemalloc.start()
    correction.of_pairs(family)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16e6


def test_drawn_sign_vectors_agree_with_all_of_them() -> None:
    values = np.random.default_rng(5).random((5, 16)) + np.linspace(0, 0.3, 5)[:, None]
    family = family_of(values, [(k, 0) for k in range(1, 5)])
    every = CORRECTIONS.make("maxt").of_pairs(family)
    drawn = CORRECTIONS.make("maxt", {"permutations": 60_000}).of_pairs(family)
    assert (every < 0.2).any()
    assert drawn == pytest.approx(every, abs=5 * 0.5 / 60_000**0.5)
    assert (drawn != every).any()


@pytest.mark.parametrize("topics", [12, 40])
def test_of_one_pair_it_is_the_randomisation_test(topics: int) -> None:
    values = np.round(np.random.default_rng(6).random((2, topics)), 1)
    values[1] += 0.1
    (alone,) = pairwise(values, [0], [1], 5_000, 3)
    settings = {"permutations": 5_000, "seed": 3}
    assert CORRECTIONS.make("maxt", settings).of_pairs(family_of(values, [(0, 1)])) == alone.p


def of(values: np.ndarray) -> list[Scores]:
    qids = tuple(map(str, range(values.shape[-1])))
    measures = ("AP", "P@5")[: values.shape[0]]
    return [
        Scores(f"s{k}", qids, measures, values[:, k, :].T)  # type: ignore[arg-type]
        for k in range(values.shape[1])
    ]


def test_it_keeps_more_than_holm_where_systems_are_alike() -> None:
    rng = np.random.default_rng(2)
    base = rng.beta(2, 3, 50)
    shared = rng.normal(0, 0.1, 50)
    shared += 0.04 - shared.mean()
    variants = [base + shared + rng.normal(0, 0.01, 50) for _ in range(27)]
    scores = of(np.array([[base, *variants]]))
    kept = {
        name: sum(c.verdict == "better" for c in found.cells.values())
        for name in ("maxt", "holm")
        for found in [compare(scores, baseline="s0", correction=name, permutations=20_000)]
    }
    assert (kept["maxt"], kept["holm"]) == (27, 0)


def test_the_family_may_be_a_table_or_all_pairs() -> None:
    values = np.random.default_rng(3).random((2, 3, 12)) + np.array([0, 0.1, 0.4])[None, :, None]
    flat = values.reshape(6, 12)
    whole = compare(of(values), baseline="s0", correction="maxt", family="table")
    expected = by_enumeration(
        np.array([flat[1] - flat[0], flat[2] - flat[0], flat[4] - flat[3], flat[5] - flat[3]])
    )
    cells = [whole.cell(name, measure) for measure in ("AP", "P@5") for name in ("s1", "s2")]
    assert [one.test.p_corrected for one in cells] == pytest.approx(expected)
    pairs = compare(of(values), family="pairs", correction="maxt")
    expected = by_enumeration(np.array([flat[i] - flat[j] for i, j in ((1, 0), (2, 0), (2, 1))]))
    found = [pairs.cell("s1", "AP").tests[0], *pairs.cell("s2", "AP").tests]
    assert [one.p_corrected for one in found] == pytest.approx(expected)


def test_the_footer_names_it_with_its_draws_and_equivalence_keeps_holm() -> None:
    values = np.random.default_rng(4).random((1, 3, 20))
    found = compare(of(values), baseline="s0", correction="maxt", equivalence=0.5, permutations=99)
    text = " ".join(statements(found))
    assert "corrected by Westfall-Young max-T over the 2 tests of each measure" in text
    assert "99 permutations, seed 0" in text
    assert found.settings.equivalence_correction == "holm"


def test_what_does_not_go_with_it_is_refused() -> None:
    scores = of(np.random.default_rng(4).random((1, 3, 20)))
    with pytest.raises(UsageError, match="not wilcoxon"):
        compare(scores, baseline="s0", correction="maxt", test="wilcoxon")
    with pytest.raises(UsageError, match="does not apply to equivalence tests"):
        compare(scores, baseline="s0", equivalence=0.1, equivalence_correction="maxt")
    with pytest.raises(UsageError, match="needs the scores"):
        correct([0.1], "maxt")
