"""What a cross-encoder learns from, what is left out, and what it makes of it."""

import json

import pytest
import torch
from tiny import tiny_decoder

from adducir.core.errors import InputError
from adducir.core.progress import Progress
from adducir.rerankers.recipe import open_reranker
from adducir.training.run import train_model
from adducir.training.trainable import open_training

DOCUMENTS = [
    ("d0", "cats", "cats run fast"),
    ("d1", "dogs", "dogs run slow"),
    ("d2", "Cats ", "a cat ran"),
    ("d3", "energy", "nuclear  ENERGY"),
    ("d4", "power", "nuclear energy"),
    ("d5", "", "a school uniform"),
    ("d6", "school", ""),
    ("d7", "Straße", "clean plants"),
    ("d8", "STRASSE", "cheap plants"),
]


@pytest.fixture
def judged(study, tiny):
    path = study / "rerankers" / "judged.yaml"
    path.write_text(
        f"""kind: cross-encoder
base: {tiny}
fields: text
examples:
  topics: topics.tsv
  qrels: judged.qrels
  corpus: {{source: corpus.jsonl}}
  runs: runs/bm25.trec
held_out: {{share: 0}}
training: {{epochs: 3, batch_size: 4, learning_rate: 0.005, patience: null}}
"""
    )
    return path


@pytest.fixture
def alone(study, tiny):
    lines = [json.dumps({"docno": d, "title": t, "text": x}) + "\n" for d, t, x in DOCUMENTS]
    (study / "titled.jsonl").write_text("".join(lines), encoding="utf-8")
    path = study / "rerankers" / "alone.yaml"
    path.write_text(
        f"""kind: cross-encoder
base: {tiny}
examples: {{query_field: title, corpus: {{source: titled.jsonl}}, negatives: 2}}
held_out: {{share: 0}}
training: {{epochs: 2, batch_size: 4, patience: null}}
"""
    )
    return path


def examples(path, *changes):
    """By query the positives and the negatives; and what became of the sources."""
    training = open_training(path, changes)
    assert open_training(path, (*changes, "precision=bfloat16")).settings == training.settings
    found = {}
    for example in training.examples:
        best, worse = found.setdefault(example.query, ([], []))
        best += example.positives
        worse += example.negatives
    return found, dict(training.examples.counts)


def texts(study):
    lines = (study / "corpus.jsonl").read_text().splitlines()
    return [json.loads(line)["text"] for line in lines]


def test_positives_by_grade_and_negatives_of_the_runs(judged, study):
    found, counts = examples(judged, "examples.negatives=99")
    known = texts(study)
    assert found["cats"][0] == [known[0], known[7]]
    assert set(found["cats"][1]) == {known[n] for n in (1, 2, 4, 5, 6)}
    assert counts["queries"] == 3
    graded, _ = examples(judged, "examples.grade=2", "examples.negatives=1")
    assert [len(texts) for texts in graded["school uniforms for dogs?"]] == [1, 1]


def test_judged_documents_that_the_corpus_lacks_are_counted(judged, study):
    notes = []

    class Noted(Progress):
        def note(self, message):
            notes.append(message)

    qrels = study / "judged.qrels"
    qrels.write_text(qrels.read_text() + "1 0 d01 2\n2 0 D00 1\n3 0 d06 0\n")
    with Noted():
        examples(judged)
    assert notes == ["2 of 8 relevant documents are not in the corpus: D00, d01."]


def test_leaks_of_queries_and_documents(judged, study):
    (study / "test.tsv").write_text("9\t CATS\n")
    (study / "pool.txt").write_text("d1\n")
    changes = ("examples.without={topics: test.tsv, pools: pool.txt}", "examples.negatives=99")
    found, counts = examples(judged, *changes)
    assert "cats" not in found
    assert counts["left_out_queries"] == 1
    assert all(texts(study)[1] not in both for some in found.values() for both in some)


def test_each_document_answers_its_own_query_and_no_other(alone):
    found, counts = examples(alone)
    assert counts["queries"] == 7
    assert counts["without_positive"] == 2
    own = {title: text for _, title, text in DOCUMENTS}
    for query, (best, worse) in found.items():
        assert best == [own[query]]
        assert 1 <= len(set(worse)) == len(worse) <= 2
    # Queries and texts that are the same but for case and white space are no negatives.
    assert not {"a cat ran", "cats run fast"} & {*found["cats"][1], *found["Cats "][1]}
    assert "nuclear energy" not in found["energy"][1]
    assert "cheap plants" not in found["Straße"][1]
    assert examples(alone)[0] == found
    assert examples(alone, "examples.seed=1")[0] != found
    assert len(examples(alone, "examples.most=2")[0]) == 2


