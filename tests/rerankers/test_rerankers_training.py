"""Training cross-encoders: what they learn from, what is left out, what a kill costs (nothing)."""

import json

import numpy as np
import pytest
import torch

from adducir.core.artifacts import read_manifest
from adducir.core.errors import ArtifactError, InputError
from adducir.core.progress import Progress
from adducir.corpora.qrels import load_qrels
from adducir.corpora.topics import load_topics
from adducir.rerankers.examples import Candidates, Counts, Leaks, candidates, examples
from adducir.rerankers.registry import open_reranker
from adducir.rerankers.task import pair_losses
from adducir.runs.read import read_run
from adducir.training import loop
from adducir.training.artifacts import train_model
from adducir.training.kinds import open_training
from adducir.training.leaks import Excluded


@pytest.fixture
def recipe(study, bert):
    """A recipe that learns from the study's judgements and run."""
    path = study / "rerankers" / "tiny.yaml"
    path.write_text(
        f"""kind: cross-encoder
base: {bert}
examples:
  topics: topics.tsv
  qrels: judged.qrels
  corpus: {{source: corpus.jsonl}}
  runs: runs/bm25.trec
held_out: {{share: 0.3}}
training: {{epochs: 3, batch_size: 4, learning_rate: 0.005, patience: null}}
""",
        encoding="utf-8",
    )
    return path


