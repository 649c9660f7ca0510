"""Rerankers that are asked: chat templates, language models, several modules, as published."""

import json
import shutil

import numpy as np
import pytest
import torch
from tiny import as_encoder, tiny_bert, tiny_decoder

from adducir.core.errors import InputError
from adducir.models.running import Running
from adducir.rerankers.recipe import open_reranker

PAIRS = [
    ("cats run fast", "the cats run"),
    ("cats run fast", "nuclear energy is cheap ! " * 6),
    ("school uniforms", ""),
    ("a dog", "dogs"),
]
TEMPLATE = """{% for m in messages %}{% if m.role == 'system' %}<|im_start|>system
{{ m.content }}<|im_end|>
{% elif m.role == 'query' %}<Query>: {{ m.content }}
{% elif m.role == 'document' %}<Document>: {{ m.content }}{% endif %}{% endfor %}<|im_end|>
<think>
"""


def scores(name):
    model = open_reranker(name).model
    found = model.scores(PAIRS)
    for tokens in (1, 40):  # no score depends on its batch
        model.running = Running(tokens=tokens)
        np.testing.assert_allclose(model.scores(PAIRS), found, atol=1e-5)
    assert np.ptp(found) > 1e-3
    return found


def theirs(folder):
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    return model.predict(PAIRS, activation_fn=torch.nn.Identity())


def agree(folder, name=None):
    np.testing.assert_allclose(scores(name or str(folder)), theirs(folder), atol=1e-5)


def chat(folder, **more):
    """A decoder whose tokenizer's template asks about a query and a document."""
    made = tiny_decoder(folder, **more)
    (made / "chat_template.jinja").write_text(TEMPLATE)
    return made


@pytest.mark.parametrize("prompt", [None, "Judge the document"])
@pytest.mark.parametrize("length", [None, 40])
def test_a_classifier_with_a_chat_template(prompt, length, tmp_path):
    from sentence_transformers import CrossEncoder

    kind = {"kind": "Qwen3ForSequenceClassification", "num_labels": 1}
    plain = chat(tmp_path / "qwen", **kind)
    agree(plain, f"cross-encoder:{plain}")
    named = {"prompts": {"judge": prompt}, "default_prompt_name": "judge"} if prompt else {}
    model = CrossEncoder(str(plain), device="cpu", max_length=length, **named)
    model.save_pretrained(str(tmp_path / "saved"))
    agree(tmp_path / "saved")


@pytest.mark.parametrize("pad", [True, False])
def test_a_language_model_s_logits(pad, tmp_path):
    from sentence_transformers import CrossEncoder

    plain = chat(tmp_path / "qwen", kind="Qwen3ForCausalLM", pad=pad)
    if not pad:  # there is nothing to compare with: it cannot be run there
        tokenizer = json.loads((plain / "tokenizer_config.json").read_text())
        tokenizer["pad_token"] = "<|endoftext|>"
        (plain / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    CrossEncoder(str(plain), device="cpu").save_pretrained(str(tmp_path / "saved"))
    agree(tmp_path / "saved")


def test_pooling_and_dense_layers(tmp_path):
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.base.modules.dense import Dense
    from sentence_transformers.sentence_transformer.modules import Pooling

    base = tiny_bert(tmp_path / "bert")
    modules = [
        Transformer(str(base)),
        Pooling(32, "cls"),
        Dense(32, 32, activation_function=torch.nn.GELU()),
        Dense(32, 1, activation_function=torch.nn.Identity(), module_output_name="scores"),
    ]
    folder = tmp_path / "ettin"
    CrossEncoder(modules=modules, device="cpu").save_pretrained(str(folder))
    agree(folder)
    path = folder / "2_Dense" / "config.json"
    path.write_text(path.read_text().replace("torch.nn.modules.activation.GELU", "theirs.Gate"))
    with pytest.raises(InputError, match=r"theirs\.Gate"):
        scores(folder)


def by_hand(folder, texts, yes, no, kind="AutoModelForCausalLM"):
    import transformers

    network = getattr(transformers, kind).from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = []
    for pieces in texts:
        ids = [n for one in pieces for n in tokenizer(one, add_special_tokens=False)["input_ids"]]
        with torch.inference_mode():
            logits = network(input_ids=torch.tensor([ids])).logits
        if yes is None:
            found.append(float(logits[0, 0]))
            continue
        answers = tokenizer.convert_tokens_to_ids([yes, *([no] if no else [])])
        values = logits[0, -1, answers]
        found.append(float(values[0] - values[1]) if no else float(values[0]))
    return found


JUDGE = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    'the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n'
    "<|im_start|>user\n"
)
THINK = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
WEB = "Given a web search query, retrieve relevant passages that answer the query"


