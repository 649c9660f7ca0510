"""What systems are called in a table."""

from pathlib import Path

import pytest

from adducir.cli.names import find_system, stem, system_names
from adducir.core.errors import UsageError


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("runs/bm25.trec.gz", "bm25"),
        ("bm25-k1=0.9.trec.gz", "bm25-k1=0.9"),
        ("input.uic0301.gz", "input.uic0301"),
        ("bm25.TXT", "bm25"),
        ("a.run", "a"),
        ("ratings/a.tsv", "a"),
        (".trec.gz", ".trec"),
        ("bm25", "bm25"),
    ],
)
def test_a_run_is_called_by_its_files_name(file, name):
    assert stem(Path(file)) == name


def named(*files):
    return list(system_names([Path(file) for file in files]).values())


def test_names_are_in_the_order_given():
    assert named("x/b.trec", "x/a.trec") == ["b", "a"]


def test_equal_names_are_reported_apart_by_folders():
    assert named("2020/bm25.trec", "2021/bm25.trec.gz", "2021/qld.trec") == [
        "2020/bm25",
        "2021/bm25",
        "qld",
    ]


def test_as_many_folders_as_it_takes():
    assert named("a/x/r/bm25.trec", "b/x/r/bm25.trec") == ["a/x/r/bm25", "b/x/r/bm25"]


def test_two_endings_in_one_folder():
    assert named("bm25.trec", "bm25.trec.gz") == ["bm25.trec", "bm25.trec.gz"]


def test_relative_and_absolute_are_the_same_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="given twice"):
        named("a.trec", str(tmp_path / "a.trec"))
    with pytest.raises(UsageError, match="given twice"):
        named("a.trec", "a.trec")


def test_a_system_is_found_by_name_and_by_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = system_names([Path("runs/a.trec"), Path("runs/b.trec")])
    assert find_system("b", names) == "b"
    assert find_system("runs/../runs/b.trec", names) == "b"
    assert find_system(str(tmp_path / "runs" / "a.trec"), names) == "a"
    assert find_system("c", names) is None
