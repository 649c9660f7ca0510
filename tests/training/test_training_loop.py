"""The training loop: its schedule, early stopping, and a kill that changes nothing."""

import json
from contextlib import suppress

import pytest
import torch
from safetensors import safe_open

from adducir.core.errors import MachineError
from adducir.core.progress import Progress
from adducir.models.machine import using_threads
from adducir.training import loop
from adducir.training.card import Card, kept_epoch, model_card
from adducir.training.loop import train
from adducir.training.recipe import TrainingRecipe


class Line:
    """Learns y = 3x - 1 by a small network with dropout."""

    def __init__(self, *, steps=8, validation=None, stop_at=None):
        torch.manual_seed(5)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1)
        )
        self.steps, self.validation, self.stop_at = steps, validation, stop_at
        self.rates, self.done = [], 0

    def batches(self, epoch):
        draw = torch.Generator().manual_seed(epoch)
        return [torch.randn(4, 1, generator=draw) for _ in range(self.steps)]

    unit, validates = "examples", True

    def losses(self, batch):
        if self.stop_at == self.done:
            raise KeyboardInterrupt
        self.done += 1
        return ((self.model(batch) - (3 * batch - 1)) ** 2).sum(), len(batch)

    def validate(self):
        if self.validation is not None:
            return self.validation.pop(0)
        x = torch.linspace(-1, 1, 20)[:, None]
        return float(((self.model(x) - (3 * x - 1)) ** 2).mean().detach())


RECIPE = TrainingRecipe(epochs=6, batch_size=4, learning_rate=0.02, patience=None)


def weights(training_task):
    return torch.cat([p.detach().flatten() for p in training_task.model.parameters()])


def test_it_learns_and_ends_in_evaluation_mode():
    training_task = Line(steps=60)
    before = training_task.validate()
    history = train(training_task, RECIPE)
    assert history.steps == 360
    assert training_task.validate() == pytest.approx(history.best_loss)
    assert history.best_loss < before / 10
    assert not training_task.model.training


def test_a_training_that_was_killed_ends_with_the_same_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "SNAPSHOT_EVERY", 0.0)  # after every step
    whole = Line()
    expected = train(whole, RECIPE)
    for kill_at in (1, 20, 24):
        with pytest.raises(KeyboardInterrupt):
            train(Line(stop_at=kill_at), RECIPE, parts=tmp_path)
    rest = Line()
    history = train(rest, RECIPE, parts=tmp_path)
    assert rest.done < whole.done
    assert torch.equal(weights(rest), weights(whole))
    for one, other in zip(history.validations, expected.validations, strict=True):
        assert {**one, "seconds": 0} == {**other, "seconds": 0}


def test_unlike_devices_are_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "SNAPSHOT_EVERY", 0.0)
    alone = train(Line(), RECIPE)
    assert (len(alone.devices), "devices" in alone.record()) == (1, False)
    for kind, stop_at in (("cuda H200", 5), ("cpu AVX2", None)):
        monkeypatch.setattr(loop, "device_kind", lambda device, kind=kind: kind)
        with suppress(KeyboardInterrupt):
            history = train(Line(stop_at=stop_at), RECIPE, parts=tmp_path)
    assert history.record()["devices"] == ["cpu AVX2", "cuda H200"]
    card = model_card("m", Card("s", (), "b", "u", {}, {}), {}, history)
    assert "Trained on unlike devices: cpu AVX2, cuda H200." in card


def test_what_a_kill_leaves_is_no_pickle(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "SNAPSHOT_EVERY", 0.0)
    train(Line(), RECIPE, parts=tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} == {".safetensors"}
    with safe_open(tmp_path / "training.safetensors", "pt") as file:
        assert json.loads(file.metadata()["state"])["history"]["steps"] == 48


def test_patience_ends_it_and_the_best_weights_come_back(tmp_path):
    recipe = RECIPE.model_copy(update={"patience": 2})
    losses = [5.0, 3.0, 4.0, 3.5, 1.0, 1.0]
    best = Line(validation=[*losses])
    train(best, recipe.model_copy(update={"epochs": 6}), parts=tmp_path / "a")
    training_task = Line(validation=[*losses])
    history = train(training_task, recipe)
    assert (history.stopped_early, history.steps, history.best_step) == (True, 32, 16)
    assert history.best_loss == 3.0
    assert kept_epoch(vars(history)) == "2 of 4, stopped early"
    assert torch.equal(weights(best), weights(training_task))
    # The weights after two of six epochs are those of the best validation.
    two = Line(stop_at=16)
    with pytest.raises(KeyboardInterrupt):
        train(two, RECIPE)
    assert torch.equal(weights(two), weights(training_task))


def test_the_rate_rises_and_falls():
    total = 20
    rates = [loop._share_of_rate(step, total, 0.1) for step in range(total)]
    assert rates[:3] == [0.5, 1.0, 1.0]
    assert rates[-1] == pytest.approx(1 / 18)
    assert rates[2:] == sorted(rates[2:], reverse=True)


def test_validations_within_an_epoch():
    recipe = RECIPE.model_copy(update={"epochs": 1, "validations": 3})
    history = train(Line(steps=8), recipe)
    assert [entry["step"] for entry in history.validations] == [3, 6, 8]


def test_a_loss_that_is_no_number_is_reported():
    class Broken(Line):
        def losses(self, batch):
            loss, count = super().losses(batch)
            return loss * float("nan"), count

    with pytest.raises(MachineError, match="the training loss is nan at step 1"):
        train(Broken(), RECIPE)


def test_progress_shows_losses():
    class Recorded(Progress):
        lines, count = [], 0

        def note(self, message):
            self.lines.append(message)

        def advance(self, count):
            Recorded.count += count

    with Recorded():
        train(Line(), RECIPE.model_copy(update={"epochs": 2}))
    assert Recorded.count == 64
    assert Recorded.lines[0].startswith("epoch 1: training loss ")
    assert "validation loss" in Recorded.lines[1]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_recipe_alone_says_how_many_threads_train(threads):
    seen = set()

    class Counted(Line):
        def losses(self, batch):
            seen.add(torch.get_num_threads())
            return super().losses(batch)

    training_task = Counted()
    with using_threads(3):
        train(training_task, RECIPE.model_copy(update={"epochs": 1, "threads": threads}))
        assert torch.get_num_threads() == 3
    assert seen == {threads}
