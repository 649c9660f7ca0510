"""Damaged files of models: one clear error, never a traceback, whatever a library raises."""

import json
import random
import shutil

import pytest
from safetensors.torch import load_file, save_file

from adducir.core.errors import AdducirError, ArtifactError, InputError
from adducir.encoders.encoding import encode as encode_items
from adducir.encoders.items import items_of_texts
from adducir.encoders.model import DualEncoder
from adducir.encoders.sources import encoder_source
from adducir.encoders.vectors import Vectors
from adducir.rerankers.registry import open_reranker

TEXTS = ["cats run fast", "a slow dog"]
CONTENTS = {
    "empty": b"",
    "no JSON": b"weights",
    "no UTF-8": b"\xff\xfe{",
    "a list": b"[1, 2]",
    "deep": b"[" * 100_000,
    "deeply nested": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "thousands of digits": b'{"vocab_size": ' + b"9" * 5000 + b"}",
    "an empty object": b"{}",
}
VALUES = [None, True, -1, 0, 3, 99999, 10**30, 1.5, "", "x", [], {}, [[1]], {"a": 1}, "t5", "dpr"]


def encode(folder):
    return DualEncoder.load(encoder_source(str(folder))).encode_documents(TEXTS)


def rank(kind):
    return lambda folder: open_reranker(f"{kind}{folder}").order("cats dogs", TEXTS)


@pytest.fixture(scope="module")
def trained(tiny, tmp_path_factory):
    """An encoder as Adducir saves it, with all the files of sentence-transformers."""
    folder = tmp_path_factory.mktemp("models") / "trained"
    folder.mkdir()
    DualEncoder.load(encoder_source(str(tiny)), pooling="mean").save(folder)
    return folder


@pytest.fixture(scope="module")
def reranker(classifier, tmp_path_factory):
    """A cross-encoder as Adducir saves it."""
    folder = tmp_path_factory.mktemp("models") / "reranker"
    shutil.copytree(classifier, folder)
    (folder / "reranker.json").write_text(json.dumps({"model": "cross-encoder", "length": 32}))
    return folder


USES = {
    "trained": encode,
    "roberta": encode,
    "reranker": rank(""),
    "t5": rank("lit5:"),
    "classifier": rank("cross-encoder:"),
}


def outcome(use, folder):
    """Whether a use of a folder ends in an error of Adducir's, whose text a terminal can show."""
    try:
        use(folder)
    except AdducirError as error:
        assert len(str(error)) < 1000
        return error
    return None


@pytest.mark.parametrize("model", USES)
@pytest.mark.parametrize("content", CONTENTS)
def test_no_content_of_a_file_is_an_error_of_the_program(model, content, request, tmp_path):
    whole = request.getfixturevalue(model)
    for path in sorted(whole.rglob("*")):
        if not path.is_file():
            continue
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(whole, copy)
        (copy / path.relative_to(whole)).write_bytes(CONTENTS[content])
        found = outcome(USES[model], copy)
        if path.name in ("config.json", "model.safetensors", "encoder.json", "reranker.json"):
            may_be_empty = path.name == "encoder.json" and content == "an empty object"
            assert found is not None or may_be_empty, path.name


@pytest.mark.slow
@pytest.mark.parametrize("model", ["trained", "roberta", "reranker", "classifier", "t5"])
def test_no_mutation_of_a_file_is_an_error_of_the_program(model, request, tmp_path):
    whole, draw = request.getfixturevalue(model), random.Random(model)
    files = [path for path in sorted(whole.rglob("*")) if path.is_file()]
    for _ in range(150):
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(whole, copy)
        path = copy / draw.choice(files).relative_to(whole)
        if path.suffix == ".json" and draw.random() < 0.8:
            value = json.loads(path.read_bytes())
            place = value[0] if isinstance(value, list) else value
            if place:
                place[draw.choice(sorted(place))] = draw.choice(VALUES)
            path.write_text(json.dumps(value))
        else:
            data = bytearray(path.read_bytes())
            for _ in range(draw.choice([1, 3, 10])):
                data[draw.randrange(min(len(data), 3000))] = draw.randrange(256)
            path.write_bytes(data)
        outcome(USES[model], copy)


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        ("config.json", {"num_hidden_layers": 99999}, "num_hidden_layers"),
        ("config.json", {"hidden_size": "wide"}, r"configuration \(config\.json\) cannot be"),
        ("config.json", {"hidden_size": 48}, "weights of a"),
        ("config.json", {"model_type": "no such"}, r"configuration \(config\.json\) cannot be"),
        ("tokenizer_config.json", {"model_max_length": "long"}, "its tokenizer cannot be loaded"),
        ("encoder.json", {"similarity": "angle"}, r"encoder\.json: .*similarity"),
        ("sentence_bert_config.json", {"max_seq_length": "all"}, "max_seq_length"),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "pooling is not known"),
    ],
)
def test_the_error_says_what_is_wrong(name, change, match, trained, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(trained, copy)
    path = copy / name
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=match):
        encode(copy)


def test_a_tokenizer_without_its_special_tokens_is_reported(t5, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(t5, copy)
    path = copy / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    del settings["pad_token"]
    path.write_text(json.dumps(settings))
    with pytest.raises(InputError, match="has no `pad_token`"):
        rank("monot5:")(copy)
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"architectures": ["FiD"]}))
    with pytest.raises(InputError, match="has no `pad_token`"):
        rank("lit5:")(copy)


def test_a_projection_of_another_width_is_reported(tiny, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(tiny, copy)
    weights = load_file(tiny / "model.safetensors")
    odd = {"linear.weight": weights["embeddings.LayerNorm.bias"].reshape(2, 16).clone()}
    save_file(weights | odd, copy / "model.safetensors", metadata={"format": "pt"})
    recipe = tmp_path / "colbert.yaml"
    recipe.write_text(f"model: colbert\nbase: {copy}\nmarkers: [the, a]\n")
    with pytest.raises(InputError, match=r"projection has the shape \(2, 16\)"):
        open_reranker(recipe).order("cats", TEXTS)


def test_a_manifest_of_vectors_that_lacks_a_count_is_reported(tiny, tmp_path):
    items = items_of_texts(["cats", "dogs"], "texts")
    folder = tmp_path / "vectors"
    encode_items(encoder_source(str(tiny)), items, folder)
    assert Vectors(folder).all().shape == (2, 32)
    manifest = folder / "manifest.json"
    message = json.loads(manifest.read_text())
    for change in ({"width": None}, {"digest": 1}, {"shards": "two"}):
        counts = {**message["counts"], **change}
        manifest.write_text(json.dumps({**message, "counts": counts}))
        with pytest.raises(ArtifactError):
            Vectors(folder)
    manifest.write_text(json.dumps({**message, "counts": {}}))
    with pytest.raises(ArtifactError):
        Vectors(folder)
