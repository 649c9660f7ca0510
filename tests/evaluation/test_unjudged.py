"""Bounds from unjudged documents against all completions of small lists."""

from itertools import product
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, RBP, nDCG

from adducir.cli.app import main
from adducir.core.errors import UsageError
from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import evaluate
from adducir.evaluation.measures import parse_measures
from adducir.evaluation.unjudged import (
    bounds,
    bounds_of,
    quickly_bounded,
)
from adducir.runs.run import Run
from adducir.tables.hits import HitCollector


def case(seed: int, documents: int = 6) -> tuple[dict[str, float], dict[str, int]]:
    """A ranking of one topic and its judgements, some outside the ranking."""
    rng = np.random.default_rng(seed)
    run = {f"d{place}": 10.0 - place for place in range(documents)}
    names = [*run, "x", "y", "z"]
    kept = [name for name in names if rng.random() < 0.55] or ["x"]
    return run, {name: int(rng.integers(0, 3)) for name in kept}


def completions(run: dict[str, float], judged: dict[str, int], k: int, grades: int):
    """Every value of the measures over all grades of the unjudged documents of the first k."""
    holes = [name for name in list(run)[:k] if name not in judged]
    for filled in product(range(grades), repeat=len(holes)):
        yield {**judged, **dict(zip(holes, filled, strict=True))}


def value(measure, run: dict[str, float], judged: dict[str, int]) -> float:
    return float(ir_measures.calc_aggregate([measure], {"q": judged}, {"q": run})[measure])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("k", [3, 6])
def test_bounds_are_the_extremes_of_all_completions(seed: int, k: int) -> None:
    run, judged = case(seed)
    judged |= {"top": 2}  # the highest grade of the qrels
    for name, measure, grades in (("nDCG", nDCG @ k, 3), ("AP", AP @ k, 2)):
        found = bounds(Run.of({"q": run}, tag="r"), Qrels.of({"q": judged}), name, k=k)
        every = [value(measure, run, one) for one in completions(run, judged, k, grades)]
        assert found.low[0] == pytest.approx(min(every), abs=1e-9)
        assert found.high[0] == pytest.approx(max(every), abs=1e-9)
        assert found.value[0] == pytest.approx(value(measure, run, judged), abs=1e-9)


def test_rbp_and_its_residual() -> None:
    run, judged = case(3)
    found = bounds(Run.of({"q": run}, tag="r"), Qrels.of({"q": judged}), "RBP", k=6, p=0.5)
    assert found.low[0] == pytest.approx(
        evaluate(Run.of({"q": run}, tag="r"), Qrels.of({"q": judged}), RBP(p=0.5, rel=1)).mean(
            RBP(p=0.5, rel=1)
        )
    )
    holes = [place for place, name in enumerate(run) if name not in judged]
    residual = sum(0.5 ** (place + 1) for place in holes) + 0.5**6
    assert found.high[0] - found.low[0] == pytest.approx(residual)
    assert found.unjudged[0] == len(holes)


def test_topics_that_the_run_lacks_and_fully_judged_ones() -> None:
    judged = {"q": {"a": 1, "b": 0}, "r": {"a": 1}}
    found = bounds(Run.of({"q": {"b": 2.0, "a": 1.0}}, tag="r"), Qrels.of(judged))
    assert found.qids == ("q", "r")
    assert (found.low == found.high).all()
    assert found.value[1] == 0.0


def test_whether_an_order_survives() -> None:
    judged = Qrels.of({"q": {f"d{n}": int(n < 5) for n in range(8)}})
    good = bounds(Run.of({"q": {f"d{n}": 9.0 - n for n in range(5)}}, tag="a"), judged, k=5)
    bad = bounds(Run.of({"q": {"d7": 3.0, "d6": 2.0, "u": 1.0}}, tag="b"), judged, k=5)
    open_ = bounds(Run.of({"q": {f"u{n}": 9.0 - n for n in range(5)}}, tag="c"), judged, k=5)
    assert good.surely_better(bad)
    assert not bad.surely_better(good)
    assert not open_.surely_better(good)
    assert not bad.surely_better(open_)
    assert open_.high[0] == pytest.approx(1.0)


def test_what_cannot_be_bounded_is_refused() -> None:
    judged = Qrels.of({"q": {"a": 5}})
    many = Run.of({"q": {f"d{n}": -float(n) for n in range(200)}}, tag="r")
    with pytest.raises(UsageError, match="too many completions"):
        bounds(many, judged, k=200)
    with pytest.raises(UsageError, match="at least 1"):
        bounds(many, judged, k=0)


