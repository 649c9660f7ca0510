"""Models are whole or refused: no weight is drawn at random, no vocabulary is made up."""

import json
import re

import pytest
import torch
from safetensors.torch import load_file
from tiny import rewritten, tiny_bert, without_tokenizer

from adducir.core.errors import InputError
from adducir.deepct.model import KIND, TermWeighter
from adducir.encoders.kinds import encoder_source
from adducir.encoders.model import DualEncoder
from adducir.encoders.settings import EncodingSettings
from adducir.models.loading import load_model, load_tokenizer
from adducir.models.sources import model_source
from adducir.rerankers.recipe import open_reranker

T5 = "T5ForConditionalGeneration"
MEAN = EncodingSettings(pooling="mean", similarity="dot")
CLASSIFIER = "AutoModelForSequenceClassification"


def prefixed(prefix, name=str):
    """Renames weights."""
    return lambda weights: {prefix + name(plain): weight for plain, weight in weights.items()}


def fusion_in_decoder(plain):
    """The name that Facebook's Fusion-in-Decoder gives a weight of T5."""
    inside = re.sub(r"^encoder\.(block\.\d+)\.", r"encoder.\1.module.", plain)
    return re.sub(r"^encoder\.", "encoder.encoder.", inside)


def equal(one, other):
    left, right = one.state_dict(), other.state_dict()
    return left.keys() == right.keys() and all(torch.equal(left[k], right[k]) for k in left)


@pytest.mark.parametrize("model", ["tiny", "t5", "roberta"])
def test_a_folder_without_a_tokenizer_is_refused(model, request, tmp_path):
    folder = without_tokenizer(request.getfixturevalue(model), tmp_path / "bare")
    with pytest.raises(InputError, match=r"bare: .*not include a tokenizer.*`tokenizer:"):
        load_tokenizer(model_source(str(folder)))


def test_the_tokenizer_of_another_model_is_refused(tiny, t5, roberta):
    named = model_source(str(roberta), tokenizer=str(tiny))
    with pytest.raises(InputError, match="but the model has vectors for"):
        load_tokenizer(named)
    named = model_source(str(t5), tokenizer=str(roberta))
    with pytest.raises(InputError, match="makes ids up to"):
        load_tokenizer(named)


def test_a_named_tokenizer_is_taken_and_counts(tiny, tmp_path):
    bare = without_tokenizer(tiny, tmp_path / "bare")
    named = model_source(str(bare), tokenizer=str(tiny))
    assert load_tokenizer(named).tokenize("nuclear cats") == ["nuclear", "cats"]
    assert named.identity() != model_source(str(bare)).identity()
    encoder = DualEncoder.load(encoder_source(str(bare), tokenizer=str(tiny), encoding=MEAN))
    own = DualEncoder.load(encoder_source(str(tiny), encoding=MEAN))
    texts = ["cats run", "dogs run"]
    assert (encoder.encode_documents(texts) == own.encode_documents(texts)).all()


@pytest.mark.parametrize("prefix", ["module.model.", "_orig_mod.", "bert."])
@pytest.mark.parametrize("kind", ["AutoModel", "AutoModelForTokenClassification"])
def test_prefixes_of_wrappers_are_understood(prefix, kind, tiny, tmp_path):
    copy = rewritten(tiny, tmp_path / "copy", prefixed(prefix))
    own, other = load_model(model_source(str(tiny))), load_model(model_source(str(copy)))
    assert equal(own, other)
    torch.manual_seed(1)
    headed = load_model(model_source(str(copy)), kind, new_head=True)
    assert equal(
        headed.base_model, load_model(model_source(str(tiny)), kind, new_head=True).base_model
    )
    # What is saved has plain names again.
    headed.save_pretrained(tmp_path / "saved")
    assert not [name for name in load_file(tmp_path / "saved" / "model.safetensors") if "+" in name]


