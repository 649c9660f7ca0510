"""Models of other people: none is taken for a model of relevance that does not say it is one."""

import json
import shutil

import pytest
from tiny import tiny_bert

from adducir.cli.app import main
from adducir.core.errors import InputError
from adducir.rerankers.recipe import open_reranker

QUERY, TEXTS = "cats run fast", ["the cats run", "nuclear power is cheap", "a slow dog", "cats"]


def with_config(source, folder, **changes):
    shutil.copytree(source, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    return folder


def named(source, folder, *names, **more):
    labels = {str(number): name for number, name in enumerate(names)}
    inverse = {name: number for number, name in enumerate(names)}
    return with_config(source, folder, id2label=labels, label2id=inverse, **more)


@pytest.fixture(scope="module")
def heads(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heads")
    for count in (1, 2, 3):
        kind = {"kind": "BertForSequenceClassification", "num_labels": count}
        tiny_bert(folder / f"{count}", **kind)
    return folder


def test_the_class_that_is_called_relevant_ranks_wherever_it_stands(heads, tmp_path):
    upright = named(heads / "2", tmp_path / "up", "not_relevant", "relevant")
    turned = named(heads / "2", tmp_path / "down", "relevant", "not_relevant")
    recipe = tmp_path / "second.yaml"
    recipe.write_text(f"model: cross-encoder\nbase: {turned}\nlabel: not_relevant\n")
    first, second = (open_reranker(turned), open_reranker(recipe))
    scores = first.score(QUERY, TEXTS)
    named_so = open_reranker(f"cross-encoder:{turned}").score(QUERY, TEXTS)
    assert scores.tolist() == named_so.tolist()
    # The same weights, whose other output is relevance there.
    other = open_reranker(upright).score(QUERY, TEXTS)
    assert other.tolist() == second.score(QUERY, TEXTS).tolist()
    assert (scores.argsort() == (-other).argsort()).all()


@pytest.mark.parametrize(
    "names",
    [
        ("toxicity",),
        ("NEGATIVE", "POSITIVE"),
        ("entailment", "not_entailment"),
        ("contradiction", "entailment", "neutral"),
        ("irrelevant", "relevant", "highly relevant"),
    ],
)
def test_a_classifier_of_something_else_is_refused(names, heads, tmp_path):
    folder = named(heads / f"{len(names)}", tmp_path / "other", *names)
    with pytest.raises(InputError, match="cross-encoder:"):
        open_reranker(folder)
    with pytest.raises(InputError, match="label"):
        _ = open_reranker(f"cross-encoder:{folder}").model
    recipe = tmp_path / "second.yaml"
    recipe.write_text(f"model: cross-encoder\nbase: {folder}\nlabel: {names[-1]}\n")
    assert len(open_reranker(recipe).score(QUERY, TEXTS)) == 4


def test_what_has_no_names_must_be_called_a_cross_encoder(heads, tmp_path):
    for count in (1, 2):
        plain = named(
            heads / f"{count}", tmp_path / f"{count}", *(f"LABEL_{n}" for n in range(count))
        )
        with pytest.raises(InputError, match="cross-encoder:"):
            open_reranker(plain)
        assert len(open_reranker(f"cross-encoder:{plain}").score(QUERY, TEXTS)) == 4
    # sentence-transformers says it: its key in the configuration, or the file beside it.
    key = {"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}}
    assert open_reranker(with_config(tmp_path / "1", tmp_path / "key", **key)).scale == "logit"
    settings = tmp_path / "1" / "config_sentence_transformers.json"
    settings.write_text('{"model_type": "CrossEncoder"}')
    assert open_reranker(tmp_path / "1").scale == "logit"


def test_a_t5_is_a_reranker_where_it_says_so(t5, tmp_path):
    plain = tmp_path / "flan-t5"
    shutil.copytree(t5, plain)
    with pytest.raises(InputError, match="monot5"):
        open_reranker(plain)
    assert len(open_reranker(f"monot5:{plain}").score(QUERY, TEXTS)) == 4
    with pytest.raises(InputError, match="FiD"):
        _ = open_reranker(f"lit5:{plain}").model
    fused = with_config(plain, tmp_path / "fused", architectures=["FiD"])
    assert len(open_reranker(f"lit5:{fused}").order(QUERY, TEXTS)) == 4
    called = tmp_path / "monot5-mine"
    shutil.copytree(plain, called)
    assert open_reranker(called).recipe.model == "monot5"


def test_maxsim_takes_encoders_alone(tiny, t5, tmp_path):
    masked = tiny_bert(tmp_path / "mlm", kind="BertForMaskedLM")
    encoder = with_config(t5, tmp_path / "t5", architectures=["T5Model"])
    for folder in (masked, t5):
        with pytest.raises(InputError) as error:
            _ = open_reranker(f"maxsim:{folder}").model
        assert error.value.path == folder
    for folder in (tiny, encoder):  # of a T5, the encoder
        assert len(open_reranker(f"maxsim:{folder}").score(QUERY, TEXTS)) == 4
    # A sentence encoder may name the class that it was trained from.
    (masked / "modules.json").write_text("[]")
    assert len(open_reranker(f"maxsim:{masked}").score(QUERY, TEXTS)) == 4
    for kind, said, message in (
        ("maxsim", "SparseEncoder", "SparseEncoder"),
        ("colbert", "MultiVectorEncoder", "projection"),
    ):
        (masked / "config_sentence_transformers.json").write_text(json.dumps({"model_type": said}))
        with pytest.raises(InputError, match=message):
            _ = open_reranker(f"{kind}:{masked}").model


def test_what_would_not_be_loaded_is_refused(classifier, tiny, tmp_path):
    for name, text in (
        ("adapter_config", '{"peft_type": "IA3", "base_model_name_or_path": "x"}'),
        ("config", '{"auto_map": {"AutoModel": "mine.Model"}}'),
        ("tokenizer_config", '{"auto_map": {"AutoTokenizer": ["a.B", null]}}'),
    ):
        folder = shutil.copytree(classifier, tmp_path / name)
        (folder / f"{name}.json").write_text(text)
        with pytest.raises(InputError) as error:
            _ = open_reranker(f"cross-encoder:{folder}").model
        assert error.value.path == folder / f"{name}.json"
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"docno": "d1", "text": "cats"}\n')
    coded = with_config(tiny, tmp_path / "encoder", auto_map={"AutoModel": "mine.Model"})
    assert main(["encode", "-m", str(coded), "-c", str(corpus), "-o", str(tmp_path / "v")]) == 3
    assert not (tmp_path / "v").exists()


def test_a_trained_model_says_which_class_it_learnt(study, heads, tmp_path):
    base = named(heads / "2", tmp_path / "sentiment", "POSITIVE", "NEGATIVE")
    recipe = study / "rerankers" / "mine.yaml"
    recipe.write_text(
        f"kind: monobert\nbase: {base}\n"
        "examples: {query_field: title, corpus: {source: c.jsonl}, negatives: 1}\n"
        "held_out: {share: 0}\ntraining: {epochs: 1, patience: null}\n"
    )
    documents = [{"docno": f"{n}", "title": f"{n}", "text": t} for n, t in enumerate(TEXTS)]
    (study / "c.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    assert main(["train", str(recipe)]) == 0
    assert open_reranker(recipe).model.label == 1
    # So do its files alone, without what Adducir keeps of the recipe.
    copy = tmp_path / "monobert"
    shutil.copytree(study / "rerankers" / "mine", copy)
    (copy / "reranker.json").unlink()
    (copy / "manifest.json").unlink()
    assert open_reranker(copy).scale == "log-probability of class relevant"
