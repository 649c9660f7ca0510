"""Pickled weights to safetensors: what comes out, what is refused, what is recorded."""

import io
import json
import os
import pickle
import shutil
import subprocess
import zipfile
from contextlib import redirect_stderr
from fnmatch import fnmatch

import huggingface_hub
import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tiny import tiny_bert

from adducir.cli.app import main
from adducir.core.artifacts import read_manifest, verify
from adducir.core.errors import InputError
from adducir.core.files import file_digest
from adducir.encoders.model import DualEncoder
from adducir.encoders.sources import encoder_source
from adducir.models import conversion, unpickling
from adducir.models.conversion import convert
from adducir.models.loading import load_model, load_tokenizer
from adducir.models.sources import model_source
from adducir.rerankers.registry import open_reranker


@pytest.fixture
def here(monkeypatch):
    """The conversion in this process, which is quicker: importing torch takes seconds."""

    def run(command, *, stderr, **_):
        assert stderr == subprocess.PIPE
        message = io.StringIO()
        code = 0
        with redirect_stderr(message):
            try:
                unpickling.main([str(word) for word in command[4:]])
            except SystemExit as end:
                code = end.code
        return subprocess.CompletedProcess(command, code, b"", message.getvalue().encode())

    monkeypatch.setattr(unpickling, "_limit_memory", lambda size: None)
    monkeypatch.setattr(conversion.subprocess, "run", run)


