"""The complementary model and DRN on tiny weights: against plain versions, trained, selecting."""

import json
import math
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import orjson
import pytest
import torch
from some_questions import some_questions
from transformers import AutoTokenizer

from adducir.core.errors import ArtifactError, InputError
from adducir.models.sources import model_source
from adducir.studies.complementary_evidence.model import (
    ComplementaryModel,
    DRNModel,
    SelectorSettings,
    load_evidence_model,
)
from adducir.studies.complementary_evidence.questions import (
    EvidencePassage,
    EvidenceQuestion,
    LabelledSet,
    write_questions,
)
from adducir.studies.complementary_evidence.selection import DRNSelection, Selection
from adducir.studies.complementary_evidence.training import in_sets
from adducir.training.run import train_model
from adducir.training.trainable import open_training


@pytest.fixture
def place(tmp_path, tiny, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rerankers").mkdir()
    for name, count, seed in (("train", 24, 0), ("validation", 6, 1), ("test", 8, 2)):
        write_questions(some_questions(count, seed=seed), tmp_path / f"{name}.jsonl")
    common = f"""base: {tiny}
data: {{train: train.jsonl, validation: validation.jsonl}}
training: {{epochs: 2, batch_size: 4, learning_rate: 0.001, patience: null}}
"""
    (tmp_path / "rerankers" / "ours.yaml").write_text(
        f"kind: complementary\n{common}selection: {{candidates: [4, 5], diversity: [0, 1]}}\n"
    )
    (tmp_path / "rerankers" / "drn.yaml").write_text(f"kind: drn\n{common}")
    return tmp_path


def opened(place, name="ours", *changes):
    return open_training(place / "rerankers" / f"{name}.yaml", changes)


def loss_of(training, model):
    questions = [*some_questions(2), *some_questions(1, passages=3, seed=4)]
    rows = [{"question": orjson.dumps(one)} for one in questions]
    with torch.no_grad():
        return questions, training.loss(model, training.collate(rows)).item()


def plain_vector(folder, encoder, question, text=None) -> np.ndarray:
    """The vector of one input by transformers alone, without any batch."""
    inputs = AutoTokenizer.from_pretrained(folder)(question, text, return_tensors="pt")
    with torch.no_grad():
        states = encoder.network(**inputs).last_hidden_state[0].numpy()
    if encoder.pooling == "first":
        return states[0]
    side = 0 if text is None else 1
    return states[[place for place, s in enumerate(inputs.sequence_ids(0)) if s == side]].mean(0)


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def plain_states(folder, model, question):
    """P(p|q), the passages' vectors and the question's."""
    (encoder,), (head,), text = model.encoders, model.heads, question.question
    p = [plain_vector(folder, encoder, text, one.text) for one in question.passages]
    w, b = head.weight.detach().numpy()[0], head.bias.item()
    return [sigmoid(float(v @ w) + b) for v in p], p, plain_vector(folder, encoder, text)


def plain_tensor(head, one, two, third=None) -> float:
    """The neural tensor network of two vectors, slice by slice."""
    joined, total = (
        np.concatenate([one, two, *([] if third is None else [third])]),
        head.out.bias.item(),
    )
    for s in range(head.bilinear.shape[0]):
        inside = one @ head.bilinear[s].detach().numpy() @ two
        inside += head.linear.weight[s].detach().numpy() @ joined + head.linear.bias[s].item()
        total += head.out.weight[0, s].item() * math.tanh(inside)
    return total


def plain_drn(folder, drn, question):
    """Logits of relevance, and of novelty as a list of lists."""
    found = [
        (
            plain_vector(folder, encoder, question.question),
            [plain_vector(folder, encoder, one.text) for one in question.passages],
        )
        for encoder in drn.encoders
    ]
    (q, p), (q2, p2) = found
    relevance = [plain_tensor(drn.heads[0], q, v) for v in p]
    return relevance, [[plain_tensor(drn.heads[1], a, b, q2) for b in p2] for a in p2]


def entropy(logit: float, label: bool) -> float:
    return math.log1p(math.exp(-logit if label else logit))


def plain_loss(folder, model, question, diversity, compactness, margin) -> float:
    """Equations 4 to 7 for one question, on lists."""
    chances, vectors, q = plain_states(folder, model, question)
    gold = question.relevant
    loss = -sum(math.log(c if n in gold else 1 - c) for n, c in enumerate(chances))
    for i, j in combinations(sorted(gold), 2):
        one, two = (v / np.linalg.norm(v) for v in (vectors[i], vectors[j]))
        loss += diversity * (1 - float(np.abs(one - two).sum()) / (2 * math.sqrt(len(one))))
    for one in question.sets:
        total = sum(vectors[n] for n in one.members)
        cosine = float(total @ q) / float(np.linalg.norm(total) * np.linalg.norm(q))
        loss += compactness * (1 - cosine if one.label else max(0.0, cosine - margin))
    return loss


def plain_drn_loss(folder, model, question) -> float:
    relevance, novelty = plain_drn(folder, model, question)
    gold = question.relevant
    loss = sum(entropy(value, n in gold) for n, value in enumerate(relevance))
    for first in gold:
        some = enumerate(novelty[first])
        loss += sum(entropy(v, n in gold and n != first) for n, v in some) / len(gold)
    return loss


@pytest.mark.parametrize("pooling", ["first", "mean"])
@pytest.mark.parametrize(("diversity", "compactness"), [(0.7, 1.3), (0, 2), (3, 0), (0, 0)])
def test_the_loss_is_that_of_the_equations(tiny, place, pooling, diversity, compactness) -> None:
    weights = f"weights={{diversity: {diversity}, compactness: {compactness}}}"
    training = opened(place, "ours", weights, "margin=0.2", f"pooling={pooling}")
    model = training.model()
    questions, found = loss_of(training, model)
    wanted = [plain_loss(tiny, model, one, diversity, compactness, 0.2) for one in questions]
    assert found == pytest.approx(sum(wanted) / 3, abs=2e-4)


def steep(model):
    with torch.no_grad():
        for head in model.heads:
            if isinstance(model, DRNModel):
                head.bilinear.mul_(100)
                head.out.weight.mul_(5)
            else:
                head.weight.mul_(50)
    return model


@pytest.fixture(params=["first", "mean"])
def model(tiny, request) -> ComplementaryModel:
    settings = SelectorSettings(pooling=request.param, selection=Selection(candidates=5, beam=8))
    return steep(ComplementaryModel.untrained(model_source(str(tiny)), settings, seed=1))


@pytest.fixture
def drn(tiny) -> DRNModel:
    settings = SelectorSettings(kind="drn", selection=DRNSelection(), slices=3)
    return steep(DRNModel.untrained(model_source(str(tiny)), settings, seed=1))


def test_drn_learns_relevance_and_novelty(tiny, place) -> None:
    training = opened(place, "drn")
    model = steep(training.model())
    questions, found = loss_of(training, model)
    wanted = [plain_drn_loss(tiny, model, one) for one in questions]
    assert found == pytest.approx(sum(wanted) / 3, abs=1e-3)


def test_no_selection_depends_on_the_batch(tiny, model, drn) -> None:
    questions = [*some_questions(3), *some_questions(2, passages=9, seed=4)]
    whole = model.pools(questions, 9)
    small = model.pools(questions[::-1], 9, tokens=40)[::-1]
    for question, one, two in zip(questions, whole, small, strict=True):
        chances, vectors, _ = plain_states(tiny, model, question)
        products = np.stack(vectors) @ np.stack(vectors).T
        for pool in (one, two):
            order = pool.numbers
            np.testing.assert_allclose(pool.relevance, np.array(chances)[order], atol=1e-4)
            np.testing.assert_allclose(
                pool.products, products[order][:, order], rtol=1e-3, atol=1e-4
            )
    for question, pool in zip(questions, drn.pools(questions, 0, tokens=40), strict=True):
        relevance, novelty = plain_drn(tiny, drn, question)
        np.testing.assert_allclose(pool.relevance, list(map(sigmoid, relevance)), atol=1e-4)
        wanted = [list(map(sigmoid, row)) for row in novelty]
        np.testing.assert_allclose(pool.novelty, wanted, atol=1e-4)


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_drn_selects_the_relevant_then_the_novel(tiny, drn, weight) -> None:
    questions = some_questions(5)
    for question, pool in zip(questions, drn.pools(questions, 0), strict=True):
        logits, matrix = plain_drn(tiny, drn, question)
        chances = list(map(sigmoid, logits))
        taken = [max(range(5), key=chances.__getitem__)]
        while len(taken) < 3:
            value = {
                n: (1 - weight) * chances[n] + weight * min(sigmoid(matrix[m][n]) for m in taken)
                for n in range(5)
                if n not in taken
            }
            taken.append(max(value, key=value.__getitem__))
        assert pool.best(DRNSelection(size=3, novelty=weight))[0] == taken


def test_few_passages_and_none(model, drn) -> None:
    (question,) = some_questions(1)
    few = replace(question, passages=question.passages[:1], gold=(), sets=())
    for one in (model, drn):
        pools = one.pools([replace(few, passages=()), few], 4)
        assert [pool.best(one.settings.selection)[0] for pool in pools] == [[], [0]]


def test_a_model_that_was_saved_is_the_same(model, drn, tmp_path) -> None:
    questions = some_questions(2)
    for one in (model, drn):
        folder = tmp_path / one.settings.kind
        one.save(folder)
        loaded = load_evidence_model(folder)
        assert loaded.settings == one.settings
        for first, second in zip(one.pools(questions, 5), loaded.pools(questions, 5), strict=True):
            assert all(
                np.array_equal(a, b)
                for a, b in zip(vars(first).values(), vars(second).values(), strict=True)
            )
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} <= {
        ".json",
        ".safetensors",
        ".txt",
    }
    (folder / "novelty" / "head.safetensors").write_bytes(b"{}")
    with pytest.raises(InputError):
        load_evidence_model(folder)
    with pytest.raises(InputError):
        load_evidence_model(tmp_path)
    with pytest.raises(ArtifactError):
        load_evidence_model(tmp_path / "x.yaml")


