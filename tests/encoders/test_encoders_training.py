"""The contrast by hand, batches, data kept apart, what is trained and what loads it."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from some_spans import some_spans
from tiny import tiny_decoder, tiny_dpr, tiny_t5

from adducir.core.errors import InputError
from adducir.corpora.spans import write_spans
from adducir.encoders.kinds import encoder_source
from adducir.encoders.model import DualEncoder
from adducir.encoders.training import spans_of
from adducir.training.data import DataPart
from adducir.training.run import train_model
from adducir.training.trainable import open_training


def training(study, *changes):
    return open_training(study / "encoders" / "tiny.yaml", changes)


def test_spans_of_the_same_words_are_no_negatives_of_each_other(study):
    encoders = training(study, "batches.by=random")
    same = {}
    for text in ("a cat .", "(A  CAT!)", "a dog ."):
        spans = [replace(span, span=(text,)) for span in some_spans(40)]
        write_spans(spans, study / "spans.jsonl")
        (folder := study / text).mkdir()
        same[text] = {int(row["same"][0]) for row in encoders.dataset(folder).train}
    assert same["a cat ."] == same["(A  CAT!)"] != same["a dog ."]
    rows = encoders.dataset(folder).train.with_format("numpy")
    loss = encoders.loss(encoders.model(), encoders.collate([rows[n] for n in range(4)]))
    assert loss.item() == 0.0


def test_groups_stay_together_and_loners_meet():
    groups = np.array([0] * 7 + [1] * 2 + [2, 3, 4])
    from adducir.training.matrix import shuffled

    batches = shuffled(groups, 3, np.random.default_rng(1), by_group=True)
    assert sorted(np.concatenate(batches)) == list(range(12))
    sets = sorted((len(b), sorted(set(groups[b].tolist()))) for b in batches)
    assert sets == [(2, [0]), (2, [0]), (2, [1]), (3, [0]), (3, [2, 3, 4])]
    other = shuffled(groups, 3, np.random.default_rng(2), by_group=True)
    assert [b.tolist() for b in batches] != [b.tolist() for b in other]


def test_groups_are_kept_apart(tmp_path):
    write_spans(some_spans(40, groups=10), tmp_path / "all.jsonl")
    write_spans([s for s in some_spans(40, groups=10) if s.group == "book3"], tmp_path / "t.jsonl")
    groups = {"train": set(), "validation": set(), "test": set()}
    for span, part in spans_of(DataPart(train="all.jsonl", without="t.jsonl"), tmp_path):
        groups[part].add(span.group)
    assert not groups["train"] & groups["validation"]
    assert set().union(*groups.values()) == {f"book{n}" for n in range(10)} - {"book3"}
    with pytest.raises(InputError, match="also in the training data"):
        list(spans_of(DataPart(train="all.jsonl", validation="t.jsonl"), tmp_path))
    with pytest.raises(InputError, match=r"is also in"):
        list(spans_of(DataPart(train=("all.jsonl", "t.jsonl")), tmp_path))
    both = DataPart(train="all.jsonl", validation="t.jsonl", without="t.jsonl")
    assert {part for _, part in spans_of(both, tmp_path)} == {"train"}
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


@pytest.mark.slow
def test_it_learns_and_a_chain_goes_on_from_there(study):
    output = study / "encoders" / "tiny"
    settings = "pooling=mean", "training.epochs=40", "training.learning_rate=0.01"
    manifest = train_model(training(study, *settings, "training.batch_size=10"), output)
    history = json.loads((output / "training.json").read_text())
    losses = [entry["training_loss"] for entry in history["validations"]]
    assert losses[-1] < 0.5 * losses[0]
    assert manifest.counts["training_examples"] + manifest.counts["held_out_examples"] == 40
    readme = (output / "README.md").read_text()
    assert f'SentenceTransformer("{output.name}")' in readme
    assert str(study) not in readme
    encoder = DualEncoder.load(encoder_source(str(output)))
    assert encoder.inputs.settings.context.mask
    spans = some_spans(3)
    from sentence_transformers import SentenceTransformer  # loads it by one line

    alone = SentenceTransformer(str(output), device="cpu")
    texts = [span.text for span in spans]
    vectors = encoder.encode_documents(texts)
    np.testing.assert_allclose(alone.encode_document(texts), vectors, atol=1e-5)
    assert not np.allclose(alone.encode_query(texts), vectors, atol=1e-3)
    # Fine-tuning starts from these weights: two towers, pooling and all.
    chained = f"base={output}", "data.train=other.jsonl", "data.shares={train: 1.0}"
    fine = training(study, *chained, "training.epochs=1", "training.learning_rate=1e-9")
    assert fine.inputs["base"] == manifest.fingerprint
    train_model(fine, study / "fine")
    again = DualEncoder.load(encoder_source(str(study / "fine")))
    np.testing.assert_allclose(
        again.encode_contexts(spans), encoder.encode_contexts(spans), atol=1e-5
    )


@pytest.mark.parametrize("kind", ["LlamaModel", "Qwen3Model", "GPT2Model", "Gemma3TextModel"])
def test_a_decoder_learns_and_is_read_by_sentence_transformers(kind, study, tmp_path):
    from sentence_transformers import SentenceTransformer

    base = tiny_decoder(tmp_path / "decoder", kind=kind, initializer_range=0.05)
    write_spans(some_spans(160), study / "spans.jsonl")
    changes = [f"base={base}", "context.mask=false", "training.epochs=3", "batches.by=random"]
    changes += ["data.shares.train=0.75", "data.shares.validation=0.25"]
    with pytest.raises(InputError, match="sees no other"):
        training(study, *changes, "pooling=first").model()
    encoders = training(study, *changes, "training.learning_rate=0.002", "similarity=cosine")
    manifest = train_model(encoders, tmp_path / "trained")
    assert manifest.counts["validation_loss"] < math.log(5) - 0.1
    texts = ["the cat runs fast .", "nuclear energy is clean", "a dog"]
    found = DualEncoder.load(encoder_source(str(tmp_path / "trained"))).encode_documents(texts)
    assert np.abs(found[:, None] - found).max(axis=2)[np.triu_indices(3, 1)].min() > 0.05
    peer = SentenceTransformer(str(tmp_path / "trained"), device="cpu")
    np.testing.assert_allclose(found, peer.encode_document(texts), atol=1e-5)


@pytest.mark.parametrize(("build", "width"), [(tiny_dpr, 16), (tiny_t5, 32)])
def test_from_dpr_or_the_encoder_of_a_t5_to_what_others_read(build, width, study, tmp_path):
    """What people start from may have a decoder, too, which is left out and never missed."""
    from sentence_transformers import SentenceTransformer

    base, changes = build(tmp_path / "base"), ("training.epochs=1", "context.mask=false")
    if build is tiny_t5:
        with pytest.raises(InputError, match="not a dense encoder"):
            DualEncoder.load(encoder_source(str(base)))
    train_model(training(study, f"base='{base}'", *changes), tmp_path / "trained")
    encoder = DualEncoder.load(encoder_source(str(tmp_path / "trained")))
    texts = ["the cat runs fast .", "nuclear energy is clean"]
    peer = SentenceTransformer(str(tmp_path / "trained"), device="cpu")
    found = encoder.encode_documents(texts)
    assert found.shape == (2, width)
    np.testing.assert_allclose(found, peer.encode_document(texts), atol=1e-5)


def test_a_pooler_is_trained_with_the_tower_and_kept(study, tiny):
    output = study / "encoders" / "pooled"
    train_model(training(study, "pooling=pooler", "towers=shared", "training.epochs=1"), output)
    found = DualEncoder.load(encoder_source(str(output)))
    base = DualEncoder.load(encoder_source(str(tiny)), pooling="pooler", similarity="dot", seed=1)
    assert found.encode_documents(["a cat"]).shape == base.encode_documents(["a cat"]).shape
    names = [name for name, _ in found.model.named_parameters() if "linear" in name]
    assert names


def test_the_fingerprint_follows_all_that_determines_the_weights(study):
    plain = training(study).fingerprint
    assert training(study, "description=other").fingerprint == plain
    changes = "towers=shared pooling=mean similarity=cosine context.left=1 lengths.span=9 "
    changes += "data.seed=1 data.without=other.jsonl data.train=other.jsonl training.seed=1 "
    changes += "batches.by=random"
    for change in changes.split():
        assert training(study, change).fingerprint != plain, change


@pytest.mark.parametrize(
    "change",
    [
        "data.shares={train: 0.5}",
        "training.batch_size=1",
        "towers=three",
        "data.train=[]",
        "data.validation=other.jsonl",  # beside shares
    ],
)
def test_recipes_that_cannot_be(study, change):
    with pytest.raises(InputError):
        training(study, change)
