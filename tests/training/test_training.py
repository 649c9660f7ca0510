"""Every kind of model that can be trained, by the same tests; and kinds of other packages."""

import json
import os
import subprocess
import sys
from itertools import cycle
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from json_files import jsonl
from notes import Notes
from plugin_package import install
from safetensors.torch import load_file
from some_spans import some_spans

from adducir.cli.app import main
from adducir.core.artifacts import build
from adducir.core.errors import InputError, MachineError
from adducir.core.manifests import read_manifest
from adducir.core.planning import planning
from adducir.corpora.spans import write_spans
from adducir.encoders.kinds import encoder_source
from adducir.encoders.reading import Settings as EncoderFiles
from adducir.rerankers.recipe import open_reranker
from adducir.training import trainable as kinds
from adducir.training.run import planned, train_model
from adducir.training.trainable import kept_epoch, open_training

RECIPES = {
    "deepct": "corpus: {source: pets.jsonl}\ntext: premise\nreference: conclusion\n"
    "passages: {length: 20}\nheld_out: {share: 0.25}\n",
    "dual-encoder": "data: {train: spans.jsonl, shares: {train: 0.5, validation: 0.5}}\n",
    "cross-encoder": "examples: {corpus: {source: pets.jsonl}, query_field: conclusion}\n"
    "held_out: {share: 0.25}\n",
}


@pytest.fixture
def study(tmp_path, tiny):
    pets = [
        {
            "docno": f"d{n}",
            "conclusion": f"Cats {n} run fast",
            "premise": f"The cat {n} ran fast. " * (1 + n),
        }
        for n in range(16)
    ]
    jsonl(tmp_path / "pets.jsonl", pets)
    write_spans(some_spans(32), tmp_path / "spans.jsonl")
    for kind, recipe in RECIPES.items():
        training = "{epochs: 3, batch_size: 8, learning_rate: 0.001, patience: null}"
        text = f"kind: {kind}\nbase: {tiny}\n{recipe}training: {training}\n"
        (tmp_path / f"{kind}.yaml").write_text(text)
    return tmp_path


def weights(folder):
    return {
        f"{path.relative_to(folder)} {name}": tensor
        for path in sorted(folder.rglob("*.safetensors"))
        for name, tensor in load_file(path).items()
    }


def same_weights(one, other):
    one, other = weights(one), weights(other)
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def train(study, kind, name, *changes):
    return train_model(open_training(study / f"{kind}.yaml", changes), study / name)


@pytest.mark.parametrize(
    ("kind", "settings", "opened"),
    [
        ("cross-encoder", None, open_reranker),
        ("dual-encoder", EncoderFiles(), lambda path: encoder_source(str(path))),
    ],
)
def test_a_model_that_is_older_than_its_recipe_is_named(kind, settings, opened, study):
    """By its recipe or folder: what differs, and the command that trains it again."""
    recipe, folder = study / f"{kind}.yaml", study / kind

    def notes(path):
        with Notes() as noted:
            opened(path)
        return noted.lines

    def publish(*changes):
        plan = open_training(recipe, changes)
        keys = {"kind": plan.artifact, "recipe": plan.canonical, "inputs": plan.inputs}
        write = (settings or plan.model_settings).save
        build(folder, **keys, builder_version=plan.version, make=lambda new: write(new) or {})

    publish()
    assert notes(recipe) == notes(folder) == []
    publish("training.seed=1")
    command = f"adducir train {recipe}"
    for path in (recipe, folder):
        (note,) = notes(path)
        assert note.startswith(f"{folder}: out of date: different training than {recipe}")
        assert note.endswith(command)
    publish()
    data = study / ("pets.jsonl" if kind == "cross-encoder" else "spans.jsonl")
    data.write_text("".join(data.read_text().splitlines(keepends=True)[:-1]))
    (note,) = notes(recipe)
    assert "different inputs" in note
    data.unlink()  # a model without its data is used, and the doubt stated
    (note,) = notes(folder)
    assert "unknown" in note
    recipe.rename(study / "elsewhere.yaml")
    assert notes(folder) == []


class KilledAt(Notes):
    """Ends a training after some examples, as Ctrl-C would."""

    def __init__(self, examples):
        super().__init__()
        self.left, self.trains = examples, False

    def note(self, message):
        super().note(message)
        self.trains |= "to train on" in message

    def advance(self, count):
        self.left -= count * self.trains
        if self.left < 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("kind", RECIPES)