@pytest.fixture
def pairs(study, bert):
    """A recipe that learns from pairs: cats are relevant, dogs are not."""
    lines = []
    for number in range(12):
        for text, label in (("cats run", 1), ("dogs run", 0)):
            record = {"query": f"animal {number}", "text": f"{text} {number}", "label": label}
            lines.append(json.dumps({**record, "docno": f"p{number}{label}"}))
    (study / "pairs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = study / "rerankers" / "pairs.yaml"
    path.write_text(
        f"""kind: cross-encoder
base: {bert}
examples: {{pairs: pairs.jsonl}}
training: {{epochs: 8, batch_size: 8, learning_rate: 0.003}}
""",
        encoding="utf-8",
    )
    return path


def training_plan(path, *changes):
    return open_training(path, changes)


def made_by(plan, folder):
    folder.mkdir(exist_ok=True)
    counts = Counts()
    return list(plan.pairs.examples(counts, folder)), counts


def weights(folder):
    network = open_reranker(folder).model.network
    return torch.cat([tensor.flatten() for tensor in network.state_dict().values()])


NOTHING = Leaks()


def made(study, leaks=NOTHING, **settings):
    counts = Counts()
    found = candidates(
        load_topics(study / "topics.tsv"),
        load_qrels(study / "judged.qrels"),
        [read_run(study / "runs" / "bm25.trec")],
        leaks,
        counts,
        **{"grade": 1, "depth": 100, "unjudged": True, **settings},
    )
    return {one.query.split()[0]: (one.positives, one.negatives) for one in found}, counts


def test_positives_by_grade_and_negatives_of_the_runs(study):
    found, _ = made(study)
    assert found["should"] == (["d1", "d4"], ["d0", "d2", "d5", "d6", "d7"])
    assert found["cats"] == (["d0", "d7"], ["d1", "d2", "d4", "d5", "d6"])
    found, _ = made(study, unjudged=False)
    assert found["should"] == (["d1", "d4"], ["d0"])
    found, _ = made(study, grade=2, depth=2)
    assert found["should"] == (["d1"], ["d0"])
    assert found["cats"] == ([], ["d0", "d1"])


def test_leaks_of_queries_and_documents(study):
    leaks = Leaks(frozenset({"cats"}), Excluded({"pool": frozenset({"d1", "d5"})}))
    found, counts = made(study, leaks)
    assert sorted(found) == ["school", "should"]
    assert found["should"] == (["d4"], ["d0", "d2", "d6", "d7"])
    assert counts.left_out_queries == 1
    # d1 and d5 of each of the two topics left.
    assert counts.left_out_documents == 4


def test_negatives_are_drawn_alike_and_copies_are_left_out():
    texts = {"p": "Cats run", "n1": "dogs", "n2": "cats  RUN", "n3": "slow", "x": "DOGS ", "e": " "}
    topics = [
        Candidates("q", ["p"], ["n1", "n2", "n3", "gone", "e"]),
        Candidates("r", ["p"], []),
        Candidates("s", [], ["n1"]),
    ]
    counts = Counts()
    found = list(counts.counted(examples(topics, texts.get, Leaks(), counts, negatives=9, seed=0)))
    assert [one for one in found if one.label] == [("q", "Cats run", 1.0)]
    # n2 has the text of a positive, and is none of the negatives.
    assert sorted(one.text for one in found if not one.label) == ["dogs", "slow"]
    assert (counts.without_positive, counts.missing, counts.queries) == (2, 2, 1)
    drawn = [
        {one.text for one in examples(topics, texts.get, Leaks(), Counts(), negatives=1, seed=s)}
        for s in (*range(20), 3)
    ]
    assert drawn[3] == drawn[20]
    assert {"Cats run", "dogs"} in drawn
    assert {"Cats run", "slow"} in drawn
    leaks = Leaks(documents=Excluded({"pool": frozenset({"x"})}))
    found = examples(topics, texts.get, leaks, counts, negatives=9, seed=0)
    assert sorted(one.text for one in found) == ["Cats run", "slow"]


def test_losses_by_hand():
    labels = torch.tensor([1.0, 0.0, 0.5])
    one = pair_losses(torch.tensor([[2.0], [-1.0], [0.3]]), labels).numpy()
    sigmoid = 1 / (1 + np.exp(-np.array([2.0, -1.0, 0.3])))
    chances = np.array([1, 0, 0.5])
    expected = -(chances * np.log(sigmoid) + (1 - chances) * np.log(1 - sigmoid))
    np.testing.assert_allclose(one, expected, rtol=1e-5)
    # Two classes say the same as one whose logit is their difference.
    two = pair_losses(torch.tensor([[0.5, 2.5], [1.0, 0.0], [0.0, 0.3]]), labels).numpy()
    np.testing.assert_allclose(two, expected, rtol=1e-5)


def test_it_learns_to_tell_pairs_apart(pairs):
    output = pairs.with_suffix("")
    changes = ("training.epochs=25", "training.learning_rate=0.005", "training.patience=null")
    manifest = train_model(training_plan(pairs, *changes), output)
    assert manifest.counts["training_pairs"] + manifest.counts["held_out_pairs"] == 24
    assert manifest.counts["held_out_pairs"] == 2
    for name in (pairs, output):
        scores = open_reranker(name).score("animal 3", ["cats run 3", "dogs run 3"])
        assert scores[0] > 0 > scores[1]


def test_two_labels_are_a_monobert(pairs):
    output = pairs.with_suffix("")
    text = pairs.read_text().replace("cross-encoder", "monobert")
    pairs.write_text(text)
    train_model(training_plan(pairs, "length=40", "training.epochs=4"), output)
    reranker = open_reranker(output)
    assert (reranker.recipe.model, reranker.recipe.length) == ("monobert", 40)
    assert reranker.scale == "log-probability of class relevant"
    scores = reranker.score("animal 3", ["cats run 3", "dogs run 3"])
    assert 0 > scores[0] > scores[1]
    # A trained one goes on with its own head.
    again = pairs.with_name("again.yaml")
    again.write_text(pairs.read_text().split("examples")[0] + "examples: {pairs: pairs.jsonl}\n")
    recipe = training_plan(again, f"base={output}", "training.epochs=1", "labels=1")
    with pytest.raises(InputError, match="has 2 outputs, not 1"):
        train_model(recipe, again.with_suffix(""))


def test_an_artifact_with_a_card_that_shows_how_it_was_made(recipe, study):
    (study / "test.tsv").write_text("9\tCATS\n")
    (study / "pool.txt").write_text("d2\nelsewhere\n")
    output = recipe.with_suffix("")
    changes = ("examples.without={topics: test.tsv, pools: pool.txt}",)
    manifest = train_model(training_plan(recipe, *changes), output)
    assert manifest.counts["left_out_queries"] == 1
    assert manifest.counts["queries"] == 2
    readme = (output / "README.md").read_text()
    assert "| left out: queries of | test.tsv |" in readme
    assert "| documents named | 2 |" in readme
    assert str(study) not in readme
    assert not [path for path in output.parent.iterdir() if "parts" in path.name]
    assert len(json.loads((output / "training.json").read_text())["validations"]) == 3
    assert train_model(training_plan(recipe, *changes, "description=words"), output) == manifest
    assert train_model(training_plan(recipe), output).fingerprint != manifest.fingerprint


def test_the_fingerprint_follows_all_that_determines_the_weights(recipe, study):
    one = training_plan(recipe).fingerprint
    for change in (
        "examples.grade=2",
        "examples.depth=3",
        "examples.negatives=1",
        "examples.unjudged=false",
        "examples.seed=1",
        "examples.without.qrels=[judged.qrels]",
        "examples.without.copies=false",
        "held_out.seed=1",
        "training.epochs=4",
        "length=30",
        "labels=2",
    ):
        assert training_plan(recipe, change).fingerprint != one, change
    assert training_plan(recipe, "batch_tokens=100").fingerprint == one
    (study / "runs" / "bm25.trec").write_text("1 Q0 d1 1 1 x\n")
    assert training_plan(recipe).fingerprint != one


class Killed(Progress):
    """Stops a training as a kill would, after some steps."""

    def __init__(self, after):
        self.after = after

    def detail(self, text):
        self.after -= 1
        if self.after == 0:
            raise KeyboardInterrupt


def test_a_killed_training_ends_with_the_same_weights(recipe, monkeypatch):
    monkeypatch.setattr(loop, "SNAPSHOT_EVERY", 0.0)
    whole, cut = recipe.with_name("whole"), recipe.with_name("cut")
    train_model(training_plan(recipe), whole)
    for after in (2, 4):
        with pytest.raises(KeyboardInterrupt), Killed(after):
            train_model(training_plan(recipe), cut)
        assert not cut.exists()
    train_model(training_plan(recipe), cut)
    assert torch.equal(weights(whole), weights(cut))
    assert read_manifest(whole).fingerprint == read_manifest(cut).fingerprint


def test_held_out_queries_are_not_trained_on(recipe, tmp_path):
    from adducir.rerankers.examples import held_out, held_out_order

    found, _ = made_by(training_plan(recipe), tmp_path / "texts")
    places = np.array([held_out_order(one.query, 0) for one in found])
    held = held_out(places, 0.3)
    queries = {one.query for one, is_held in zip(found, held, strict=True) if is_held}
    assert len(queries) == 1
    assert held.tolist() == [one.query in queries for one in found]
    assert held_out_order(" A  query ", 0) == held_out_order("a query", 0)
    assert not held_out(places, 0).any()
    with pytest.raises(InputError, match="3 queries, 3 of which"):
        held_out(places, 0.99)
    (tmp_path / "examples").mkdir()
    task = training_plan(recipe).task(torch.device("cpu"))
    counts = task.write(tmp_path / "examples")
    assert counts["training_pairs"] + counts["held_out_pairs"] == len(found)
    assert counts["held_out_pairs"] == held.sum()


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("{", "this is not JSON"),
        ("[1]", "a pair is a JSON object"),
        ('{"query": "a", "label": 1}', "`text` must be a text"),
        ('{"query": "a", "text": "b", "label": 2}', "`label` must be from 0 to 1"),
        ('{"query": "a", "text": "b", "label": "1"}', "`label` must be from 0 to 1"),
        ('{"query": "a", "text": "b"}', "`label` must be from 0 to 1"),
    ],
)
def test_broken_pairs_are_reported_with_their_line(pairs, study, line, error):
    (study / "pairs.jsonl").write_text(f'{{"query": "a", "text": "b", "label": 0}}\n\n{line}\n')
    with pytest.raises(InputError, match=error) as caught:
        made_by(training_plan(pairs), study)
    assert "pairs.jsonl:3" in str(caught.value)


