"""Training of models that select evidence: data kept apart, kills, fingerprints; the commands."""

import json

import pytest
import torch
from safetensors.torch import load_file
from some_questions import some_questions

from adducir.cli.app import main
from adducir.core.artifacts import read_manifest
from adducir.core.errors import InputError
from adducir.core.progress import Progress
from adducir.studies.complementary_evidence.questions import (
    EvidenceQuestion,
    LabelledSet,
    Passage,
    read_selected,
    write_questions,
)
from adducir.studies.complementary_evidence.selectors.data import (
    in_sets,
    questions_of,
    split_examples,
)
from adducir.studies.complementary_evidence.selectors.recipe import EvidenceData
from adducir.training import loop
from adducir.training.artifacts import train_model
from adducir.training.kinds import open_training


@pytest.fixture
def place(tmp_path, bert, monkeypatch):
    """A study with questions in three parts and a recipe of each kind."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rerankers").mkdir()
    for name, count, seed in (("train", 24, 0), ("validation", 6, 1), ("test", 8, 2)):
        write_questions(some_questions(count, seed=seed), tmp_path / f"{name}.jsonl")
    common = f"""base: {bert}
data: {{train: train.jsonl, validation: validation.jsonl}}
training: {{epochs: 2, batch_size: 4, learning_rate: 0.001, patience: null}}
"""
    (tmp_path / "rerankers" / "ours.yaml").write_text(
        f"kind: complementary\n{common}selection: {{candidates: [4, 5], diversity: [0, 1]}}\n"
    )
    (tmp_path / "rerankers" / "drn.yaml").write_text(f"kind: drn\n{common}")
    return tmp_path


def training_plan(place, name="ours", *changes):
    return open_training(place / "rerankers" / f"{name}.yaml", changes)


def weights(folder):
    return [load_file(path) for path in sorted(folder.rglob("*.safetensors"))]


class Killed(Progress):
    """Stops a training as a kill would, after some steps."""

    def __init__(self, after):
        self.after = after

    def detail(self, text):
        self.after -= 1
        if self.after == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize(("name", "layers"), [("ours", "null"), ("drn", "1")])
def test_a_killed_training_goes_on_and_ends_with_the_same_weights(place, monkeypatch, name, layers):
    monkeypatch.setattr(loop, "SNAPSHOT_EVERY", 0.0)
    whole, cut = place / "rerankers" / "whole", place / "rerankers" / "cut"
    arguments = training_plan(place, name, "training.at_once=60", f"layers={layers}")
    train_model(arguments, whole)
    for after in (2, 6):
        with pytest.raises(KeyboardInterrupt), Killed(after):
            train_model(arguments, cut)
        assert not cut.exists()
    train_model(arguments, cut)
    for one, two in zip(weights(whole), weights(cut), strict=True):
        assert one.keys() == two.keys()
        assert all(torch.equal(one[key], two[key]) for key in one)
    assert read_manifest(whole).fingerprint == read_manifest(cut).fingerprint
    assert (whole / "evidence.json").read_text() == (cut / "evidence.json").read_text()
    assert not [path for path in cut.parent.iterdir() if "parts" in path.name]


def test_it_learns_what_is_to_be_learnt(place):
    changes = "training.epochs=12", "training.learning_rate=0.003", "training.warmup=0"
    output = place / "rerankers" / "ours"
    manifest = train_model(training_plan(place, "ours", *changes), output)
    history = json.loads((output / "training.json").read_text())
    losses = [entry["training_loss"] for entry in history["validations"]]
    assert losses[-1] < 0.8 * losses[0]
    counts = manifest.counts
    assert counts["training_questions"] == 24
    assert counts["training_sets"] == 24 * 4
    assert counts["settings_tried"] == 4
    assert 0 <= counts["validation_exact_match"] <= counts["validation_f1"] <= 1
    settings = json.loads((output / "evidence.json").read_text())["selection"]
    assert settings["candidates"] in (4, 5)
    assert settings["compactness"] == 1.0  # that of the loss
    card = (output / "README.md").read_text()
    assert "| training | train.jsonl |" in card
    assert str(place) not in card


def test_the_fingerprint_follows_all_that_determines_the_weights(place):
    one = training_plan(place).fingerprint
    assert training_plan(place, "ours", "description=other").fingerprint == one
    for change in (
        "weights.diversity=0",
        "weights.compactness=0.5",
        "margin=0.3",
        "pooling=mean",
        "length=20",
        "layers=1",
        "selection.beam=2",
        "data.train=test.jsonl",
        "data.without=test.jsonl",
        "data.passages=sets",
        "training.seed=1",
    ):
        assert training_plan(place, "ours", change).fingerprint != one, change
    assert (
        training_plan(place, "drn", "slices=2").fingerprint
        != training_plan(place, "drn").fingerprint
    )


@pytest.mark.parametrize(
    "change",
    [
        "weights.diversity=-1",
        "margin=2",
        "pooling=max",
        "data.train=[]",
        "data.shares={train: 0.5}",
        "selection.candidates=[]",
        "selection.novelty=1",
        "training.batch_size=0",
        "kind=other",
        "weights=null",
    ],
)
def test_recipes_that_cannot_be(place, change):
    with pytest.raises(InputError):
        training_plan(place, "ours", change)


def test_data_are_kept_apart(place):
    write_questions([*some_questions(4), *some_questions(3, seed=9)], place / "mixed.jsonl")
    write_questions(some_questions(5, seed=9), place / "nine.jsonl")
    part = EvidenceData(train="mixed.jsonl", without="nine.jsonl", shares={"train": 1.0})
    found = questions_of(part, place)
    assert [one.id for one, _ in split_examples(part, found)] == [f"q0-{n}" for n in range(4)]
    assert (found.read, found.excluded) == (7, 3)

    def parts(**data):
        part = EvidenceData(**data)
        return list(split_examples(part, questions_of(part, place)))

    with pytest.raises(InputError, match="in the training data as well"):
        parts(train="mixed.jsonl", validation="train.jsonl")
    with pytest.raises(InputError, match=r"is in .*mixed\.jsonl as well"):
        parts(train=("mixed.jsonl", "train.jsonl"))
    nothing = training_plan(place, "ours", "data={train: nine.jsonl, without: nine.jsonl}")
    with pytest.raises(InputError, match="no question with a gold set"):
        train_model(nothing, place / "rerankers" / "nothing")
    halves = parts(train="train.jsonl", shares={"train": 0.5, "validation": 0.5})
    assert len(halves) == 24
    assert {part for _, part in halves} == {"train", "validation"}


def test_passages_of_the_sets_alone():
    passages = tuple(Passage(f"p{n}", "", f"text {n}") for n in range(7))
    sets = LabelledSet((1, 5), True), LabelledSet((3, 5), False)
    question = EvidenceQuestion("q", "?", passages, ((1, 5),), sets)
    small = in_sets(question)
    assert [one.id for one in small.passages] == ["p1", "p3", "p5"]
    assert small.gold == ((0, 2),)
    assert small.sets == (LabelledSet((0, 2), True), LabelledSet((1, 2), False))


def test_from_the_recipe_to_the_table(place, capsys):
    for name in ("ours", "drn"):
        assert main(["train", f"rerankers/{name}.yaml", "--set", "training.epochs=1"]) == 0
        arguments = ["--questions", "test.jsonl", "--output", f"{name}.jsonl"]
        assert (
            main(
                [
                    "complementary-evidence",
                    "select",
                    "--model",
                    f"rerankers/{name}.yaml",
                    *arguments,
                ]
            )
            == 0
        )
    capsys.readouterr()
    questions = some_questions(8, seed=2)
    for name in ("ours", "drn"):
        found = list(read_selected(place / f"{name}.jsonl"))
        assert [one.id for one in found] == [one.id for one in questions]
        for one, question in zip(found, questions, strict=True):
            assert len(set(one.chosen)) == len(one.chosen) == 2
            assert set(one.chosen) <= {passage.id for passage in question.passages}
    arguments = [
        "--questions",
        "test.jsonl",
        "--baseline",
        "drn",
        "--upper-bound",
        "--format",
        "json",
    ]
    assert main(["complementary-evidence", "sets", "ours.jsonl", "drn.jsonl", *arguments]) == 0
    table = json.loads(capsys.readouterr().out)
    assert [row["system"] for row in table["rows"]] == ["upper bound", "ours", "drn"]
    hits = [
        set(one.chosen) == question.gold_ids[0]
        for one, question in zip(read_selected(place / "ours.jsonl"), questions, strict=True)
    ]
    assert table["rows"][1]["cells"][0]["mean"] == pytest.approx(sum(hits) / 8)
    assert [cell["mean"] for cell in table["rows"][0]["cells"]] == [1.0, 1.0, 1.0]


def test_settings_of_the_command_line(place, capsys):
    assert main(["train", "rerankers/ours.yaml", "--set", "training.epochs=1"]) == 0
    arguments = [
        "complementary-evidence",
        "select",
        "-m",
        "rerankers/ours",
        "-q",
        "test.jsonl",
        "-o",
        "out.jsonl.gz",
    ]
    assert main([*arguments, "--set", "size=3", "--set", "beam=1", "--set", "diversity=0"]) == 0
    assert all(len(one.chosen) == 3 for one in read_selected(place / "out.jsonl.gz"))
    capsys.readouterr()
    for wrong, words, code in (
        (["--set", "size=9"], "candidates make no set of 9", 2),
        (["--set", "novelty=0.5"], "--set novelty means nothing", 2),
        (["-q", "test.jsonl"], "comes twice", 3),
        (["-o", "test.jsonl"], "which this command reads", 2),
        (["-q", "none.jsonl"], "none.jsonl", 3),
    ):
        assert main([*arguments, "--force", *wrong]) == code, wrong
        assert words in capsys.readouterr().err
    assert (
        main(
            [
                "complementary-evidence",
                "select",
                "-m",
                "rerankers/drn.yaml",
                "-q",
                "test.jsonl",
                "-o",
                "y",
            ]
        )
        == 5
    )