def test_the_command_states_bounds_and_pools_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qids = [str(n) for n in range(12)]
    rng = np.random.default_rng(1)
    (tmp_path / "q.txt").write_text(
        "".join(f"{q} 0 d{n} {rng.integers(0, 2)}\n" for q in qids for n in range(20))
    )
    paths = []
    for name in ("base", "new.seed1", "new.seed2"):
        paths.append(tmp_path / f"{name}.trec")
        orders = {q: rng.permutation(25)[:10] for q in qids}
        paths[-1].write_text(
            "".join(
                f"{q} Q0 d{d} {place} {-place} t\n"
                for q in qids
                for place, d in enumerate(orders[q], 1)
            )
        )
    files = [str(path) for path in paths]
    command = ["evaluate", *files, "-q", str(tmp_path / "q.txt"), "-m", "nDCG@5 P@5"]
    assert main([*command, "--set", "unjudged=true"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Bounds of nDCG@5 over all grades of unjudged documents: base 0." in shown
    assert "Ordered whatever these grades are: no two systems." in shown
    assert main([*command, "--set", "pool_seeds=true", "--baseline", "base"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "new.seed1" not in shown
    assert "Runs of a system: new 2." in shown
    page = tmp_path / "x.html"
    assert main([*command, "--set", "pool_seeds=true", "-b", "base", "-o", str(page)]) == 0
    assert (
        main([*command[:4], "-q", str(tmp_path / "q.txt"), "-m", "P@5", "--set", "unjudged=true"])
        == 2
    )


def test_the_means_of_rbp_by_hand() -> None:
    qrels = Qrels.of({"1": {"a": 1, "b": 0}})
    run = Run.of({"1": {"a": 3.0, "x": 2.0, "b": 1.0}}, "t")
    found = bounds_of(run, qrels, [RBP(p=0.8, rel=1) @ 50, nDCG(judged_only=True) @ 5])
    (means,) = (one.means for one in found.values())
    # Weights .2, .16, .128: the first is relevant, the second unjudged; .8 ** 3 lies beyond.
    assert means == pytest.approx((0.2, 0.2, 0.2 + 0.16 + 0.8**3))


def test_which_measures_are_bounded_quickly() -> None:
    topics = {f"q{n}": {f"d{m}": m % 4 for m in range(200)} for n in range(50)}
    measures = [nDCG @ 10, nDCG @ 100, AP @ 100, AP @ 1000, AP, RBP(p=0.5, rel=1)]
    quick = quickly_bounded(measures, Qrels.of(topics), 28)
    assert quick == [nDCG @ 10, AP @ 100, RBP(p=0.5, rel=1)]
    # A deep list of one system takes some three seconds, of one topic less.
    assert quickly_bounded(measures, Qrels.of(topics), 1) == quick
    one = {"q0": topics["q0"]}
    assert quickly_bounded(measures, Qrels.of(one), 1) == [*quick[:2], AP @ 1000, quick[2]]
    steep = Qrels.of({"q": {"d": 40}})
    assert quickly_bounded([nDCG @ 10, AP @ 10], steep, 1) == [AP @ 10]


def test_measures_share_the_time_of_their_bounds() -> None:
    topics = Qrels.of({f"q{n}": {f"d{m}": m % 5 for m in range(50)} for n in range(50)})
    # nDCG@20 of one system takes 1.4 s there, of four 6 s; nDCG@19 a second.
    assert quickly_bounded([nDCG @ 20, nDCG @ 10], topics, 1) == [nDCG @ 20, nDCG @ 10]
    assert quickly_bounded([nDCG @ 20, nDCG @ 10], topics, 4) == [nDCG @ 10]
    assert quickly_bounded([nDCG @ 20, nDCG @ 19], topics, 1) == [nDCG @ 19]


@pytest.mark.parametrize(
    ("measure", "shown"),
    [
        ("nDCG@10", ["nDCG@10", "RBP(rel=1)@50"]),
        ("RBP(p=0.95,rel=1)@20", ["RBP(p=0.95,rel=1)@20", "RBP(rel=1)@50"]),
        ("RBP(p=0.8,rel=1)", ["RBP(rel=1)"]),
        ("RBP(rel=1)@10", ["RBP(rel=1)@10"]),
        ("RBP(p=0.8)", ["RBP(rel=1)@50"]),
    ],
)
def test_a_report_has_the_residual_of_rbp(measure: str, shown: list[str]) -> None:
    hits = HitCollector(Qrels.of({"q": {"a": 1}}), 1, {}, parse_measures(measure))
    hits.add("s", Run.of({"q": {"a": 1.0}}, tag="s"))
    assert list(hits.found().bounds) == shown


@pytest.mark.parametrize("p", [0, 1])
def test_rbp_without_a_geometric_weight_has_no_bounds(p: int) -> None:
    run, qrels = Run.of({"q": {"a": 1.0}}, tag="r"), Qrels.of({"q": {"a": 1}})
    assert bounds_of(run, qrels, [RBP(p=p, rel=1) @ 10]) == {}
