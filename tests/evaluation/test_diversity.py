"""Measures of diversity against ndeval (pyndeval), compatibility and accuracy against ir_measures.

pyndeval's values are here, because it is not on every machine; where it is, more are compared.
"""

import importlib.util
from pathlib import Path

import ir_measures
import numpy as np
import polars as pl
import pytest

import adducir as ad
from adducir.cli.app import main
from adducir.core.errors import InputError, UsageError
from adducir.corpora.qrels import Qrels, load_qrels
from adducir.evaluation.evaluator import Evaluator
from adducir.runs.run import Run

NDEVAL = {
    "ERR_IA": "ERR-IA",
    "nERR_IA": "nERR-IA",
    "alpha_DCG": "alpha-DCG",
    "alpha_nDCG": "alpha-nDCG",
    "P_IA": "P-IA",
    "StRecall": "strec",
}
NAMES = {f"{ours}@{k}": f"{theirs}@{k}" for ours, theirs in NDEVAL.items() for k in (1, 5, 20)}
NAMES |= {"NRBP": "NRBP", "nNRBP": "nNRBP", "AP_IA": "MAP-IA"}
JUDGED = [
    *(("1", "1", "a", 1), ("1", "1", "b", 1), ("1", "2", "b", 2), ("1", "3", "c", 0)),
    *(("1", "2", "d", 1), ("1", "10", "e", 1), ("1", "10", "a", 1), ("2", "1", "x", 1)),
    *(("2", "2", "y", 0), ("3", "1", "z", 1)),
]
RANKED = {"1": {"b": 9.0, "n": 8.0, "a": 7.0, "e": 6.0}, "2": {"y": 2.0, "x": 1.0}}
PUBLISHED = {
    "ERR_IA@1": (2, 0),
    "ERR_IA@5": (0.635400907716, 0.36308623298),
    "ERR_IA@20": (0.631179120008, 0.360673782862),
    "nERR_IA@1": (1, 0),
    "nERR_IA@5": (0.86301369863, 0.5),
    "nERR_IA@20": (0.86301369863, 0.5),
    "alpha_DCG@1": (2, 0),
    "alpha_DCG@5": (0.650945392494, 0.415501481546),
    "alpha_DCG@20": (0.642034958998, 0.409813910266),
    "alpha_nDCG@1": (1, 0),
    "alpha_nDCG@5": (0.869158975157, 0.630929753571),
    "alpha_nDCG@20": (0.869158975157, 0.630929753571),
    "P_IA@1": (0.666666666667, 0),
    "P_IA@5": (0.333333333333, 0.2),
    "P_IA@20": (0.0833333333333, 0.05),
    "StRecall@1": (0.666666666667, 0),
    "StRecall@5": (1, 1),
    "StRecall@20": (1, 1),
    "NRBP": (0.609375, 0.375),
    "nNRBP": (0.829787234043, 0.5),
    "AP_IA": (0.583333333333, 0.5),
}


def frame(rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["qid", "subtopic", "docno", "grade"], orient="row")


def values(measures, rows, ranked) -> dict[str, list[float]]:
    evaluator = Evaluator(Qrels.of(frame(rows)), measures)
    found = evaluator.values(Run.of(ranked, tag="run"))
    return {str(one): found[:, at].tolist() for at, one in enumerate(evaluator.measures)}


def test_values_are_ndevals() -> None:
    found = values(list(NAMES), JUDGED, RANKED)
    assert list(found) == list(PUBLISHED)
    for name, wanted in PUBLISHED.items():
        assert found[name] == pytest.approx([*wanted, 0.0], abs=1e-9), name  # topic 3 is missing


@pytest.mark.skipif(importlib.util.find_spec("pyndeval") is None, reason="pyndeval is missing")
@pytest.mark.parametrize("seed", range(40))
def test_random_values_are_ndevals(seed: int) -> None:
    import pyndeval

    draw = np.random.default_rng(seed)
    alpha, beta = [(0.5, 0.5), (0.3, 0.8), (0.0, 0.5), (1.0, 0.2)][seed % 4]
    rel, ranked = int(draw.integers(1, 3)), {}
    rows = [
        (qid, str(subtopic), f"d{document}", int(draw.integers(0, 3)))
        for qid in "123"
        for document in range(30)
        for subtopic in range(int(draw.integers(1, 6)))
        if draw.random() < 0.35
    ]
    for qid in "123":
        chosen = draw.permutation(40)[: draw.integers(3, 40)]
        ranked[qid] = {f"d{name}": float(40 - at) for at, name in enumerate(chosen)}
    theirs = pyndeval.RelevanceEvaluator(
        rows, list(NAMES.values()), relevance_level=rel, alpha=alpha, beta=beta
    ).evaluate([(qid, docno, s) for qid, each in ranked.items() for docno, s in each.items()])
    for ours, name in NAMES.items():
        if "ERR" in ours and alpha != 0.5:
            continue
        base, at, k = ours.partition("@")
        more = f", alpha={alpha}" if "alpha" in base or "NRBP" in base else ""
        more += f", beta={beta}" if "NRBP" in base else ""
        (found,) = values(f"{base}(rel={rel}{more}){at}{k}", rows, ranked).values()
        assert found == pytest.approx([theirs[qid][name] for qid in "123"], abs=1e-9), ours