def qwen(instruction):
    body = "<Instruct>: {}\n<Query>: {}\n<Document>: {}"
    return [(JUDGE, body.format(instruction, query, text), THINK) for query, text in PAIRS]


def test_qwen3_reranker_is_asked_as_published(tmp_path):
    long = {"max_position_embeddings": 2048}
    folder = tiny_decoder(
        tmp_path / "Qwen" / "Qwen3-Reranker-0.6B", kind="Qwen3ForCausalLM", **long
    )
    wanted = by_hand(folder, qwen(WEB), "yes", "no")
    np.testing.assert_allclose(scores(folder), wanted, atol=1e-5)
    (tmp_path / "rerankers").mkdir()
    recipe = tmp_path / "rerankers" / "mine.yaml"
    recipe.write_text(f"model: yes-no\nbase: {folder}\ninstruction: Find cats\n")
    wanted = by_hand(folder, qwen("Find cats"), "yes", "no")
    np.testing.assert_allclose(scores(recipe), wanted, atol=1e-5)
    assert "Find cats" in open_reranker(recipe).statement
    # Converted to a classifier, it reads the same template.
    kind = {"kind": "Qwen3ForSequenceClassification", "num_labels": 1, **long}
    folder = tiny_decoder(tmp_path / "tomaarsen" / "Qwen3-Reranker-0.6B-seq-cls", **kind)
    wanted = by_hand(folder, qwen(WEB), None, None, "AutoModelForSequenceClassification")
    np.testing.assert_allclose(scores(f"cross-encoder:{folder}"), wanted, atol=1e-5)


def test_mxbai_gemma_and_contextual(tmp_path):
    long = {"kind": "Qwen2ForCausalLM", "max_position_embeddings": 4096}
    folder = tiny_decoder(tmp_path / "mixedbread-ai" / "mxbai-rerank-base-v2", **long)
    system = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
    task = (
        "You are a search relevance expert who evaluates how well documents match search queries. "
        "For each query-document pair, carefully analyze the semantic relationship between them, "
        "then provide your binary relevance judgment (0 for not relevant, 1 for relevant)."
        "\nRelevance:"
    )
    head = f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n"
    tail = ("\n", task, "<|im_end|>\n<|im_start|>assistant\n")
    texts = [(head, f"query: {q}", "\n", f"document: {d}", *tail) for q, d in PAIRS]
    np.testing.assert_allclose(scores(folder), by_hand(folder, texts, "1", "0"), atol=1e-5)
    contextual = tmp_path / "ContextualAI" / "ctxl-rerank-v2-instruct-multilingual-1b"
    shutil.copytree(folder, contextual)
    asks = "Check whether a given document contains information helpful to answer the query."
    texts = [(f"{asks}\n<Document> {d}\n<Query> {q} ??",) for q, d in PAIRS]
    np.testing.assert_allclose(scores(contextual), by_hand(contextual, texts, "!", None), atol=1e-5)


def test_long_texts_lose_their_end_and_the_question_stays(tmp_path):
    folder = tiny_decoder(tmp_path / "lm", kind="Qwen3ForCausalLM")
    (tmp_path / "rerankers").mkdir()
    recipe = tmp_path / "rerankers" / "mine.yaml"
    recipe.write_text(
        f"model: yes-no\nbase: {folder}\nlength: 30\n"
        'template: ["{query} is answered by {document} : yes or no ?"]\nyes: "yes"\n"no": "no"\n'
    )
    model = open_reranker(recipe).model
    (encoded,) = model.encode([("cats", "dogs run fast " * 30)])
    read = model.tokenizer.decode(encoded.ids.tolist())
    assert len(encoded) <= 30
    assert read.startswith("cats is answered by dogs run") and read.endswith(": yes or no ?")


def test_a_language_model_without_a_published_question_is_refused(tmp_path):
    folder = tiny_decoder(tmp_path / "lm", kind="Qwen3ForCausalLM")
    with pytest.raises(InputError, match="yes-no:"):
        open_reranker(folder)
    with pytest.raises(InputError, match="template and yes"):
        _ = open_reranker(f"yes-no:{folder}").model


def test_no_circle_of_refusals(tmp_path):
    bert = tiny_bert(tmp_path / "bert")
    named = {
        "maxsim": as_encoder(bert, tmp_path / "encoder"),
        "cross-encoder": tiny_bert(tmp_path / "c", kind="BertForSequenceClassification"),
        "yes-no": tiny_decoder(tmp_path / "lm", kind="Qwen3ForCausalLM"),
    }
    for kind, folder in named.items():
        for other in named.keys() - {kind}:
            with pytest.raises(InputError, match=f"{kind}:"):
                _ = open_reranker(f"{other}:{folder}").model
