"""Other people's encoders: as their makers publish them, or refused with the reason."""

import json
import shutil

import numpy as np
import pytest
import torch
from published import MEAN, nomic, st_files
from safetensors.torch import load_file, save_file
from tiny import as_encoder, tiny_bert, tiny_decoder, tiny_dpr, tiny_roberta

from adducir.core.errors import AdducirError, InputError
from adducir.encoders.kinds import described, encoder_source
from adducir.encoders.model import DualEncoder
from adducir.encoders.settings import EncodingSettings
from adducir.models.folders import look
from adducir.models.sources import model_source

TEXTS = ["the cat", "a dog runs fast because of nuclear energy !", "cats " * 20]


def source_of(name, **settings):
    return encoder_source(str(name), encoding=EncodingSettings(**settings))


def load(name, **settings):
    return DualEncoder.load(source_of(name, **settings))


def close(found, wanted, atol=1e-5):
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), atol=atol)


def theirs(folder, **options):
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu", **options)


def configured(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


def hidden_states(folder, texts, kind="AutoModel"):
    """Each text's last hidden states, computed alone by transformers."""
    import transformers

    network = getattr(transformers, kind).from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        read = [tokenizer(text, return_tensors="pt", truncation=True) for text in texts]
        return [network(**one).last_hidden_state[0] for one in read]


def test_what_sentence_transformers_leaves_open_is_cosine_as_there(tiny, tmp_path):
    folder = as_encoder(tiny, tmp_path / "acge", similarity=None)
    encoder, peer = load(folder), theirs(folder)
    close(np.linalg.norm(encoder.encode_documents(TEXTS), axis=1), 1)
    wanted = peer.similarity(peer.encode_query(TEXTS), peer.encode_document(TEXTS))
    close(encoder.encode_queries(TEXTS) @ encoder.encode_documents(TEXTS).T, wanted)
    line = described(source_of(folder))
    assert "pooling mean" in line and "cosine (assumed, as sentence-transformers does)" in line
    assert "64 tokens" in line
    assert "dot (set)" in described(source_of(folder, similarity="dot"))
    close(load(folder, similarity="dot").encode_documents(TEXTS), peer.encode(TEXTS))


@pytest.mark.parametrize("pooling", ["first", "mean", "max", "last", "weighted-mean"])
def test_a_plain_transformer_is_asked_for_what_it_does_not_state(pooling, tiny):
    with pytest.raises(InputError, match="pooling and similarity"):
        load(tiny)
    with pytest.raises(InputError, match="similarity"):
        load(tiny, pooling=pooling)
    states = hidden_states(tiny, TEXTS)
    weights = [torch.arange(1.0, 1 + len(one))[:, None] for one in states]
    wanted = {
        "first": [one[0] for one in states],
        "mean": [one.mean(0) for one in states],
        "max": [one.max(0).values for one in states],
        "last": [one[-1] for one in states],
        "weighted-mean": [
            (one * w).sum(0) / w.sum() for one, w in zip(states, weights, strict=True)
        ],
    }[pooling]
    found = load(tiny, pooling=pooling, similarity="dot").encode_documents(TEXTS)
    close(found, torch.stack(wanted))


def test_published_prompts_and_pooling_go_with_the_name(tiny, tmp_path):
    e5 = as_encoder(tiny, tmp_path / "intfloat" / "e5-base-v2", similarity=None)
    prompts = {"query": "query: ", "document": "passage: "}
    for folder in (e5, shutil.copytree(e5, tmp_path / "e5-base-v2")):
        peer, encoder = theirs(folder, prompts=prompts), load(folder)
        lengths = np.linalg.norm(peer.encode_query(TEXTS), axis=1, keepdims=True)
        close(encoder.encode_queries(TEXTS), peer.encode_query(TEXTS) / lengths)
        unit = peer.encode_document(TEXTS, normalize_embeddings=True)
        close(encoder.encode_documents(TEXTS), unit)
    line = described(source_of(e5))
    assert 'queries "query: "' in line and "known for intfloat/e5-base-v2" in line
    other = shutil.copytree(e5, tmp_path / "e5-base-v2-tuned")
    assert "query: " not in described(source_of(other))
    # What is set or stated in the files precedes the name; the identity follows all of it.
    assert 'queries "ask: "' in described(source_of(e5, query_prompt="ask: "))
    names = [source_of(e5), source_of(other), source_of(e5, query_prompt="ask: ")]
    assert len({one.identity() for one in names}) == 3
    dragon = tmp_path / "facebook" / "dragon-plus-query-encoder"
    shutil.copytree(tiny, dragon)
    close(load(dragon).encode_queries(TEXTS), [one[0] for one in hidden_states(tiny, TEXTS)])


def test_prompts_of_the_files(tiny, tmp_path):
    named = {"query": "query : ", "passage": "a dog "}
    folder = as_encoder(tiny, tmp_path / "one", prompts=named)
    peer = theirs(folder)
    close(load(folder).encode_documents(TEXTS), peer.encode(TEXTS, prompt="a dog "))
    close(load(folder).encode_queries(TEXTS), peer.encode_query(TEXTS))
    tasks = {"web": "cats and ", "sts": "dogs and "}
    folder = as_encoder(tiny, tmp_path / "two", prompts=tasks)
    with pytest.raises(InputError, match="sts, web"):
        load(folder)
    found = load(folder, query_prompt="web").encode_queries(TEXTS)
    close(found, theirs(folder).encode(TEXTS, prompt="cats and "))


def test_ance_has_a_head_and_a_norm(tmp_path):
    folder = tiny_roberta(tmp_path / "ance", kind="RobertaModel")
    configured(folder, architectures=["RobertaDot_NLL_LN"])
    weights = {f"roberta.{k}": v for k, v in load_file(folder / "model.safetensors").items()}
    draw = torch.Generator().manual_seed(2)
    for name, shape in (("embeddingHead", (24, 32)), ("norm", (24,))):
        weights[f"{name}.weight"] = torch.randn(shape, generator=draw)
        weights[f"{name}.bias"] = torch.randn(24, generator=draw)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    encoder = load(folder)
    wanted = []
    bare = tiny_roberta(tmp_path / "bare", kind="RobertaModel")
    for one in hidden_states(bare, TEXTS):
        head = one[0] @ weights["embeddingHead.weight"].T + weights["embeddingHead.bias"]
        norm = (weights["norm.weight"], weights["norm.bias"])
        wanted.append(torch.nn.functional.layer_norm(head, (24,), *norm))
    close(encoder.encode_documents(TEXTS), torch.stack(wanted))
    assert encoder.model.similarity_fn_name == "dot"
    del weights["norm.bias"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"norm\.bias"):
        load(folder)


def test_dpr_s_projection_and_sides(tmp_path):
    import transformers

    right = tiny_dpr(tmp_path)
    half, other = right.split(",")
    network = transformers.DPRContextEncoder.from_pretrained(other).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(other)
    with torch.inference_mode():
        wanted = [network(**tokenizer(t, return_tensors="pt")).pooler_output[0] for t in TEXTS]
    close(load(right).encode_documents(TEXTS), torch.stack(wanted))
    encoder_source(right).check("query", "document")
    encoder_source(other).check("document")  # the corpus alone
    for name in (f"{other},{half}", half, other):
        with pytest.raises(InputError, match="DPR"):
            encoder_source(name).check("query", "document")


@pytest.mark.parametrize(
    ("kind", "use"),
    [
        ("BertForSequenceClassification", "cross-encoder"),
        ("BertForTokenClassification", "head"),
        ("BertForQuestionAnswering", "head"),
        ("BertForMaskedLM", "masked-lm"),
    ],
)
def test_a_head_is_not_dropped(kind, use, tmp_path):
    folder = tiny_bert(tmp_path / "model", kind=kind)
    assert look(model_source(str(folder))).kind == use
    if use == "masked-lm":  # a pretraining's head, once it is said how to pool
        with pytest.raises(InputError, match="pooling"):
            load(folder)
        vectors = load(folder, pooling="first", similarity="dot").encode_queries(TEXTS)
        assert vectors.shape == (3, 32)
        return
    with pytest.raises(InputError, match="BertFor"):
        load(folder, pooling="first", similarity="dot")
    # Nor where the class's name says nothing of it.
    configured(folder, architectures=["BertModel"])
    with pytest.raises(InputError, match=r"would drop .*(classifier|qa_outputs)"):
        load(folder, pooling="first", similarity="dot")


def test_other_models_are_no_encoders(t5, tiny, tmp_path):
    causal = tiny_decoder(tmp_path / "gpt", kind="Qwen3ForCausalLM")
    for folder in (t5, causal):
        with pytest.raises(AdducirError):
            load(folder)
    colbert = configured(shutil.copytree(tiny, tmp_path / "c"), architectures=["HF_ColBERT"])
    with pytest.raises(InputError, match="colbert:"):
        load(colbert, pooling="first", similarity="dot")


def test_two_dense_layers_and_an_activation_that_is_not_torch_s(tiny, tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer

    modules = [Transformer(str(tiny)), Pooling(32, ("mean", "max"))]
    modules += [Dense(64, 24, activation_function=torch.nn.GELU()), Dense(24, 8)]
    SentenceTransformer(modules=modules, device="cpu").save(str(tmp_path / "st"))
    close(
        load(tmp_path / "st").encode_documents(TEXTS),
        theirs(tmp_path / "st").encode(TEXTS, normalize_embeddings=True),
    )
    configured(tmp_path / "st" / "2_Dense", activation_function="theirs.Gate")
    with pytest.raises(InputError, match=r"theirs\.Gate"):
        load(tmp_path / "st")


def test_tokens_without_a_vector_are_text(tiny, tmp_path):
    folder = shutil.copytree(as_encoder(tiny, tmp_path / "st"), tmp_path / "gemma")
    path = folder / "tokenizer.json"
    state = json.loads(path.read_text())
    rows = json.loads((folder / "config.json").read_text())["vocab_size"]
    token = {**state["added_tokens"][0], "id": rows, "content": "<image>"}
    for is_special in (True, False):
        state["added_tokens"] = [one for one in state["added_tokens"] if one["id"] < rows]
        state["added_tokens"].append({**token, "special": is_special})
        path.write_text(json.dumps(state))
        found = load(folder).encode_documents(["see <image> cats", "see cats"])
        close(found, load(tmp_path / "st").encode_documents(["see <image> cats", "see cats"]))


@pytest.mark.parametrize("side", ["left", "right"])
def test_decoders_pool_their_last_token(side, tmp_path):
    plain = tiny_decoder(tmp_path / "plain")
    folder = as_encoder(plain, tmp_path / "qwen", pooling="lasttoken")
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"padding_side": side}))
    encoder, peer = load(folder), theirs(folder)
    close(encoder.encode_documents(TEXTS), peer.encode(TEXTS))
    close(encoder.encode_documents(TEXTS)[:1], encoder.encode_documents(TEXTS[:1]))
    # An empty text has no token here: a vector of zeros, whatever it is encoded with.
    alone, among = encoder.encode_documents([""]), encoder.encode_documents(["", *TEXTS])
    assert alone.shape == (1, 32) and not alone.any() and not among[0].any()
    ended = load(plain, pooling="last", similarity="dot", end_token=True)
    states = hidden_states(plain, [text + "<|im_end|>" for text in TEXTS])
    close(ended.encode_documents(TEXTS), [one[-1] for one in states])
    short = load(folder, document_length=5, truncation_side="left").encode_documents(TEXTS[1:2])
    kept = torch.tensor([peer.tokenizer(TEXTS[1])["input_ids"][-5:]])
    close(short, peer[0].model(kept).last_hidden_state[:, -1].detach())