def test_texts_are_cut_and_the_question_stays(tiny) -> None:
    settings = SelectorSettings(length=12)
    reader = ComplementaryModel.untrained(model_source(str(tiny)), settings, seed=1).reader
    passages = (
        EvidencePassage("a", "cat", "dog " * 30),
        EvidencePassage("b", "", ""),
        EvidencePassage("c", "", "run"),
    )

    def shown(question: str) -> list[tuple[str, str]]:
        found = []
        for one in reader.read(EvidenceQuestion("q", question, passages)):
            words = reader.tokenizer.convert_ids_to_tokens(one.ids)
            own = (word for word, is_own in zip(words, one.own, strict=True) if is_own)
            found.append((" ".join(words), " ".join(own)))
        return found

    assert shown("fast cats ?") == [
        ("[CLS] fast cats ? [SEP]", "fast cats ?"),
        ("[CLS] fast cats ? [SEP] cat . dog dog dog dog [SEP]", "cat . dog dog dog dog"),
        ("[CLS] fast cats ? [SEP] [SEP]", ""),
        ("[CLS] fast cats ? [SEP] run [SEP]", "run"),
    ]
    # 9 of 12 tokens are not special; a quarter of them, 2, are kept for the passage.
    long = [text for text, _ in shown("a " * 40)]
    assert long[0] == "[CLS]" + " a" * 10 + " [SEP]"
    assert long[1] == "[CLS]" + " a" * 7 + " [SEP] cat . [SEP]"
    assert long[3] == "[CLS]" + " a" * 8 + " [SEP] run [SEP]"