def test_documents_left_out_take_their_copies_with_them(alone, study):
    (study / "pool.txt").write_text("d4\n")
    found, counts = examples(alone, "examples.without.pools=pool.txt")
    assert not {"energy", "power"} & found.keys()
    assert counts["left_out_documents"] == 2


def test_held_out_queries_are_not_trained_on(alone, tmp_path):
    data = open_training(alone, ("held_out.share=0.5",)).dataset(tmp_path / "rows")
    parts = [[*part.with_format(None)] for part in (data.train, data.validation)]
    assert all(parts)
    # A row's texts follow the query, whose end is marked as theirs is.
    ends = [[row["ids"].index(row["ids"][row["lengths"][0] - 1]) for row in part] for part in parts]
    trained, held_out = (
        {tuple(row["ids"][:end]) for row, end in zip(part, at, strict=True)}
        for part, at in zip(parts, ends, strict=True)
    )
    assert trained.isdisjoint(held_out)
    assert sum(row["positives"] for part in parts for row in part) == 7


@pytest.mark.parametrize("kind", ["cross-encoder", "monobert"])
def test_it_learns_to_tell_texts_apart(kind, judged, study):
    texts = {f"{animal}{n}": f"{animal} run {n}" for n in range(12) for animal in ("cats", "dogs")}
    lines = [json.dumps({"docno": docno, "text": text}) + "\n" for docno, text in texts.items()]
    (study / "corpus.jsonl").write_text("".join(lines))
    (study / "topics.tsv").write_text("".join(f"{n}\tenergy {n}\n" for n in range(12)))
    grades = [f"{n} 0 cats{n} 1\n{n} 0 dogs{n} 0\n" for n in range(12)]
    (study / "judged.qrels").write_text("".join(grades))
    text = judged.read_text().replace("cross-encoder", kind)
    judged.write_text(text.replace("  runs: runs/bm25.trec\n", ""))
    changes = ("training.epochs=8", "training.learning_rate=0.003", "length=40")
    train_model(open_training(judged, changes), study / "rerankers" / "judged")
    model = open_reranker(study / "rerankers" / "judged")
    is_logit = kind == "cross-encoder"
    assert model.scale == ("logit" if is_logit else "log-probability of class relevant")
    scores = model.score("energy 3", ["dogs run 5", "cats run 5"])
    assert scores[1] > scores[0] + 1
    assert model.model.tokenizer.model_max_length == 40  # read by sentence-transformers


@pytest.mark.parametrize("pad", [True, False])
def test_a_decoder_with_a_chat_template_is_trained_and_read_by_others(pad, judged, tmp_path):
    """It reads plain pairs, here and there: the base's template, not trained on, is left out."""
    import numpy as np
    from sentence_transformers import CrossEncoder

    base = tiny_decoder(tmp_path / "qwen", pad=pad)
    template = "{% for m in messages %}<{{ m.content }}>{% endfor %}"
    (base / "chat_template.jinja").write_text(template)
    plan = open_training(judged, (f"base={base}", "training.epochs=1"))
    train_model(plan, tmp_path / "trained")
    pairs = [("cats run", "the cat ran"), ("energy", "nuclear power plants"), ("a dog", "")]
    ours = open_reranker(tmp_path / "trained").model.scores(pairs)
    peer = CrossEncoder(str(tmp_path / "trained"), device="cpu")
    theirs = peer.predict(pairs, activation_fn=torch.nn.Identity())
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_losses_by_hand(alone):
    class Fixed(torch.nn.Module):
        def __init__(self, logits):
            super().__init__()
            self.found = torch.tensor(logits)

        def forward(self, **_):
            return type("Output", (), {"logits": self.found})

    batch = {"sizes": torch.ones(2, dtype=torch.long), "positive": torch.tensor([0, -1])}
    batch["teacher"] = torch.full((2,), torch.nan)
    loss = open_training(alone).loss(Fixed([[0.0], [0.0]]), batch)
    assert float(loss) == pytest.approx(0.693147, abs=1e-6)
    alone.write_text(alone.read_text().replace("cross-encoder", "monobert"))
    two = open_training(alone).loss(Fixed([[0.0, 1.0], [1.0, 0.0]]), batch)
    assert float(two) == pytest.approx(0.313262, abs=1e-6)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        (("examples.query_field=absent",), "lack the field 'absent'"),
        (("fields=title",), "title"),
        (("examples.without.pools=absent.txt",), "absent.txt"),
        (("examples.most=1", "examples.query_field=null"), "most"),
        (("examples.topics=topics.tsv",), "query_field"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(alone, changes, key):
    with pytest.raises(InputError) as caught:
        examples(alone, *changes)
    assert key in str(caught.value)


def test_a_recipe_without_examples_is_not_trained(study, tiny):
    path = study / "rerankers" / "plain.yaml"
    path.write_text(f"kind: cross-encoder\nbase: {tiny}\n")
    with pytest.raises(InputError):
        open_training(path)