@pytest.mark.parametrize("kind", ["Qwen2Model", "LlamaModel", "Gemma3TextModel"])
def test_a_decoder_may_attend_to_all(kind, tmp_path):
    """By its files, by what is published for its name, or by what is set."""
    import transformers

    plain = tiny_decoder(tmp_path / "plain", kind=kind)
    config = transformers.AutoConfig.from_pretrained(plain)
    config.is_causal = False
    if hasattr(config, "use_bidirectional_attention"):
        config.use_bidirectional_attention = True
    network = transformers.AutoModel.from_pretrained(plain, config=config).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(plain)
    with torch.inference_mode():
        read = [tokenizer(text, return_tensors="pt") for text in TEXTS[:2]]
        wanted = [network(**one).last_hidden_state[0].mean(0).numpy() for one in read]
    how = {"pooling": "mean", "similarity": "dot"}
    close(load(plain, attention="bidirectional", **how).encode_documents(TEXTS[:2]), wanted)
    causal = load(plain, **how).encode_documents(TEXTS[:2])
    assert np.abs(causal - wanted).max() > 0.01
    network.save_pretrained(tmp_path / "files")
    tokenizer.save_pretrained(tmp_path / "files")
    source = source_of(tmp_path / "files", **how)
    assert "attention to all tokens" in described(source)
    close(DualEncoder.load(source).encode_documents(TEXTS[:2]), wanted)
    close(load(tmp_path / "files", attention="causal", **how).encode_documents(TEXTS[:2]), causal)