def test_frozen_layers_stay(place) -> None:
    before = opened(place).model().state_dict()
    output = place / "rerankers" / "ours"
    train_model(opened(place, "ours", "layers=1"), output)
    after = load_evidence_model(output).state_dict()
    moved = {name for name, value in after.items() if not torch.equal(value, before[name])}
    top = {
        name
        for name in before
        if name.startswith(("heads.", "encoders.0.network.encoder.layer.1."))
    }
    assert moved <= top
    assert any("layer.1." in name for name in moved)


@pytest.mark.slow
def test_it_learns_what_is_to_be_learned(place) -> None:
    changes = "training.epochs=12", "training.learning_rate=0.003", "training.warmup=0"
    output = place / "rerankers" / "ours"
    counts = train_model(opened(place, "ours", *changes), output).counts
    history = json.loads((output / "training.json").read_text())
    losses = [entry["training_loss"] for entry in history["validations"]]
    assert losses[-1] < 0.8 * losses[0]
    assert (counts["training_examples"], counts["training_sets"]) == (24, 24 * 4)
    assert counts["settings_tried"] == 4
    chosen = load_evidence_model(output).settings.selection
    assert chosen.compactness == 1.0  # that of the loss
    # The settings are those of the best exact match, then F1, then the first.
    questions, rates = some_questions(6, seed=1), []
    pools = load_evidence_model(output).pools(questions, 5)
    for candidates, diversity in product((4, 5), (0.0, 1.0)):
        selection = Selection(candidates=candidates, diversity=diversity)
        found = [{*pool.best(selection)[0]} for pool in pools]
        gold = [{*question.gold[0]} for question in questions]
        exact = np.mean([one == two for one, two in zip(found, gold, strict=True)])
        f1 = np.mean([len(one & two) / 2 for one, two in zip(found, gold, strict=True)])
        rates.append((exact, round(f1, 9), selection))
    best = max(rate[:2] for rate in rates)
    assert chosen == next(rate[2] for rate in rates if rate[:2] == best)
    assert (counts["validation_exact_match"], counts["validation_f1"]) == pytest.approx(
        best, abs=1e-4
    )


