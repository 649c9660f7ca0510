"""Reproduction measures against repro_eval."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from repro_eval.measure.document_order import RBO
from repro_eval.measure.effectiveness import RMSE
from repro_eval.measure.overall_effects import DRI, ER

from adducir.cli.app import main
from adducir.core.errors import InputError, UsageError
from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.reproduction import compare_effects, compare_orders
from adducir.evaluation.scores import Scores
from adducir.runs.run import Run

TOPICS = [str(topic) for topic in range(1, 8)]


def rankings(seed: int, noise: float) -> dict[str, dict[str, float]]:
    """Distinct scores around shared ones, the best first; 30 of 40 documents a topic."""
    shared, own = np.random.default_rng(0), np.random.default_rng(seed)
    found = {}
    for qid in TOPICS:
        scores = shared.normal(0, 1, 40) + own.normal(0, noise, 40)
        best = np.argsort(-scores)[:30]
        found[qid] = {f"d{document:02}": float(scores[document]) for document in best}
    return found


RUNS = {
    name: rankings(seed, noise)
    for name, seed, noise in (
        ("original", 1, 0.1),
        ("reproduced", 2, 0.5),
        ("base", 3, 2.0),
        ("base again", 4, 2.5),
    )
}


def evaluated() -> list[Scores]:
    rng = np.random.default_rng(5)
    qrels = {q: {f"d{d:02}": int(g) for d, g in enumerate(rng.integers(0, 2, 40))} for q in TOPICS}
    evaluator = Evaluator(Qrels.of(qrels), "AP nDCG@10")
    return [evaluator.score(Run.of(run, tag=name)) for name, run in RUNS.items()]


def theirs(one: Scores) -> dict[str, dict[str, float]]:
    names = ("map", "ndcg_cut_10")
    return {
        q: dict(zip(names, row, strict=True)) for q, row in zip(one.qids, one.values, strict=True)
    }


@pytest.mark.parametrize("depth", [10, 1000])
def test_orders_are_repro_eval(depth: int) -> None:
    first, second = RUNS["original"], RUNS["reproduced"]
    found = compare_orders(Run.of(first, tag="a"), Run.of(second, tag="b"), depth=depth)
    copies = [{q: dict(row) for q, row in run.items()} for run in (first, second)]
    assert found.overlap == pytest.approx(RBO(*copies, 0.8, depth, False, False), rel=1e-9)
    same = compare_orders(Run.of(first, tag="a"), Run.of(first, tag="b"), depth=depth)
    assert same.overlap == pytest.approx(1.0, abs=1e-3)


def test_effects_are_repro_eval() -> None:
    original, reproduced, base, again = evaluated()
    found = compare_effects(original, reproduced, (base, again))
    arguments = [theirs(one) for one in (original, base, reproduced, again)]
    rmse = RMSE(arguments[0], arguments[2])
    ratio, delta = ER(*arguments), DRI(*arguments)
    for ours, name in (("AP", "map"), ("nDCG@10", "ndcg_cut_10")):
        assert found[ours].rmse == pytest.approx(rmse[name], rel=1e-9)
        assert found[ours].effect_ratio == pytest.approx(ratio[name], rel=1e-9)
        assert found[ours].delta_improvement == pytest.approx(delta[name], rel=1e-9)
    assert compare_effects(original, original)["AP"].rmse == 0.0


def test_what_cannot_be_compared() -> None:
    a, b = (Run.of({qid: {"d": 1.0}}, tag="x") for qid in "12")
    with pytest.raises(InputError, match="no topic in common"):
        compare_orders(a, b)
    with pytest.raises(UsageError, match="depth"):
        compare_orders(a, a, depth=0)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(6)
    (tmp_path / "q.txt").write_text(
        "".join(f"{q} 0 d{d:02} {rng.integers(0, 2)}\n" for q in TOPICS for d in range(40))
    )
    paths = []
    for name, run in RUNS.items():
        paths.append(tmp_path / f"{name.replace(' ', '-')}.trec")
        rows = [
            (q, d, place, s) for q, row in run.items() for place, (d, s) in enumerate(row.items())
        ]
        paths[-1].write_text("".join(f"{q} Q0 {d} {n + 1} {s!r} t\n" for q, d, n, s in rows))
    command = ["reproduce", str(paths[0]), str(paths[1]), "--qrels", str(tmp_path / "q.txt")]
    assert main(command) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "rank-biased overlap" in shown
    assert "Root mean square error of topics: AP 0." in shown
    assert "Equivalence with original within ±0.05" in shown
    assert "Effect ratio" not in shown
    further = ["--original-baseline", str(paths[2]), "--new-baseline", str(paths[3])]
    assert main([*command, *further]) == 0
    assert "Effect ratio (1: the same)" in " ".join(capsys.readouterr().out.split())
    assert main([*command, *further[:2]]) == 2
    depths = [5, 50, 500, 51, 52, 53, 54]  # in a set of so many, some 5 comes before a 5x
    names = " ".join(f"nDCG(judged_only=True)@{k}" for k in depths)
    assert main([*command, "-m", names, "--format", "json"]) == 0
    footer = " ".join(json.loads(capsys.readouterr().out)["footer"])
    assert set(re.findall(r"nDCG\S*(?: \(condensed\))?\S*", footer)) <= {
        f"nDCG@{k} (condensed){end}" for k in depths for end in ("", ",", ".", ":")
    }