def pickled(folder, copy, *, change=dict, shards=1):
    """A copy of a model whose weights are pickled, in one file or in several with an index."""
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*.safetensors"))
    weights = change(load_file(folder / "model.safetensors"))
    if shards == 1:
        torch.save(weights, copy / "pytorch_model.bin")
        return copy
    places = {}
    for number in range(shards):
        name = f"pytorch_model-{number + 1:05d}-of-{shards:05d}.bin"
        part = dict(list(weights.items())[number::shards])
        torch.save(part, copy / name)
        places |= dict.fromkeys(part, name)
    index = {"metadata": {}, "weight_map": places}
    (copy / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    return copy


def refused(folder, tmp_path, match):
    output = tmp_path / "converted"
    with pytest.raises(InputError, match=match):
        convert(model_source(str(folder)), output)
    assert not output.exists()


class Malice:
    """Runs a command when it is unpickled."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def test_a_reranker_scores_alike_before_and_after(classifier, tmp_path):
    folder = pickled(classifier, tmp_path / "old")
    with pytest.raises(InputError, match=f"adducir convert {folder}"):
        open_reranker(f"cross-encoder:{folder}").score("cats", ["dogs"])
    output = tmp_path / "new"
    manifest = convert(model_source(str(folder)), output)
    texts = ["cats run fast", "a slow dog"]
    wanted = open_reranker(f"cross-encoder:{classifier}").score("cats", texts)
    found = open_reranker(f"cross-encoder:{output}").score("cats", texts)
    np.testing.assert_array_equal(found, wanted)
    assert manifest.inputs["pytorch_model.bin"] == file_digest(folder / "pytorch_model.bin")
    made = manifest.files["model.safetensors"]
    assert made.sha256 == file_digest(output / "model.safetensors")
    assert manifest.counts["source"] == str(folder)
    assert verify(output) == []
    assert not list(output.glob("*.bin*"))
    # It is what it is made of, and is not made twice.
    assert model_source(str(output)).identity() == manifest.fingerprint
    assert convert(model_source(str(folder)), output).started == manifest.started


@pytest.mark.parametrize("zipped", [True, False])
def test_half_precision_names_and_the_old_format_stay(here, zipped, tiny, tmp_path):
    folder = tmp_path / "old"
    shutil.copytree(tiny, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    weights = {
        f"model.{name}": weight.to(torch.bfloat16 if number % 2 else torch.half)
        for number, (name, weight) in enumerate(load_file(tiny / "model.safetensors").items())
    }
    path = folder / "pytorch_model.bin"
    torch.save(weights, path, _use_new_zipfile_serialization=zipped)
    convert(model_source(str(folder)), tmp_path / "new")
    found = load_file(tmp_path / "new" / "model.safetensors")
    assert found.keys() == weights.keys()
    assert all(found[name].dtype == weights[name].dtype for name in weights)
    assert all(torch.equal(found[name], weights[name]) for name in weights)
    load_model(model_source(str(tmp_path / "new")))


def test_tied_weights_stand_under_each_of_their_names(here, t5, tmp_path):
    def tied(weights):
        names = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
        return {**weights, **dict.fromkeys(names, weights["shared.weight"])}

    folder = pickled(t5, tmp_path / "old", change=tied)
    convert(model_source(str(folder)), tmp_path / "new")
    kind = "T5ForConditionalGeneration"
    one, other = (
        load_model(model_source(str(path)), kind).state_dict() for path in (t5, tmp_path / "new")
    )
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_views_of_one_storage_are_reported_apart(here, tiny, tmp_path):
    def views(weights):
        whole = torch.arange(12.0).reshape(3, 4)
        return {**weights, "row": whole[1], "column": whole[:, 1], "turned": whole.T}

    folder = pickled(tiny, tmp_path / "old", change=views)
    convert(model_source(str(folder)), tmp_path / "new")
    found = load_file(tmp_path / "new" / "model.safetensors")
    assert found["row"].tolist() == [4, 5, 6, 7]
    assert found["column"].tolist() == [1, 5, 9]
    assert found["turned"].tolist() == torch.arange(12.0).reshape(3, 4).T.tolist()


def test_shards_are_read_by_their_index(here, classifier, tmp_path):
    folder = pickled(classifier, tmp_path / "old", shards=3)
    convert(model_source(str(folder)), tmp_path / "new")
    kind = "AutoModelForSequenceClassification"
    one, other = (
        load_model(model_source(str(path)), kind).state_dict()
        for path in (classifier, tmp_path / "new")
    )
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert not (tmp_path / "new" / "pytorch_model.bin.index.json").exists()
    (folder / "pytorch_model-00002-of-00003.bin").unlink()
    refused(folder, tmp_path, r"index\.json: it names 'pytorch_model-00002.*is not there")


def test_an_index_names_files_of_its_folder_alone(here, classifier, tmp_path):
    folder = pickled(classifier, tmp_path / "old", shards=2)
    index = {"weight_map": {"a": "../pytorch_model.bin"}}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    refused(folder, tmp_path, "which is not there")


def test_a_malicious_pickle_is_refused_and_nothing_of_it_is_run(tiny, tmp_path):
    folder = pickled(tiny, tmp_path / "old")
    trace = tmp_path / "trace"
    weights = {"a": torch.zeros(2), "b": Malice(f"touch {trace}")}
    torch.save(weights, folder / "pytorch_model.bin")
    refused(folder, tmp_path, r"holds more than weights \(posix\.system\)")
    assert not trace.exists()


def test_older_formats_run_nothing_either(here, tiny, tmp_path):
    folder = pickled(tiny, tmp_path / "old")
    path, trace = folder / "pytorch_model.bin", tmp_path / "trace"
    malice = Malice(f"touch {trace}")
    torch.save({"a": malice}, path, _use_new_zipfile_serialization=False)
    refused(folder, tmp_path, r"holds more than weights \(posix\.system\)")
    path.write_bytes(pickle.dumps(malice))
    refused(folder, tmp_path, "weights are refused")
    assert not trace.exists()


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ({"a": 1}, "'a' in it is no plain tensor"),
        ([torch.zeros(2)], "holds no weights by name, but a list"),
        ({}, "no weights in it"),
        ({"a": torch.zeros(1).expand(1 << 40)}, "many times its size"),
        ({"a": torch.zeros(2).to_sparse()}, "no plain tensor"),
    ],
)
def test_what_is_no_checkpoint_is_refused(here, content, match, tiny, tmp_path):
    folder = pickled(tiny, tmp_path / "old")
    torch.save(content, folder / "pytorch_model.bin")
    refused(folder, tmp_path, match)


def test_what_unpacks_to_many_times_its_size_is_refused(here, tiny, tmp_path):
    folder = pickled(tiny, tmp_path / "old")
    path = folder / "pytorch_model.bin"
    torch.save({"a": torch.zeros(40 << 20)}, path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    assert path.stat().st_size < 1 << 20
    refused(folder, tmp_path, "weights are refused")


@pytest.mark.parametrize("cut", [0, 1, 100, -100])
def test_a_damaged_file_is_refused(here, cut, tiny, tmp_path):
    folder = pickled(tiny, tmp_path / "old")
    path = folder / "pytorch_model.bin"
    path.write_bytes(path.read_bytes()[:cut])
    refused(folder, tmp_path, "weights are refused")


def test_what_needs_no_conversion_is_reported(tiny, tmp_path):
    refused(tiny, tmp_path, "nothing to convert")


def test_a_tokenizer_can_be_added(here, classifier, tmp_path):
    folder = pickled(classifier, tmp_path / "old")
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (folder / name).unlink()
    output = tmp_path / "new"
    assert main(["convert", str(folder), "-o", str(output), "--tokenizer", str(classifier)]) == 0
    assert load_tokenizer(model_source(str(output))).tokenize("cats") == ["cats"]
    assert open_reranker(f"cross-encoder:{output}").score("cats", ["dogs"]).shape == (1,)


def test_a_sentence_encoder_is_converted_with_its_dense_layers(here, tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer

    bert = tiny_bert(tmp_path / "bert")
    words = Transformer(str(bert))
    model = SentenceTransformer(modules=[words, Pooling(32), Dense(32, 8)], device="cpu")
    whole, old = tmp_path / "whole", tmp_path / "old"
    model.save(str(whole))
    shutil.copytree(whole, old)
    for path in old.rglob("model.safetensors"):
        torch.save(load_file(path), path.with_name("pytorch_model.bin"))
        path.unlink()
    convert(model_source(str(old)), tmp_path / "new")
    one, other = (
        DualEncoder.load(encoder_source(str(path))).encode_documents(["cats run", "dogs"])
        for path in (whole, tmp_path / "new")
    )
    assert one.shape == (2, 8)
    np.testing.assert_array_equal(one, other)


def test_a_model_of_the_hub_is_fetched_with_its_pickled_weights(
    classifier, tmp_path, monkeypatch, capsys
):
    """The Hub's stand-in gives what the patterns ask for, as the real one does."""
    served = pickled(classifier, tmp_path / "served")
    (served / "training_args.bin").write_bytes(b"no weights")
    fetched = []

    def download(name, *, revision, allow_patterns, **_):
        cache = tmp_path / "cache" / f"{len(fetched)}"
        cache.mkdir(parents=True)
        fetched.append((name, revision))
        for path in served.iterdir():
            if any(fnmatch(path.name, pattern) for pattern in allow_patterns):
                shutil.copyfile(path, cache / path.name)
        return str(cache)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="adducir convert castorini/monobert-large-msmarco"):
        load_model(model_source("castorini/monobert-large-msmarco"))
    assert main(["convert", "castorini/monobert-large-msmarco@v2"]) == 0
    assert fetched[-1] == ("castorini/monobert-large-msmarco", "v2")
    output = tmp_path / "models" / "monobert-large-msmarco"
    assert "models/monobert-large-msmarco: 0.1 MB" in capsys.readouterr().err
    assert not (output / "training_args.bin").exists()
    assert read_manifest(output).counts["source"] == "castorini/monobert-large-msmarco"
    recipe = tmp_path / "mono.yaml"
    recipe.write_text("model: monobert\nbase: models/monobert-large-msmarco\nlength: 60\n")
    wanted = open_reranker(f"cross-encoder:{classifier}").score("cats", ["cats run", "dogs"])
    np.testing.assert_array_equal(open_reranker(recipe).score("cats", ["cats run", "dogs"]), wanted)
