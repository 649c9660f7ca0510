"""Groundedness, sharpness, and the table of generated texts, on small and on real data."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.cli.app import main
from adducir.core.errors import InputError, UsageError
from adducir.studies.grounded_generation.evaluation.answers import Answers, Knowledge
from adducir.studies.grounded_generation.evaluation.grounding import Grounding, by_rank
from adducir.studies.grounded_generation.evaluation.kilt import Kilt
from adducir.studies.grounded_generation.evaluation.overlap import f1
from adducir.studies.grounded_generation.evaluation.sharpness import cumulated, sharpness
from adducir.studies.grounded_generation.evaluation.texts import Generated, Output, Reference
from adducir.studies.grounded_generation.evaluation.words import common_words, words_of
from adducir.studies.grounded_generation.generated_table import generated_table

PAPER = """
i and of in is to it that are you they have was but for as its like with on so be or not yes do can
from there by well also one my know has some he their love most people think really all about just
too them im which sure more been at would many were good very dont when thats no yeah what other
great if because used actually first since lot me even your how we time different world use get
called only out much over had though music around popular his am made than such back up us make
usually who favorite new food oh long she now did pretty any where years this way go
"""
"""The common words of Wizard of Wikipedia that the paper prints in appendix A.2, by frequency."""

ASKED = {"1": Reference("1", ("z",), "do you like pasta")}
WRITTEN = {
    "1": Generated(
        "1",
        (
            Output("pasta like rice", "p"),
            Output("long hollow pasta", passage="a long pasta"),
            Output("none", passage="other"),
        ),
    )
}


def test_groundedness_of_the_first_and_of_the_best():
    measure = Grounding((), {"p": "pasta and rice", "1": "unused"}, depth=2)
    scores = measure.scores("ours", ASKED, WRITTEN)
    assert list(map(str, scores.measures)) == ["F1", "Novel-F1", "max F1@2", "max Novel-F1@2"]
    # rank 1: {pasta, rice} of 3 and 3; novel {rice} of {rice} and {and, rice}
    # rank 2: {long, pasta} of 3 and 2; novel {long} of {long, hollow} and {long}
    assert scores.values[0] == pytest.approx([2 / 3, 2 / 3, 0.8, 2 / 3])
    curve = by_rank(measure, ASKED, {**WRITTEN, "2": WRITTEN["1"]}, 4)
    assert curve[:3] == pytest.approx(np.array([[2 / 3, 2 / 3], [0.8, 2 / 3], [0, 0]]))
    assert np.isnan(curve[3]).all()


def test_groundedness_needs_the_passage():
    with pytest.raises(InputError, match=r"the passage of an output for '1' is not known.*'p'"):
        Grounding(()).scores("ours", ASKED, WRITTEN)
    with pytest.raises(InputError, match="not known"):
        Grounding(()).scores("ours", ASKED, {"1": Generated("1", (Output("x"),))})


@given(
    st.lists(st.floats(-50, 50), min_size=1, max_size=12),
    st.integers(1, 15),
    st.sampled_from([0.5, 1.0, 3.0]),
)
def test_curves_by_the_definition(scores, depth, temperature):
    curve = cumulated(np.array(scores), depth, temperature)
    weights = sorted((np.exp(one / temperature) for one in scores), reverse=True)
    expected = [sum(weights[: rank + 1]) / sum(weights) for rank in range(depth)]
    assert curve == pytest.approx(expected, abs=1e-12)
    assert (np.diff(curve) >= 0).all()
    assert curve[-1] <= 1


def test_curves_of_sharp_and_flat_distributions():
    flat, sharp = np.zeros(4) - 1000, np.array([0.0, -1e4, -np.inf])
    assert cumulated(flat, 5).tolist() == [0.25, 0.5, 0.75, 1, 1]
    assert cumulated(sharp, 2).tolist() == [1, 1]
    assert sharpness([flat, sharp], 2) == pytest.approx([0.625, 0.75])
    for wrong in ([], [np.nan]):
        with pytest.raises(UsageError, match="scores"):
            cumulated(np.array(wrong), 2)
    with pytest.raises(UsageError, match="no input"):
        sharpness([], 2)


def test_the_table_has_a_group_of_columns_for_each_sort():
    right = {
        str(n): Reference(str(n), (f"w{n} x",), gold=("p",) if n else (), evidence=(("7",),))
        for n in range(4)
    }
    systems = {
        name: {
            str(n): Generated(str(n), (Output(text, passage="x y"),), ("7",)) for n in range(3 + k)
        }
        for k, (name, text) in enumerate([("one", "x"), ("two", "x z")])
    }
    table = generated_table(
        systems,
        right,
        [Answers(()), Grounding(()), Knowledge({"p": "x y"}), Kilt()],
        testing={"baseline": "one"},
    )
    assert [(one.group, one.measure) for one in table.columns][-7:] == [
        ("knowledge", "Knowledge-F1"),
        *(("kilt", str(name)) for name in Kilt.names),
    ]
    assert "knowledge: 1 of 4 references do not count." in table.footer
    row = {row.system: row.cells for row in table.rows}
    assert row["one"][0].mean == pytest.approx(3 / 4 * 2 / 3)  # the fourth is lacking
    assert row["two"][0].mean == pytest.approx(1 / 2)
    assert row["two"][0].versus[0].p is not None


@pytest.fixture(scope="module")
def turns(collections):
    """544 turns of Wizard of Wikipedia: message, knowledge sentence, answer, two systems'."""
    path = collections / "wow" / "q2.cross_annotation.csv"
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def written(folder: Path, turns) -> dict[str, Path]:
    """The turns as contexts, as a corpus of knowledge, and as files of three systems."""
    docnos: dict[str, str] = {}
    contexts, systems = [], {"dodeca": [], "memnet": [], "gold": []}
    for number, turn in enumerate(turns):
        docno = docnos.setdefault(turn["knowledge"], f"k{len(docnos)}")
        name = f"t{number}"
        contexts.append(
            {"id": name, "input": turn["message"], "target": turn["gold"], "gold": [docno]}
        )
        for system, rows in systems.items():
            text = turn["gold" if system == "gold" else f"{system}_response"]
            rows.append({"id": name, "outputs": [{"text": text, "docno": docno}]})
    files = {"contexts": contexts, **systems}
    files["corpus"] = [{"docno": docno, "text": text} for text, docno in docnos.items()]
    for name, rows in files.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.jsonl" for name in files}


