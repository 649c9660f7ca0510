"""Every kind of model that can be trained, by the same tests; and kinds of other packages."""

import itertools
import sys

import numpy as np
import pytest
import torch
from kinds_study import KINDS
from plugin_package import install
from safetensors.torch import load_file

from adducir.cli.app import main
from adducir.core.artifacts import read_manifest
from adducir.core.errors import InputError, UsageError
from adducir.core.progress import Progress
from adducir.training import kinds, loop
from adducir.training.artifacts import train_model
from adducir.training.kinds import open_training
from adducir.training.parameters import adamw, checkpointing, freeze
from adducir.training.recipe import TrainingRecipe

ADDING = tuple(kind for kind in KINDS if kind != "dual-encoder")
CPU = torch.device("cpu")


def opened(study, kind, *changes):
    return open_training(study / f"{kind}.yaml", changes)


def task_of(study, kind, *changes, name="examples"):
    """A task with its examples, in evaluation mode, so that nothing is drawn."""
    task = opened(study, kind, *changes).task(CPU)
    (study / name).mkdir()
    task.write(study / name)
    task.read(study / name)
    return task


def gradients_of(task, recipe):
    """The gradient of a task's first batch, as the loop computes it."""
    training = loop._Training(task, recipe, None)
    task.model.train()
    for module in task.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    task.model.zero_grad()
    value = training._backward(task.batches(0)[0])
    found = {n: p.grad.clone() for n, p in task.model.named_parameters() if p.grad is not None}
    return value, found


def weights(folder):
    return {
        f"{path.relative_to(folder)} {name}": tensor
        for path in sorted(folder.rglob("*.safetensors"))
        for name, tensor in load_file(path).items()
    }


def test_every_own_kind_is_tried_here():
    assert {*KINDS} == {*kinds.KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_from_a_recipe_to_a_folder_that_is_left_as_it_is(study, kind):
    plan = opened(study, kind)
    assert not plan.is_current(study / kind)
    manifest = train_model(plan, study / kind)
    assert manifest.fingerprint == plan.fingerprint
    assert plan.is_current(study / kind)
    assert train_model(opened(study, kind, "description=other"), study / kind) == manifest
    card = (study / kind / "README.md").read_text()
    assert card.count("| training loss |") == 1
    assert read_manifest(study / kind).counts["steps"] > 2
    # Defaults of keys that recipes had not at first are not in the fingerprint.
    assert "freeze" not in plan.settings["training"]


@pytest.mark.parametrize("kind", KINDS)
def test_two_trainings_give_the_same_bytes(study, kind):
    for name in ("one", "two"):
        train_model(opened(study, kind), study / name)
    one, two = weights(study / "one"), weights(study / "two")
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_parameters_are_unchanged_by_a_bit(study, kind):
    change = 'training.freeze=["*embeddings*", "*layer.0.*"]'
    plan = opened(study, kind, change)
    assert plan.fingerprint != opened(study, kind).fingerprint
    before = {n: p.detach().clone() for n, p in plan.task(CPU).model.named_parameters()}
    trained = []
    original = loop._Training.run

    def run(self):
        history = original(self)
        trained.append({n: p.detach().clone() for n, p in self.task.model.named_parameters()})
        return history

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop._Training, "run", run)
        train_model(plan, study / kind)
    (after,) = trained
    frozen = {name for name in before if "embeddings" in name or "layer.0." in name}
    assert frozen
    assert all(torch.equal(before[name], after[name]) for name in frozen)
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert {name for name in before if "layer.1." in name and "key.bias" not in name} <= moved


@pytest.mark.parametrize("kind", ADDING)
def test_pieces_of_a_batch_add_up_to_its_gradient(study, kind):
    found = []
    for count in (1, 3):
        change = f"training.gradient_accumulation={count}"
        task = task_of(study, kind, change, name=f"examples-{count}")
        found.append(gradients_of(task, task.recipe))
    (value, whole), (other, pieces) = found
    assert value == pytest.approx(other, abs=1e-5)
    assert whole.keys() == pieces.keys()
    assert max(float(one.abs().max()) for one in whole.values()) > 1e-3
    for name, one in whole.items():
        torch.testing.assert_close(one, pieces[name], atol=2e-5, rtol=1e-3)


def test_negatives_within_a_batch_refuse_accumulation(study):
    plan = opened(study, "dual-encoder", "training.gradient_accumulation=2")
    with pytest.raises(UsageError, match=r"Set `batches\.at_once`"):
        train_model(plan, study / "dual")
    assert not (study / "dual").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_checkpointing_gives_the_same_gradient(study, kind):
    task = task_of(study, kind)
    wanted = gradients_of(task, task.recipe)[1]
    calls = []
    layers = [m for n, m in task.model.named_modules() if n.endswith("layer.0.attention")]
    hooks = [layer.register_forward_pre_hook(lambda *_: calls.append(1)) for layer in layers]
    gradients_of(task, task.recipe)
    plain = len(calls)
    with checkpointing(task.model, True):
        found = gradients_of(task, task.recipe)[1]
    assert len(calls) == 3 * plain  # once before, and twice now
    for hook in hooks:
        hook.remove()
    assert wanted.keys() == found.keys()
    assert all(torch.equal(one, found[name]) for name, one in wanted.items())
    assert not any(getattr(m, "gradient_checkpointing", False) for m in task.model.modules())


