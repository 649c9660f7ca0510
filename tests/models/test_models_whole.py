"""Models are whole or refused: no weight is drawn at random, no vocabulary is made up."""

import json
import re
import shutil

import pytest
import torch
from safetensors.torch import load_file
from tiny import rewritten, tiny_bert, without_tokenizer

from adducir.core.errors import InputError
from adducir.deepct.model import KIND, TermWeighter
from adducir.encoders.model import DualEncoder
from adducir.encoders.sources import encoder_source
from adducir.models.loading import load_model, load_tokenizer
from adducir.models.sources import model_source
from adducir.rerankers.registry import open_reranker

T5 = "T5ForConditionalGeneration"
CLASSIFIER = "AutoModelForSequenceClassification"


def fusion_in_decoder(weights):
    """The names that Facebook's Fusion-in-Decoder gives T5's weights."""

    def name(plain):
        wrapped = re.sub(r"^encoder\.(block\.\d+)\.", r"encoder.encoder.\1.module.", plain)
        if wrapped != plain:
            return wrapped
        return re.sub(r"^encoder\.", "encoder.encoder.", plain)

    return {name(plain): weight for plain, weight in weights.items()}


def equal(one, other):
    left, right = one.state_dict(), other.state_dict()
    return left.keys() == right.keys() and all(torch.equal(left[k], right[k]) for k in left)


@pytest.mark.parametrize("model", ["tiny", "t5", "roberta"])
def test_a_folder_without_a_tokenizer_is_refused(model, request, tmp_path):
    folder = without_tokenizer(request.getfixturevalue(model), tmp_path / "bare")
    with pytest.raises(InputError, match=r"bare: .*without a tokenizer.*`tokenizer:"):
        load_tokenizer(model_source(str(folder)))


@pytest.mark.parametrize(
    ("model", "files"), [("tiny", "vocab.json"), ("t5", "vocab.txt"), ("roberta", "spiece.model")]
)
def test_files_that_the_tokenizer_does_not_read_are_no_tokenizer(model, files, request, tmp_path):
    folder = without_tokenizer(request.getfixturevalue(model), tmp_path / "bare")
    (folder / files).write_text("{}")
    with pytest.raises(InputError, match=r"bare: (this tokenizer has .* entries|its tokenizer)"):
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
    encoder = DualEncoder.load(encoder_source(str(bare), tokenizer=str(tiny)))
    own = DualEncoder.load(encoder_source(str(tiny)))
    texts = ["cats run", "dogs run"]
    assert (encoder.encode_documents(texts) == own.encode_documents(texts)).all()


def test_a_tokenizer_needs_neither_weights_nor_configuration(tiny, tmp_path):
    words = tmp_path / "words"
    words.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(tiny / name, words / name)
    bare = without_tokenizer(tiny, tmp_path / "bare")
    named = model_source(str(bare), tokenizer=str(words))
    assert load_tokenizer(named).tokenize("cats") == ["cats"]


@pytest.mark.parametrize("prefix", ["module.", "model.", "module.model.", "_orig_mod.", "bert."])
@pytest.mark.parametrize("kind", ["AutoModel", "AutoModelForTokenClassification"])
def test_prefixes_of_wrappers_are_understood(prefix, kind, tiny, tmp_path):
    def wrapped(weights):
        return {prefix + name: weight for name, weight in weights.items()}

    copy = rewritten(tiny, tmp_path / "copy", wrapped)
    own, other = load_model(model_source(str(tiny))), load_model(model_source(str(copy)))
    assert equal(own, other)
    torch.manual_seed(1)
    headed = load_model(model_source(str(copy)), kind, new_head=True)
    assert equal(
        headed.base_model,
        load_model(model_source(str(tiny)), kind, new_head=True).base_model,
    )
    # What is saved has plain names again.
    headed.save_pretrained(tmp_path / "saved")
    assert not [name for name in load_file(tmp_path / "saved" / "model.safetensors") if "+" in name]


@pytest.mark.parametrize("prefix", ["", "module.", "model."])
def test_fusion_in_decoder_s_layout_is_t5_s(prefix, t5, tmp_path):
    def wrapped(weights):
        return {prefix + name: weight for name, weight in fusion_in_decoder(weights).items()}

    copy = rewritten(t5, tmp_path / "lit5", wrapped)
    own, other = (load_model(model_source(str(one)), T5) for one in (t5, copy))
    assert equal(own, other)
    model = open_reranker(f"lit5:{copy}").model
    texts = ["cats run fast", "a slow dog", "nuclear energy"]
    assert model.answer("cats", texts) == open_reranker(f"lit5:{t5}").model.answer("cats", texts)


