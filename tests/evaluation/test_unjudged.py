"""Unjudged documents: bounds of measures, and published figures in both treatments of spam."""

from itertools import product
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, RBP, nDCG

from adducir import evaluate
from adducir.core.errors import UsageError
from adducir.corpora.qrels import Qrels, load_qrels
from adducir.evaluation.evaluator import Bounds, bounds_of
from adducir.runs.read import read_run
from adducir.runs.run import Run


def bounds(run: dict[str, float], judged: dict[str, int], measure: ir_measures.Measure) -> Bounds:
    found = bounds_of(Run.of({"q": run}, tag="r"), Qrels.of({"q": judged}), [measure])
    (only,) = found.values()
    return only


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("k", [3, 6])
def test_bounds_are_the_extremes_of_all_completions(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    run = {f"d{place}": 10.0 - place for place in range(6)}
    kept = [name for name in [*run, "x", "y", "z"] if rng.random() < 0.55] or ["x"]
    judged = {name: int(rng.integers(0, 3)) for name in kept}
    judged |= {"top": 2}  # the highest grade of the qrels
    holes = [name for name in list(run)[:k] if name not in judged]
    for measure, grades in ((nDCG @ k, 3), (AP @ k, 2)):

        def value(filled: tuple[int, ...], measure: ir_measures.Measure = measure) -> float:
            qrels = {"q": judged | dict(zip(holes, filled, strict=False))}
            return float(ir_measures.calc_aggregate([measure], qrels, {"q": run})[measure])

        found = bounds(run, judged, measure)
        every = [value(filled) for filled in product(range(grades), repeat=len(holes))]
        assert found.low[0] == pytest.approx(min(every), abs=1e-9)
        assert found.high[0] == pytest.approx(max(every), abs=1e-9)
        assert found.value[0] == pytest.approx(value(()), abs=1e-9)
        assert found.unjudged[0] == len(holes)


def test_rbp_and_its_residual() -> None:
    run, judged = {"a": 3.0, "x": 2.0, "b": 1.0}, {"a": 1, "b": 0}
    found = bounds(run, judged, RBP(p=0.8, rel=1) @ 50)
    # Weights .2, .16, .128: the first is relevant, the second unjudged; .8 ** 3 lies beyond.
    assert found.means == pytest.approx((0.2, 0.2, 0.2 + 0.16 + 0.8**3 - 0.8**50))
    scores = evaluate(Run.of({"q": run}, tag="r"), Qrels.of({"q": judged}), "RBP(rel=1,p=0.8)")
    assert found.means[1] == pytest.approx(scores.mean("RBP(rel=1,p=0.8)"))


def test_whether_an_order_survives() -> None:
    judged, rbp = {"a": 1, "b": 0, "c": 0}, RBP(p=0.8, rel=1) @ 2
    good, bad, open_ = (bounds({d: 2.0, "c": 1.0}, judged, rbp) for d in "abu")
    assert good.surely_better(bad)
    assert not any(x.surely_better(y) for x, y in ((bad, good), (open_, good), (good, open_)))


def test_what_has_no_bounds() -> None:
    run, qrels = Run.of({"q": {"a": 1.0}}, tag="r"), Qrels.of({"q": {"a": 1}})
    without = [RBP(p=0, rel=1) @ 10, RBP(p=1, rel=1) @ 10, nDCG(judged_only=True) @ 5, AP]
    assert bounds_of(run, qrels, without) == {}
    with pytest.raises(UsageError, match="too many completions"):
        bounds({f"d{n}": -float(n) for n in range(200)}, {"a": 5}, nDCG @ 200)


CONDENSED = "nDCG(judged_only=True)@5"
TOUCHE_2020 = "touche2020-task1-relevance-args-me-corpus-version-2020-04-01-corrected.qrels"
TOUCHE_2021 = "touche-task1-51-100-relevance.qrels"


def _figures(collections: Path, year: str, name: str, qrels: str, negative: str) -> dict[str, str]:
    run = read_run(collections / f"touche/runs/{year}/{name}Run.txt.gz")
    text = f"nDCG@5 {CONDENSED} Bpref Judged@5"
    judged = load_qrels(collections / "touche/qrels" / qrels)
    scores = evaluate(run, judged, text, negative_grades=negative)  # type: ignore[arg-type]
    assert scores.missing == {}
    assert scores.evaluations[0].negatives == {"2020": 751, "2021": 351}[year]
    return {name: f"{scores.mean(name):.4f}" for name in text.split()}


@pytest.mark.parametrize(
    ("year", "name", "qrels", "negative", "figures"),
    [
        ("2021", "ElrondOpenNlp", TOUCHE_2021, "zero", ".6745 .6745 .6898 .9960"),
        ("2021", "ElrondSimple", TOUCHE_2021, "zero", ".6742 .6742 .6689 .9960"),
        ("2021", "ElrondOpenNlp", TOUCHE_2021, "trec_eval", ".6745 .6783 .6980 .9960"),
        ("2021", "ElrondSimple", TOUCHE_2021, "trec_eval", ".6742 .7327 .7319 .9960"),
        ("2020", "ElrondOpenNlp", TOUCHE_2020, "zero", ".6197 .8658 .7205 .6286"),
        ("2020", "ElrondSimple", TOUCHE_2020, "zero", ".3966 .7301 .7136 .4735"),
        ("2020", "ElrondOpenNlp", TOUCHE_2020, "trec_eval", ".6197 .8716 .7285 .6286"),
        ("2020", "ElrondSimple", TOUCHE_2020, "trec_eval", ".3966 .8374 .7693 .4735"),
    ],
)
def test_touche_in_both_treatments_of_spam(
    collections: Path, year: str, name: str, qrels: str, negative: str, figures: str
) -> None:
    """nDCG@5 is published; the others hold what evaluate's text says of spam."""
    found = _figures(collections, year, name, qrels, negative)
    assert [value.removeprefix("0") for value in found.values()] == figures.split()