@pytest.mark.parametrize("kind", ["deepct", "dual-encoder"])
def test_checkpointed_trainings_end_with_the_same_weights(study, kind):
    for name, flag in (("plain", "false"), ("again", "true")):
        changes = f"training.gradient_checkpointing={flag}", "training.precision=bfloat16"
        train_model(opened(study, kind, *changes), study / name)
    plain, again = weights(study / "plain"), weights(study / "again")
    assert all(torch.equal(plain[name], again[name]) for name in plain)


@pytest.mark.parametrize("kind", KINDS)
def test_a_group_has_its_own_rate(study, kind):
    task = opened(study, kind).task(CPU)
    before = {n: p.detach().clone() for n, p in task.model.named_parameters()}
    change = (
        'training.parameter_groups=[{match: "*layer.1.*", learning_rate: 1.0e-12, weight_decay: 0}]'
    )
    plan = opened(study, kind, change)
    assert plan.fingerprint != opened(study, kind).fingerprint
    task = task_of(study, kind, change)
    loop.train(task, task.recipe)
    moved = {
        n: float((p.detach() - before[n]).abs().max()) for n, p in task.model.named_parameters()
    }
    assert max(value for name, value in moved.items() if "layer.1." in name) < 1e-9
    assert max(value for name, value in moved.items() if "layer.0." in name) > 1e-4


