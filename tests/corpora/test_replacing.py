"""An index is replaced by one of the same source; another source's needs --force."""

from pathlib import Path

import pytest

from adducir.cli.app import main

DOCUMENT = '{"id": "%s", "text": "cats like fish"}\n'


def test_another_source_is_not_replaced_without_force(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text(DOCUMENT % 1)
    Path("b.jsonl").write_text(DOCUMENT % 2)
    command = "index {} --engine memory -o i"
    assert main(command.format("a.jsonl").split()) == 0
    Path("a.jsonl").write_text(DOCUMENT % 3)  # changed: rebuilt
    assert main(command.format(tmp_path / "a.jsonl").split()) == 0
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