def test_from_a_recipe_to_a_folder_that_is_left_as_it_is(study, kind):
    plan = open_training(study / f"{kind}.yaml")
    assert not plan.is_current(study / "one")
    there = {*study.rglob("*")}
    expected = dict(planned(plan, study / "one"))
    with planning():
        absent = open_training(study / f"{kind}.yaml", ["base=nobody/has-this"])
        assert "not available" in dict(planned(absent, study / "one"))["lack"]
    assert {*study.rglob("*")} == there
    manifest = train_model(plan, study / "one")
    assert expected["train"] == str(study / "one")
    steps = manifest.counts["steps"]
    assert expected["steps"] == f"{steps}: 3 epochs of {steps // 3}"
    assert f"{manifest.counts['held_out_examples']:,} " in expected["data"]
    assert dict(planned(plan, study / "one"))["keep"]
    assert manifest.fingerprint == plan.fingerprint
    assert plan.is_current(study / "one")
    assert train(study, kind, "one", "description=other") == manifest
    card = (study / "one" / "README.md").read_text()
    assert "# one\n" in card
    assert "held out" in card
    assert json.loads(card.partition("```json")[2].partition("```")[0])["base"]
    modes = {path.stat().st_mode for path in (study / "one").rglob("*") if path.is_file()}
    assert modes == {(study / f"{kind}.yaml").stat().st_mode}
    log = json.loads((study / "one" / "training.json").read_text())
    assert len(log["validations"]) == 3
    assert manifest.counts["validation_loss"] == log["best_loss"] > 0
    # The same recipe gives the same weights, another seed others.
    train(study, kind, "two")
    train(study, kind, "other", "training.seed=1")
    assert same_weights(study / "one", study / "two")
    assert not same_weights(study / "one", study / "other")