def test_groups_and_patterns_by_hand():
    model = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 3), "b": torch.nn.Linear(2, 3)})
    message = {"match": ("b.*",), "learning_rate": 0.5}
    recipe = TrainingRecipe(learning_rate=0.1, weight_decay=0.2, parameter_groups=(message,))
    groups = adamw(model, recipe).param_groups
    shown = [(len(g["params"]), g["highest_rate"], g["weight_decay"]) for g in groups]
    assert shown == [(1, 0.1, 0.2), (1, 0.1, 0.0), (1, 0.5, 0.2), (1, 0.5, 0.0)]
    with pytest.raises(InputError, match=r"no parameter of this model fits 'c\*'.*a\.weight"):
        freeze(model, ["c*"])
    with pytest.raises(InputError, match="every parameter is frozen"):
        freeze(model, ["a.*", "b.*"])
    with pytest.raises(InputError, match="parameter_groups"):
        adamw(model, TrainingRecipe(parameter_groups=({"match": "c*"},)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_training_does_not_make_its_examples_again(study, kind, monkeypatch):
    monkeypatch.setattr(loop, "SNAPSHOT_EVERY", 0.0)
    train_model(opened(study, kind), study / "whole")

    class Killed(Progress):
        steps = itertools.count(1)

        def detail(self, text):
            if next(self.steps) == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Killed():
        train_model(opened(study, kind), study / "cut")
    plan = opened(study, kind)
    made = type(plan.task(CPU))
    monkeypatch.setattr(made, "write", lambda *_: pytest.fail("examples were made again"))
    train_model(plan, study / "cut")
    one, two = weights(study / "whole"), weights(study / "cut")
    assert all(torch.equal(one[name], two[name]) for name in one)
    counts = read_manifest(study / "whole").counts
    assert read_manifest(study / "cut").counts == counts


@pytest.mark.parametrize("kind", KINDS)
def test_examples_are_kept_for_trainings_that_learn_from_the_same(study, kind, monkeypatch):
    shared = study / "shared"
    for name, seed in (("one", 0), ("two", 1)):
        train_model(opened(study, kind, f"training.seed={seed}"), study / name)
    train_model(opened(study, kind), study / "first", examples=shared)
    plan = opened(study, kind, "training.seed=1")
    is_shared = kind in ("deepct", "dual-encoder")
    if is_shared:
        made = type(plan.task(CPU))
        monkeypatch.setattr(made, "write", lambda *_: pytest.fail("examples were made again"))
    train_model(plan, study / "second", examples=shared)
    kept = [read_manifest(path).kind for path in shared.iterdir() if path.is_dir()]
    assert kept.count("training-examples") == (1 if is_shared else 2)
    assert kept.count("term-passages") == (1 if kind == "deepct" else 0)
    for alone, together in (("one", "first"), ("two", "second")):
        before, after = weights(study / alone), weights(study / together)
        assert all(torch.equal(before[name], after[name]) for name in before)
        counts = read_manifest(study / together).counts
        assert read_manifest(study / alone).counts == counts


@pytest.mark.parametrize(
    ("kind", "same", "others"),
    [
        (
            "deepct",
            ("training.epochs=5", "training.seed=2", "activation=none", "description=x"),
            (
                "text=conclusion reference=premise",
                "passages.length=9",
                "keep_empty=false",
                "held_out.share=0.3",
                "training_length=5",
                "most=7",
                "keys=original",
            ),
        ),
        (
            "dual-encoder",
            ("training.batch_size=4", "towers=separate", "similarity=cosine", "batches.by=group"),
            ("context.left=1", "lengths.span=9", "data.seed=1", "batches.negatives=1"),
        ),
    ],
)
def test_what_decides_the_examples(study, kind, same, others):
    wanted = opened(study, kind).examples_fingerprint
    for change in same:
        assert opened(study, kind, change).examples_fingerprint == wanted, change
    for change in others:
        assert opened(study, kind, *change.split()).examples_fingerprint != wanted, change
    if kind == "deepct":  # a sample of the examples is drawn by the training's seed
        one, two = (opened(study, kind, "most=7", f"training.seed={seed}") for seed in (1, 2))
        assert one.examples_fingerprint != two.examples_fingerprint


def test_the_command_says_what_kinds_there_are(study, capsys):
    text = (study / "deepct.yaml").read_text()
    (study / "none.yaml").write_text(text.replace("kind: deepct\n", ""))
    (study / "odd.yaml").write_text(text.replace("kind: deepct", "kind: deept"))
    for name, words in (("none", "the recipe has no `kind`"), ("odd", "odd.yaml:1: there is no")):
        assert main(["train", str(study / f"{name}.yaml")]) == 3
        message = capsys.readouterr().err
        assert words in message
        assert "deepct, dual-encoder, cross-encoder" in message


def test_shuffles_are_permutations_of_numbers(study):
    task = task_of(study, "deepct")
    first = np.concatenate(task.batches(0))
    assert sorted(first) == list(range(len(task.training)))
    assert np.array_equal(first, np.concatenate(task.batches(0)))
    assert not np.array_equal(first, np.concatenate(task.batches(1)))


LINE = '''
"""A line through points, of an author who is not of Adducir."""
from typing import Literal
import numpy as np
import torch
from adducir.corpora.references import file_path
from adducir.core.files import file_digest
from adducir.training.card import Card
from adducir.training.plan import TrainingPlan
from adducir.training.recipe import ModelRecipe
from adducir.training.store import StoreWriter
from adducir.training.task import TrainingTask, write_parts

class LineRecipe(ModelRecipe):
    kind: Literal["line"] = "line"
    points: str

class LinePlan(TrainingPlan[LineRecipe]):
    recipe_type = LineRecipe
    artifact = "line"

    @property
    def path(self):
        return file_path(self.recipe.points, self.folder)

    @property
    def settings(self):
        return self.recipe.fingerprinted({"points": True})

    @property
    def inputs(self):
        return {"points": file_digest(self.path)}

    def task(self, device):
        return LineTask(self, device)

class LineTask(TrainingTask):
    unit = "points"

    def __init__(self, plan, device):
        torch.manual_seed(plan.recipe.training.seed)
        self.model, self.recipe, self.plan = torch.nn.Linear(1, 1), plan.recipe.training, plan

    def write(self, folder):
        points = [tuple(map(float, line.split())) for line in self.plan.path.open()]
        with StoreWriter(folder) as writer:
            for x, y in points:
                writer.add(ids=np.array([x], dtype=np.float32), y=np.float32(y))
        write_parts(folder, training=range(len(points)), held_out=range(0, len(points), 3))
        return {"points": len(points)}

    def losses_of(self, examples):
        x = torch.tensor([one["ids"].tolist() for one in examples])
        y = torch.tensor([[float(one["y"])] for one in examples])
        return ((self.model(x) - y) ** 2).sum(), len(examples)

    def summary(self, counts):
        return f"{counts['points']} points"

    def save(self, folder):
        slope, ordinate = (float(p.detach()) for p in self.model.parameters())
        (folder / "line.txt").write_text(f"{slope} {ordinate}")

    def card(self, counts):
        return Card("A line.", ("line",), "none", "None.", {}, {})
'''


def test_a_package_brings_a_kind_of_model(tmp_path, monkeypatch, capsys):
    site = install(
        tmp_path / "site", "line_model", LINE, {"adducir.training": {"line": "LinePlan"}}
    )
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(vars(kinds.KINDS), "_installed", raising=False)
    (tmp_path / "points.txt").write_text("".join(f"{x / 10} {3 * x / 10 - 1}\n" for x in range(20)))
    recipe = tmp_path / "line.yaml"
    recipe.write_text("kind: line\npoints: points.txt\n")
    arguments = [
        f"--set=training.{one}" for one in ("epochs=200", "learning_rate=0.05", "patience=null")
    ]
    try:
        assert main(["train", str(recipe), *arguments]) == 0
        assert "20 points" in capsys.readouterr().err
        slope, ordinate = map(float, (tmp_path / "line" / "line.txt").read_text().split())
        assert (slope, ordinate) == (pytest.approx(3, abs=0.1), pytest.approx(-1, abs=0.1))
        message = read_manifest(tmp_path / "line").recipe
        assert message["kind of"] == {"package": "line_model", "version": "1.2"}
        assert main(["train", str(recipe), "--set=pints=x"]) == 3
    finally:
        sys.modules.pop("line_model", None)
        vars(kinds.KINDS).pop("_installed", None)
