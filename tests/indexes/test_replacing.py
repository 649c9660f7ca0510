"""An index is replaced by one of the same source; another source's needs --force."""

from pathlib import Path

import pytest

import adducir as ad
from adducir.cli.app import main
from adducir.core.artifacts import read_manifest

DOCUMENT = '{"id": "%s", "text": "cats like fish", "vector": {"cats": 2.0, "fish": 1.5}}\n'


@pytest.mark.parametrize("kind", ["lucene", "memory", "dense", "weights"])
def test_another_source_is_not_replaced_without_force(kind, tmp_path, monkeypatch, capsys, tiny):
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text(DOCUMENT % 1)
    Path("b.jsonl").write_text(DOCUMENT % 2)
    command = f"index {{}} --engine {kind} -o i"
    if kind == "dense":
        command += f" --encoder {tiny} --set pooling=mean --set similarity=dot"
    elif kind == "weights":
        command = "index --weights {} -o i"
    assert main(command.format("a.jsonl").split()) == 0
    assert len(ad.open_index("i")) == 1
    before = read_manifest(Path("i")).fingerprint
    Path("a.jsonl").write_text(DOCUMENT % 1 + DOCUMENT % 2)  # changed: rebuilt
    assert main(command.format(tmp_path / "a.jsonl").split()) == 0
    assert read_manifest(Path("i")).fingerprint != before
    assert len(ad.open_index("i")) == 2
    capsys.readouterr()
    assert main(command.format("b.jsonl").split()) != 0
    shown = capsys.readouterr().err
    assert [name for name in ("a.jsonl", "b.jsonl", "--force") if name not in shown] == []
    assert main([*command.format("b.jsonl").split(), "--force"]) == 0
    Path("b.jsonl").rename("sub.jsonl")
    assert main(command.format("sub.jsonl").split()) == 0  # the same documents: up to date


@pytest.mark.parametrize("fields", ["title", "text"])
def test_other_settings_of_the_same_source_replace_it(tmp_path, monkeypatch, fields):
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text('{"id": "1", "text": "cats", "title": "fish"}\n')
    assert main(["index", "a.jsonl", "--engine", "memory", "-o", "i"]) == 0
    assert main(f"index a.jsonl --engine memory --fields {fields} -o i".split()) == 0
