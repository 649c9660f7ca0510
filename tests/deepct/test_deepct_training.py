"""Training from a recipe: rows, leak control, loss, what is learned and how well it recovers."""

from itertools import pairwise, permutations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from json_files import jsonl
from tiny import tiny_bert, tiny_decoder

from adducir.core.errors import InputError, UsageError
from adducir.deepct.model import TermWeighter
from adducir.deepct.training import by_tf_idf, constant, expected_average_precision, recoveries
from adducir.training.run import train_model
from adducir.training.trainable import open_training

DOCUMENTS = [
    ("D1", "Guns", "Ban guns", "Guns kill the people. A ban!"),
    ("D2", "Guns", "Is it?", "It is."),
    ("D3", "Tax", "", "Nothing is said."),
    ("D4", "Tax", "Tax more", "States need the money."),
    ("D5", "Tax", "Cut taxes", "?!"),
    ("D6", "Guns", "Guns", "guns KILL\nthe people. a ban!"),
]


@pytest.fixture
def recipe(study):
    keys = ("docno", "topic", "conclusion", "premise")
    jsonl(study / "corpus.jsonl", (dict(zip(keys, one, strict=True)) for one in DOCUMENTS))
    path = study / "deepct" / "tiny.yaml"
    text = path.read_text().replace("{length: 20}", "{length: 4, unit: words}")
    path.write_text(text.replace("{share: 0.25}", "{share: 0}"))
    return path


def rows_of(path, folder, *changes):
    data = open_training(path, changes).dataset(folder)
    return list(data.train), data


def test_rows_by_hand(recipe, tmp_path):
    rows, data = rows_of(recipe, tmp_path / "rows")
    found = [(str(r["docno"]), r["targets"].tolist(), r["is_stop"].tolist()) for r in rows]
    assert found[:3] == [
        ("D1", [1, 0, 0, 0], [False, False, True, False]),
        ("D1", [0, 1], [True, False]),
        ("D4", [0] * 4, [False, False, True, False]),
    ]
    assert data.counts == {
        "documents": 6,
        "excluded": 0,
        "excluded_by_source": {},
        "copies": 0,
        "without_reference": 2,
        "passages": 6,
        "without_words": 1,
        "without_positive": 2,
        "examples": 5,
        "words": 16,
        "stop_words": 5,
        "positives": 3,
    }
    kept, _ = rows_of(recipe, tmp_path / "positive", "keep_empty=false")
    assert [str(row["docno"]) for row in kept] == ["D1", "D1", "D6"]
    some, _ = rows_of(recipe, tmp_path / "most", "most=2")
    assert len(some) == 2


def test_leak_control_leaves_out_documents_and_their_copies(recipe, tmp_path):
    (recipe.parents[1] / "judged.qrels").write_text("1 0 D1 0\n1 0 elsewhere 1\n")
    rows, data = rows_of(recipe, tmp_path / "rows", "without.qrels=judged.qrels")
    assert {str(row["docno"]) for row in rows} == {"D4"}
    assert (data.counts["excluded"], data.counts["copies"]) == (1, 1)
    assert data.counts["excluded_by_source"] == {"judged.qrels": 1}


def test_query_term_recall_from_topics(recipe, tmp_path):
    folder = recipe.parents[1]
    (folder / "topics.tsv").write_text("1\tban guns\n2\tgun deaths\n3\ttaxes\n")
    (folder / "q.qrels").write_text("1 0 D1 2\n2 0 D1 1\n3 0 D1 0\n3 0 D4 1\n9 0 D6 2\n")
    text = recipe.read_text()
    recipe.write_text(
        text.replace("reference: conclusion", "topics: {source: topics.tsv, qrels: q.qrels}")
    )
    rows, data = rows_of(recipe, tmp_path / "rows")
    assert [(str(row["docno"]), row["targets"].tolist()) for row in rows] == [
        ("D1", [1.0, 0, 0, 0]),
        ("D1", [0, 0.5]),
        ("D4", [0] * 4),
    ]
    assert data.counts["without_reference"] == 4


