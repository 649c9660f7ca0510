"""LoRA adapters are merged into their models in memory, wherever weights are loaded."""

import json
import shutil

import numpy as np
import pytest
import torch
from tiny import as_encoder, tiny_decoder

from adducir.core.errors import InputError, MachineError
from adducir.encoders.kinds import encoder_source
from adducir.encoders.model import DualEncoder
from adducir.encoders.settings import EncodingSettings
from adducir.models.folders import look
from adducir.models.loading import load_model
from adducir.models.sources import model_source
from adducir.rerankers.cross_encoder import KIND, CrossEncoderRecipe

peft = pytest.importorskip("peft")
TEXTS = ["the cat runs", "nuclear energy is clean and cheap"]
LAST = EncodingSettings(pooling="last", similarity="dot", end_token=True)


def adapter(base, folder, kind, targets=("q_proj", "v_proj"), labels=None, tokens=(), **more):
    import transformers

    torch.manual_seed(1)
    head = {} if labels is None else {"num_labels": labels}
    network = getattr(transformers, kind).from_pretrained(base, **head)
    if tokens:
        tokenizer = transformers.AutoTokenizer.from_pretrained(base)
        tokenizer.add_tokens([*tokens], special_tokens=True)
        vectors = network.resize_token_embeddings(len(tokenizer)).weight.data
        torch.nn.init.normal_(vectors[-len(tokens) :])
        tokenizer.save_pretrained(folder)
    settings = {"r": 4, "target_modules": [*targets], "lora_alpha": 16, **more}
    adapted = peft.get_peft_model(network, peft.LoraConfig(**settings))
    for name, weight in adapted.named_parameters():
        if "lora_A" in name or "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.3)
        elif "modules_to_save" in name:
            torch.nn.init.normal_(weight)
    adapted.save_pretrained(folder)
    return adapted


def last_states(network, tokens, texts):
    """The last state of each text and its end token, by peft alone."""
    from transformers import AutoTokenizer

    network = network.get_base_model()
    network, tokenizer = getattr(network, "model", network), AutoTokenizer.from_pretrained(tokens)
    read = [tokenizer(text + "<|im_end|>", return_tensors="pt") for text in texts]
    with torch.inference_mode():
        return np.stack([network(**ids).last_hidden_state[0, -1].numpy() for ids in read])


@pytest.mark.parametrize("kind", ["AutoModel", "AutoModelForCausalLM"])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("saved", [None, ["embed_tokens"]])
def test_an_adapter_may_enlarge_the_vocabulary(kind, tied, saved, tmp_path):
    """With the vectors of its tokens, as peft saves them; without, no use of them is right."""
    from safetensors.torch import load_file, save_file

    base = tiny_decoder(tmp_path / "base", kind="Qwen3ForCausalLM", tie_word_embeddings=tied)
    lora, more = tmp_path / "lora", {"modules_to_save": saved} if saved else {}
    network = adapter(base, lora, kind, tokens=("[Q]", "[D]"), **more).eval()
    texts = ["[Q] the cat", "[D] the cat", "the cat"]
    wanted = last_states(network, lora, texts)
    found = DualEncoder.load(encoder_source(str(lora), encoding=LAST)).encode_documents(texts)
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert np.abs(wanted[0] - wanted[1]).max() > 0.01
    path = lora / "adapter_model.safetensors"
    weights = load_file(path)
    kept = {name: weight for name, weight in weights.items() if "lora_" in name}
    assert kept.keys() < weights.keys()
    save_file(kept, path, metadata={"format": "pt"})
    with pytest.raises(InputError, match="has no vectors for them"):
        DualEncoder.load(encoder_source(str(lora), encoding=LAST))


@pytest.mark.parametrize("kind", ["AutoModel", "AutoModelForCausalLM"])
def test_an_adapter_is_merged(kind, tmp_path):
    base = tiny_decoder(tmp_path / "base", kind="Qwen3ForCausalLM")
    network = adapter(base, tmp_path / "lora", kind).eval()
    wanted = last_states(network, base, TEXTS)
    source = encoder_source(str(tmp_path / "lora"), encoding=LAST)
    encoder = DualEncoder.load(source)
    np.testing.assert_allclose(encoder.encode_documents(TEXTS), wanted, atol=1e-5)
    plain = DualEncoder.load(encoder_source(str(base), encoding=LAST)).encode_documents(TEXTS)
    assert np.abs(plain - np.array(wanted)).max() > 0.01
    # What is saved is merged; the identity follows the base's weights, too.
    encoder.save(tmp_path / "saved")
    assert not (tmp_path / "saved" / "adapter_config.json").exists()
    again = DualEncoder.load(encoder_source(str(tmp_path / "saved")))
    np.testing.assert_allclose(again.encode_documents(TEXTS), wanted, atol=1e-5)
    assert "LoRA" in look(model_source(str(tmp_path / "lora"))).title
    before = source.identity()
    config = json.loads((base / "config.json").read_text()) | {"rms_norm_eps": 0.5}
    (base / "config.json").write_text(json.dumps(config))
    assert encoder_source(str(tmp_path / "lora"), encoding=LAST).identity() != before


def reranker_adapter(folder, labels, **more):
    from tiny import tiny_bert

    base, targets = tiny_bert(folder / "base", initializer_range=0.3), ["query", "value"]
    kind = "AutoModelForSequenceClassification"
    return adapter(base, folder / "lora", kind, targets, labels, task_type="SEQ_CLS", **more).eval()


