"""The contrast by hand, the sampler, the data kept apart, and what a kill costs (nothing)."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from some_spans import some_spans

from adducir.cli.app import main
from adducir.core.artifacts import read_manifest
from adducir.core.errors import InputError
from adducir.core.progress import Progress
from adducir.corpora.spans import MaskedSpan, read_spans, write_spans
from adducir.encoders import pieces
from adducir.encoders.contrast import contrast
from adducir.encoders.data import spans_of
from adducir.encoders.examples import same_of
from adducir.encoders.model import DualEncoder
from adducir.encoders.negatives import Negatives
from adducir.encoders.recipe import EncoderRecipe
from adducir.encoders.sampling import filled_batches, grouped_batches, random_batches
from adducir.encoders.sources import encoder_source
from adducir.encoders.training import EncoderPlan
from adducir.models.machine import computing_in, using_threads
from adducir.training import loop
from adducir.training.artifacts import train_model
from adducir.training.division import DataPart
from adducir.training.kinds import open_training
from adducir.training.parameters import checkpointing


def plain_contrast(contexts, spans, same, temperature):
    """Equation 1, term by term, and its gradient for the contexts and the spans."""
    n = len(contexts)
    loss, of_contexts, of_spans = 0.0, np.zeros_like(contexts), np.zeros_like(spans)
    for i in range(n):
        counted = [j for j in range(n) if j == i or same[j] != same[i]]
        weights = {j: math.exp(float(contexts[i] @ spans[j]) / temperature) for j in counted}
        total = sum(weights.values())
        loss -= math.log(weights[i] / total) / n
        for j in counted:
            share = (weights[j] / total - (j == i)) / temperature / n
            of_contexts[i] += share * spans[j]
            of_spans[j] += share * contexts[i]
    return loss, of_contexts, of_spans


@pytest.mark.parametrize("temperature", [1.0, 0.2])
def test_loss_and_gradient_are_those_of_the_equation(temperature):
    draw = np.random.default_rng(5)
    contexts, spans = draw.normal(size=(2, 6, 3))
    same = np.array([0, 1, 2, 1, 3, 1])
    wanted, of_contexts, of_spans = plain_contrast(contexts, spans, same, temperature)
    c, s = (torch.tensor(v, dtype=torch.float32, requires_grad=True) for v in (contexts, spans))
    loss = contrast(c, s, torch.from_numpy(same), temperature)
    loss.backward()
    assert loss.item() == pytest.approx(wanted, abs=1e-5)
    np.testing.assert_allclose(c.grad, of_contexts, atol=1e-5)
    np.testing.assert_allclose(s.grad, of_spans, atol=1e-5)


def test_a_hand_worked_loss():
    c = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    loss = contrast(c, 2 * c, torch.tensor([0, 1]))
    assert loss.item() == pytest.approx(math.log(1 + math.exp(-2)))
    assert contrast(c, 2 * c, torch.tensor([0, 0])).item() == 0.0
    assert contrast(c[:1], c[:1], torch.tensor([0])).item() == 0.0


def test_equal_texts_are_reported_by_their_words():
    spans = [MaskedSpan(f"{i}", "g", (), (t,), ()) for i, t in enumerate(["a b", "a  b", "a"])]
    one, two, three = (same_of(span.text) for span in spans)
    assert one == two != three


def test_groups_stay_together_and_loners_meet():
    groups = ["a"] * 7 + ["b"] * 2 + ["c", "d", "e"]
    batches = grouped_batches(groups, 3, seed=1)
    assert sorted(np.concatenate(batches)) == list(range(12))
    sets = sorted((len(b), "".join(sorted({groups[i] for i in b}))) for b in batches)
    assert sets == [(2, "a"), (2, "a"), (2, "b"), (3, "a"), (3, "cde")]
    again = grouped_batches(groups, 3, seed=1)
    assert all(np.array_equal(one, two) for one, two in zip(batches, again, strict=True))
    other = grouped_batches(groups, 3, seed=2)
    assert len(other) == len(batches)
    assert [b.tolist() for b in other] != [b.tolist() for b in batches]
    assert grouped_batches([], 3, seed=1) == []


def test_filled_batches_are_all_of_one_size_and_of_their_own_group_first():
    groups = ["a"] * 13 + ["b"] * 3 + ["c"]
    batches = filled_batches(groups, 5, seed=1)
    assert {len(set(batch.tolist())) for batch in batches} == {5}
    assert len(batches) == 5
    assert set(np.concatenate(batches)) == set(range(17))
    found = sorted("".join(sorted(groups[i] for i in batch)) for batch in batches)
    assert found[:3] == ["aaaaa"] * 3  # two of them are in two batches
    assert all("bbb" in batch or "c" in batch for batch in found[3:])
    assert [len(batch) for batch in filled_batches(["a", "b"], 5, seed=1)] == [2, 2]


def test_random_batches_have_no_small_rest():
    sizes = [len(batch) for batch in random_batches(11, 5, 0)]
    assert sorted(sizes) == [3, 4, 4]
    assert sorted(np.concatenate(random_batches(11, 5, 0))) == list(range(11))


def task_of(tiny, spans, folder, *, towers="separate", similarity=None, **batches):
    write_spans(spans, folder / "spans.jsonl")
    recipe = EncoderRecipe(
        base=str(tiny),
        towers=towers,
        pooling="mean",
        similarity=similarity,
        data={"train": "spans.jsonl", "shares": {"train": 1.0}},
        batches=batches,
        temperature=0.5,
        training={"batch_size": 8},
    )
    task = EncoderPlan(recipe, folder).task(torch.device("cpu"))
    task.model.eval()
    (folder / "examples").mkdir()
    task.write(folder / "examples")
    task.read(folder / "examples")
    return task


def test_pieces_give_the_loss_and_the_gradient_of_the_whole_batch(tiny, tmp_path):
    spans, found = some_spans(8), []
    for at_once in (None, 60):
        folder = tmp_path / f"{at_once}"
        folder.mkdir()
        task = task_of(tiny, spans, folder, at_once=at_once)
        loss, _ = task.losses(np.arange(8)[::-1].copy())
        loss.backward()
        gradients = [p.grad for p in task.model.parameters() if p.grad is not None]
        found.append((loss.item(), torch.cat([g.flatten() for g in gradients])))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-5)
    assert found[0][1].abs().max() > 1e-3
    torch.testing.assert_close(found[0][1], found[1][1], atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize(
    "changes",
    [{}, {"towers": "shared"}, {"similarity": "cosine"}, {"checkpoints": True}, {"bfloat16": True}],
    ids=str,
)
def test_cached_gradients_are_those_of_pieces_that_are_kept(
    tiny, tmp_path, monkeypatch, changes, dropout
):
    """The second pass draws what the first drew; only the states of the layers are not kept."""
    options = {key: value for key, value in changes.items() if key in ("towers", "similarity")}
    task = task_of(tiny, some_spans(8), tmp_path, at_once=60, negatives=1, **options)
    forward, kept = pieces.checkpoint, []
    precision = "bfloat16" if "bfloat16" in changes else "float32"
    if precision == "float32":
        task.model.double()
    task.model.train()
    for module in task.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = dropout
    for cached in (True, False):
        calls = []

        def called(function, piece, use_reentrant, cached=cached, calls=calls):
            calls.append(len(piece))
            if not cached:
                return function(piece)
            return forward(function, piece, use_reentrant=use_reentrant)

        monkeypatch.setattr(pieces, "checkpoint", called)
        torch.manual_seed(3)
        task.model.zero_grad()
        with (
            checkpointing(task.model, "checkpoints" in changes),
            computing_in(precision, task.model),
        ):
            loss, _ = task.losses(np.arange(8))
            loss.backward()
        assert len(calls) > 4
        kept.append([p.grad.clone() for p in task.model.parameters() if p.grad is not None])
    for one, other in zip(*kept, strict=True):
        torch.testing.assert_close(one, other, atol=1e-9, rtol=1e-9)
    assert max(float(one.abs().max()) for one in kept[0]) > 1e-3


def test_pieces_in_double_precision_give_the_gradient_of_the_whole_batch(tiny, tmp_path):
    found = []
    for at_once in (None, 60):
        (tmp_path / f"{at_once}").mkdir()
        task = task_of(tiny, some_spans(8), tmp_path / f"{at_once}", at_once=at_once)
        task.model.double()
        loss, _ = task.losses(np.arange(8))
        loss.backward()
        found.append([p.grad for p in task.model.parameters() if p.grad is not None])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-9, rtol=1e-9)


def test_hard_negatives_by_hand():
    """Two contexts, a hard negative of each; the second one's is the first one's own text."""
    c = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    texts = torch.tensor([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0], [2.0, 0.0]])
    same = torch.tensor([0, 1, 2, 0])
    first = math.log(1 + math.exp(-2) + math.exp(-1))  # its copy is left out
    second = math.log(1 + 2 * math.exp(-2) + math.exp(-1))
    assert contrast(c, texts, same).item() == pytest.approx((first + second) / 2)
    assert contrast(c, texts, same, reduction="sum").item() == pytest.approx(first + second)
    assert contrast(c[1:], texts, same, first=1).item() == pytest.approx(second)
    counted = Negatives()
    counted.add(same.numpy(), 2)
    assert counted.record() == {
        "negatives_per_context": {"mean": 2.5, "least": 2, "most": 3},
        "masked_copies_per_epoch": 1,
    }


def test_equal_texts_are_negatives_where_the_recipe_says_so(tiny, tmp_path):
    spans = [replace(span, span=("a cat .",)) for span in some_spans(4)]
    found = {}
    for equal_texts in ("masked", "negatives"):
        (tmp_path / equal_texts).mkdir()
        task = task_of(tiny, spans, tmp_path / equal_texts, equal_texts=equal_texts)
        found[equal_texts] = task.losses(np.arange(4))[0].item(), task.measure()
    assert found["masked"][0] == 0.0
    assert found["negatives"][0] == pytest.approx(math.log(4), abs=1e-4)
    assert found["negatives"][1]["negatives_per_context"]["mean"] == 3.0
    assert found["masked"][1]["masked_copies_per_epoch"] == 12


def test_hard_negatives_are_read_from_the_file_and_counted(study):
    spans = [replace(span, negatives=("a dog .", "a cat .", span.text)) for span in some_spans(40)]
    write_spans(spans, study / "spans.jsonl")
    assert next(read_spans(study / "spans.jsonl")) == spans[0]
    plan = training_plan(study, "batches.negatives=3", "training.epochs=1", "batches.by=random")
    manifest = train_model(plan, study / "encoders" / "hard")
    # Five spans in a batch, three negatives of each; its own text and the copies are left out.
    counts = manifest.counts
    assert counts["negatives_per_context"] == {"mean": 18.0, "least": 18, "most": 18}
    assert counts["masked_copies_per_epoch"] == counts["training_spans"]
    card = (study / "encoders" / "hard" / "README.md").read_text()
    assert "| negatives per context | mean: 18.0, least: 18, most: 18 |" in card
    without = training_plan(study)
    assert "negatives" not in without.settings["batches"]
    assert plan.fingerprint != without.fingerprint
    with pytest.raises(InputError, match=r"negatives\.0"):
        text = (study / "spans.jsonl").read_text().replace('"a dog ."', "1", 1)
        (study / "spans.jsonl").write_text(text)
        next(read_spans(study / "spans.jsonl"))


def test_groups_are_kept_apart(tmp_path):
    write_spans(some_spans(40, groups=10), tmp_path / "all.jsonl")
    write_spans([s for s in some_spans(40, groups=10) if s.group == "book3"], tmp_path / "t.jsonl")
    part = DataPart(train="all.jsonl", without="t.jsonl")
    division = spans_of(part, tmp_path)
    groups = {"train": set(), "validation": set(), "test": set()}
    kept = 0
    for span, home in division:
        groups[home].add(span.group)
        kept += 1
    assert not groups["train"] & groups["validation"]
    assert "book3" not in set().union(*groups.values())
    assert (division.read, division.excluded, kept) == (40, 4, 36)
    with pytest.raises(InputError, match="in the training data as well"):
        list(spans_of(DataPart(train="all.jsonl", validation="t.jsonl"), tmp_path))
    with pytest.raises(InputError, match=r"is in .* as well"):
        list(spans_of(DataPart(train=("all.jsonl", "t.jsonl")), tmp_path))
    both = DataPart(train="all.jsonl", validation="t.jsonl", without="t.jsonl")
    assert {home for _, home in spans_of(both, tmp_path)} == {"train"}
    named = {"validation": ("book3",), "test": ("book4", "book5")}
    homes = {
        span.group: home
        for span, home in spans_of(DataPart(train="all.jsonl", held_out=named), tmp_path)
    }
    assert {name for name, home in homes.items() if home == "test"} == {"book4", "book5"}
    assert [name for name, home in homes.items() if home == "validation"] == ["book3"]
    with pytest.raises(InputError, match="'nowhere'"):
        list(spans_of(DataPart(train="all.jsonl", held_out={"test": ("nowhere",)}), tmp_path))
    with pytest.raises(ValueError, match="held_out"):
        DataPart(train="all.jsonl", shares={"train": 1}, held_out=named)


class Killed(Progress):
    """Stops a training as a kill would, after some steps."""

    def __init__(self, after):
        self.after = after

    def detail(self, text):
        self.after -= 1
        if self.after == 0:
            raise KeyboardInterrupt


def training_plan(study, *changes):
    return open_training(study / "encoders" / "tiny.yaml", changes)


def weights(folder):
    encoder = DualEncoder.load(encoder_source(str(folder)))
    return torch.cat([value.flatten() for value in encoder.state_dict().values()])


def test_it_learns_and_a_chain_goes_on_from_there(study):
    output = study / "encoders" / "tiny"
    settings = "pooling=mean", "training.epochs=40", "training.learning_rate=0.01"
    manifest = train_model(training_plan(study, *settings, "training.batch_size=10"), output)
    history = json.loads((output / "training.json").read_text())
    losses = [entry["training_loss"] for entry in history["validations"]]
    assert losses[-1] < 0.5 * losses[0]
    assert manifest.counts["training_spans"] + manifest.counts["validation_spans"] == 40
    readme = (output / "README.md").read_text()
    assert "| training | spans.jsonl |" in readme
    assert "| temperature | 1.0 |" in readme
    assert "| pooling | mean |" in readme
    assert str(study) not in readme
    encoder = DualEncoder.load(encoder_source(str(output)))
    assert encoder.settings.context.mask
    assert encoder.query.network.pooling == "mean"
    assert encoder.query is not encoder.document
    # Fine-tuning starts from these weights: two towers, pooling and all.
    chained = f"base={output}", "data.train=other.jsonl", "data.shares={train: 1.0}"
    fine = training_plan(study, *chained, "training.epochs=1", "training.learning_rate=1e-9")
    assert fine.inputs["base"] == manifest.fingerprint
    train_model(fine, study / "encoders" / "fine")
    torch.testing.assert_close(weights(study / "encoders" / "fine"), weights(output))


@pytest.mark.parametrize("towers", ["separate", "shared"])
def test_a_killed_training_goes_on_and_ends_with_the_same_weights(study, monkeypatch, towers):
    monkeypatch.setattr(loop, "SNAPSHOT_EVERY", 0.0)
    whole, cut = study / "encoders" / "whole", study / "encoders" / "cut"
    arguments = training_plan(study, f"towers={towers}", "batches.at_once=40")
    train_model(arguments, whole)
    assert DualEncoder.load(encoder_source(str(whole))).query.network.pooling == "first"
    for after in (2, 5):
        with pytest.raises(KeyboardInterrupt), Killed(after):
            train_model(arguments, cut)
        assert not cut.exists()
    train_model(arguments, cut)
    assert torch.equal(weights(whole), weights(cut))
    assert read_manifest(whole).fingerprint == read_manifest(cut).fingerprint
    assert not [path for path in cut.parent.iterdir() if "parts" in path.name]


def test_the_fingerprint_follows_all_that_determines_the_weights(study):
    one = training_plan(study).fingerprint
    assert training_plan(study, "description=other").fingerprint == one
    for change in (
        "towers=shared",
        "pooling=mean",
        "similarity=cosine",
        "temperature=0.1",
        "context.left=1",
        "lengths.span=9",
        "data.seed=1",
        "data.without=other.jsonl",
        "data.train=other.jsonl",
        "batches.by=random",
        "training.seed=1",
    ):
        assert training_plan(study, change).fingerprint != one, change


@pytest.mark.parametrize(
    "change",
    [
        "data.shares={train: 0.5}",
        "training.batch_size=1",
        "towers=three",
        "data.train=[]",
        "kind=colbert",
        "pooling=max",
    ],
)
def test_recipes_that_cannot_be(study, change):
    with pytest.raises(InputError):
        training_plan(study, change)


def test_validation_beside_shares_is_refused(study):
    with pytest.raises(InputError, match="mean nothing beside"):
        training_plan(study, "data.validation=other.jsonl")


@pytest.mark.slow
def test_no_weight_depends_on_threads_that_the_recipe_does_not_name(study):
    for threads in (1, 2):
        with using_threads(threads):
            train_model(training_plan(study, "base=minilm"), study / "encoders" / f"on-{threads}")
    one, two = (study / "encoders" / f"on-{threads}" / "query" for threads in (1, 2))
    name = "model.safetensors"
    assert (one / name).read_bytes() == (two / name).read_bytes()


def test_threads_on_the_command_line_are_the_recipe_s(study):
    recipe, folder = study / "encoders" / "tiny.yaml", study / "encoders" / "tiny"
    message = []
    for option in ("--threads=2", "--set=training.threads=2", "--set=training.epochs=3"):
        assert main(["train", str(recipe), option]) == 0
        message.append(read_manifest(folder))
    assert [one.recipe["training"]["threads"] for one in message] == [2, 2, 1]
    assert message[0] == message[1]
    assert message[0].fingerprint != message[2].fingerprint


def test_a_pooler_is_trained_with_the_tower_and_kept(study):
    folders = [study / "encoders" / name for name in ("one", "two")]
    for folder in folders:
        train_model(training_plan(study, "pooling=pooler", "training.epochs=1"), folder)
        assert "| pooling | pooler |" in (folder / "README.md").read_text()
    layers = [folder / "query" / "2_Dense" / "model.safetensors" for folder in folders]
    assert layers[0].read_bytes() == layers[1].read_bytes()
    loaded = DualEncoder.load(encoder_source(str(folders[0]))).query.network
    base = DualEncoder.load(training_plan(study).base, pooling="pooler").query.network
    assert loaded.pooling == "first"
    assert not torch.equal(loaded.dense[0][0].weight, base.dense[0][0].weight)


def test_early_stopping_needs_something_held_out(study, monkeypatch, capsys):
    monkeypatch.chdir(study)
    words = ["train", "encoders/tiny.yaml", "-o", "model", "--set", "data.shares={train: 1}"]
    assert main([*words, "--set", "training.patience=2"]) == 3
    assert "training.patience" in capsys.readouterr().err
    assert not (study / "model").exists()
    assert main(words) == 0
    assert "epoch 3 of 3" in capsys.readouterr().err
    assert "(epoch 3 of 3)" in (study / "model" / "README.md").read_text()
