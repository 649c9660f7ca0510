"""What evaluate says of judgements that do not fit the runs, and where figures stand."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from adducir.cli.app import main

TOPICS, DOCUMENTS = range(1, 41), range(1, 31)


def adducir(*words, code=0):
    assert main([str(word) for word in words]) == code


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """Two runs of 40 topics, and a model's judgements of all their documents."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    for name in "ab":
        lines = [
            f"{qid} Q0 d{docno} {rank} {100 - rank} {name}\n"
            for qid in TOPICS
            for rank, docno in enumerate(rng.permutation(DOCUMENTS), 1)
        ]
        Path(f"{name}.trec").write_text("".join(lines))
    rows = [(qid, f"d{docno}", int(rng.random() < 0.35)) for qid in TOPICS for docno in DOCUMENTS]
    write("model.qrels", rows)
    return [(qid, docno, grade if rng.random() < 0.9 else 1 - grade) for qid, docno, grade in rows]


def write(path, rows):
    Path(path).write_text("".join(f"{qid} 0 {docno} {grade}\n" for qid, docno, grade in rows))


POWERED = ("--set", "model_qrels=model.qrels", "--set", "judge=J 1", "-m", "P@10 AP")


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.8])
@pytest.mark.parametrize("topics", [40, 20])
def test_documents_drawn_from_all_topics_are_refused(judged, capsys, share, topics):
    """The human values would be those of a fraction of the relevant documents."""
    rng = np.random.default_rng(1)
    kept = [row for row in judged if row[0] <= topics and rng.random() < share]
    write("human.qrels", kept)
    adducir("evaluate", "a.trec", "b.trec", "-q", "human.qrels", "-b", "a", *POWERED, code=2)
    shown = capsys.readouterr()
    covered = len({qid for qid, _, _ in kept}) * len(DOCUMENTS)
    assert f"humans judged only {len(kept):,} of the {covered:,} documents" in shown.err
    assert not shown.out


