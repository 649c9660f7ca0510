"""Experiment files: what is planned aloud, what comes out, and what it shows of its making."""

import math
from pathlib import Path

import pytest
import yaml
from experiment_studies import GIVEN, Notes, Study, notes_of, run_lines

from adducir import evaluate
from adducir.cli.app import main
from adducir.core.errors import InputError
from adducir.corpora.qrels import load_qrels
from adducir.runs.read import read_run
from adducir.runs.write import metadata_for


def test_a_search_that_finds_nothing_counts_zero(study: Study) -> None:
    study.write("topics.tsv", "1\tzebra", "2\tthe", "3\t", "4\tyak")
    notes = Notes()
    with notes:
        outcome = study.run()
    for row in outcome.table.rows:
        assert [cell.mean for cell in row.cells] == [0, 0, 0]
    assert read_run(study.path("BM25"), allow_empty=True).qids == []
    message = next(line for line in notes.lines if line.startswith("run runs/pets/BM25"))
    assert "0 documents for 0 of 4 topics" in message
    assert message.index("topics 2, 3") < message.index("topics 1, 4")
    facts = yaml.safe_load(metadata_for(study.path("BM25")).read_text())
    assert facts["run file"]["topics without documents"] == ["1", "2", "3", "4"]
    assert "BM25, QLD lack 4 of the topics" in outcome.files["terminal"].read_text()
    assert study.run().runs == []


def test_a_given_run_gets_trec_evals_order_of_ties(given: Study) -> None:
    given.write("a.run", "1 Q0 d1 1 5 x", "1 Q0 d9 2 5 x", "2 Q0 d4 1 1 x")
    outcome = given.run("measures=[nDCG@3]", "depth=3")
    expected = evaluate(
        read_run(given.folder / "data/a.run"), load_qrels(given.folder / "data/qrels.txt"), "nDCG@3"
    )
    assert outcome.table.rows[0].cells[0].mean == expected.mean("nDCG@3")
    # d9 (grade 1) before d1 (grade 2), as trec_eval orders equal scores
    dcg = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    values = outcome.table.values(outcome.table.rows[0], outcome.table.columns[0])
    assert values[0] == pytest.approx(dcg)


def test_a_system_shallower_than_a_cutoff_is_named(study: Study) -> None:
    shallow = "systems.BM25.depth=2"
    sentence = "BM25: at most 2 documents per topic, below the cutoff of nDCG@3"
    assert f"warn   {sentence}" in study.plan("measures=[nDCG@3, P@2, AP]", shallow).lines()
    text = study.run("measures=[nDCG@3, P@2, AP]", shallow).files["terminal"].read_text()
    assert f"{sentence}." in text


def test_a_dry_run_warns_of_given_runs_that_lack_judged_topics(tmp_path: Path) -> None:
    study = Study(tmp_path, GIVEN)
    study.write("b.run", "1 Q0 d1 1 1.0 t", "5 Q0 d1 1 1.0 t")
    lines = study.plan().lines()
    warned = [line for line in lines if line.startswith("warn")]
    assert warned == [
        "warn   the run of B lacks 3 of the 4 judged topics of t, which count 0: 2, 3, 4"
    ]


def test_judgements_of_a_model_bounds_and_topics_needed(given: Study) -> None:
    """What the file asks its footer to say; `evaluate` says the same of the same runs."""
    qids = range(10)
    for name, order in (("a", "xyz"), ("b", "yzx")):
        ranking = {f"q{qid}": " ".join(order) for qid in qids}
        given.write(f"{name}.run", *run_lines(ranking))
    relevant = [f"q{qid} 0 {'xyz'[qid % 3]} 1" for qid in qids]
    given.write("qrels.txt", *relevant[:4])
    given.write("model.txt", *relevant)
    given.write("topics.tsv", *(f"q{qid}\ta query" for qid in qids))
    asked = (
        "topics.t.model_qrels=data/model.txt",
        "topics.t.judge=Judge 1",
        "unjudged=true",
        "comparison.topics_for=0.2",
        "measures=[AP, nDCG@2]",
    )
    footer = notes_of(given.run(*asked).table)
    for words in ("Topics needed", "Bounds of", "Prediction-powered", "difference from A on AP"):
        assert words in footer
    for wrong, key in (
        ("topics.t.judge=", "topics.t"),
        ("topics.t.qrels=data/model.txt", "topics.t.model_qrels"),
        ("measures=[AP]", "unjudged"),
    ):
        with pytest.raises(InputError, match=f"`{key}"):
            given.plan(*asked, wrong)


