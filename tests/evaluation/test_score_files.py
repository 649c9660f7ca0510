"""Files of scores, and reproduction measures against repro_eval."""

import csv
import io
import json
from dataclasses import replace
from math import isnan
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from evaluation_cases import table_of
from ir_measures import AP, nDCG
from repro_eval.measure.document_order import KTU, RBO
from repro_eval.measure.effectiveness import RMSE, nRMSE
from repro_eval.measure.overall_effects import DRI, ER

from adducir.cli.app import main
from adducir.core.errors import InputError
from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.reproduction import compare_effects, kendall_tau_of_runs, overlap_of_runs
from adducir.evaluation.score_files import measure_of, read_scores
from adducir.evaluation.scores import Scores
from adducir.runs.run import Run

VALUES = {"1": {"AP": 0.25, "nDCG@10": 0.5}, "2": {"AP": 0.75, "nDCG@10": 1.0}}
FILES = {
    "ours.csv": "system,section,group,qid,measure,value\n"
    + "".join(f"s,,,{q},{m},{v}\n" for q, row in VALUES.items() for m, v in row.items()),
    "terrier.csv": ",name,qid,measure,value\n0,s,1,map,0.25\n1,s,1,ndcg_cut_10,0.5\n"
    "2,s,2,map,0.75\n3,s,2,ndcg_cut_10,1.0\n",
    "wide.csv": "name,qid,AP,nDCG@10\ns,1,0.25,0.5\ns,2,0.75,1.0\n",
    "s.txt": "1\tAP\t0.25\n1\tnDCG@10\t0.5\n2\tAP\t0.75\n2\tnDCG@10\t1.0\nall\tAP\t0.5\n",
    "s.trec_eval": "runid                 \tall\tbm25\nmap                   \t1\t0.25\n"
    "ndcg_cut_10           \t1\t0.5\nmap                   \t2\t0.75\n"
    "ndcg_cut_10           \t2\t1.0\nmap                   \tall\t0.5\n",
    "ranx.json": json.dumps({"map": {"1": 0.25, "2": 0.75}, "ndcg@10": {"1": 0.5, "2": 1.0}}),
    "pytrec_eval.json": json.dumps(
        {"1": {"map": 0.25, "ndcg_cut_10": 0.5}, "2": {"map": 0.75, "ndcg_cut_10": 1.0}}
    ),
    "mteb.json": json.dumps(
        {"1": {"map": 0.25, "ndcg_at_10": 0.5}, "2": {"map": 0.75, "ndcg_at_10": 1.0}}
    ),
    "header.tsv": "system\tqid\tmeasure\tvalue\n"
    + "".join(f"s\t{q}\t{m}\t{v}\n" for q, row in VALUES.items() for m, v in row.items()),
    "bare.tsv": "".join(f"{q}\t{m}\t{v}\n" for q, row in VALUES.items() for m, v in row.items()),
    "ir_measures.jsonl": "".join(
        json.dumps({"query_id": q, "measure": m, "value": v}) + "\n"
        for q, row in {**VALUES, "all": {"AP": 0.5}}.items()
        for m, v in row.items()
    ),
    "s.jsonl": '{"query_id": 1, "AP": 0.25, "cosine-NDCG@10": 0.5}\n'
    '{"query_id": 2, "AP": 0.75, "cosine-NDCG@10": 1.0}\n',
}


@pytest.mark.parametrize("name", FILES)
def test_each_format_gives_the_same_scores(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name])
    one = read_scores(path, "s")
    assert (one.systems, one.qids) == (("s",), ("1", "2"))
    assert tuple(one.measures.values()) == (AP, nDCG @ 10)
    assert table_of(one).tolist() == [[0.25, 0.5], [0.75, 1.0]]


def test_one_known_measure_tells_topics_from_measures(tmp_path: Path) -> None:
    path = tmp_path / "ranx.json"
    path.write_text(json.dumps({"ndcg_burges": {"1": 0.5, "2": 0.6}, "map": {"1": 1.0, "2": 0.0}}))
    one = read_scores(path, "s")
    assert (one.qids, [*one.measures]) == (("1", "2"), ["ndcg_burges", "AP"])
    path.with_suffix(".txt").write_text(
        "utility               \t1\t5\nmap                   \t1\t1\n"
    )
    assert read_scores(path.with_suffix(".txt"), "s").qids == ("1",)


