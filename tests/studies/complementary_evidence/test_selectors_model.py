"""The complementary model and DRN on tiny weights, against plain reference implementations."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from some_questions import some_questions
from test_selectors_scoring import plain_score
from transformers import AutoTokenizer

from adducir.core.errors import ArtifactError, InputError, UsageError
from adducir.models.sources import model_source
from adducir.studies.complementary_evidence.questions import (
    EvidenceQuestion,
    Passage,
    write_questions,
)
from adducir.studies.complementary_evidence.selectors.drn import DRNModel
from adducir.studies.complementary_evidence.selectors.model import ComplementaryModel
from adducir.studies.complementary_evidence.selectors.recipe import ComplementaryRecipe, DRNRecipe
from adducir.studies.complementary_evidence.selectors.scoring import Weights
from adducir.studies.complementary_evidence.selectors.selecting import (
    changed,
    load_evidence_model,
    select,
    tune,
)
from adducir.studies.complementary_evidence.selectors.settings import (
    DRNSelection,
    Selection,
    Settings,
)
from adducir.studies.complementary_evidence.selectors.task import ComplementaryTask, DRNTask
from adducir.studies.complementary_evidence.selectors.training import ComplementaryPlan, DRNPlan


@pytest.fixture(params=["first", "mean"])
def model(bert, request) -> ComplementaryModel:
    """A model whose head is steep enough to show passages apart."""
    settings = Settings(pooling=request.param, selection=Selection(candidates=5, beam=8))
    made = ComplementaryModel.untrained(model_source(str(bert)), settings, seed=1)
    with torch.no_grad():
        made.head.weight.mul_(50)
    return made


@pytest.fixture
def drn(bert) -> DRNModel:
    settings = Settings(kind="drn", selection=DRNSelection(), slices=3)
    made = DRNModel.untrained(model_source(str(bert)), settings, seed=1)
    with torch.no_grad():
        for side in (made.relevance, made.novelty):
            side.head.bilinear.mul_(100)
            side.head.out.weight.mul_(5)
    return made


def plain_vector(folder, model, pooling, question, text=None) -> np.ndarray:
    """The vector of one input by transformers alone, without any batch."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(question, text, return_tensors="pt")
    with torch.no_grad():
        states = model.encoder.network(**inputs).last_hidden_state[0].numpy()
    if pooling == "first":
        return states[0]
    side = 0 if text is None else 1
    kept = [place for place, s in enumerate(inputs.sequence_ids(0)) if s == side]
    return states[kept].mean(0)


def plain_states(folder, model, question):
    """P(p|q), the passages' vectors and the question's."""
    pooling = model.settings.pooling
    q = plain_vector(folder, model, pooling, question.question)
    p = [plain_vector(folder, model, pooling, question.question, x.text) for x in question.passages]
    w, b = model.head.weight.detach().numpy()[0], model.head.bias.item()
    return [1 / (1 + math.exp(-(float(v @ w) + b))) for v in p], p, q


def plain_cosine(one, two) -> float:
    return float(one @ two) / float(np.linalg.norm(one) * np.linalg.norm(two))


def plain_loss(folder, model, question, weights, margin) -> float:
    """Equations 4 to 7 for one question, on lists."""
    chances, vectors, q = plain_states(folder, model, question)
    true = question.relevant
    loss = -sum(math.log(c if n in true else 1 - c) for n, c in enumerate(chances))
    for i, j in combinations(sorted(true), 2):
        one, two = (v / np.linalg.norm(v) for v in (vectors[i], vectors[j]))
        apart = float(np.abs(one - two).sum()) / (2 * math.sqrt(len(one)))
        loss += weights.diversity * (1 - apart)
    for one in question.sets:
        members, label = one.members, one.label
        cosine = plain_cosine(sum(vectors[n] for n in members), q)
        loss += weights.compactness * (1 - cosine if label else max(0.0, cosine - margin))
    return loss


ALL = Weights(1, 1)


def task_of(model, questions, folder, weights=ALL, margin=0.1, tokens=16384, layers=None):
    """A task with these questions to learn from."""
    folder.mkdir()
    write_questions(questions, folder / "questions.jsonl")
    common = {
        "base": model._tokenizer.name_or_path,
        "layers": layers,
        "data": {"train": "questions.jsonl", "shares": {"train": 1.0}},
        "training": {"at_once": tokens},
    }
    if isinstance(model, ComplementaryModel):
        terms = {"diversity": weights.diversity, "compactness": weights.compactness}
        plan = ComplementaryPlan(
            ComplementaryRecipe(weights=terms, margin=margin, **common), folder
        )
        task = ComplementaryTask(model, plan.recipe, folder, plan.preparation)
    else:
        plan = DRNPlan(DRNRecipe(kind="drn", **common), folder)
        task = DRNTask(model, plan.recipe, folder, plan.preparation)
    (folder / "examples").mkdir()
    task.write(folder / "examples")
    task.read(folder / "examples")
    return task


