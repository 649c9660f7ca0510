"""Each model against an independent plain implementation, pair by pair and without padding."""

import itertools
import json
import shutil
import string
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rerank_texts import QUERIES, TEXTS
from tiny import WORDS, sharpened, tiny_bert, tiny_colbert, tiny_decoder

from adducir.core.errors import InputError, UsageError
from adducir.models.loading import load_model, load_tokenizer
from adducir.models.running import Running
from adducir.models.sources import ModelSource, model_source
from adducir.rerankers.permutations import repaired, windows
from adducir.rerankers.recipe import open_reranker
from adducir.rerankers.t5 import MonoT5Recipe

PAIRS = list(itertools.product(QUERIES, TEXTS))
LONG = "should nuclear power be banned because energy plants run on and on " * 4


@pytest.fixture(scope="module")
def colbert(tiny, tmp_path_factory):
    folder = tiny_colbert(tiny, tmp_path_factory.mktemp("models") / "tiny-colbert")
    shutil.copyfile(tiny / "tokenizer.json", folder / "tokenizer.json")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["HF_ColBERT"]}))
    return folder


def opened(tmp_path, text):
    path = tmp_path / "reranker.yaml"
    path.write_text(text)
    return open_reranker(path)


def assert_batches_change_nothing(model, pairs):
    whole = model.scores(pairs)
    for tokens in (1, 70, 300):
        model.running = Running(tokens=tokens)
        np.testing.assert_allclose(model.scores(pairs), whole, rtol=1e-5, atol=2e-5)
    order = np.random.default_rng(0).permutation(len(pairs))
    shuffled = model.scores([pairs[number] for number in order])
    np.testing.assert_allclose(shuffled, whole[order], rtol=1e-5, atol=2e-5)


def test_the_query_stays_whole_and_the_text_is_cut(classifier):
    model = open_reranker(str(classifier)).model
    query = "nuclear energy " * 20  # 40 pieces of the 61 that are not special
    (encoded,) = model.encode([(query, "cats " * 400)])
    assert len(encoded) == 64
    assert (encoded.types == 0).sum() == 42
    # A query that would leave the text less than a quarter is cut, but only for a long text.
    (encoded,) = model.encode([("energy " * 200, "cats " * 400)])
    assert (len(encoded), (encoded.types == 1).sum()) == (64, 16)
    (encoded,) = model.encode([("energy " * 200, "cats")])
    assert (len(encoded), (encoded.types == 1).sum()) == (64, 2)


def test_a_long_text_without_blanks_is_read_on_where_that_is_needed(classifier):
    from adducir.models.work import token_ids

    tokenizer = load_tokenizer(model_source(str(classifier)))
    for text in ("x " * 3000, "energy\n" * 50 + " " * 3000 + "cats " * 30, "q" * 2000):
        whole = tokenizer(text, add_special_tokens=False)["input_ids"]
        for most in (1, 7, 60):
            assert token_ids(tokenizer, [text], most)[0].tolist() == whole[:most]


def test_the_peer_s_prompt_precedes_each_query(tmp_path):
    from sentence_transformers import CrossEncoder

    kind = {"kind": "BertForSequenceClassification", "num_labels": 1}
    folder = sharpened(tiny_bert(tmp_path / "one", **kind))
    prompts = {"prompts": {"own": "energy: "}, "default_prompt_name": "own"}
    peer = CrossEncoder(str(folder), device="cpu", max_length=64, **prompts)
    peer.save_pretrained(str(tmp_path / "saved"))
    pairs = [pair for pair in PAIRS if len(pair[1]) < 200]
    reranker = open_reranker(str(tmp_path / "saved"))
    expected = peer.predict(pairs, activation_fn=torch.nn.Identity())
    np.testing.assert_allclose(reranker.model.scores(pairs), expected, atol=2e-5)
    assert reranker.scale == "logit"


def test_a_model_without_a_classifier_is_no_reranker(tiny):
    with pytest.raises(InputError, match=f"encoder.*`maxsim:{tiny}`"):
        open_reranker(str(tiny))
    with pytest.raises(InputError, match=f"BertModel.*`maxsim:{tiny}`"):
        open_reranker(f"cross-encoder:{tiny}")


def test_monot5_is_the_log_probability_of_true_against_false(t5):
    source = model_source(str(t5))
    tokenizer, network = load_tokenizer(source), load_model(source, "T5ForConditionalGeneration")
    true, false = (tokenizer.convert_tokens_to_ids(token) for token in ("▁true", "▁false"))
    expected = []
    for query, text in PAIRS:
        ids = tokenizer(f"Query: {query} Document: {text} Relevant:")["input_ids"]
        assert tokenizer.unk_token_id not in ids
        with torch.inference_mode():
            logits = network(
                input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([[0]])
            ).logits[0, 0]
        chances = np.exp([float(logits[false]), float(logits[true])])
        expected.append(np.log(chances[1] / chances.sum()))
    model = open_reranker(f"monot5:{t5}").model
    np.testing.assert_allclose(model.scores(PAIRS), expected, atol=1e-4)
    assert np.ptp(expected) > 1