@pytest.mark.parametrize("prefix", ["module.", "model."])
def test_colbert_s_projection_is_found_under_a_prefix(prefix, tiny, tmp_path):
    projection = torch.arange(8.0 * 32).reshape(8, 32).sin()

    def named(prefix):
        def change(weights):
            bert = {f"{prefix}bert.{name}": weight for name, weight in weights.items()}
            return {**bert, f"{prefix}linear.weight": projection}

        return change

    found = []
    for place in ("", prefix):
        folder = rewritten(tiny, tmp_path / f"colbert{place}", named(place))
        recipe = tmp_path / f"{place}yaml.yaml"
        recipe.write_text(f"model: colbert\nbase: {folder}\nmarkers: [the, a]\n")
        found.append(open_reranker(recipe).score("cats", ["cats run", "dogs run fast"]))
    assert (found[0] == found[1]).all()


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
            lambda: DualEncoder.load(encoder_source(str(folder))),
            lambda: DualEncoder.load(encoder_source(f"{folder},{folder}")),
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

        def without(all_of_them, name=name):
            return {key: value for key, value in all_of_them.items() if key != name}

        folder = rewritten(whole, tmp_path / f"lit5-{number}", without)
        (folder / "deepct.json").write_text(json.dumps({"text": ["text"]}))
        for load in callers(folder)[kind]:
            with pytest.raises(InputError, match=r"it lacks 1 of the weights of a \w+, such as"):
                load()


def test_foreign_names_are_reported(classifier, tmp_path):
    def other(weights):
        return {f"net.{name}": weight for name, weight in weights.items()}

    folder = rewritten(classifier, tmp_path / "copy", other)
    with pytest.raises(InputError, match=r"such as bert\..* other names, such as net\.bert\."):
        load_model(model_source(str(folder)), CLASSIFIER)


def test_an_incomplete_checkpoint_is_refused_under_a_prefix_as_well(classifier, tmp_path):
    def other(weights):
        return {f"model.{name}": weights[name] for name in weights if "classifier" not in name}

    folder = rewritten(classifier, tmp_path / "copy", other)
    with pytest.raises(InputError, match="it lacks"):
        load_model(model_source(str(folder)), CLASSIFIER)
    load_model(model_source(str(folder)), CLASSIFIER, new_head=True)


def test_a_new_head_is_all_that_a_training_adds(tiny, classifier, tmp_path):
    source = model_source(str(tiny))
    torch.manual_seed(4)
    one = load_model(source, CLASSIFIER, new_head=True, num_labels=1)
    torch.manual_seed(4)
    assert equal(one, load_model(source, CLASSIFIER, new_head=True, num_labels=1))
    # A head of another shape is none.
    source = model_source(str(classifier))
    with pytest.raises(InputError, match=r"such as classifier\.\w+ in its shape"):
        load_model(source, CLASSIFIER, num_labels=1)
    assert load_model(source, CLASSIFIER, new_head=True, num_labels=1).config.num_labels == 1


def test_half_precision_weights_are_read_as_they_are(classifier, tmp_path):
    def half(weights):
        return {name: weight.half() for name, weight in weights.items()}

    folder = rewritten(classifier, tmp_path / "half", half)
    model = load_model(model_source(str(folder)), CLASSIFIER)
    assert all(p.dtype == torch.float32 for p in model.parameters())
    own = load_model(model_source(str(classifier)), CLASSIFIER).state_dict()
    assert all(torch.equal(value, own[k].half().float()) for k, value in model.state_dict().items())


def test_shards_are_read_and_a_missing_one_is_reported(classifier, tmp_path):
    source = model_source(str(classifier))
    folder = tmp_path / "sharded"
    load_model(source, CLASSIFIER).save_pretrained(folder, max_shard_size="20KB")
    shards = sorted(folder.glob("model-*.safetensors"))
    assert len(shards) > 2
    found = load_model(model_source(str(folder)), CLASSIFIER)
    assert equal(found, load_model(source, CLASSIFIER))
    shards[1].unlink()
    with pytest.raises(InputError, match=shards[1].name) as error:
        load_model(model_source(str(folder)), CLASSIFIER)
    assert error.value.path == folder / "model.safetensors.index.json"


def test_tied_weights_may_stand_once_and_other_heads_are_kept(t5, tmp_path):
    names = set(load_file(t5 / "model.safetensors"))
    assert "shared.weight" in names
    assert "lm_head.weight" not in names

    def head(change):
        return lambda weights: {**weights, "lm_head.weight": weights["shared.weight"] + change}

    own = load_model(model_source(str(t5)), T5)
    twice = rewritten(t5, tmp_path / "twice", head(0))
    assert equal(own, load_model(model_source(str(twice)), T5))
    untied = load_model(model_source(str(rewritten(t5, tmp_path / "untied", head(1)))), T5)
    assert torch.equal(untied.lm_head.weight, own.lm_head.weight + 1)
    assert torch.equal(untied.shared.weight, own.shared.weight)


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
