"""Training from a recipe: what is learned, what is left out, what a kill costs (nothing)."""

import json
from contextlib import closing

import numpy as np
import pytest
import torch

from adducir.core.artifacts import read_manifest
from adducir.core.config import load, validate
from adducir.core.errors import InputError
from adducir.core.progress import Progress
from adducir.deepct.model import TermWeighter
from adducir.deepct.recipe import DeepCTRecipe
from adducir.deepct.weighting import predict_weights
from adducir.training import loop
from adducir.training.artifacts import train_model
from adducir.training.kinds import open_training


class Killed(Progress):
    """Stops a training as a kill would, after some steps."""

    def __init__(self, after):
        self.after = after

    def detail(self, text):
        self.after -= 1
        if self.after == 0:
            raise KeyboardInterrupt


def training_plan(study, *changes):
    return open_training(study / "deepct" / "tiny.yaml", changes)


def weights(folder):
    model = TermWeighter.load(folder).model
    return torch.cat([tensor.flatten() for tensor in model.state_dict().values()])


def test_overfitting_a_few_passages_reaches_their_targets(study):
    output = study / "deepct" / "tiny"
    changes = ("held_out.share=0", "training.epochs=40", "training.learning_rate=0.005")
    train_model(training_plan(study, *changes), output)
    weighter = TermWeighter.load(output)
    text = "nuclear power plants, cheap and clean energy"
    (found,) = predict_weights(weighter, [text])
    by_word = dict(zip([w.text for w in found.words], found.weights.tolist(), strict=True))
    assert min(by_word[w] for w in ("nuclear", "clean", "energy")) > 0.8
    assert max(by_word[w] for w in ("power", "plants", "cheap")) < 0.2


def test_an_artifact_with_a_card_that_shows_how_it_was_made(study):
    output = study / "deepct" / "tiny"
    (study / "judged.qrels").write_text("1 0 d3 1\n1 0 d5 0\n1 0 elsewhere 1\n")
    manifest = train_model(training_plan(study, "without.qrels=[judged.qrels]"), output)
    # d7 d11 have the text of d3 but for its number of repetitions: no copies.
    assert manifest.counts["documents"] == 12
    assert manifest.counts["excluded"] == 2
    assert manifest.counts["training_examples"] + manifest.counts["held_out_examples"] > 10
    readme = (output / "README.md").read_text()
    assert "| left out: judged in | judged.qrels |" in readme
    assert "| documents named | 3 |" in readme
    assert "judged.qrels: 2" in readme
    assert str(study) not in readme
    history = json.loads((output / "training.json").read_text())
    assert len(history["validations"]) == 3
    assert not [path for path in output.parent.iterdir() if "parts" in path.name]


def test_a_current_model_is_left_and_a_changed_recipe_trains_anew(study):
    output = study / "deepct" / "tiny"
    first = train_model(training_plan(study), output)
    assert train_model(training_plan(study, "description=words only"), output) == first
    again = train_model(training_plan(study, "training.seed=1"), output)
    assert again.fingerprint != first.fingerprint


def test_the_fingerprint_follows_all_that_determines_the_weights(study):
    one = training_plan(study).fingerprint
    for change in (
        "reference=topic",
        "stopwords=none",
        "passages.length=21",
        "activation=none",
        "training.epochs=4",
        "held_out.seed=1",
        "settings=original",
    ):
        assert training_plan(study, change).fingerprint != one, change
    (study / "list").write_text("d1\n")
    assert training_plan(study, "without.pools=[list]").fingerprint != one
    (study / "corpus.jsonl").write_text('{"docno": "d1", "conclusion": "cat", "premise": "cat"}\n')
    assert training_plan(study).fingerprint != one


def test_a_killed_training_goes_on_and_ends_with_the_same_weights(study, monkeypatch):
    monkeypatch.setattr(loop, "SNAPSHOT_EVERY", 0.0)
    whole, cut = study / "deepct" / "whole", study / "deepct" / "cut"
    train_model(training_plan(study), whole)
    for after in (2, 9):
        with pytest.raises(KeyboardInterrupt), Killed(after):
            train_model(training_plan(study), cut)
        assert not cut.exists()
    assert [path.name[:11] for path in cut.parent.iterdir() if "parts" in path.name] == [
        ".cut.parts-"
    ]
    train_model(training_plan(study), cut)
    assert torch.equal(weights(whole), weights(cut))
    assert read_manifest(whole).fingerprint == read_manifest(cut).fingerprint
    assert not [path for path in cut.parent.iterdir() if "parts" in path.name]