def test_leak_control_of_pairs(pairs, study):
    (study / "test.tsv").write_text("1\tAnimal  3\n")
    (study / "pool.txt").write_text("p41\n")
    change = "examples.without={topics: test.tsv, pools: pool.txt}"
    found, counts = made_by(training_plan(pairs, change), study)
    assert (len(found), counts.left_out_queries, counts.left_out_documents) == (21, 2, 1)
    (study / "pairs.jsonl").write_text('{"query": "a", "text": "b", "label": 0}\n')
    with pytest.raises(InputError, match="has no `docno`"):
        made_by(training_plan(pairs, change), study)


def test_what_cannot_be_trained_is_refused(recipe, bert, study, t5):
    with pytest.raises(ArtifactError, match="has not been trained yet"):
        open_reranker(recipe)
    plain = study / "rerankers" / "plain.yaml"
    plain.write_text(f"model: monot5\nbase: {t5}\n")
    with pytest.raises(InputError, match="the recipe has no `kind`"):
        training_plan(plain)
    plain.write_text(f"kind: monobert\nbase: {bert}\n")
    with pytest.raises(InputError, match="nothing to train"):
        training_plan(plain)
    plain.write_text("\nkind: bm25\n")
    with pytest.raises(InputError, match=r"plain\.yaml:2: there is no kind 'bm25'"):
        training_plan(plain)
    with pytest.raises(InputError, match=r"plain\.yaml: there is no model 'bm25'"):
        open_reranker(plain)
    plain.write_text("base: x\n")
    with pytest.raises(InputError, match="no key `model`"):
        open_reranker(plain)
    plain.write_text(f"kind: monobert\nbase: {bert}\nwindow: 3\n")
    with pytest.raises(InputError, match=r"plain\.yaml:3"):
        training_plan(plain)
    for examples_part in ("{pairs: a, runs: b}", "{topics: a, qrels: b}"):
        plain.write_text(f"kind: monobert\nbase: {bert}\nexamples: {examples_part}\n")
        with pytest.raises(InputError, match="pairs"):
            training_plan(plain)
