"""What `verify` says of a study's archive in which something has changed."""

import json
import os
import zipfile
from pathlib import Path

import pytest
from experiment_studies import GIVEN, Study

from adducir.core.errors import InputError
from adducir.experiments.sharing import SUMS, share, verify

RUN, RESULTS = "runs/pets/A+B.t.trec.gz", "experiments/pets"
METADATA, TABLE = f"{RUN}.ir-metadata.yml", f"{RESULTS}/table.csv"


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Of a study whose links lead to a secret outside of it, and to one of its hidden files."""
    study = Study(tmp_path_factory.mktemp("sharing") / "study", GIVEN)
    (study.folder / "data" / "docs").mkdir()
    (study.folder / "data" / "docs" / "a.jsonl").write_text("{}")
    study.run()
    secret = study.folder.parent / "secret.txt"
    secret.write_text("secret")
    for place in ("runs/innocent.trec", "code.py", "README.md", "data/more.txt"):
        (study.folder / place).symlink_to(secret)
    (study.folder / ".env").write_text("secret")
    (study.folder / "runs" / "own.trec").symlink_to("../.env")
    recipe = "corpora: {c: {source: data/docs}, d: {source: data/more.txt}}"
    (study.folder / "experiments" / "more.yml").write_text(recipe)
    _, left_out = share(study.folder, archive := study.folder.with_suffix(".zip"), "", 10**6)
    assert {path.name for path in left_out} >= {"innocent.trec", "code.py", "README.md", "own.trec"}
    return archive


def test_nothing_outside_a_study_is_shared(archive):
    with zipfile.ZipFile(archive) as packed:
        assert {"study/data/docs/a.jsonl", "study/experiments/more.yml"} <= {*packed.namelist()}
        assert all(b"secret" not in packed.read(name) for name in packed.namelist())


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        (RUN, None, None, f"not evaluated again: {RUN} is not in the archive"),
        (RUN, b"", b" ", f"{RUN} is not the run behind the table"),
        (RUN, b"", b" ", f"{RUN} does not match its metadata"),
        (METADATA, b"", b"[", "not YAML"),
        ("data/qrels.txt", None, None, f"{RESULTS}: not evaluated again: "),
        ("data/qrels.txt", b"1 0 d9 1", b"1 0 d9 0", "2 of 6 rows differ, for example that of B"),
        (TABLE, b"P@1", b"P@2", "1 of 6 rows differ, for example that of A"),
        (TABLE, b"A+B,,", b"C,", f"{RESULTS}: evaluated again, table.csv has other rows"),
        ("a.txt", None, b"new", f"a.txt is not in {SUMS}"),
    ],
)
def test_what_has_changed_is_named(archive, name, old, new, told, tmp_path):
    zipfile.ZipFile(archive).extractall(tmp_path)
    path = tmp_path / "study" / name
    if new is None:
        path.unlink()
    else:
        path.write_bytes(new if old is None else path.read_bytes().replace(old, new, 1))
    found = "\n".join(what for how, what in verify(tmp_path / "study") if how != "ok")
    assert told in found and f"\n{name} " in f"\n{found}", found


def test_what_is_no_archive_of_a_study(archive, tmp_path):
    whole, told = archive.read_bytes(), dict.fromkeys(("cut", "bent"), "not a complete ZIP")
    (tmp_path / "cut").write_bytes(whole[:-30])
    (tmp_path / "bent").write_bytes(whole[:60] + bytes(30) + whole[90:])
    for name, what in {**told, "": "lacks SHA256SUMS", "none": "no such file"}.items():
        with pytest.raises(InputError, match=what):
            list(verify(tmp_path / name))
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(InputError, match="lacks SHA256SUMS"):
        list(verify(tmp_path))


def _table(**changes):
    def edit(study: Path) -> None:
        path = study / "experiments/pets/table.json"
        facts = json.loads(path.read_text())
        facts["provenance"] |= changes
        path.write_text(json.dumps(facts))

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        _table(command="adducir 'open"),
        _table(runs=5),
        _table(recipe={"systems": {"A": {"seeds": 5}}}),
        _table(recipe={"systems": 5}),
        _table(
            runs={"t": {"A": {"file": "/etc/hostname"}, "B": {"file": "../../../etc/hostname"}}}
        ),
        _table(
            recipe={"topics": {"t": {"source": "/etc/hostname", "qrels": "/etc/hostname"}}}, runs={}
        ),
        lambda study: os.mkfifo(study / "pipe"),
        lambda study: (study / "runs/self").symlink_to("."),
        lambda study: (study / "root").symlink_to("/"),
        lambda study: (study / SUMS).write_text(
            f"{'0' * 64}  ../../secret.txt\n{'0' * 64}  /etc/x\n"
        ),
    ],
)
def test_a_crafted_archive_is_told_as_wrong_and_reads_nothing_outside(archive, tmp_path, edit):
    zipfile.ZipFile(archive).extractall(tmp_path)
    edit(tmp_path / "study")
    found = [message for verdict, message in verify(tmp_path / "study") if verdict != "ok"]
    assert found
    assert not any("columns" in message for message in found)