def loss_of(task, batch):
    total, count = task.losses(np.asarray(batch))
    return total / count


@pytest.mark.parametrize(
    "weights", [Weights(0.7, 1.3), Weights(0, 2), Weights(3, 0), Weights(0, 0)]
)
def test_the_loss_through_the_model_is_that_of_the_equations(bert, model, weights, tmp_path):
    questions = [*some_questions(2), *some_questions(1, passages=3, seed=4)]
    task = task_of(model, questions, tmp_path / "examples", weights, 0.2)
    wanted = [plain_loss(bert, model, one, weights, 0.2) for one in questions]
    with torch.no_grad():
        found = loss_of(task, [2, 0, 1]).item()
    assert found == pytest.approx(sum(wanted) / 3, abs=2e-4)
    assert task.validate() is None
    task.held_out, task.tokens = task.training, 150
    with torch.no_grad():
        assert task.validate() == pytest.approx(sum(wanted) / 3, abs=2e-4)


def test_no_value_depends_on_the_batch(bert, model):
    questions = [*some_questions(3), *some_questions(2, passages=9, seed=4)]
    encoded = [model.read(one) for one in questions]
    whole = model.states(encoded)
    pieces = model.states(encoded[::-1], tokens=40)
    for row, question in enumerate(questions):
        count = len(question.passages)
        assert whole.mask[row].tolist() == [n < count for n in range(9)]
        chances, vectors, q = plain_states(bert, model, question)
        for found in (
            [part[row] for part in whole[:3]],
            [part[len(questions) - 1 - row] for part in pieces[:3]],
            [part[0] for part in model.states([encoded[row]])[:3]],
        ):
            np.testing.assert_allclose(found[0][:count].sigmoid(), chances, atol=1e-4)
            np.testing.assert_allclose(found[1][:count], np.stack(vectors), atol=1e-5)
            np.testing.assert_allclose(found[2], q, atol=1e-5)
            assert not found[1][count:].any()


def test_pieces_give_the_gradient_of_the_whole_batch(model, tmp_path):
    model.eval()
    found = []
    for tokens in (10_000, 40):
        task = task_of(model, some_questions(3), tmp_path / f"{tokens}", tokens=tokens)
        model.zero_grad()
        loss_of(task, np.arange(3)).backward()
        gradients = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
        found.append(torch.cat(gradients).clone())
    assert found[0].abs().max() > 1e-2
    torch.testing.assert_close(found[0], found[1], atol=1e-4, rtol=1e-3)


def test_a_model_that_was_saved_is_the_same(model, tmp_path):
    encoded = [model.read(one) for one in some_questions(2)]
    model.save(tmp_path)
    loaded = load_evidence_model(tmp_path)
    assert loaded.settings == model.settings
    for one, two in zip(model.states(encoded), loaded.states(encoded), strict=True):
        assert torch.equal(one, two)
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".bin", ".pt", ".pkl")]
    (tmp_path / "head.safetensors").write_bytes(b"{}")
    with pytest.raises(InputError, match="head's weights"):
        load_evidence_model(tmp_path)


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds no evidence\.json"):
        load_evidence_model(tmp_path)
    with pytest.raises(ArtifactError, match="not trained"):
        load_evidence_model(tmp_path / "x.yaml")
    (tmp_path / "evidence.json").write_text('{"kind": "other"}')
    with pytest.raises(InputError, match="not what Adducir wrote"):
        load_evidence_model(tmp_path)


def test_texts_are_cut_and_the_question_stays(bert):
    settings = Settings(length=12)
    model = ComplementaryModel.untrained(model_source(str(bert)), settings, seed=1)
    passages = (Passage("a", "cat", "dog " * 30), Passage("b", "", ""), Passage("c", "", "run"))
    tokenizer = AutoTokenizer.from_pretrained(bert)

    def shown(one):
        words = tokenizer.convert_ids_to_tokens(one.ids)
        return " ".join(words), [w for w, own in zip(words, one.own, strict=True) if own]

    short = model.read(EvidenceQuestion("q", "fast cats ?", passages))
    assert shown(short.question) == ("[CLS] fast cats ? [SEP]", ["fast", "cats", "?"])
    text, own = shown(short.passages[0])
    assert text == "[CLS] fast cats ? [SEP] cat . dog dog dog dog [SEP]"
    assert own == ["cat", ".", "dog", "dog", "dog", "dog"]
    assert shown(short.passages[1]) == ("[CLS] fast cats ? [SEP] [SEP]", [])
    # 9 of 12 tokens are not special; a quarter of them, 2, are kept for the passage.
    long = model.read(EvidenceQuestion("q", "a " * 40, passages))
    assert shown(long.question)[0] == "[CLS]" + " a" * 10 + " [SEP]"
    assert shown(long.passages[0])[0] == "[CLS]" + " a" * 7 + " [SEP] cat . [SEP]"
    assert shown(long.passages[2])[0] == "[CLS]" + " a" * 8 + " [SEP] run [SEP]"
    assert len(long) == 4 * 12
    states = model.states([long])
    assert all(bool(part.isfinite().all()) for part in states)


