"""Models by name: what is found, what is refused, and what shows one from another."""

import shutil

import pytest

from adducir.core.errors import InputError, MachineError
from adducir.models.loading import load_model, load_tokenizer
from adducir.models.sources import model_source


def test_a_folder_is_loaded_with_its_tokenizer(tiny):
    source = model_source(str(tiny))
    tokenizer, model = load_tokenizer(source), load_model(source)
    assert tokenizer.tokenize("Nuclear cats") == ["nuclear", "cats"]
    assert not model.training
    assert model.config.hidden_size == 32


def test_minilm_comes_without_a_network():
    source = model_source("minilm")
    assert load_model(source).config.num_hidden_layers == 6
    # The file asks for a cut at 128 pieces; nothing is cut that the caller does not cut.
    assert len(load_tokenizer(source)("word " * 300)["input_ids"]) == 302


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="neither a folder nor a name"):
        model_source("./missing")
    with pytest.raises(InputError, match=r"no config\.json"):
        model_source(str(tmp_path))


def test_without_a_network_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(MachineError, match="'minilm' needs none"):
        load_model(model_source("adducir/there-is-no-such-model"))


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