@pytest.mark.parametrize(
    ("base", "labels", "more"),
    [
        ("bert", 1, {"use_dora": True}),
        ("bert", 2, {"use_rslora": True, "rank_pattern": {"query": 2}, "bias": "all"}),
        ("decoder", 1, {}),
    ],
)
def test_an_adapter_of_a_reranker_brings_its_head_along(base, labels, more, tmp_path):
    """Such as RankLLaMA's: the model below it has no classifier, whose weights are beside LoRA's.

    Scores are peft's own.
    """
    from transformers import AutoTokenizer

    if base == "bert":
        network = reranker_adapter(tmp_path, labels, **more)
    else:
        folder, kind = tiny_decoder(tmp_path / "base"), "AutoModelForSequenceClassification"
        network = adapter(folder, tmp_path / "lora", kind, labels=1, task_type="SEQ_CLS").eval()
    source = model_source(str(tmp_path / "lora"))
    assert look(source).kind == "cross-encoder"
    assert source.has_architecture("ForSequenceClassification")
    reranker = CrossEncoderRecipe(base=source.name).load(source)
    tokenizer, wanted = AutoTokenizer.from_pretrained(tmp_path / "base"), []
    pairs = [("nuclear energy", text) for text in TEXTS]
    for pair in pairs:
        with torch.inference_mode():
            wanted.append(network(**tokenizer(*pair, return_tensors="pt")).logits[0])
    logits = torch.stack(wanted)
    assert logits.shape == (2, labels)
    scores = logits[:, 0] if labels == 1 else logits.log_softmax(1)[:, 1]
    assert scores.std() > 1e-3
    np.testing.assert_allclose(reranker.scores(pairs), scores, atol=1e-5)
    again = load_model(source, KIND, new_head=True, num_labels=3)
    assert again.config.num_labels == 3
    with pytest.raises(InputError, match="do not fit"):
        load_model(source)  # would drop the head


@pytest.mark.parametrize("base", ["", "no/such/model", "/no/such/folder", "../nothing/here"])
def test_an_adapter_without_its_model_is_refused(base, tmp_path, monkeypatch):
    adapter(tiny_decoder(tmp_path / "base"), tmp_path / "lora", "AutoModel")
    path = tmp_path / "lora" / "adapter_config.json"
    stated = json.loads(path.read_text())
    for name in ("../base", "base"):  # from its folder, and from the working directory as peft's
        path.write_text(json.dumps({**stated, "base_model_name_or_path": name}))
        monkeypatch.chdir(tmp_path)
        assert load_model(model_source(str(tmp_path / "lora"))).config.hidden_size == 32
    path.write_text(json.dumps({**stated, "base_model_name_or_path": base}))
    with pytest.raises((InputError, MachineError)) as error:
        load_model(model_source(str(tmp_path / "lora")))
    assert "adapter_config.json" in error.value.paragraph()
    assert base in error.value.paragraph()


def test_training_starts_from_an_adapter(tmp_path):
    """The training's changes come on top of the adapter's; what is saved has both."""
    from adducir.training.run import train_model
    from adducir.training.trainable import open_training

    network = adapter(tiny_decoder(tmp_path / "base"), tmp_path / "lora", "AutoModel").eval()
    rows = [{"query": f"cats {n}", "pos": [f"a cat {n}"], "neg": ["dogs run"]} for n in range(8)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    recipe = {"kind": "dual-encoder", "base": "lora", "towers": "shared", "similarity": "cosine"}
    recipe |= {"examples": {"files": "train.jsonl"}, "held_out": {"share": 0}}
    recipe |= {"training": {"epochs": 1, "learning_rate": 1e-12, "patience": None}}
    (tmp_path / "x.yaml").write_text(json.dumps(recipe))
    train_model(open_training(tmp_path / "x.yaml"), tmp_path / "model")
    merged, trained = (
        load_model(model_source(str(tmp_path / name))).state_dict() for name in ("lora", "model")
    )
    ours = {name: weight.numpy() for name, weight in trained.items()}
    for name, weight in network.merge_and_unload().state_dict().items():
        np.testing.assert_allclose(merged[name], weight, atol=1e-6)
        np.testing.assert_allclose(ours[name], weight, atol=1e-6)


def test_an_adapter_of_other_layers_is_refused(tmp_path):
    base = tiny_decoder(tmp_path / "base", kind="Qwen3ForCausalLM")
    adapter(base, tmp_path / "lora", "AutoModel")
    other = tiny_decoder(tmp_path / "other", kind="Qwen3ForCausalLM", num_hidden_layers=1)
    shutil.rmtree(base)
    other.rename(base)
    with pytest.raises(InputError, match="do not fit"):
        DualEncoder.load(encoder_source(str(tmp_path / "lora"), encoding=LAST))


def test_an_adapter_in_a_sentence_encoder(tmp_path):
    from sentence_transformers import SentenceTransformer

    base = tiny_decoder(tmp_path / "base")
    adapter(base, tmp_path / "lora", "AutoModel")
    whole = as_encoder(base, tmp_path / "whole", pooling="lasttoken")
    folder = shutil.copytree(tmp_path / "lora", tmp_path / "st")
    for name in ("modules.json", "config_sentence_transformers.json", "1_Pooling"):
        copy = shutil.copytree if (whole / name).is_dir() else shutil.copyfile
        copy(whole / name, folder / name)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(base / name, folder / name)
    peer = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    found = DualEncoder.load(encoder_source(str(folder))).encode_documents(TEXTS)
    np.testing.assert_allclose(found, peer.encode(TEXTS), atol=1e-5)