@pytest.mark.parametrize("seed", range(20))
def test_compatibility_and_accuracy_are_those_of_ir_measures(seed: int) -> None:
    draw, names = np.random.default_rng(seed), [f"d{n:02}" for n in range(40)]
    qrels = {q: {d: int(draw.integers(0, 4)) for d in names if draw.random() < 0.4} for q in "12"}
    chosen = {q: draw.permutation(names)[: draw.integers(1, 40)].tolist() for q in "12"}
    ranked = {q: {d: 50.0 - at for at, d in enumerate(each)} for q, each in chosen.items()}
    for text in ("Compat", "Compat(p=0.8)", "Compat(p=0.5,normalize=False)"):
        wanted = ir_measures.iter_calc([ir_measures.parse_measure(text)], qrels, ranked)
        scores = ad.evaluate(Run.of(ranked, tag="run"), Qrels.of(qrels), text)
        found = dict(zip(scores.qids, scores.values(text), strict=True))
        for one in wanted:
            assert found[one.query_id] == pytest.approx(one.value, abs=1e-9), text
    for text in ("Accuracy", "Accuracy(rel=2)@10"):
        wanted = ir_measures.iter_calc([ir_measures.parse_measure(text)], qrels, ranked)
        scores = ad.evaluate(Run.of(ranked, tag="run"), Qrels.of(qrels), text)
        found = dict(zip(scores.qids, scores.values(text), strict=True))
        try:
            wanted = list(wanted)
        except ZeroDivisionError:  # nothing but relevant documents above the cutoff
            continue
        for one in wanted:
            assert found[one.query_id] == pytest.approx(one.value, abs=1e-9), text


def test_compatibility_to_a_depth_is_the_authors() -> None:
    # compatibility.py of github.com/claclark/Compatibility, which always reads 1,000 ranks
    qrels = Qrels.of({"1": {"a": 3, "b": 1, "c": 1, "d": 2, "e": 0}, "2": {"f": 1}})
    ranked = {"1": {"b": 9, "x": 8, "a": 7}, "2": {"y": 9, "z": 8, "w": 7, "f": 6}}
    for p, values in {
        0.5: [0.13894514894994303, 0.038203306074024404],
        0.95: [0.40139837421022495, 0.43685165675194315],
        0.99: [0.44180209142927457, 0.6083783096777173],
    }.items():
        measure = f"Compat(p={p},depth=1000)"
        found = ad.evaluate(Run.of(ranked, tag="run"), qrels, measure).values(measure)
        assert found == pytest.approx(values, abs=1e-14)


def test_every_door_reads_subtopics(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"{qid} {subtopic} {docno} {grade}\n" for qid, subtopic, docno, grade in JUDGED]
    Path("diversity.txt").write_text("".join(lines))
    run = Run.of(RANKED, tag="run")
    ad.write_run(run, "run.trec")
    wanted = PUBLISHED["alpha_nDCG@20"]
    (rows := frame(JUDGED)).write_csv("diversity.csv")
    frames = (rows, rows.to_pandas(), rows.to_arrow(), rows.to_dicts())
    for source in ("diversity.txt", "diversity.csv", *frames):
        scores = ad.evaluate(run, source, "alpha_nDCG@20 nDCG@20")
        assert scores.values("alpha_nDCG@20")[:2] == pytest.approx(wanted)
        assert scores.values("nDCG@20")[0] > 0
    words = ["evaluate", "run.trec", "-q", "diversity.txt", "-m", "alpha_nDCG@20", "--format"]
    assert main([*words, "json", "--per-topic"]) == 0
    assert f"{wanted[0]:.10f}"[:10] in capsys.readouterr().out
    assert Qrels.of(frame(JUDGED[:1]).rename({"subtopic": "iteration"})).subtopics is None
    columns = ("qid", "subtopic", "docno", "grade")
    named = load_qrels("diversity.txt", columns=columns, subtopics=True)
    assert named.subtopics is not None
    assert named.restricted(["2"]).subtopics["docno"].to_list() == ["x", "y"]
    with pytest.raises(InputError, match="is repeated"):
        load_qrels("diversity.txt")
    with pytest.raises(UsageError, match="subtopics"):
        ad.evaluate(run, Qrels.of({"1": {"a": 1}}), "ERR_IA@5")
    Path("three.txt").write_text("1 a 1\n1 b 0\n")
    with pytest.raises(InputError, match="subtopics"):
        load_qrels("three.txt", subtopics=True)
    Path("twice.txt").write_text("1 1 a 1\n1 1 a 0\n")
    with pytest.raises(InputError, match="twice for subtopic 1"):
        load_qrels("twice.txt", subtopics=True)