def test_the_fingerprint_follows_all_that_determines_the_weights(place) -> None:
    one = opened(place).fingerprint
    assert opened(place, "ours", "description=other").fingerprint == one
    changes = "weights.diversity=0 margin=0.3 pooling=mean length=20 layers=1 selection.beam=2"
    changes += " data.train=test.jsonl data.without=test.jsonl data.passages=sets training.seed=1"
    for change in changes.split():
        assert opened(place, "ours", change).fingerprint != one, change
    assert opened(place, "drn", "slices=2").fingerprint != opened(place, "drn").fingerprint


def test_recipes_that_cannot_be(place) -> None:
    changes = "weights.diversity=-1 pooling=max data.shares={train:0.5} selection.novelty=1"
    for change in [*changes.split(), "weights=null"]:
        with pytest.raises(InputError):
            opened(place, "ours", change)


def test_data_are_kept_apart(place) -> None:
    write_questions([*some_questions(4), *some_questions(3, seed=9)], place / "mixed.jsonl")
    write_questions(some_questions(5, seed=9), place / "nine.jsonl")

    def data(text: str):
        return opened(place, "ours", f"data={{{text}}}").dataset(place / text.replace("/", ""))

    found = data("train: mixed.jsonl, without: nine.jsonl, shares: {train: 1.0}")
    assert (len(found.train), found.counts["questions"]) == (4, 4)
    halves = data("train: train.jsonl, shares: {train: 0.5, validation: 0.5}")
    assert len(halves.train) + len(halves.validation) == 24
    for text in (
        "train: mixed.jsonl, validation: train.jsonl",
        "train: [mixed.jsonl, train.jsonl]",
        "train: nine.jsonl, without: nine.jsonl",
    ):
        with pytest.raises(InputError):
            data(text)


def test_passages_of_the_sets_alone() -> None:
    passages = tuple(EvidencePassage(f"p{n}", "", f"text {n}") for n in range(7))
    sets = LabelledSet((1, 5), True), LabelledSet((3, 5), False)
    small = in_sets(EvidenceQuestion("q", "?", passages, ((1, 5),), sets))
    assert [one.id for one in small.passages] == ["p1", "p3", "p5"]
    assert small.gold == ((0, 2),)
    assert small.sets == (LabelledSet((0, 2), True), LabelledSet((1, 2), False))