def test_monot5_cuts_the_document_alone(t5, tmp_path):
    model = opened(tmp_path, f"model: monot5\nbase: {t5}\nlength: 40\n").model
    tokenizer = model.tokenizer
    for query, text in ((QUERIES[0], LONG), ("energy " * 200, LONG), ("cats", "energy")):
        ids = model.encode([(query, text)])[0].ids
        whole = tokenizer(f"Query: {query} Document: {text} Relevant:")["input_ids"]
        assert len(ids) == min(40, len(whole))
        message = tokenizer.convert_ids_to_tokens(ids.tolist())
        assert message[-3:] == ["▁Relevant", ":", "</s>"]
        assert message[:2] == ["▁Query", ":"]
        assert "▁Document" in message


def test_monot5_asks_for_the_tokens_of_the_checkpoint(t5, tmp_path):
    def stated(source):
        return MonoT5Recipe(base="x").stated(source)[0]

    assert "'▁true' against '▁false'" in open_reranker(f"monot5:{t5}").statement
    snapshot = tmp_path / "models--unicamp-dl--mt5-base-mmarco-v2" / "snapshots" / "0"
    shutil.copytree(t5, snapshot)
    renamed = shutil.copytree(t5, tmp_path / "mine")
    for folder in (snapshot, renamed):  # what a multilingual model says, its folder does not
        config = json.loads((folder / "config.json").read_text()) | {"model_type": "mt5"}
        (folder / "config.json").write_text(json.dumps(config))
    assert stated(ModelSource("", snapshot)) == ("▁no", "▁yes")
    with pytest.raises(InputError, match="not known"):
        stated(ModelSource("", renamed))
    for name, tokens in (
        ("unicamp-dl/mt5-base-mmarco-v2", ("▁no", "▁yes")),
        ("unicamp-dl/ptt5-base-pt-msmarco-100k-v2", ("▁não", "▁sim")),
        ("unicamp-dl/mt5-3B-mmarco-en-pt", ("▁", "▁true")),
        ("unicamp-dl/mt5-13b-mmarco-100k", ("▁", "▁true")),
    ):
        assert stated(ModelSource(name)) == tokens
    swapped = opened(tmp_path, f"model: monot5\nbase: {t5}\ntokens: [▁true, ▁false]\n")
    straight = open_reranker(f"monot5:{t5}").score(QUERIES[0], TEXTS)
    np.testing.assert_allclose(
        np.exp(swapped.score(QUERIES[0], TEXTS)) + np.exp(straight), 1, atol=1e-5
    )
    with pytest.raises(InputError, match="lacks the token '▁nein'"):
        _ = opened(tmp_path, f"model: monot5\nbase: {t5}\ntokens: [▁nein, ▁ja]\n").model


@pytest.mark.parametrize("kind", ["monobert", "monot5", "colbert", "maxsim", "decoder"])
def test_no_score_depends_on_its_batch(kind, classifier, t5, colbert, tiny, tmp_path):
    if kind == "colbert":
        model = opened(tmp_path, f"model: colbert\nbase: {colbert}\nmarkers: [e, t]\n").model
    else:
        folder = {"monobert": classifier, "monot5": t5}.get(kind, tiny)
        if kind == "decoder":  # to which an empty text is no token
            kind, folder = "maxsim", tiny_decoder(tmp_path / "qwen")
        model = open_reranker(f"{kind}:{folder}").model
    pairs = [*itertools.product([*QUERIES, ""], TEXTS)]
    assert np.ptp(model.scores(pairs)) > 0.05
    assert_batches_change_nothing(model, pairs)
    np.testing.assert_allclose(model.scores([("", "")]), model.scores(pairs)[-5:-4], atol=2e-5)


@pytest.mark.parametrize("kind", ["BertModel", "T5EncoderModel"])
def test_maxsim_is_over_the_vectors_of_words(kind, tiny, t5, tmp_path):
    import transformers

    folder = tiny if kind == "BertModel" else tmp_path / "t5"  # GTR's and Sentence-T5's layout
    tokenizer = transformers.AutoTokenizer.from_pretrained(t5 if "T5" in kind else tiny)
    if "T5" in kind:
        transformers.T5EncoderModel.from_pretrained(t5).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    network = getattr(transformers, kind).from_pretrained(folder).eval()

    def vectors(text):
        read = tokenizer(text, return_tensors="pt", return_special_tokens_mask=True)
        counts = ~read.pop("special_tokens_mask")[0].bool()
        with torch.inference_mode():
            found = network(**read).last_hidden_state[0]
        pieces = tokenizer.convert_ids_to_tokens(read["input_ids"][0])
        marks = torch.tensor([piece in string.punctuation for piece in pieces])
        return (
            torch.nn.functional.normalize(row, dim=-1)
            for row in (found[counts], found[counts & ~marks])
        )

    for query, text in [pair for pair in PAIRS if 0 < len(pair[1]) < 200]:
        (asked, _), (_, kept) = vectors(query), vectors(text)
        wanted = float((asked @ kept.T).amax(dim=1).sum())
        found = open_reranker(f"maxsim:{folder}").score(query, [text])
        assert found == pytest.approx([wanted], abs=1e-4)