@pytest.mark.parametrize("is_whole", [False, True], ids=["documents", "topics"])
def test_people_correct_a_model_in_a_file_as_in_evaluate(
    given: Study, is_whole: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    data, qids = given.folder / "data", [f"q{number}" for number in range(8)]
    for name, order in (("a", "xyz"), ("b", "yzx"), ("A", "xyz"), ("B", "yzx")):
        given.write(f"{name}.run", *run_lines({qid: " ".join(order) for qid in qids}))
    given.write("qrels.txt", *(f"{qid} 0 {doc} {'xz'.count(doc)}" for qid in qids for doc in "xyz"))
    given.write("topics.tsv", *(f"{qid}\ta query" for qid in qids))
    given.write("texts.jsonl", *(f'{{"docno": "{doc}", "text": "{doc}"}}' for doc in "xyz"))
    runs = [str(data / "A.run"), str(data / "B.run")]
    size = ["--whole-topics", "5"] if is_whole else ["-n", "12"]
    sources = ["-t", str(data / "topics.tsv"), "-c", str(data / "texts.jsonl")]
    sheet = data / "people.csv"
    assert main(["sample", *runs, *sources, *size, "--depth", "3", "-o", str(sheet)]) == 0
    header, *rows = sheet.read_text().splitlines()
    given.write("people.csv", header, *(f"{row}{n % 2}" for n, row in enumerate(rows)))
    said = "qrels: data/qrels.txt, judge: Judge 1, people: data/people.csv"
    given.change("qrels: data/qrels.txt", said)
    given.change("[nDCG@3, P@1]", "[P@2, DCG@2]")
    outcome = given.run()
    values = ["--set", "judge=Judge 1", "--set", f"people={sheet}", "-m", "P@2 DCG@2", "-b", "A"]
    capsys.readouterr()
    told = [*runs, str(given.path("A+B")), "-q", str(data / "qrels.txt"), *values]
    assert main(["evaluate", *told, "-o", str(data / "t.csv")]) == 0
    assert outcome.files["csv"].read_text() == (data / "t.csv").read_text().replace("A+B.t", "A+B")
    footer = notes_of(outcome.table)
    assert "Judge 1 judged all" in footer if is_whole else "corrected by 12" in footer
    assert "People and Judge 1" in footer
    given.write("new.run", *run_lines(dict.fromkeys(qids, "new x y")))
    archive = given.folder / "study.zip"
    assert main(["share", str(given.folder), "-o", str(archive)]) == 0
    capsys.readouterr()
    assert main(["verify", str(archive)]) == 0
    assert "are the same evaluated again" in capsys.readouterr().out
    for wrong, key in (
        ("topics.t.uncorrected=true", "uncorrected"),
        ("topics.t.model_qrels=data/qrels.txt", "people"),
        ("topics.t.judge=", "judge"),
        ("topics.t.people=data/a.run", "a.design.json"),
        ("topics.t.people=data/none.csv", "no such file"),
        ("measures=[P@9]", "P@9"),
        ("systems.A={run: data/new.run}", "new.run: .* not in the pool"),
        *(
            [("systems.A={run: 'data/{seed}.run', seeds: [1, 2]}", "not available for")]
            if is_whole
            else []
        ),
    ):
        with pytest.raises(InputError, match=key):
            given.plan(wrong)
