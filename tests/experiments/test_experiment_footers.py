"""What an experiment file asks its footer to say, which `evaluate` says of the same runs."""

import re
from pathlib import Path

import pytest

from adducir.cli.app import main
from adducir.core.errors import InputError
from adducir.experiments.experiment import plan_experiment, run_experiment

FILE = """\
topics:
  t: {source: topics.tsv, qrels: human.txt, model_qrels: model.txt, judge: "Judge 1"}
systems:
  one: {run: one.trec}
  two: {run: two.trec}
measures: [AP, nDCG@2]
unjudged: true
comparison: {baseline: one, topics_for: 0.2}
table: {system_names: {two: The second}}
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs of ten topics; humans judged the first four, a model all of them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments").mkdir()
    for name, order in (("one", "abc"), ("two", "bca")):
        hits = ((qid, docno, rank) for qid in range(10) for rank, docno in enumerate(order))
        lines = (f"q{qid} Q0 {docno} {rank + 1} {9 - rank} x\n" for qid, docno, rank in hits)
        Path(f"{name}.trec").write_text("".join(lines))
    relevant = [f"q{qid} 0 {'abc'[qid % 3]} 1\n" for qid in range(10)]
    Path("human.txt").write_text("".join(relevant[:4]))
    Path("model.txt").write_text("".join(relevant))
    Path("topics.tsv").write_text("".join(f"q{qid}\ta query\n" for qid in range(10)))
    (tmp_path / "experiments" / "x.yaml").write_text(FILE)
    return tmp_path / "experiments" / "x.yaml"


def wanted(text: str) -> list[str]:
    """The sentences that are asked for."""
    start = r"(?:Topics needed|Prediction-powered|Bounds of)"
    return re.findall(rf"{start}.*?\.(?= [A-Z]|$|\n|\\)", text)


def test_it_says_what_evaluate_says(study, capsys):
    footer = run_experiment(plan_experiment(study)).table.footer
    found = [one for one in footer if re.match(r"Topics n|Pred|Bounds", one)]
    starts = [one.split(" ")[0] for one in found]
    assert starts == ["Topics", "Bounds", *["Prediction-powered"] * 5]
    assert "difference to one on AP: The second" in found[-2]
    runs = ["one.trec", "two.trec", "-b", "one", "-m", "AP nDCG@2", "-q", "human.txt"]
    more = ["--set", "topics_for=0.2", "--set", "unjudged=true", "--set", "model_qrels=model.txt"]
    assert main(["evaluate", *runs, *more, "--set", "judge=Judge 1", "--format", "json"]) == 0
    said = capsys.readouterr().out
    for sentence in found:
        assert sentence.replace("The second", "two").replace("±", "\\u00b1") in said or (
            sentence.replace("The second", "two") in said
        )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (', judge: "Judge 1"', "", "`model_qrels` and `judge`"),
        ("qrels: human.txt", "qrels: model.txt", "at `topics.t.model_qrels`: Judge 1 must have"),
        ("[AP, nDCG@2]", "[AP]", "at `unjudged`: there are bounds of nDCG@k"),
        ("model_qrels: model.txt", "model_qrels: none.txt", "none.txt"),
    ],
)
def test_errors_are_found_before_anything_runs(study, old, new, words):
    assert old in FILE
    study.write_text(FILE.replace(old, new, 1))
    with pytest.raises(InputError) as error:
        plan_experiment(study)
    assert words in str(error.value)


def test_a_model_cannot_have_judged_other_topics(study):
    model = study.parents[1] / "model.txt"
    model.write_text(model.read_text() + "q99 0 a 1\n")
    with pytest.raises(InputError, match="1 topics that it judges are not in `source`, such as 'q"):
        plan_experiment(study)


def test_what_takes_two_systems_is_said_of_one(study):
    study.write_text(FILE.replace("  two: {run: two.trec}\n", "").replace("two: The", "one: The"))
    footer = run_experiment(plan_experiment(study)).table.footer
    assert any("There is one system only, and nothing to test." in line for line in footer)