def test_the_original_settings(study):
    recipe = training_plan(study, "settings=original", "passages.length=30").recipe
    assert (recipe.keys, recipe.activation, recipe.stop_words_in_loss) == ("original", "none", True)
    assert recipe.passages.length == 30
    with_default = validate(
        load(study / "deepct" / "tiny.yaml"),
        DeepCTRecipe,
        ("settings=original", "passages={}"),
    )
    assert with_default.passages.length == 126
    output = study / "deepct" / "original"
    train_model(training_plan(study, "settings=original"), output)
    weighter = TermWeighter.load(output)
    (found,) = predict_weights(weighter, ["Caf\u00e9s, don't"])
    assert [word.text for word in found.words] == ["cafes", ",", "don", "'", "t"]


def test_query_term_recall_from_topics(study):
    (study / "topics.tsv").write_text("1\tnuclear energy\n2\tnuclear plants\n3\tcats\n")
    (study / "q.qrels").write_text("1 0 d1 1\n2 0 d1 2\n3 0 d2 1\n1 0 d2 0\n")
    text = (study / "deepct" / "tiny.yaml").read_text()
    text = text.replace("reference: conclusion", "topics: {source: topics.tsv, qrels: q.qrels}")
    (study / "deepct" / "tiny.yaml").write_text(text)
    opened = training_plan(study, "held_out.share=0")
    assert opened.opened.supervision.by_docno == {
        "d1": ("nuclear energy", "nuclear plants"),
        "d2": ("cats",),
    }
    manifest = train_model(opened, study / "deepct" / "tiny")
    assert manifest.counts["without_reference"] == 10


def test_passages_that_do_not_fit_the_model_are_refused(study):
    with pytest.raises(InputError, match="passages of 63 pieces do not fit"):
        train_model(training_plan(study, "passages.length=63"), study / "deepct" / "tiny")
    assert not (study / "deepct" / "tiny").exists()


def test_half_precision_learns_too(study):
    manifest = train_model(
        training_plan(study, "training.precision=bfloat16"), study / "deepct" / "tiny"
    )
    assert np.isfinite(manifest.counts["validation_loss"])


def test_errors_of_a_recipe_come_with_their_lines(study):
    path = study / "deepct" / "tiny.yaml"
    path.write_text(path.read_text() + "topics: {source: a, qrels: b}\nstopword: english\n")
    with pytest.raises(InputError) as caught:
        validate(load(path), DeepCTRecipe)
    assert f"{path}:10" in str(caught.value)
    assert "`stopwords`" in str(caught.value)


def test_training_reads_so_many_tokens_of_a_passage_and_weights_all_of_it(study, tmp_path):
    opened = training_plan(
        study, "training_length=8", "held_out.share=0", "stop_words_in_loss=true"
    )
    plain = training_plan(study, "held_out.share=0", "stop_words_in_loss=true")

    def read(plan, folder):
        folder.mkdir()
        task = plan.task(torch.device("cpu"))
        task.write(folder)
        task.read(folder)
        with closing(task):
            return [task.training.store.get(number) for number in task.training.numbers]

    whole, cut = read(plain, tmp_path / "whole"), read(opened, tmp_path / "cut")
    assert max(len(one["ids"]) for one in whole) > 8 == max(len(one["ids"]) for one in cut)
    for one, other in zip(whole, cut, strict=True):
        assert one["ids"][[0, -1]].tolist() == other["ids"][[0, -1]].tolist()  # [CLS], [SEP] stay
        kept = [place for place in one["firsts"] if place < len(other["ids"]) - 1]
        assert [place for place in other["firsts"] if place >= 0] == kept
    output = study / "deepct" / "tiny"
    train_model(opened, output)
    (found,) = predict_weights(TermWeighter.load(output), ["cats " * 15])
    assert all(found.weights > 0)
    assert "training_length" in opened.settings
    # A recipe without it makes what it made before there was the key.
    assert "training_length" not in training_plan(study).settings