def test_a_wide_beam_selects_the_best_of_all_sets(bert, model):
    questions = some_questions(4)
    weights = Weights(1.5, 0.5)
    arguments = changed(model.settings.selection, {"diversity": 1.5, "compactness": 0.5})
    for question, one in zip(questions, select(model, questions, arguments), strict=True):
        chances, vectors, q = plain_states(bert, model, question)
        best, score = None, -math.inf
        for members in combinations(range(5), 2):
            some = [[part[n] for n in members] for part in (chances, vectors)]
            value = plain_score(*some, q, weights)
            if value > score:
                best, score = members, value
        assert one.id == question.id
        assert {question.passages[n].id for n in best} == set(one.chosen)
        assert one.score == pytest.approx(score, abs=1e-4)
        ranks = {question.passages[n].id: chances[n] for n in best}
        assert len(one.chosen) == len(set(one.chosen)) == len(ranks) == 2


def test_without_weights_the_most_relevant_are_selected_in_order(bert, model):
    questions = some_questions(4)
    arguments = Selection(size=3, beam=1, candidates=3, diversity=0, compactness=0)
    for question, one in zip(
        questions, select(model, questions, arguments, tokens=30), strict=True
    ):
        chances, _, _ = plain_states(bert, model, question)
        order = sorted(range(5), key=lambda n: -chances[n])[:3]
        assert one.chosen == tuple(question.passages[n].id for n in order)


def test_few_passages_and_none(model, drn):
    (question,) = some_questions(1)
    few = replace(question, passages=question.passages[:1], gold=(), sets=())
    none = replace(few, id="none", passages=())
    for one in (model, drn):
        found = list(select(one, [none, few]))
        assert [chosen.chosen for chosen in found] == [(), ("p0",)]
        assert found[0].score == 0.0
        assert list(select(one, [])) == []
        assert [chosen.chosen for chosen in select(one, [none])] == [()]


def test_equal_passages_are_taken_in_their_order(model):
    (question,) = some_questions(1)
    twins = tuple(Passage(f"t{n}", "", "cat is slow") for n in range(4))
    equal = replace(question, passages=twins, gold=(), sets=())
    (found,) = select(model, [equal], Selection(candidates=4, beam=3))
    assert found.chosen == ("t0", "t1")


def test_settings_are_chosen_by_exact_match(model):
    questions = some_questions(12)
    grid = {
        "size": (2,),
        "candidates": (2, 5),
        "beam": (5,),
        "diversity": (0.0, 4.0),
        "compactness": (0.0, 9.0, -1.0),
    }
    best = tune(model, questions, grid)
    assert best.tried == 8  # a weight below 0 does not fit
    rates = []
    for candidates in (2, 5):
        for diversity in (0.0, 4.0):
            for compactness in (0.0, 9.0):
                selection = Selection(
                    candidates=candidates, beam=5, diversity=diversity, compactness=compactness
                )
                sets = [frozenset(one.chosen) for one in select(model, questions, selection)]
                hits = [one == q.gold_ids[0] for one, q in zip(sets, questions, strict=True)]
                f1 = [len(s & q.gold_ids[0]) / 2 for s, q in zip(sets, questions, strict=True)]
                rates.append((sum(hits) / 12, round(sum(f1) / 12, 9), selection))
    highest = max(rate[:2] for rate in rates)
    assert best.selection == next(rate[2] for rate in rates if rate[:2] == highest)
    assert (best.exact_match, best.f1) == pytest.approx(highest)
    with pytest.raises(UsageError, match="no combination"):
        tune(model, questions, {"size": (3,), "candidates": (2,)})