def test_colbert_needs_its_markers_and_its_projection(tiny, colbert, tmp_path):
    with pytest.raises(InputError, match=r"lacks the marker '\[unused0\]'"):
        _ = open_reranker(str(colbert)).model
    with pytest.raises(InputError, match="lacks a projection"):
        _ = opened(tmp_path, f"model: colbert\nbase: {tiny}\nmarkers: [e, t]\n").model
    with pytest.raises(UsageError, match=r"no room[^`]*`query_length`"):
        _ = opened(tmp_path, f"model: maxsim\nbase: {tiny}\nquery_length: 2\n").model


def test_lit5_fuses_what_it_read_apart(t5, tmp_path):
    source = model_source(str(t5))
    tokenizer, network = load_tokenizer(source), load_model(source, "T5ForConditionalGeneration")
    model = opened(tmp_path, f"model: lit5\nbase: {t5}\nanswer_length: 12\n").model
    texts = [text for text in TEXTS if len(text) < 200]
    for query in QUERIES:
        states = []
        for number, text in enumerate(texts, 1):
            prompt = f"Search Query: {query} Passage: [{number}] {text} Relevance Ranking: "
            ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
            with torch.inference_mode():
                states.append(network.encoder(input_ids=ids).last_hidden_state)
        fused, written = torch.cat(states, dim=1), [0]
        while len(written) < 12 and written[-1] != tokenizer.eos_token_id:
            with torch.inference_mode():
                out = network.decoder(
                    input_ids=torch.tensor([written]), encoder_hidden_states=fused
                ).last_hidden_state
                # T5 scales where input and output embeddings are one.
                out = out * (32**-0.5 if network.config.tie_word_embeddings else 1)
                written.append(int(network.lm_head(out)[0, -1].argmax()))
        expected = tokenizer.decode(written, skip_special_tokens=True)
        assert model.answer(query, texts) == expected
        model.running = Running(tokens=60)  # the encoder sees few passages at a time
        assert model.answer(query, texts) == expected
        assert sorted(model.order(query, texts)) == list(range(len(texts)))
    assert len(model.order(QUERIES[0], [])) == 0


def test_lit5_keeps_the_end_of_its_prompt(t5, tmp_path):
    model = opened(tmp_path, f"model: lit5\nbase: {t5}\nlength: 30\nwindow: 100\n").model
    assert model.recipe.answer_length == 700
    for ids in model.read(QUERIES[0], [LONG, "cats"]):
        message = model.tokenizer.convert_ids_to_tokens(ids.tolist())
        assert len(ids) <= 30
        assert message[-4:] == ["▁Relevance", "▁Ranking", ":", "</s>"]


def test_half_precision_keeps_the_scores_of_late_interaction_apart(colbert, tmp_path):
    texts = [f"{one} {two} energy" for one in WORDS[:20] for two in WORDS[:15]]
    recipe = f"model: colbert\nbase: {colbert}\nquery_length: 12\nmarkers: [e, t]\n"
    exact = opened(tmp_path, recipe).score(QUERIES[0], texts)
    half = opened(tmp_path, f"{recipe}precision: bfloat16\n").score(QUERIES[0], texts)
    assert len(set(half)) > 0.98 * len(set(exact))
    np.testing.assert_allclose(half, exact, atol=0.1)


def test_monobert_takes_berts_tokenizer(tmp_path):
    # castorini's checkpoint comes without one.
    named = open_reranker("monobert:castorini/monobert-large-msmarco")
    assert named.source.tokenizer is not None
    assert named.source.tokenizer.name == "bert-large-uncased"
    own = open_reranker(Path(__file__).parents[2] / "rerankers" / "monobert.yaml")
    assert own.source == named.source
    assert open_reranker("monobert:castorini/another").source.tokenizer is None


def test_windows_reach_the_top():
    assert windows(0, 20, 10) == []
    assert windows(25, 20, 10) == [(5, 25), (0, 15)]
    assert windows(40, 20, 10) == [(20, 40), (10, 30), (0, 20)]
    for count in (1, 20, 31, 95):  # the loop that LiT5 was published with misses the top of 95
        for place in range(count):
            order = np.arange(count)
            for first, end in windows(count, 20, 10):
                inside = order[first:end]
                order[first:end] = inside[np.argsort(inside != place, kind="stable")]
            assert order[0] == place


@pytest.mark.parametrize(
    ("answer", "order"),
    [
        ("3 > 1 > 2", [2, 0, 1]),
        ("[2] > [2] > [1]", [1, 0, 2]),
        ("nothing", [0, 1, 2]),
        ("9 0 3", [2, 0, 1]),
        ("99999999999999999999999 2", [1, 0, 2]),
        ("the 2nd, then ³ and ٣", [1, 0, 2]),
    ],
)
def test_answers_are_repaired(answer, order):
    assert repaired(answer, 3).tolist() == order


@given(st.text(), st.integers(0, 30))
def test_whatever_is_written_an_order_comes_out(answer, count):
    assert sorted(repaired(answer, count).tolist()) == list(range(count))
