"""The recipes that come along are right, and the document says what the keys are."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from adducir.cli.app import main
from adducir.core.config import load, validate
from adducir.encoders.recipe import EncoderRecipe

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "encoders").glob("*.yaml"))
PAGE = (ROOT / "docs" / "encoders.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipes_are_right(path):
    assert validate(load(path), EncoderRecipe).kind == "dual-encoder"


def keys_of(model):
    for name, field in model.model_fields.items():
        yield name, field
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from keys_of(field.annotation)


def test_every_key_is_documented_with_its_default():
    rows = re.findall(r"^\| `(\w+)` \|([^|]*)\|", PAGE, re.M)
    documented = {key for key, _ in rows}
    for name, field in keys_of(EncoderRecipe):
        assert name in documented, name
        if isinstance(field.default, int | float) and not isinstance(field.default, bool):
            stated = [default.strip() for key, default in rows if key == name]
            assert f"{field.default:g}" in stated or str(field.default) in stated, name


def test_the_commands(study, tiny, capsys, monkeypatch):
    monkeypatch.chdir(study)
    assert main(["train", "encoders/tiny.yaml", "--set", "training.epochs=1"]) == 0
    assert "encoders/tiny: 4 steps" in capsys.readouterr().err
    encode = ["encode", "--model", "encoders/tiny.yaml", "--spans", "spans.jsonl"]
    assert main([*encode, "-o", "vectors/c"]) == 0
    assert "40 vectors of 32 numbers" in capsys.readouterr().err
    assert main([*encode, "--side", "span", "-o", "vectors/s"]) == 0
    assert main(["encode", "--model", str(tiny), "-o", "vectors/x"]) == 2
    assert main([*encode, "--fields", "text", "-o", "vectors/x"]) == 2
    (study / "x.yaml").write_text("kind: nothing\n")
    assert main(["train", "x.yaml"]) == 3
    assert "x.yaml:1: there is no kind 'nothing'" in capsys.readouterr().err


def test_a_dense_index_from_the_command_line(study, tiny, capsys, monkeypatch):
    monkeypatch.chdir(study)
    (study / "c.jsonl").write_text(
        "".join(f'{{"docno": "d{n}", "text": "cat {n} dog"}}\n' for n in range(30))
    )
    (study / "t.tsv").write_text("1\tthe cat\n2\tnuclear energy\n")
    dense = ["index", "c.jsonl", "--engine", "dense", "--encoder", str(tiny)]
    hnsw = ["--set", "kind=HNSW4"]
    assert main([*dense, *hnsw, "-o", "indexes/h"]) == 0
    message = capsys.readouterr().err
    assert re.search(r"30 documents, vectors of 32 numbers computed in \w+, recall@10", message)
    search = ["search", "-i", "indexes/h", "-t", "t.tsv", "-o", "runs/h.trec"]
    assert main([*search, "--depth", "5"]) == 0
    assert len((study / "runs" / "h.trec").read_text().splitlines()) == 10
    assert main([*search, "--k1", "1"]) == 2
    assert main([*search, "--model", "qld"]) == 2
    assert "--model" in capsys.readouterr().err
    assert main([*dense, "--stemmer", "none", "-o", "indexes/x"]) == 2
    assert main(["index", "c.jsonl", "--engine", "dense", "-o", "indexes/x"]) == 2
    assert main(["index", "c.jsonl", "--set", "kind=Flat", "-o", "indexes/x"]) == 2
    assert main([*dense, "--set", "kind=tree", "-o", "indexes/x"]) == 2