def test_lengths_and_dimensions_can_be_set(tiny, tmp_path):
    folder = as_encoder(tiny, tmp_path / "st")
    encoder = load(folder, query_length=5, document_length=7, dimensions=8, similarity="cosine")
    assert (encoder.inputs.query.longest, encoder.inputs.document.longest) == (5, 7)
    peer = theirs(folder, truncate_dim=8)
    peer.max_seq_length = 7
    close(encoder.encode_documents(TEXTS), peer.encode(TEXTS, normalize_embeddings=True))
    for wrong in ({"document_length": 65}, {"dimensions": 33}):
        with pytest.raises(InputError, match=r"65|33"):
            load(folder, **wrong)


def test_tct_colbert_reads_as_in_pyserini(tiny, tmp_path):
    folder = shutil.copytree(tiny, tmp_path / "castorini" / "tct_colbert-msmarco")
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    network = transformers.AutoModel.from_pretrained(tiny).eval()
    for text in TEXTS[:2]:
        asked = "[CLS] [Q] " + text + "[MASK]" * 36
        options = {"add_special_tokens": False, "return_tensors": "pt", "truncation": True}
        inputs = tokenizer(asked, max_length=36, **options)
        with torch.inference_mode():
            query = network(**inputs).last_hidden_state[0, 4:].mean(0)
            inputs = tokenizer("[CLS] [D] " + text, max_length=64, **options)
            document = network(**inputs).last_hidden_state[0, 4:].mean(0)
        encoder = load(folder)
        close(encoder.encode_queries([text])[0], query)
        close(encoder.encode_documents([text])[0], document)


