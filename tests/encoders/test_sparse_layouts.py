"""Learned sparse encoders of other people: padded heads, autoencoders, long texts."""

import gzip
import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny import tiny_bert, tiny_decoder, tiny_roberta, with_modules

from adducir.cli.app import main

TEXTS = {"d1": "the cat runs fast", "d2": "nuclear energy " * 90}


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps({"docno": docno, "text": text}) + "\n" for docno, text in TEXTS.items()]
    (tmp_path / "c.jsonl").write_text("".join(lines))


def encoded(folder):
    assert main(["encode", "--sparse", "-m", str(folder), "-c", "c.jsonl", "-o", "w"]) == 0
    with gzip.open("w/weights.jsonl.gz", "rt") as file:
        return {one["docno"]: one["vector"] for one in map(json.loads, file)}


def close(found, wanted):
    assert found.keys() == wanted.keys()
    assert max(abs(found[name] - wanted[name]) for name in wanted) < 1e-5


def theirs(model, text, names=None):
    (vector,) = model.encode_document([text], convert_to_sparse_tensor=False)
    known = {n: token for token, n in model.tokenizer.get_vocab().items()} if names is None else {}
    return {known.get(n, f"#{n}"): float(w) for n, w in enumerate(vector) if w != 0}


@pytest.mark.parametrize("more", [0, 8])
def test_a_vocabulary_may_be_padded(more, corpus, tmp_path):
    from sentence_transformers import SparseEncoder

    folder = tiny_bert(tmp_path / "mlm", kind="BertForMaskedLM")
    if more:
        import transformers

        network = transformers.AutoModelForMaskedLM.from_pretrained(folder)
        torch.manual_seed(2)
        rows = network.config.vocab_size + more
        network.resize_token_embeddings(rows)
        network.cls.predictions.bias = network.cls.predictions.decoder.bias
        network.cls.predictions.decoder.bias.data[-more:] = 1.0
        network.save_pretrained(folder)
    found = encoded(folder)
    wanted = theirs(SparseEncoder(str(folder), device="cpu"), TEXTS["d1"])
    close(found["d1"], wanted)
    assert any(name[1:].isdigit() and name[0] == "#" for name in wanted) == bool(more)


def test_a_long_text_of_a_roberta_is_cut_at_its_positions(corpus, tmp_path):
    from sentence_transformers import SparseEncoder

    folder = tiny_roberta(tmp_path / "roberta", positions=34)
    model = SparseEncoder(str(folder), device="cpu")
    model.max_seq_length = 32
    close(encoded(folder)["d2"], theirs(model, TEXTS["d2"]))


def test_queries_may_have_weights_that_no_network_computes(corpus, tmp_path):
    from sentence_transformers import SparseEncoder
    from sentence_transformers.base.modules import Router, Transformer
    from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding, SpladePooling

    folder = tiny_bert(tmp_path / "mlm", kind="BertForMaskedLM")
    masked = Transformer(str(folder), transformer_task="fill-mask")
    static = SparseStaticEmbedding(masked.tokenizer, torch.rand(len(masked.tokenizer)), frozen=True)
    router = Router.for_query_document([static], [masked, SpladePooling("max")])
    model = SparseEncoder(modules=[router], device="cpu")
    model.save(str(tmp_path / "free"))
    close(encoded(tmp_path / "free")["d1"], theirs(model, TEXTS["d1"]))
    path = next((tmp_path / "free").glob("document_0*/*.safetensors"))
    save_file(dict([*load_file(path).items()][1:]), path, metadata={"format": "pt"})
    assert main(["encode", "--sparse", "-m", "free", "-c", "c.jsonl", "-o", "lacking"]) == 3


@pytest.mark.parametrize("width", [64, 256])
def test_an_autoencoder_s_dimensions_are_not_tokens(width, corpus, tmp_path):
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from sentence_transformers.sparse_encoder.modules import SparseAutoEncoder

    torch.manual_seed(3)
    modules = [Transformer(str(tiny_bert(tmp_path / "bert"))), Pooling(32, "mean")]
    modules.append(SparseAutoEncoder(32, hidden_dim=width, k=8, k_aux=8))
    model = SparseEncoder(modules=modules, device="cpu")
    model.save_pretrained(str(tmp_path / "csr"))
    close(encoded(tmp_path / "csr")["d1"], theirs(model, TEXTS["d1"], names=()))


def logits_pooled(folder, text, *, is_causal):
    """SPLADE's weights of a decoder by transformers alone."""
    import transformers

    config = transformers.AutoConfig.from_pretrained(folder)
    config.is_causal = is_causal
    network = transformers.AutoModelForCausalLM.from_pretrained(folder, config=config).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        logits = network(**tokenizer(text, return_tensors="pt")).logits[0]
    weights = logits.amax(dim=0).relu().log1p()
    known = {n: token for token, n in tokenizer.get_vocab().items()}
    return {known.get(n, f"#{n}"): float(w) for n, w in enumerate(weights) if w}


def splade_code(folder, kind="Qwen3ForCausalLM", **config):
    """naver/splade-code-06B's layout: a decoder that attends to all, with padded rows."""
    tiny_decoder(folder, kind=kind, vocab_size=520)
    stated = json.loads((folder / "config.json").read_text()) | {"is_causal": False, **config}
    stated["auto_map"] = {"AutoModelForMaskedLM": "splade.Qwen3ForCausalLM"}
    (folder / "config.json").write_text(json.dumps(stated))
    pooling = "sentence_transformers.sparse_encoder.models.SpladePooling"
    files = {
        "1_SpladePooling/config": {"pooling_strategy": "max", "activation_function": "relu"},
        "config_sentence_transformers": {"model_type": "SparseEncoder", "prompts": {}},
        "sentence_bert_config": {"transformer_task": "fill-mask", "max_seq_length": 64},
    }
    return with_modules(folder, ("", "Transformer"), ("1_SpladePooling", pooling), **files)


@pytest.mark.parametrize("kind", ["Qwen3ForCausalLM", "LlamaForCausalLM", "Gemma3ForCausalLM"])
def test_a_decoder_that_attends_to_all_is_read_as_splade_code(kind, corpus, tmp_path):
    folder = splade_code(tmp_path / "code", kind)
    found = encoded(folder)
    close(found["d1"], logits_pooled(folder, TEXTS["d1"], is_causal=False))
    assert any(name.startswith("#") for name in found["d1"])


@pytest.mark.parametrize("attention", ["causal", "bidirectional"])
def test_a_plain_decoder_s_attention_is_asked_for(attention, corpus, tmp_path, capsys):
    folder = tiny_decoder(tmp_path / "lm", kind="MistralForCausalLM")
    line = ["encode", "--sparse", "-m", str(folder), "-c", "c.jsonl", "-o", "w"]
    assert main(line) == 3
    assert "attention" in capsys.readouterr().err
    assert main([*line, "--set", f"attention={attention}"]) == 0
    with gzip.open("w/weights.jsonl.gz", "rt") as file:
        found = {row["docno"]: row["vector"] for row in map(json.loads, file)}
    close(found["d1"], logits_pooled(folder, TEXTS["d1"], is_causal=attention == "causal"))