def test_held_out_documents_stay_together_and_follow_the_seed(study, tmp_path):
    recipe = study / "deepct" / "tiny.yaml"

    def held_out(name, *changes):
        data = open_training(recipe, ("held_out.test=0.3", *changes)).dataset(tmp_path / name)
        parts = (data.train, data.validation, data.test)
        return [{str(docno) for docno in part["docno"]} for part in parts]

    one, other = held_out("a"), held_out("b", "held_out.seed=5")
    assert one != other
    assert not one[0] & one[1] and not one[1] & one[2] and not one[0] & one[2]
    by_topic = held_out("c", "held_out.by=topic", "held_out.share=0.4")
    topics = [{int(docno[1:]) % 4 for docno in part} for part in by_topic]
    assert not topics[0] & topics[1] and not topics[0] & topics[2]


def test_training_reads_so_many_tokens_of_a_passage(study, tmp_path):
    recipe = study / "deepct" / "tiny.yaml"
    whole, _ = rows_of(recipe, tmp_path / "whole")
    cut, _ = rows_of(recipe, tmp_path / "cut", "training_length=8")
    assert max(len(one["ids"]) for one in whole) > 8 == max(len(one["ids"]) for one in cut)
    for one, other in zip(whole, cut, strict=True):
        assert one["ids"][[0, -1]].tolist() == other["ids"][[0, -1]].tolist()  # [CLS], [SEP] stay
        kept = [place for place in one["firsts"] if place < len(other["ids"]) - 1]
        assert [place for place in other["firsts"] if place >= 0] == kept


@pytest.mark.parametrize(
    ("change", "error", "key"),
    [
        ("passages={length: 63}", InputError, "passages.length"),
        ("reference=premise", UsageError, "premise"),
        ("text=absent", InputError, "absent"),
        ("stopwords=none.txt", UsageError, "none.txt"),
    ],
)
def test_recipes_that_make_no_sense(study, tmp_path, change, error, key):
    with pytest.raises(error) as caught:
        open_training(study / "deepct" / "tiny.yaml", (change,)).dataset(tmp_path / "rows")
    assert key in str(caught.value)


def test_the_loss_is_the_mean_squared_error_worked_by_hand(study):
    class Fixed(torch.nn.Module):
        def forward(self, **_):
            values = torch.tensor([[0.0, 1.0, -1.0], [2.0, 0.5, 0.0]])
            return type("Output", (), {"logits": values.unsqueeze(-1)})

    def row(firsts, targets, is_stop):
        kinds = (np.int32, np.int32, np.float32, bool)
        arrays = ([2, 5, 3], firsts, targets, is_stop)
        return dict(
            zip(
                ("ids", "firsts", "targets", "is_stop"),
                (np.array(a, dtype=k) for a, k in zip(arrays, kinds, strict=True)),
                strict=True,
            )
        )

    rows = [row([1, 2], [1, 0], [False, False]), row([0, -1, 1], [0.5, 1, 1], [False, False, True])]
    # sigmoid(1) = .7310586, sigmoid(-1) = .2689414, sigmoid(2) = .8807971
    for changes, expected in (
        ((), (2 * 0.2689414**2 + 0.3807971**2) / 3),
        (("activation=none",), (0 + 1 + 2.25) / 3),
        (("activation=none", "stop_words_in_loss=true"), (0 + 1 + 2.25 + 0.25) / 4),
    ):
        training = open_training(study / "deepct" / "tiny.yaml", changes)
        loss = training.loss(Fixed(), training.collate(rows))
        assert float(loss) == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_overfitting_a_few_passages_reaches_their_targets(study):
    output = study / "deepct" / "tiny"
    changes = ("held_out.share=0", "training.epochs=40", "training.learning_rate=0.005")
    manifest = train_model(open_training(study / "deepct" / "tiny.yaml", changes), output)
    assert manifest.counts["recovery"] is None
    (found,) = TermWeighter.load(output).weigh(["nuclear power plants, cheap and clean energy"])
    by_word = dict(zip([w.text for w in found.words], found.weights.tolist(), strict=True))
    assert min(by_word[w] for w in ("nuclear", "clean", "energy")) > 0.8
    assert max(by_word[w] for w in ("power", "plants", "cheap")) < 0.2