def test_changes_of_settings_that_mean_nothing(model, drn):
    arguments = changed(model.settings.selection, {"size": None, "beam": 2})
    assert arguments == Selection(beam=2, candidates=5)
    with pytest.raises(UsageError, match="--set novelty means nothing"):
        changed(arguments, {"novelty": 0.5})
    with pytest.raises(UsageError, match="5 candidates make no set of 6"):
        changed(arguments, {"size": 6})
    with pytest.raises(UsageError, match="--set beam means nothing"):
        changed(drn.settings.selection, {"beam": 2})
    with pytest.raises(UsageError, match="settings are not those"):
        list(select(drn, some_questions(1), Selection()))


def plain_tensor(head, one, two, third=None) -> float:
    """The neural tensor network of two vectors, slice by slice."""
    parts = [one, two] + ([] if third is None else [third])
    joined = np.concatenate(parts)
    total = head.out.bias.item()
    for s in range(head.bilinear.shape[0]):
        inside = one @ head.bilinear[s].detach().numpy() @ two
        inside += head.linear.weight[s].detach().numpy() @ joined + head.linear.bias[s].item()
        total += head.out.weight[0, s].item() * math.tanh(inside)
    return total


def plain_drn(folder, drn, question):
    """Logits of relevance, and of novelty as a list of lists."""
    found = []
    for side in (drn.relevance, drn.novelty):
        q = plain_vector(folder, side, "first", question.question)
        found.append((q, [plain_vector(folder, side, "first", x.text) for x in question.passages]))
    (q, p), (q2, p2) = found
    relevance = [plain_tensor(drn.relevance.head, q, v) for v in p]
    return relevance, [[plain_tensor(drn.novelty.head, a, b, q2) for b in p2] for a in p2]


def entropy(logit: float, label: bool) -> float:
    return math.log1p(math.exp(-logit if label else logit))


def test_drn_learns_relevance_and_novelty(bert, drn, tmp_path):
    questions = [*some_questions(2), *some_questions(1, passages=3, seed=4)]
    wanted = []
    for question in questions:
        relevance, novelty = plain_drn(bert, drn, question)
        true = question.relevant
        loss = sum(entropy(value, n in true) for n, value in enumerate(relevance))
        for first in true:
            some = enumerate(novelty[first])
            loss += sum(entropy(v, n in true and n != first) for n, v in some) / len(true)
        wanted.append(loss)
    task = task_of(drn, questions, tmp_path / "examples")
    with torch.no_grad():
        assert loss_of(task, np.arange(3)).item() == pytest.approx(sum(wanted) / 3, abs=1e-3)


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_drn_selects_the_relevant_then_the_novel(bert, drn, weight):
    questions = some_questions(5)
    selection = DRNSelection(size=3, novelty=weight)
    for question, one in zip(questions, select(drn, questions, selection), strict=True):
        logits, matrix = plain_drn(bert, drn, question)
        chances = [1 / (1 + math.exp(-v)) for v in logits]
        taken = [max(range(5), key=lambda n: chances[n])]
        while len(taken) < 3:
            rest = [n for n in range(5) if n not in taken]
            value = {
                n: (1 - weight) * chances[n]
                + weight * min(1 / (1 + math.exp(-matrix[m][n])) for m in taken)
                for n in rest
            }
            taken.append(max(rest, key=value.__getitem__))
        assert one.chosen == tuple(question.passages[n].id for n in taken)


def test_drn_that_was_saved_is_the_same(drn, tmp_path):
    encoded = [drn.read(one) for one in some_questions(2)]
    drn.save(tmp_path)
    loaded = load_evidence_model(tmp_path)
    for one, two in zip(drn.states(encoded), loaded.states(encoded), strict=True):
        assert torch.equal(one, two)


def test_frozen_layers_are_computed_once_and_stay(model, tmp_path):
    questions = [*some_questions(2), *some_questions(1, passages=3, seed=4)]
    plain = [model.read(one) for one in questions]
    wanted = model.states(plain)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model.encoder.freeze(1)
    task = task_of(model, questions, tmp_path / "examples", layers=1)
    ready = task.encoded(task.training[np.arange(3)])
    assert all(one.below is not None for q in ready for one in (q.question, *q.passages))
    for one, two in zip(wanted, model.states(ready), strict=True):
        torch.testing.assert_close(one, two, atol=1e-5, rtol=1e-5)
    loss_of(task, np.arange(3)).backward()
    trained = {name for name, p in model.named_parameters() if p.grad is not None}
    assert trained == {
        n for n in before if n.startswith(("head.", "encoder.network.encoder.layer.1."))
    }
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter -= 0.1 * parameter.grad
    # What was computed before still holds, as the layers below did not move.
    for one, two in zip(model.states(plain), model.states(ready), strict=True):
        torch.testing.assert_close(one, two, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(model.states(plain).vectors, wanted.vectors, atol=1e-3)