@pytest.mark.parametrize("prefix", ["", "module."])
def test_fusion_in_decoder_s_layout_is_t5_s(prefix, t5, tmp_path):
    copy = rewritten(t5, tmp_path / "lit5", prefixed(prefix, fusion_in_decoder))
    own, other = (load_model(model_source(str(one)), T5) for one in (t5, copy))
    assert equal(own, other)
    model = open_reranker(f"lit5:{copy}").model
    texts = ["cats run fast", "a slow dog", "nuclear energy"]
    assert model.answer("cats", texts) == open_reranker(f"lit5:{t5}").model.answer("cats", texts)


def callers(folder):
    """Every kind of model that is loaded from a folder, with what loads it."""
    return {
        "BertForSequenceClassification": [lambda: open_reranker(f"cross-encoder:{folder}").model],
        "BertForTokenClassification": [lambda: TermWeighter.load(folder)],
        "T5ForConditionalGeneration": [
            lambda: open_reranker(f"monot5:{folder}").model,
            lambda: open_reranker(f"lit5:{folder}").model,
        ],
        "BertModel": [
            lambda: open_reranker(f"maxsim:{folder}").model,
            lambda: DualEncoder.load(encoder_source(str(folder), encoding=MEAN)),
            lambda: DualEncoder.load(encoder_source(f"{folder},{folder}", encoding=MEAN)),
            lambda: load_model(model_source(str(folder)), KIND, new_head=True, num_labels=1),
        ],
    }


@pytest.mark.parametrize("kind", list(callers("")))
def test_every_caller_refuses_a_checkpoint_that_lacks_a_weight(kind, t5, tmp_path):
    whole = t5 if kind == T5 else tiny_bert(tmp_path / "whole", kind=kind)
    weights = load_file(whole / "model.safetensors")
    lost = [
        name
        for name in weights
        if name.endswith(("layer.1.attention.self.key.weight", "wo.weight", "classifier.bias"))
    ]
    assert lost
    for number, name in enumerate(lost):
        kept = {key: value for key, value in weights.items() if key != name}
        folder = rewritten(whole, tmp_path / f"lit5-{number}", lambda _, kept=kept: kept)
        (folder / "deepct.json").write_text(json.dumps({"text": ["text"]}))
        for load in callers(folder)[kind]:
            with pytest.raises(InputError, match=r"it lacks 1 weights of a \w+, such as"):
                load()


def test_foreign_names_are_reported(classifier, tmp_path):
    folder = rewritten(classifier, tmp_path / "copy", prefixed("net."))
    with pytest.raises(InputError, match=r"such as bert\..* other names, such as net\.bert\."):
        load_model(model_source(str(folder)), CLASSIFIER)


def test_a_new_head_is_all_that_a_training_adds(tiny, classifier, tmp_path):
    source = model_source(str(tiny))
    torch.manual_seed(4)
    one = load_model(source, CLASSIFIER, new_head=True, num_labels=1)
    torch.manual_seed(4)
    assert equal(one, load_model(source, CLASSIFIER, new_head=True, num_labels=1))
    # A head of another shape is none.
    source = model_source(str(classifier))
    with pytest.raises(InputError, match=r"such as classifier\.\w+"):
        load_model(source, CLASSIFIER, num_labels=1)
    assert load_model(source, CLASSIFIER, new_head=True, num_labels=1).config.num_labels == 1


def test_a_pooler_that_nobody_trained_is_neither_kept_nor_saved(roberta, tiny, tmp_path):
    model = load_model(model_source(str(roberta)))
    assert model.pooler is None
    model.save_pretrained(tmp_path / "saved")
    assert not [n for n in load_file(tmp_path / "saved" / "model.safetensors") if "pooler" in n]
    assert load_model(model_source(str(tiny))).pooler is not None
    with pytest.raises(InputError, match=r"such as pooler\."):
        load_model(model_source(str(roberta)), pooler=True)
    torch.manual_seed(5)
    assert load_model(model_source(str(roberta)), pooler=True, new_head=True).pooler is not None