@pytest.mark.parametrize("kind", ["Llama", "Qwen2", "Mistral", "Gemma"])
def test_a_head_of_any_name_is_trained_and_kept(study, kind):
    tiny_decoder(study / "base", kind=f"{kind}ForCausalLM", pad=kind != "Llama")
    recipe, first = study / "deepct" / "tiny.yaml", study / "deepct" / "first"
    train_model(open_training(recipe, ("base=base", "training.epochs=1")), first)
    before = TermWeighter.load(first)
    assert len(before.weigh(["a clean cat"])[0].weights) == 3
    further = open_training(recipe, ("base=deepct/first",)).model()
    for name, weight in before.network.state_dict().items():
        assert torch.equal(weight, further.state_dict()[name])
    with pytest.raises(InputError, match="activation"):
        open_training(recipe, ("base=deepct/first", "activation=none")).model()


def test_another_head_is_replaced_by_one_weight(study, tmp_path):
    tiny_bert(tmp_path / "base", kind="BertForTokenClassification", num_labels=5)
    recipe = study / "deepct" / "tiny.yaml"
    network = open_training(recipe, (f"base={tmp_path / 'base'}",)).model()
    assert network.classifier.weight.shape == (1, 32)


def test_a_closing_token_alone_stays_behind_a_cut(study, tmp_path):
    tiny_decoder(tmp_path / "base")
    changes = (f"base={tmp_path / 'base'}", "training_length=4")
    (row, *_), _ = rows_of(study / "deepct" / "tiny.yaml", tmp_path / "rows", *changes)
    whole, _ = rows_of(study / "deepct" / "tiny.yaml", tmp_path / "whole", changes[0])
    assert row["ids"].tolist() == whole[0]["ids"][:4].tolist()


def test_the_original_settings(study):
    recipe = study / "deepct" / "tiny.yaml"
    found = open_training(recipe, ("settings=original", "passages={}")).recipe
    assert (found.tokenization, found.activation, found.passages.length) == ("bert", "none", 126)
    train_model(open_training(recipe, ("settings=original",)), study / "deepct" / "original")
    weighter = TermWeighter.load(study / "deepct" / "original")
    (weighted,) = weighter.weigh(["Caf\u00e9s, don't"])
    assert [word.text for word in weighted.words] == ["cafes", ",", "don", "'", "t"]


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6))
def test_ties_count_as_the_mean_over_all_orders(items):
    weights = np.array([weight for weight, _ in items], dtype=float)
    relevant = np.array([hit for _, hit in items])
    if not relevant.any():
        return

    def plain(hits):
        found = [sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit]
        return sum(found) / len(found)

    orders = [
        plain([relevant[i] for i in order])
        for order in permutations(range(len(items)))
        if all(weights[a] >= weights[b] for a, b in pairwise(order))
    ]
    assert expected_average_precision(weights, relevant) == pytest.approx(np.mean(orders))


def passage(docno, text, targets, stops=()):
    keys = text.split()
    is_stop = np.array([i in stops for i in range(len(keys))])
    return {"docno": docno, "keys": keys, "targets": np.array(targets), "is_stop": is_stop}


def test_recovery_by_hand():
    rows = [passage("a", "the cat ran", [0, 1, 0], stops=[0]), passage("b", "a dog", [0, 0])]
    (found,) = recoveries({"x": lambda _: [np.array([9.0, 1, 2]), np.array([1.0, 2])]}, rows)
    assert (found.mean, found.passages, found.documents) == (0.5, 1, 1)
    (chance,) = recoveries({"constant": constant}, [passage("a", "a b c", [1, 0, 0])])
    assert chance.mean == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    (weights,) = by_tf_idf([["common", "words"]] * 5)([passage("x", "common rare rare", [0, 1, 1])])
    assert weights[1] == weights[2] > weights[0] * 10


def test_the_interval_draws_documents():
    values = np.repeat([0.0, 1.0] * 5, 10)
    weights = [np.array([value, 0.5]) for value in values]
    together = [passage(str(n // 10), "a b", [1, 0]) for n in range(100)]
    apart = [passage(str(n), "a b", [1, 0]) for n in range(100)]
    (wide,) = recoveries({"x": lambda _: weights}, together)
    (narrow,) = recoveries({"x": lambda _: weights}, apart)
    assert wide.mean == narrow.mean
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
