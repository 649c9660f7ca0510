"""LoRA adapters are merged into their models in memory, wherever weights are loaded."""

import json
import shutil

import numpy as np
import pytest
import torch
from tiny import as_encoder, tiny_decoder

from adducir.core.errors import InputError
from adducir.encoders.kinds import encoder_source
from adducir.encoders.model import DualEncoder
from adducir.encoders.settings import EncodingSettings
from adducir.models.folders import look
from adducir.models.sources import model_source

peft = pytest.importorskip("peft")
TEXTS = ["the cat runs", "nuclear energy is clean and cheap"]
LAST = EncodingSettings(pooling="last", similarity="dot", end_token=True)


def adapter(base, folder, kind):
    import transformers

    network = getattr(transformers, kind).from_pretrained(base)
    torch.manual_seed(1)
    settings = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], lora_alpha=16)
    adapted = peft.get_peft_model(network, settings)
    for name, weight in adapted.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(weight, std=0.3)
    adapted.save_pretrained(folder)
    return adapted


@pytest.mark.parametrize("kind", ["AutoModel", "AutoModelForCausalLM"])
def test_an_adapter_is_merged(kind, tmp_path):
    from transformers import AutoTokenizer

    base = tiny_decoder(tmp_path / "base", kind="Qwen3ForCausalLM")
    network = adapter(base, tmp_path / "lora", kind).eval()
    network = network.get_base_model()
    network = getattr(network, "model", network)
    tokenizer, wanted = AutoTokenizer.from_pretrained(base), []
    for text in TEXTS:
        ids = tokenizer(text + "<|im_end|>", return_tensors="pt")
        with torch.inference_mode():
            wanted.append(network(**ids).last_hidden_state[0, -1].numpy())
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
