"""Sentences of footers: each figure is that of the function that computes it by itself."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from adducir.cli.app import main
from adducir.core.errors import UsageError
from adducir.statistics.anova import two_way_anova
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.comparison.notes import powered_notes
from adducir.statistics.comparison.statements import statements
from adducir.statistics.power import topics_needed
from adducir.statistics.prediction_powered import powered_mean

RNG = np.random.default_rng(5)


@dataclass(frozen=True)
class Values:
    """Scores of a system."""

    system: str
    values: NDArray[np.float64]
    qids: tuple[str, ...] = ()
    measures: tuple[str, ...] = ("AP", "P@5")
    missing: tuple[str, ...] = field(default=())


def many(topics: int, systems: int = 3, prefix: str = "t") -> list[Values]:
    qids = tuple(f"{prefix}{number}" for number in range(topics))
    return [Values(f"s{one}", RNG.random((topics, 2)), qids) for one in range(systems)]


def test_topics_are_those_of_the_design() -> None:
    scores = many(12)
    *_, found = statements(compare(scores, topics_for=0.1))
    for column, measure in enumerate(("AP", "P@5")):
        variance = two_way_anova([one.values[:, column] for one in scores]).error
        assert f"{measure} {topics_needed(0.1, (2 * variance) ** 0.5):,}" in found
    with pytest.raises(UsageError, match="must lie above 0"):
        compare(scores, topics_for=0.0)
    *_, alone = statements(compare(scores[:1], topics_for=0.1))
    assert "AP unknown (an analysis of variance takes two systems at least)" in alone


def test_prediction_powered_figures_are_those_of_the_function() -> None:
    model = many(40)
    places = [3, 11, 0, 20, 8, 35]
    qids = tuple(model[0].qids[place] for place in places)
    human = [
        Values(one.system, one.values[places] + RNG.normal(0, 0.1, (len(places), 2)), qids)
        for one in model
    ]
    comparison = compare(human, baseline="s0")
    head, few, *found = powered_notes(comparison, human, model, "a model, v2")
    assert "6 topics with human judgements, 34 more judged by a model, v2 alone" in head
    assert "fewer than 30 topics" in few
    rest = [place for place in range(40) if place not in places]

    def powered(own: NDArray[np.float64], hat: NDArray[np.float64]) -> str:
        one = powered_mean(own, hat[places], hat[rest], judge="x")
        return f"{one.mean:+.3f} [{one.low:+.3f}, {one.high:+.3f}] ({one.weight:.2f})"

    for column, measure in enumerate(("AP", "P@5")):
        means = next(one for one in found if f"powered {measure}:" in one)
        gaps = next(one for one in found if f"difference to s0 on {measure}:" in one)
        for own, hat in zip(human, model, strict=True):
            wanted = powered(own.values[:, column], hat.values[:, column])
            assert f"{own.system} {wanted.replace('+', '')}" in means
        for row in (1, 2):
            wanted = powered(
                human[row].values[:, column] - human[0].values[:, column],
                model[row].values[:, column] - model[0].values[:, column],
            )
            assert f"s{row} {wanted}" in gaps


def test_a_model_must_have_judged_what_humans_did_and_more() -> None:
    human, model = many(6), many(9)
    comparison = compare(human)
    with pytest.raises(UsageError, match="m has not judged the topic 'u0'"):
        powered_notes(comparison, many(6, prefix="u"), model, "m")
    with pytest.raises(UsageError, match="two topics at least"):
        powered_notes(comparison, human, many(7), "m")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs of ten topics; humans judged the first four, a model all of them."""
    monkeypatch.chdir(tmp_path)
    for name, order in (("one", "abc"), ("two", "bca")):
        hits = ((qid, docno, rank) for qid in range(10) for rank, docno in enumerate(order))
        lines = (f"q{qid} Q0 {docno} {rank + 1} {9 - rank} x\n" for qid, docno, rank in hits)
        Path(f"{name}.trec").write_text("".join(lines))
    relevant = [f"q{qid} 0 {'abc'[qid % 3]} 1\n" for qid in range(10)]
    Path("human.txt").write_text("".join(relevant[:4]))
    Path("model.txt").write_text("".join(relevant))


@pytest.mark.usefixtures("files")
def test_footers_have_them_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    runs = ["one.trec", "two.trec", "-b", "one", "-m", "AP", "--format", "markdown"]
    command = ["evaluate", *runs, "-q", "human.txt", "--set", "topics_for=0.2"]
    assert main([*command, "--set", "model_qrels=model.txt", "--set", "judge=Judge 1"]) == 0
    out = capsys.readouterr().out
    for part in ("Topics needed", "6 more judged by Judge 1 alone"):
        assert part in out
    assert "Prediction-powered difference to one on AP: two" in out
    assert main([*command[:-2], "-o", "per.csv", "--per-topic", "--format", "csv"]) == 0
    capsys.readouterr()
    condensed = ["evaluate", *runs[:4], "-q", "human.txt", "-m", "nDCG(judged_only=True)@5"]
    assert main([*condensed, "--set", "topics_for=0.2"]) == 0
    assert "2016): nDCG@5 (condensed) " in capsys.readouterr().out.replace("\n", " ")
    assert main(["compare", "per.csv", "-b", "one", "--set", "topics_for=0.2"]) == 0
    assert "Topics needed" in capsys.readouterr().out


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--set", "model_qrels=model.txt"], "model_qrels needs --set judge"),
        (["--set", "judge=x"], "--set judge means nothing without --set model_qrels"),
        (["--set", "topics_for=0"], "must lie above 0"),
    ],
)
def test_what_cannot_be_is_refused(
    options: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "one.trec", "two.trec", "-q", "human.txt", *options]) == 2
    assert what in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_a_perfect_reproduction_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "one.trec", "one.trec", "-q", "model.txt", "-m", "AP"]) == 0
    assert "All 10 topics have the same values in both: AP." in capsys.readouterr().out


@pytest.mark.usefixtures("files")
def test_nothing_is_said_of_unjudged_documents_where_others_evaluated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("p.json").write_text('{"q1": {"map": 0.5}, "q2": {"map": 0.25}}')
    assert main(["compare", "p.json"]) == 0
    assert "njudged" not in capsys.readouterr().out
