"""Models by name: what is found, what is refused, files of weights, and who may read ours."""

import json
import os
import shutil
from fnmatch import fnmatch

import huggingface_hub
import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tiny import rewritten

from adducir.core.errors import InputError
from adducir.models.loading import load_model
from adducir.models.sources import model_source
from adducir.rerankers.recipe import open_reranker

QUERY, TEXTS = "cats", ["cats run fast", "a slow dog"]


def pickled(folder, copy, *, change=dict, shards=1, zipped=True):
    """A copy of a model whose weights are pickled, in one file or in several with an index."""
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*.safetensors"))
    weights = change(load_file(folder / "model.safetensors"))
    if shards == 1:
        path = copy / "pytorch_model.bin"
        torch.save(weights, path, _use_new_zipfile_serialization=zipped)
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


def wrapped(weights):
    return {f"module.{name}": weight for name, weight in weights.items()}


@pytest.mark.parametrize(
    "how",
    [{}, {"zipped": False}, {"shards": 3}, {"change": wrapped}],
    ids=["plain", "old-format", "sharded", "wrapped"],
)
def test_pickled_weights_score_as_safetensors_do(how, classifier, tmp_path):
    wanted = open_reranker(f"cross-encoder:{classifier}").score(QUERY, TEXTS)
    folder = pickled(classifier, tmp_path / "old", **how)
    found = open_reranker(f"cross-encoder:{folder}").score(QUERY, TEXTS)
    np.testing.assert_array_equal(found, wanted)


def test_the_hub_s_pickled_weights_are_fetched_where_there_are_no_others(
    classifier, tmp_path, monkeypatch
):
    """The Hub's stand-in gives what the patterns ask for, as the real one does."""
    served = pickled(classifier, tmp_path / "served")
    (served / "training_args.bin").write_bytes(b"no weights")
    cache = tmp_path / "cache"

    def download(name, *, revision, allow_patterns, **_):
        cache.mkdir(exist_ok=True)
        for path in served.iterdir():
            if any(fnmatch(path.name, pattern) for pattern in allow_patterns):
                shutil.copyfile(path, cache / path.name)
        return str(cache)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    wanted = open_reranker(f"cross-encoder:{classifier}").score(QUERY, TEXTS)
    found = open_reranker("cross-encoder:castorini/of-the-hub@v2").score(QUERY, TEXTS)
    np.testing.assert_array_equal(found, wanted)
    assert not (cache / "training_args.bin").exists()
    shutil.rmtree(cache)
    shutil.copyfile(classifier / "model.safetensors", served / "model.safetensors")
    load_model(model_source("castorini/of-the-hub"), "AutoModelForSequenceClassification")
    assert not (cache / "pytorch_model.bin").exists()


class Malice:
    """Runs a command when it is unpickled."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_malicious_pickle_is_refused_and_not_run(zipped, classifier, tmp_path):
    trace = tmp_path / "trace"

    def malicious(weights):
        return {**weights, "b": Malice(f"touch {trace}")}

    folder = pickled(classifier, tmp_path / "old", change=malicious, zipped=zipped)
    with pytest.raises(InputError, match=r"posix\.system") as error:
        open_reranker(f"cross-encoder:{folder}").score(QUERY, TEXTS)
    assert error.value.path == folder / "pytorch_model.bin"
    assert not trace.exists()


def test_nan_is_an_error_of_the_weights(classifier, tmp_path):
    def broken(weights):
        weights["classifier.weight"][0, 0] = float("nan")
        return weights

    folder = rewritten(classifier, tmp_path / "nan", broken)
    with pytest.raises(InputError, match=r"classifier\.weight") as error:
        open_reranker(f"cross-encoder:{folder}").score(QUERY, TEXTS)
    assert error.value.path == folder


def test_a_shard_that_is_not_there_is_named(classifier, tmp_path):
    folder = pickled(classifier, tmp_path / "old", shards=2)
    (folder / "pytorch_model-00002-of-00002.bin").unlink()
    with pytest.raises(InputError, match="pytorch_model-00002-of-00002") as error:
        open_reranker(f"cross-encoder:{folder}").score(QUERY, TEXTS)
    assert error.value.path == folder / "pytorch_model.bin.index.json"
    index = {"weight_map": {"a": "../pytorch_model.bin"}}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    with pytest.raises(InputError):
        open_reranker(f"cross-encoder:{folder}").score(QUERY, TEXTS)


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="neither a folder nor a name"):
        model_source("./missing")
    with pytest.raises(InputError, match=r"config\.json is missing"):
        model_source(str(tmp_path))


def test_broken_weights_are_reported_with_their_folder(tiny, tmp_path):
    folder = tmp_path / "broken"
    shutil.copytree(tiny, folder)
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(InputError, match="broken: its model cannot be loaded"):
        load_model(model_source(str(folder)))


def test_the_identity_follows_the_content(tiny, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(tiny, folder)
    one = model_source(str(tiny)).identity()
    (folder / "README.md").write_text("a note")
    assert model_source(str(folder)).identity() == one
    (folder / "config.json").write_text("{}")
    assert model_source(str(folder)).identity() != one