def test_several_systems_and_topic_sets(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    rows = [(s, g, q) for s in "ab" for g in ("x", "y") for q in "12"]
    lines = "".join(f"{s},{g},{q},AP,0.{q}\n" for s, g, q in rows)
    path.write_text("system,group,qid,measure,value\n" + lines)
    found = read_scores(path, "unused")
    assert (found.sets, found.systems, len(found.frame)) == (("x", "y"), ("a", "b"), 8)


def test_names_of_measures() -> None:
    assert str(measure_of("recall_at_100")) == "R@100"
    assert str(measure_of("dot-MRR@10")) == "RR@10"
    assert str(measure_of("hit_rate@5")) == "Success@5"
    assert str(measure_of("P_5")) == "P@5"
    assert str(measure_of("hits@5")) == "num_rel_ret@5"  # ranx's count; Success@5 is 0 or 1
    assert str(measure_of("helpfulness")) == "helpfulness"


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.csv", "epoch,steps,cosine-MRR@10\n0,1,0.5\n", 2),
        ("a.json", '{"mteb_version": "2", "scores": {}}', None),
        ("a.json", '{"ndcg": {"NDCG@1": 0.3, "NDCG@10": 0.5}, "map": {"MAP@1": 0.2}}', None),
        ("a.json", '{"default": {"test": {"1": {"d": 0.3}}}}', None),
        ("a.jsonl", '{"query_id": "1", "query": "x", "results": []}\n', 1),
        ("a.json", "[1]", None),
        ("a.csv", "a,b\n1,2\n", 2),
        ("a.csv", "qid,AP,AP\n1,.1,.2\n", 1),
        ("a.csv", "qid,AP\n1,x\n", 2),
        ("a.csv", "qid,AP\n1,nan\n", 2),
        ("a.jsonl", '{"qid": "1", "AP": 1}\n{"qid": "2", "AP": null}\n', 2),
        ("a.json", '{"a": {"1": 0.5}, "b": {"1": 0.5}}', None),
        ("a.txt", "1 Q0 d 1 2.0 bm25\n", 1),
        ("a.csv", "qid,measure,value\n1,AP,.1\n1,AP,.2\n", 3),
        ("a.csv", "qid,measure,value\n1,AP,.1\n2,P@5,.2\n", None),
        ("a.txt", "1 AP\n", 1),
        ("a.txt", "\n", None),
    ],
)
def test_what_is_no_score_is_refused_with_its_place(
    tmp_path: Path, name: str, text: str, line: int | None
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_scores(path, "s")
    assert (refused.value.path, refused.value.line) == (path, line)


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
    names, rows = ("map", "ndcg_cut_10"), zip(one.qids, table_of(one), strict=True)
    return {qid: dict(zip(names, row, strict=True)) for qid, row in rows}


@pytest.mark.parametrize("depth", [10, 1000])
def test_orders_are_repro_eval(depth: int) -> None:
    first, second = RUNS["original"], RUNS["reproduced"]
    found = overlap_of_runs(Run.of(first, tag="a"), Run.of(second, tag="b"), depth=depth)
    copies = [{q: dict(row) for q, row in run.items()} for run in (first, second)]
    assert found == (pytest.approx(RBO(*copies, 0.8, depth, False, False), rel=1e-9), 7)
    taus = kendall_tau_of_runs(Run.of(first, tag="a"), Run.of(second, tag="b"), depth=depth)
    assert taus == pytest.approx(KTU(*copies, depth), rel=1e-9)
    same = overlap_of_runs(Run.of(first, tag="a"), Run.of(first, tag="b"), depth=depth)
    assert same[0] == pytest.approx(1.0, abs=1e-3)


def test_effects_are_repro_eval() -> None:
    original, reproduced, base, again = evaluated()
    found = compare_effects(original, reproduced, (base, again))
    arguments = [theirs(one) for one in (original, base, reproduced, again)]
    rmse = RMSE(arguments[0], arguments[2])
    normalised, ratio, delta = nRMSE(arguments[0], arguments[2]), ER(*arguments), DRI(*arguments)
    for ours, name in (("AP", "map"), ("nDCG@10", "ndcg_cut_10")):
        assert found[ours].rmse == pytest.approx(rmse[name], rel=1e-9)
        assert found[ours].nrmse == pytest.approx(normalised[name], rel=1e-9)
        assert found[ours].effect_ratio == pytest.approx(ratio[name], rel=1e-9)
        assert found[ours].delta_improvement == pytest.approx(delta[name], rel=1e-9)
    assert compare_effects(original, original)["AP"].rmse == 0.0
    elsewhere = replace(reproduced, frame=reproduced.frame.filter(pl.col("qid") != "1"))
    assert isnan(compare_effects(original, elsewhere)["AP"].rmse)


def test_reproduce_reads_values_per_topic_in_every_form(tmp_path, monkeypatch, capsys):
    """trec_eval's lines, a leaderboard's CSV and JSON lines give what the runs gave."""
    monkeypatch.chdir(tmp_path)
    Path("q.txt").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n3 0 c 2\n")
    Path("old.trec").write_text(
        "1 Q0 a 1 3 o\n1 Q0 b 2 2 o\n2 Q0 b 1 2 o\n2 Q0 a 2 1 o\n3 Q0 c 1 1 o\n"
    )
    Path("new.trec").write_text(
        "1 Q0 b 1 3 n\n1 Q0 a 2 2 n\n2 Q0 a 1 2 n\n3 Q0 b 1 2 n\n3 Q0 c 2 1 n\n"
    )

    def figures(*words):
        assert main(["reproduce", *words, "-m", "AP", "--format", "csv"]) == 0
        rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        return [
            (row["system"], row["mean"])
            for row in rows
            if row["measure"] == "AP" and row["system"] not in ("RBO", "Kendall's tau")
        ]

    wanted = figures("old.trec", "new.trec", "-q", "q.txt")
    values = {"old": [1, 0.5, 1], "new": [0.5, 1, 0.5]}
    for name, own in values.items():
        lines = [f"map\t{qid}\t{value}" for qid, value in zip((1, 2, 3), own, strict=True)]
        lines += [f"relstring\t{qid}\t'1'" for qid in (1, 2, 3)]
        Path(f"{name}.txt").write_text("\n".join([*lines, "runid\tall\tx", "map\tall\t.5"]) + "\n")
        Path(f"{name}.csv").write_text(
            "item,AP\n" + "".join(f"{qid},{v}\n" for qid, v in zip((1, 2, 3), own, strict=True))
        )
        Path(f"{name}.jsonl").write_text(
            "".join(
                f'{{"item": "{qid}", "system": "{name}", "AP": {value}}}\n'
                for qid, value in zip((1, 2, 3), own, strict=True)
            )
        )
    for ending in ("txt", "csv", "jsonl"):
        assert figures(f"old.{ending}", f"new.{ending}") == wanted
    with_baselines = ["--original-baseline", "new.csv", "--new-baseline", "old.csv"]
    assert dict(figures("old.csv", "new.csv", *with_baselines))["Effect ratio"] == "-1.0"
    Path("two.csv").write_text("item,system,AP\n1,A,.5\n1,B,.5\n2,A,1\n2,B,1\n")
    assert main(["reproduce", "two.csv", "new.csv"]) == 3
    assert "2 systems" in capsys.readouterr().err
    assert main(["reproduce", "old.csv", "new.csv", "--depth", "5"]) == 2


def test_leaderboards_come_in_both_shapes_as_csv_and_json_lines(tmp_path, capsys):
    """A column per system, or a row per system and item."""
    values = {"A": [0.5, 1.0, 0.25], "B": [0.75, 0.5, 0.25]}
    items = ["i1", "i2", "i3"]
    wide = [{"item": item, **{s: values[s][n] for s in values}} for n, item in enumerate(items)]
    long = [
        {"model": s, "item_id": item, "accuracy": values[s][n]}
        for s in values
        for n, item in enumerate(items)
    ]
    for name, rows in (("wide", wide), ("long", long)):
        lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
        for ending in ("csv", "jsonl"):
            found = read_scores(tmp_path / f"{name}.{ending}", "file")
            assert sorted(found.systems) == ["A", "B"]
            (measure,) = found.measures
            for system, own in values.items():
                rows_of = found.frame.filter(system=system).sort("qid")
                assert rows_of["value"].to_list() == own
                assert rows_of["qid"].to_list() == items
            assert len(found.measures) == 1, measure


VALUES = {("r1", "t1"): 0.5, ("r1", "t2"): 0.25, ("r2", "t1"): 1.0, ("r2", "t2"): 0.0}
LAYOUTS = {
    "ir_measures": "{run}\t{topic}\t{measure}\t{value}",
    "tot": "{run} {measure} {topic} {value}",
    "rag4reports": "{topic}\t{run}\t{measure}\t{value}",
    "jsonl": '{{"run_id": "{run}", "topic_id": "{topic}", "measure": "{measure}",'
    ' "value": {value}}}',
}


def autojudge(layout, *, topics="t", measure="GRADE", mean=True):
    """A leaderboard as autojudge-base 1.0.0 writes it."""
    rows = [(run, topic.replace("t", topics), value) for (run, topic), value in VALUES.items()]
    rows += [("r1", "all", 0.375), ("r2", "all", 0.5)] if mean else []
    lines = [
        LAYOUTS[layout].format(run=run, topic=topic, measure=name, value=value)
        for run, topic, value in rows
        for name in (measure, "nDCG@10" if measure == "AP" else "OTHER")
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shown", [{}, {"mean": False, "topics": ""}, {"measure": "AP"}])
def test_autojudge_s_leaderboards(tmp_path: Path, layout: str, shown: dict) -> None:
    path = tmp_path / ("board.jsonl" if layout == "jsonl" else "board.txt")
    path.write_text(autojudge(layout, **shown))
    scores = read_scores(path, "board")
    measure = shown.get("measure", "GRADE")
    of_topics = shown.get("topics", "t")
    assert scores.systems == ("r1", "r2")
    assert len(scores.frame) == 8
    values = {
        (row["system"], row["qid"]): row["value"]
        for row in scores.frame.filter(measure=measure).rows(named=True)
    }
    assert values == {(run, topic.replace("t", of_topics)): v for (run, topic), v in VALUES.items()}


@pytest.mark.parametrize("layout", ["ir_measures", "tot", "rag4reports"])
def test_a_header_names_the_columns(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "board.txt"
    names = {"run": "run_id", "topic": "topic_id", "measure": "measure", "value": "value"}
    head = LAYOUTS[layout].format(**names)
    for text in (head, head.replace("\t", " ")):
        path.write_text(f"{text}\n{autojudge(layout, mean=False)}")
        scores = read_scores(path, "board")
        assert scores.systems == ("r1", "r2")
        assert set(scores.measures) == {"GRADE", "OTHER"}


def test_what_does_not_show_its_order_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "board.txt"
    path.write_text(autojudge("rag4reports", mean=False))
    with pytest.raises(InputError, match="may be run, topic, measure") as error:
        read_scores(path, "board")
    assert "score_columns" in str(error.value.hint)
    assert read_scores(path, "board", by="rag4reports").systems == ("r1", "r2")
    path.write_text("r1 t1 GRADE 0.5\nr1 t2 GRADE\n")
    with pytest.raises(InputError, match="3 columns") as error:
        read_scores(path, "board")
    assert error.value.line == 2
    path.write_text("r1 all GRADE 0.5\nr1 t2 GRADE high\nr1 t3 GRADE 1\n")
    with pytest.raises(InputError, match="not a number") as error:
        read_scores(path, "board")
    assert error.value.line == 2


@pytest.mark.parametrize("text", ["GRADE\tt1\t.5\nGRADE\tall\t.5\n", "GRADE 7 .5\nGRADE 8 .25\n"])
def test_unknown_measures_in_trec_eval_s_columns(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.txt"
    path.write_text(text)
    for by in (None, "tot"):  # which is about other files, of four columns
        assert list(read_scores(path, "run", by=by).measures) == ["GRADE"]