def test_real_dialogue(turns, tmp_path, capsys):
    files = {name: str(path) for name, path in written(tmp_path, turns).items()}
    arguments = [
        "grounded-generation",
        "generated",
        *(files[one] for one in ("memnet", "dodeca", "gold")),
    ]
    arguments += ["-r", files["contexts"], "--corpus", files["corpus"], "-b", "memnet"]
    assert main([*arguments, "--format", "json"]) == 0
    table = json.loads(capsys.readouterr().out)
    columns = [(one["group"], one["measure"]) for one in table["columns"]]
    means = {
        row["system"]: dict(zip(columns, (cell["mean"] for cell in row["cells"]), strict=True))
        for row in table["rows"]
    }
    for system, key in (("dodeca", "dodeca_response"), ("gold", "gold")):
        plain = np.mean([f1(turn[key], turn["knowledge"]) for turn in turns])
        # The one passage that is given is the gold one.
        assert means[system]["grounding", "F1"] == pytest.approx(plain)
        assert means[system]["knowledge", "Knowledge-F1"] == pytest.approx(plain)
    # As docs/generation.md has them.
    assert [round(means["memnet"][column], 3) for column in columns[:5]] == [
        *(0.287, 0.271, 0.274, 0.351, 0.345)
    ]
    assert [round(means["dodeca"][column], 3) for column in columns[:5]] == [
        *(0.303, 0.291, 0.277, 0.313, 0.333)
    ]
    assert means["gold"]["answers", "F1"] == 1
    assert means["gold"]["answers", "Novel-F1"] < 1  # answers without a novel word
    assert means["dodeca"]["answers", "F1"] > means["memnet"]["answers", "F1"]


def test_common_words_are_those_of_the_paper(turns):
    paper = PAPER.split()
    assert len(paper) == 121
    assert words_of(PAPER) == tuple(paper)
    # Half of all words, as in the paper; from 544 answers and not from its whole training set.
    ours = common_words((turn["gold"] for turn in turns), 0.5)
    assert len(ours) == 116
    assert len(set(ours) & set(paper)) == 99


def test_context_words_do_not_ground(turns):
    # A.2 of the paper: of answers with passages not theirs, what is left falls with the words
    # that are taken out: first the common ones, then those of the input.
    common = common_words((turn["gold"] for turn in turns), 0.5)
    others = turns[1:] + turns[:1]
    references, found = {}, {}
    for number, (turn, other) in enumerate(zip(turns, others, strict=True)):
        name = str(number)
        references[name] = Reference(name, (), turn["message"])
        found[name] = Generated(name, (Output(turn["gold"], passage=other["knowledge"]),))
    plain, novel = Grounding(common).scores("x", references, found).values.mean(axis=0)
    assert novel < plain / 2


def test_the_mass_of_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    flat = "".join(f"{qid} Q0 d{n} {n + 1} {-n * 1e-9} t\n" for qid in "ab" for n in range(4))
    sharp = "".join(f"{qid} Q0 d{n} {n + 1} {-n * 99} t\n" for qid in "ab" for n in range(4))
    for name, text in (("flat", flat), ("sharp", sharp)):
        Path(f"{name}.trec").write_text(text, encoding="utf-8")
    arguments = [
        "grounded-generation",
        "sharpness",
        "flat.trec",
        "sharp.trec",
        "--cutoffs",
        "1,2,9",
        "--format",
        "json",
    ]
    assert main([*arguments, "--baseline", "flat"]) == 0
    table = json.loads(capsys.readouterr().out)
    means = [[cell["mean"] for cell in row["cells"]] for row in table["rows"]]
    assert means[0] == pytest.approx([0.25, 0.5, 1])
    assert means[1] == pytest.approx([1, 1, 1])
    assert main([*arguments, "--depth", "2"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert table["rows"][0]["cells"][0]["mean"] == pytest.approx(0.5)
    assert main([*arguments, "--cutoffs", "x"]) == 2
    Path("empty.trec").write_text("", encoding="utf-8")
    assert main(["grounded-generation", "sharpness", "empty.trec"]) != 0