def test_show_says_what_a_model_is(tiny, t5, tmp_path, capsys):
    from adducir.cli.app import main

    named = {
        as_encoder(tiny, tmp_path / "st"): ["SentenceTransformer", "pooling mean", "64 tokens"],
        tiny: ["BertModel", "as an encoder: no", "maxsim:", "hidden size 32"],
        t5: ["T5ForConditionalGeneration", "monot5:", "lit5"],
        tiny_bert(tmp_path / "q", kind="BertForQuestionAnswering"): ["another task"],
        tiny_decoder(tmp_path / "lm", kind="Qwen3ForCausalLM"): ["yes-no:", "template"],
    }
    for folder, words in named.items():
        assert main(["show", str(folder)]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert [word for word in words if word not in shown] == [], shown
    assert main(["show", str(tiny), str(t5)]) == 2


def test_a_native_class_for_custom_code_must_use_all_weights(tmp_path):
    folder = tmp_path / "nomic-ai" / "nomic-embed-text-v1.5"
    nomic(folder)
    st_files(folder, MEAN)
    weights = load_file(folder / "model.safetensors")
    weights["encoder.more.weight"] = torch.ones(3)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"encoder\.more\.weight"):
        load(folder)
    configured(folder, model_type="bert")
    with pytest.raises(InputError, match="code of its own"):
        load(folder)