def test_a_killed_training_goes_on_with_the_rows_it_had(study, monkeypatch):
    kind = "cross-encoder"
    train(study, kind, "whole")
    monkeypatch.setattr("adducir.training.trainer.CHECKPOINT_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt, match="before the first checkpoint"), KilledAt(0):
        train(study, kind, "cut")
    for step in (6, 12, 19):  # epochs have 9
        with pytest.raises(KeyboardInterrupt, match=rf"resumes after step {step}$"), KilledAt(50):
            train(study, kind, "cut")
    *_, cut = sorted(
        study.glob(".cut.parts-*/checkpoints/*/trainer_state.json"), key=os.path.getmtime
    )
    os.truncate(cut, 500)  # killed while it wrote the newest
    plan = open_training(study / f"{kind}.yaml")
    monkeypatch.setattr(type(plan), "_rows", lambda *_: pytest.fail("rows were made again"))
    with KilledAt(999) as after:
        train_model(plan, study / "cut")
    resumed = [note for note in after.lines if "resumes after step" in note]
    assert resumed and not resumed[0].endswith(" 19")
    assert same_weights(study / "whole", study / "cut")
    assert read_manifest(study / "cut").counts == read_manifest(study / "whole").counts
    assert not list(study.glob(".cut.parts*"))


def test_what_is_kept_of_a_training_with_other_settings_is_discarded_aloud(study, monkeypatch):
    monkeypatch.setattr("adducir.training.trainer.CHECKPOINT_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt), KilledAt(20):
        train(study, "cross-encoder", "cut")
    with KilledAt(999) as after:
        train(study, "cross-encoder", "cut", "training.epochs=1")
    assert any("other settings is discarded" in note for note in after.lines)
    assert not list(study.glob(".cut.parts*"))


def test_half_precision_is_near(study):
    losses = {
        name: train(study, "dual-encoder", name, "training.epochs=1", *changes).counts[
            "validation_loss"
        ]
        for name, changes in {
            "single": (),
            "half": ("training.precision=bfloat16",),
            "again": ("training.gradient_checkpointing=true",),
        }.items()
    }
    assert losses["again"] == pytest.approx(losses["single"], rel=1e-4)
    assert losses["half"] == pytest.approx(losses["single"], rel=0.05)
    train(
        study, "cross-encoder", "four", "training.batch_size=2", "training.gradient_accumulation=4"
    )
    (loss, *_) = json.loads((study / "four" / "training.json").read_text())["validations"]
    assert loss["training_loss"] == pytest.approx(np.log(2), abs=0.2)  # the mean, not the sum
    found = {str(tensor.dtype) for tensor in weights(study / "half").values()}
    assert "torch.bfloat16" not in found


LINE = '''
"""A line through points, of an author who is not of Adducir."""
from typing import Literal
import torch
from adducir.core.files import file_digest
from adducir.corpora.sources import file_path
from adducir.training.data import stored
from adducir.training.recipe import ModelRecipe
from adducir.training.trainable import Trainable

class LineRecipe(ModelRecipe):
    kind: Literal["line"] = "line"
    points: str

class Line(Trainable[LineRecipe]):
    recipe_type = LineRecipe
    artifact = "line"
    unit = "points"

    @property
    def settings(self):
        return self.recipe.fingerprinted({"points": True})

    @property
    def inputs(self):
        return {"points": file_digest(file_path(self.recipe.points, self.folder))}

    def dataset(self, folder):
        return stored(folder, {"x": "float32", "y": "float32", "length": "int32"}, self._rows)

    def _rows(self, counts):
        for line in file_path(self.recipe.points, self.folder).open():
            part, x, y = line.split()
            counts["points"] = counts.get("points", 0) + 1
            yield part, {"x": float(x), "y": float(y), "length": 1}

    def model(self):
        torch.manual_seed(self.recipe.training.seed)
        return torch.nn.Linear(1, 1)

    def collate(self, rows):
        return {name: torch.tensor([[float(row[name])] for row in rows]) for name in ("x", "y")}

    def loss(self, model, batch):
        return ((model(batch["x"]) - batch["y"]) ** 2).mean()

    def save(self, model, folder):
        slope, ordinate = (float(p.detach()) for p in model.parameters())
        (folder / "line.txt").write_text(f"{slope} {ordinate}")
'''


@pytest.fixture
def line(tmp_path, monkeypatch):
    site = install(tmp_path / "site", "line_model", LINE, {"adducir.training": {"line": "Line"}})
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(vars(kinds.KINDS), "_installed", raising=False)
    points = [(("train", "validation")[x % 5 == 0], x / 10) for x in range(20)]
    text = "".join(f"{part} {x} {3 * x - 1}\n" for part, x in points)
    (tmp_path / "points.txt").write_text(text)
    recipe = tmp_path / "line.yaml"
    training = "{epochs: 30, batch_size: 4, learning_rate: 0.2, patience: null}"
    recipe.write_text(f"kind: line\npoints: points.txt\ntraining: {training}\n")
    yield recipe
    sys.modules.pop("line_model", None)
    vars(kinds.KINDS).pop("_installed", None)


def test_a_package_brings_a_kind_of_model(line, capsys):
    assert main(["train", str(line)]) == 0
    assert "16 points to train on, 4 held out" in capsys.readouterr().err
    slope, ordinate = map(float, (line.parent / "line" / "line.txt").read_text().split())
    assert (slope, ordinate) == (pytest.approx(3, abs=0.1), pytest.approx(-1, abs=0.1))
    recipe = read_manifest(line.parent / "line").recipe
    assert recipe["kind of"] == {"package": "line_model", "version": "1.2"}
    assert main(["train", str(line), "--set=pints=x"]) == 3


def test_some_parameters_are_frozen_and_others_have_rates_of_their_own(line):
    changes = (
        "training.freeze=bias",
        "training.parameter_groups=[{match: weight, learning_rate: 1e-6}]",
    )
    plan = open_training(line, changes)
    train_model(plan, line.parent / "some")
    slope, ordinate = map(float, (line.parent / "some" / "line.txt").read_text().split())
    start = plan.model()
    assert ordinate == start.bias.item()
    assert 0 < abs(slope - start.weight.item()) < 1e-3
    for change in ("training.freeze=x*", "training.freeze=[bias, weight]"):
        with pytest.raises(InputError):
            train_model(open_training(line, (change,)), line.parent / "none")


def test_patience_ends_it_and_the_best_weights_are_kept(line, monkeypatch):
    plan = open_training(line, ("training.patience=2", "training.validations=2"))
    monkeypatch.setattr(type(plan), "_given", cycle([5.0, 3.0, 4.0, 3.5]), raising=False)
    loss = type(plan).loss

    def scripted(self, model, batch):
        found = loss(self, model, batch)
        return found if found.requires_grad else torch.tensor(next(self._given))

    monkeypatch.setattr(type(plan), "loss", scripted)
    manifest = train_model(plan, line.parent / "stopped")
    log = json.loads((line.parent / "stopped" / "training.json").read_text())
    assert (log["stopped_early"], log["steps"], log["best_step"]) == (True, 8, 4)
    assert [entry["validation_loss"] for entry in log["validations"]] == [5.0, 3.0, 4.0, 3.5]
    assert manifest.counts["validation_loss"] == 3.0
    assert kept_epoch(log) == "1 of 2, stopped early"
    # Killed before the model was there, and moved: what was stopped early does not go on.
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(type(plan), "save", Mock(side_effect=KeyboardInterrupt))
        train_model(plan, line.parent / "cut")
    (parts,) = line.parent.glob(".cut.parts-*")
    parts.rename(line.parent / parts.name.replace("cut", "moved"))
    assert train_model(plan, line.parent / "moved").counts == manifest.counts
    texts = {(line.parent / name / "line.txt").read_text() for name in ("stopped", "moved")}
    assert len(texts) == 1


def test_a_validation_loss_is_a_mean_over_rows_and_is_computed_once_per_step(line, monkeypatch):
    monkeypatch.setattr("adducir.models.work.CPU_TOKENS", 3)  # batches of 3 and 1
    plan = open_training(line, ("training.validations=99", "training.epochs=2"))
    monkeypatch.setattr(
        type(plan), "loss", lambda _, model, batch: model.bias.sum() * 0 + len(batch["x"])
    )
    with Notes() as said:
        assert train_model(plan, line.parent / "line").counts["validation_loss"] == 2.5
    assert sum("validation loss" in note for note in said.lines) == 2 * 4


def test_a_loss_that_is_not_a_number_ends_it(line):
    with pytest.raises(MachineError):
        train_model(open_training(line, ("training.learning_rate=1e38",)), line.parent / "broken")
    assert not (line.parent / "broken").exists()


def test_nothing_held_out_cannot_stop_it_early(line):
    (line.parent / "points.txt").write_text("train 1 2\n" * 4)
    with pytest.raises(InputError) as caught:
        train_model(open_training(line, ("training.patience=1",)), line.parent / "none")
    assert "training.patience" in str(caught.value)
    plan = open_training(line, ("training.validations=2",))
    manifest = train_model(plan, line.parent / "line")
    assert manifest.counts["validation_loss"] is None


@pytest.mark.parametrize(("warmup", "steps"), [(0.1, 1), (0.9, 1), (0.9, 2)])
def test_a_training_of_few_steps_trains(line, warmup, steps):
    (line.parent / "points.txt").write_text("train 1 2\n" * 4)
    plan = open_training(line, (f"training.epochs={steps}", f"training.warmup={warmup}"))
    assert train_model(plan, line.parent / "line").counts["steps"] == steps
    slope = float((line.parent / "line" / "line.txt").read_text().split()[0])
    assert abs(slope - plan.model().weight.item()) > 0.01


def test_recipes_without_a_kind_or_with_an_empty_part_are_refused(study):
    text = (study / "deepct.yaml").read_text()
    (study / "none.yaml").write_text(text.replace("kind: deepct\n", ""))
    (study / "odd.yaml").write_text(text.replace("kind: deepct", "kind: deept"))
    (study / "lora.yaml").write_text(f"lora:\n{text}")
    for name, line_number in (("none", None), ("odd", 1), ("lora", 1)):
        with pytest.raises(InputError) as caught:
            open_training(study / f"{name}.yaml")
        assert (caught.value.path, caught.value.line) == (study / f"{name}.yaml", line_number)


STEPS = """
import os, signal, sys, time, torch
from pathlib import Path
from adducir.training import trainer
from adducir.training.trainable import open_training
from adducir.training.run import planned, train_model

trainer.CHECKPOINT_SECONDS = 0.0
recipe, outputs, *changes = sys.argv[1:]

def save_half_of_the_second(state, path, save=torch.save, saved=[]):
    save(state, path)
    saved += ["rng_state"] * ("rng_state" in str(path))
    if len(saved) == 2:
        os.truncate(path, 1000)
        time.sleep(3)  # the first process goes on as far as it can
        os.kill(os.getpid(), signal.SIGKILL)

if os.environ["RANK"] == "1" and "KILL" in os.environ:
    torch.save = save_half_of_the_second
for output in outputs.split(os.pathsep):
    train_model(open_training(Path(recipe), changes), Path(output))
"""


def by_torchrun(*arguments, **environment):
    """What two processes print that torchrun starts and gloo connects, and whether all is well."""
    program = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [sys.executable, *program, *map(str, arguments)],
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_several_processes_train_one_model_and_survive_a_kill(study):
    (study / "steps.py").write_text(STEPS)
    changes = ["training.epochs=6", "batches.mini_batch_num_tokens=60", "batches.by=group"]
    arguments = (study / "steps.py", study / "dual-encoder.yaml")
    done, text = by_torchrun(*arguments, study / "whole", *changes)
    assert done, text
    assert json.loads((study / "whole" / "training.json").read_text())["processes"] == 2
    done, text = by_torchrun(*arguments, study / "cut", *changes, KILL="1")
    assert not done and not (study / "cut").exists()
    # What is whole is left as it is.
    done, text = by_torchrun(*arguments, f"{study / 'whole'}{os.pathsep}{study / 'cut'}", *changes)
    assert done, text
    for name, tensor in weights(study / "whole").items():
        torch.testing.assert_close(weights(study / "cut")[name], tensor, atol=1e-6, rtol=1e-5)


GRADIENT = """
import json, sys
from pathlib import Path
import numpy as np
import torch
from adducir.training.trainable import open_training

torch.distributed.init_process_group("gloo")
rank, count = torch.distributed.get_rank(), torch.distributed.get_world_size()
study = Path(sys.argv[1])
for source, changes in json.loads(sys.argv[2]).items():
    plan = open_training(study / "dual-encoder.yaml", changes)
    rows = plan.dataset(study / f"{source}-rows-{rank}").train.with_format("numpy")
    model = plan.model().double().eval()
    # Batches of 5 and 2: processes need not have equally many.
    plan.loss(model, plan.collate([rows[n] for n in ((range(5)), range(5, 7))[rank]])).backward()
    with torch.no_grad():  # all validate the same batches
        loss = plan.loss(model, plan.collate([rows[n] for n in range(7)])).item()
    for parameter in model.parameters():
        if parameter.grad is not None:
            torch.distributed.all_reduce(parameter.grad)
    found = {name: p.grad.numpy() for name, p in model.named_parameters() if p.grad is not None}
    found = {name: gradient / count for name, gradient in found.items()}
    np.savez(study / f"{source}-gradient-{rank}.npz", loss=loss, **found)
"""


def gradients_by_hand(plan, rows):
    """Of the mean over two processes of 5 and 2 queries, each with the texts of both; its loss."""
    model = plan.model().double().eval()
    batch = plan.collate([rows[n] for n in range(7)])
    queries, texts = (
        model(
            {
                "input_ids": batch[f"{side}_ids"],
                "attention_mask": batch[f"{side}_mask"],
                "task": side,
            }
        )["sentence_embedding"]
        for side in ("query", "document")
    )
    first = torch.searchsorted(batch["row"], torch.arange(7))
    same = batch["same"] == batch["same"][first][:, None]
    same[torch.arange(7), first] = False
    scores = (queries @ texts.T).masked_fill(same, -torch.inf)
    losses = torch.nn.functional.cross_entropy(scores, first, reduction="none")
    ((losses[:5].mean() + losses[5:].mean()) / 2).backward()
    wanted = {n: p.grad.numpy() for n, p in model.named_parameters() if p.grad is not None}
    assert max(np.abs(one).max() for one in wanted.values()) > 1e-3
    return wanted | {"loss": losses.mean().item()}


@pytest.mark.slow
def test_negatives_are_the_texts_of_all_processes(study):
    some = [{"query": f"cats {n}", "pos": f"dogs {n}"} for n in range(7)]
    # With different numbers of hard negatives.
    some = [row | {"neg": [f"energy {n} run"] * (n % 3)} for n, row in enumerate(some)]
    jsonl(study / "some.jsonl", some)
    examples = ["data=null", "examples.files=some.jsonl", "held_out.share=0"]
    sources = {
        "spans": ["towers=shared", "batches.mini_batch_num_tokens=null"],
        "examples": ["towers=shared", "batches.mini_batch_num_tokens=60", *examples],
    }
    (study / "gradient.py").write_text(GRADIENT)
    done, text = by_torchrun(study / "gradient.py", study, json.dumps(sources))
    assert done, text
    for source, changes in sources.items():
        plan = open_training(study / "dual-encoder.yaml", changes)
        rows = plan.dataset(study / f"{source}-rows").train.with_format("numpy")
        wanted = gradients_by_hand(plan, rows)
        for rank in range(2):
            found = np.load(study / f"{source}-gradient-{rank}.npz")
            assert set(found.files) == set(wanted)
            for name, one in wanted.items():
                np.testing.assert_allclose(found[name], one, atol=1e-9)