def test_powered_figures_stand_in_csv_and_json(judged, capsys):
    write("human.qrels", [row for row in judged if row[0] <= 12])
    words = ("evaluate", "a.trec", "b.trec", "-q", "human.qrels", "-b", "a", *POWERED)
    adducir(*words, "--format", "json")
    data = json.loads(capsys.readouterr().out)
    figures = data["prediction_powered"]
    assert [(one["system"], one["measure"], one.get("reference")) for one in figures] == [
        *(("a", "P@10", None), ("b", "P@10", None), ("b", "P@10", "a")),
        *(("a", "AP", None), ("b", "AP", None), ("b", "AP", "a")),
    ]
    assert {(one["humans"], one["model"]) for one in figures} == {(12, 28)}
    adducir(*words, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    for row in rows:
        of = [one for one in figures if row["system"] == one["system"]]
        of = [one for one in of if row["measure"] == one["measure"]]
        assert float(row["ppi"]) == of[0]["value"]
        assert float(row["ppi_low"]) == of[0]["low"]
        assert row["ppi_difference_high"] == (repr(of[1]["high"]) if row["baseline"] else "")
    adducir(*words, "--format", "csv", "--per-topic")
    capsys.readouterr()
    adducir(*words)
    assert "Student's t" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("form", ["terminal", "csv", "json", "markdown"])
def test_docnos_that_match_in_part_are_counted(judged, capsys, form):
    """As in CACM's qrels without leading zeros: AP .301 for .309."""
    other = {f"d{docno}": f"D-{docno:04}" for docno in range(1, 4)}
    write("qrels.txt", [(qid, other.get(docno, docno), grade) for qid, docno, grade in judged])
    for name in "ab":  # these documents are d-1, d-2, d-3 there
        text = Path(f"{name}.trec").read_text()
        for docno in (1, 2, 3):
            text = text.replace(f" d{docno} ", f" d-{docno} ")
        Path(f"{name}.trec").write_text(text)
    adducir("evaluate", "a.trec", "b.trec", "-q", "qrels.txt", "-m", "AP", "--format", form)
    shown = capsys.readouterr()
    said = " ".join((shown.err if form == "csv" else shown.out).replace("\\", "").split())
    assert "3 of 30 judged documents are spelt otherwise in the runs" in said
    assert "D-0001 (d-1)" in said


def test_cacms_qrels_without_zeros(collections, judged, capsys):
    folder = collections / "cacm"
    docnos = [
        json.loads(line)["docid"] for line in (folder / "corpus.jsonl").read_text().splitlines()
    ]
    ranked = [f"1 Q0 {docno} 1 {-n} t\n" for n, docno in enumerate(docnos)]
    Path("cacm.trec").write_text("".join(ranked))
    for name, words in (
        ("qrels.cacm.txt", ["46 of 555 judged documents"]),
        ("qrels.cacm.padded.txt", []),
    ):
        adducir("evaluate", "cacm.trec", "-q", folder / name, "-m", "AP")
        out = " ".join(capsys.readouterr().out.split())
        assert [one for one in ("46 of 555 judged documents",) if one in out] == words


def test_a_trained_system_with_one_run_is_named(judged, capsys):
    """Its training varies, but nothing shows how much."""
    write("qrels.txt", judged)
    text = Path("a.trec").read_text()
    for name in ("ours.seed1", "ours.seed2", "ours.seed3", "theirs.seed7"):
        Path(f"{name}.trec").write_text(text)

    def said(*words):
        adducir("evaluate", *words, "-q", "qrels.txt", "-m", "AP")
        return " ".join(capsys.readouterr().out.split())

    warned = "theirs was trained, but has one run. Tests take it as if training did not vary"
    pooled = ("ours.seed1.trec", "ours.seed2.trec", "ours.seed3.trec", "--set", "pool_seeds=true")
    assert warned in said(*pooled, "theirs.seed7.trec", "-b", "theirs")
    assert warned in said(*pooled, "theirs.seed7.trec", "-b", "ours")
    assert "One run of b, taken not to vary" in said(*pooled, "b.trec", "-b", "b")
    assert "ours.seed1 was trained" in said("ours.seed1.trec", "b.trec", "-b", "b")
    assert "theirs.seed7 were trained, but have one run each" in said(
        "ours.seed1.trec", "theirs.seed7.trec", "-b", "ours.seed1"
    )
    assert "trained" not in said("ours.seed1.trec", "b.trec")  # nothing is tested
    assert "trained" not in said("a.trec", "b.trec", "-b", "b")


def test_figures_of_a_reproduction_are_data(judged, capsys):
    """In the table, CSV and JSON, as in repro_eval; the report does not rank them as systems."""
    write("qrels.txt", judged)
    words = ("reproduce", "a.trec", "b.trec", "-q", "qrels.txt", "-m", "AP P@10")
    words += ("--original-baseline", "b.trec", "--new-baseline", "a.trec")
    adducir(*words, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    figures = {(row["system"], row["measure"]): row for row in rows}
    names = ("RMSE", "nRMSE", "Effect ratio", "Delta relative improvement")
    assert {(name, measure) for name in names for measure in ("AP", "P@10")} <= figures.keys()
    assert float(figures["Effect ratio", "AP"]["mean"]) == pytest.approx(-1)
    assert (
        -1
        <= float(figures["Kendall's tau", "Order"]["mean"])
        < float(figures["RBO", "Order"]["mean"])
    )
    adducir(*words, "--format", "json")
    cells = {row["system"]: row["cells"] for row in json.loads(capsys.readouterr().out)["rows"]}
    assert cells["nRMSE"][0]["mean"] == float(figures["nRMSE", "AP"]["mean"])
    adducir(*words, "-o", "r.html")
    adducir(*words)
    assert "Delta relative improvement" in capsys.readouterr().out
    assert "RMSE leads" not in Path("r.html").read_text()
    assert "Effect ratio leads" not in Path("r.html").read_text()
