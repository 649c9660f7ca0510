"""Language models in this process answer as their networks compute."""

import json
import shutil

import numpy as np
import pytest
from fake_llm import ask
from rerank_texts import TEXTS
from tiny import tiny_decoder

from adducir.core.errors import InputError
from adducir.rerankers.recipe import open_reranker


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llm") / "qwen"
    made = tiny_decoder(folder, kind="Qwen3ForCausalLM", max_position_embeddings=2048)
    (made / "chat_template.jinja").write_text(
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    return made


def test_a_local_model_answers_as_the_network_computes(decoder, opened):
    template = ["Is {query} answered by {document} ?"]
    words = {"template": template, "yes": "yes", "no": "no"}
    local = opened({"model": "llm-pointwise", **words, "top": 1000}, None, base=str(decoder))
    path = decoder.parent / "yes-no.yaml"
    path.write_text(json.dumps({"model": "yes-no", "base": str(decoder), **words}))
    texts = [*TEXTS[:3], TEXTS[4]]
    wanted = open_reranker(path).score("cats", texts)
    np.testing.assert_allclose(local.score("cats", texts), wanted, atol=1e-4)
    assert np.ptp(wanted) > 1e-2
    assert open_reranker(path).identity != local.identity


def test_a_local_model_writes_what_greedy_decoding_writes(decoder, opened):
    import torch
    import transformers

    from adducir.judges.answers import AnswerCache, Request, spellings
    from adducir.judges.llm import open_llm

    tokenizer = transformers.AutoTokenizer.from_pretrained(decoder)
    network = transformers.AutoModelForCausalLM.from_pretrained(decoder).eval()
    prompts = ["cats run", "the dog ran not fast " * 5, "energy"]
    requests = [Request((("user", text),), {"max_tokens": 6}) for text in prompts]
    schema = {"json_schema": {"schema": {"enum": ["yes", "no"]}}}
    limited = Request(requests[0].messages, {"max_tokens": 6, "response_format": schema})
    first = Request(requests[0].messages, {"max_tokens": 1, "logprobs": True, "top_logprobs": 5})
    long = Request((("user", "cats " * 3000),), {"max_tokens": 1})
    model = open_llm(decoder)
    cache = AnswerCache(decoder.parent / "cache.sqlite")
    answers = ask(model, [*requests, limited, first, long], cache).answers
    for text, answer in zip(prompts, answers, strict=False):
        chat = f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
        ids = tokenizer(chat, return_tensors="pt")["input_ids"]
        written = []
        with torch.inference_mode():
            for _ in range(6):
                logits = network(input_ids=ids).logits[0, -1]
                if text == prompts[0] and not written:
                    top = logits.log_softmax(-1).topk(5)
                written.append(int(logits.argmax()))
                ids = torch.cat([ids, logits.argmax().reshape(1, 1)], 1)
        end = written.index(2) if 2 in written else 6
        assert answer.text == tokenizer.decode(written[:end], skip_special_tokens=True)
        assert answer.tokens_in == ids.shape[1] - 6
    assert answers[3].text in ("yes", "no") and answers[3].status == "ok"
    wanted = spellings(
        (tokenizer.decode([token]), value)
        for value, token in zip(top.values.tolist(), top.indices.tolist(), strict=True)
    )
    assert answers[4].top == pytest.approx(wanted, abs=1e-4)
    assert answers[5].status == "too_long"
    cache.close()


def test_a_local_model_without_a_chat_template_is_refused(tmp_path, opened):
    folder = tiny_decoder(tmp_path / "base", kind="Qwen3ForCausalLM")
    with pytest.raises(InputError, match="chat template"):
        opened({"model": "llm-listwise"}, None, base=str(folder)).order("q", ["a", "b"])
    with pytest.raises(InputError, match="does not exist"):
        opened({"model": "llm-listwise"}, None, base="absent.gguf").check()


def as_gguf(folder, path):
    """A tiny Qwen2 as llama.cpp's converter writes it."""
    import gguf
    from safetensors.numpy import load_file

    config = json.loads((folder / "config.json").read_text())
    vocabulary = json.loads((folder / "tokenizer.json").read_text())
    tokens = {**vocabulary["model"]["vocab"]}
    tokens |= {token["content"]: token["id"] for token in vocabulary["added_tokens"]}
    special = {token["content"] for token in vocabulary["added_tokens"]}
    names = sorted(tokens, key=tokens.__getitem__)
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(names)
    writer.add_token_types([3 if name in special else 1 for name in names])
    merges = vocabulary["model"]["merges"]
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in merges])
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(0)
    writer.add_chat_template((folder / "chat_template.jinja").read_text())
    theirs = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, config["num_hidden_layers"])
    for name, values in load_file(folder / "model.safetensors").items():
        writer.add_tensor(theirs.get_name(name, (".weight", ".bias")), values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_gguf_answers_as_the_folder_does(decoder, opened, tmp_path):
    pytest.importorskip("gguf")
    sizes = {"kind": "Qwen2ForCausalLM", "max_position_embeddings": 2048}
    folder = tiny_decoder(tmp_path / "qwen2", **sizes)
    shutil.copy(decoder / "chat_template.jinja", folder)
    as_gguf(folder, tmp_path / "tiny.gguf")
    recipe = {"model": "llm-pointwise", "top": 1000, "failures": 1}
    texts = [TEXTS[number] for number in (0, 1, 2, 4)]
    wanted = opened(recipe, None, base=str(folder)).score("cats", texts)
    reranker = opened(recipe, None, base="tiny.gguf")
    np.testing.assert_allclose(reranker.score("cats", texts), wanted, atol=1e-3)
    assert np.ptp(wanted) > 1e-3
    digest = reranker.llm.identity["weights"]
    (tmp_path / "tiny.gguf").rename(tmp_path / "other.gguf")
    assert opened(recipe, None, base="other.gguf").llm.identity["weights"] == digest
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + b"\0" * 99)
    with pytest.raises(InputError):
        opened(recipe, None, base="bad.gguf").score("cats", texts)
