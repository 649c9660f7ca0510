"""A dense index by an encoder whose base is another recipe's: both are trained, in their order."""

import json
import sys
from pathlib import Path

import pytest

from adducir.cli.app import main
from adducir.core.errors import InputError
from adducir.experiments.experiment import plan_experiment
from adducir.training.kinds import open_training

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
sys.path.insert(0, str(Path(__file__).parents[1] / "encoders"))

from some_spans import some_spans
from tiny import tiny_bert

from adducir.corpora.spans import write_spans

EXPERIMENT = """\
corpora: {pets: {source: pets.jsonl}}
indexes:
  fine: {corpus: pets, engine: dense, encoder: encoders/fine.yaml}
  coarse: {corpus: pets, engine: dense, encoder: encoders/coarse.yaml}
topics: {t: {source: topics.tsv, qrels: q.qrels}}
systems:
  Fine: {index: fine, seeds: [3]}
  Coarse: {index: coarse}
measures: [nDCG@5]
"""
RECIPE = (
    "kind: dual-encoder\nbase: BASE\ndata: {train: spans.jsonl}\n"
    "training: {epochs: 1, batch_size: 4, patience: null}\n"
)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    tiny_bert(folder / "tiny")
    write_spans(some_spans(12), folder / "spans.jsonl")
    lines = [json.dumps({"docno": f"d{n}", "text": f"cats {n}"}) for n in range(4)]
    (folder / "pets.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "topics.tsv").write_text("1\tcats\n")
    (folder / "q.qrels").write_text("1 0 d0 1\n")
    for name in ("encoders", "experiments"):
        (folder / name).mkdir()
    (folder / "encoders" / "coarse.yaml").write_text(RECIPE.replace("BASE", "tiny"))
    (folder / "encoders" / "fine.yaml").write_text(RECIPE.replace("BASE", "encoders/coarse.yaml"))
    (folder / "experiments" / "pets.yaml").write_text(EXPERIMENT)
    return folder


def trained(study, **options):
    lines = plan_experiment(study / "experiments" / "pets.yaml", **options).lines()
    return [line.split()[1].rstrip(":") for line in lines if line.startswith("train")]


def test_each_training_waits_for_that_of_its_base(study, capsys, monkeypatch):
    monkeypatch.chdir(study)
    both = ["encoders/coarse", "encoders/fine.seed3"]
    assert trained(study, dry_run=True) == both
    assert main(["train", "encoders/fine.yaml"]) == 3
    message = capsys.readouterr().err
    assert "is not trained" in message
    assert "adducir train" in message
    assert main(["experiment", "experiments/pets.yaml", "--threads", "1"]) == 0
    history = json.loads((study / "encoders" / "fine.seed3" / "manifest.json").read_text())
    base = json.loads((study / "encoders" / "coarse" / "manifest.json").read_text())
    assert history["inputs"]["base"] == base["fingerprint"]
    assert trained(study) == []
    # Another base makes another encoder of what goes on from it.
    path = study / "encoders" / "coarse.yaml"
    before = path.read_text()
    path.write_text(before.replace("epochs: 1", "epochs: 2"))
    assert trained(study) == both
    path.write_text(before)
    assert trained(study) == []


def test_a_base_that_is_there_needs_neither_its_recipe_nor_its_data(study):
    recipes = study / "encoders"
    path = recipes / "coarse.yaml"
    before = path.read_text()
    base = open_training(recipes / "fine.yaml").inputs["base"]
    try:
        path.write_text(before.replace("spans.jsonl", "gone.jsonl"))
        assert open_training(recipes / "fine.yaml").inputs["base"] == base
        path.unlink()
        assert open_training(recipes / "fine.yaml").inputs["base"] == base
        named = "base=transformer:encoders/coarse.yaml"
        assert open_training(recipes / "fine.yaml", (named,)).inputs["base"] == base
    finally:
        path.write_text(before)


def test_a_tokenizer_beside_a_base_that_is_to_be_trained_is_refused(study):
    (study / "encoders" / "new.yaml").write_text(RECIPE.replace("BASE", "tiny"))
    with pytest.raises(InputError, match="has its tokenizer"):
        open_training(
            study / "encoders" / "fine.yaml", ("base=encoders/new.yaml", "tokenizer=tiny")
        )


@pytest.mark.parametrize(
    ("base", "words"),
    [
        ("encoders/fine.yaml", "made from itself"),
        ("encoders/none.yaml", "none.yaml"),
        ("encoders/other.yaml", "kind"),
    ],
)
def test_a_base_that_cannot_be_made_is_an_error_of_the_plan(study, base, words):
    (study / "encoders" / "other.yaml").write_text("kind: drn\n")
    path = study / "encoders" / "coarse.yaml"
    before = path.read_text()
    path.write_text(before.replace("tiny", base))
    try:
        with pytest.raises(InputError, match=words):
            trained(study)
    finally:
        path.write_text(before)
