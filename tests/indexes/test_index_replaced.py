"""An index that another process replaces, and machines that lack something, under its readers."""

import errno
import json
import os
import pickle
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from memory_corpus import ListCorpus, build_index

from adducir.cli.app import main
from adducir.core.errors import AdducirError, ArtifactError, MachineError, ReplacedError
from adducir.core.fingerprint import fingerprint
from adducir.core.manifests import MANIFEST, read_manifest
from adducir.indexes import arrays, engines
from adducir.indexes.arrays import mapped, new_array, save
from adducir.indexes.engines import open_index
from adducir.indexes.models import BM25

OLD, NEW = (
    ListCorpus({"d1": "old cats", "d2": "dogs"}),
    ListCorpus({"d1": "new cats", "d3": "mice"}),
)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def built(corpus, path: Path, engine: str = "memory", rebuild: bool = False) -> Path:
    build_index(corpus, path, engine, rebuild=rebuild)
    return path


@pytest.mark.parametrize("engine", ["memory", "lucene"])
def test_nothing_of_another_index_is_read_beside_an_opened_one(tmp_path, engine):
    path = built(OLD, tmp_path / "index", engine)
    early, late, pickled = open_index(path), open_index(path), pickle.dumps(open_index(path))
    assert early.documents.get("d1").fields["text"] == "old cats"
    built(NEW, path, engine)
    assert early.documents.get("d2").fields["text"] == "dogs"
    for act in (lambda: late.documents, lambda: pickle.loads(pickled)):
        with pytest.raises(ReplacedError, match="was replaced since it was opened"):
            act()
    if engine == "memory":  # reads terms and docnos at the first search
        with pytest.raises(ReplacedError):
            late.search(["cats"], BM25())
    else:
        assert late.search(["cats"], BM25()).docnos.to_list() == ["d1"]
    same = built(OLD, tmp_path / "same", engine)
    index = open_index(same)
    built(OLD, same, engine, rebuild=True)  # with equal content or not found out
    if read_manifest(same).files == index.manifest.files:
        assert index.documents.get("d1").fields["text"] == "old cats"


def test_a_reader_that_meets_a_swap_opens_again(tmp_path, monkeypatch):
    path, other = built(OLD, tmp_path / "index"), built(NEW, tmp_path / "other")
    whole = engines._opened
    calls: list[int] = []

    def opened(*arguments):
        calls.append(1)
        if len(calls) == 1:  # swapped after the digests were checked
            shutil.move(path, tmp_path / "away")
            shutil.move(other, path)
            raise ArtifactError("the index is damaged")
        return whole(*arguments)

    monkeypatch.setattr(engines, "_opened", opened)
    assert "d3" in open_index(path).docnos
    assert len(calls) == 2


@pytest.mark.slow
def test_searches_while_others_rebuild_give_one_of_the_indexes(tmp_path, monkeypatch):
    lines = [json.dumps({"docno": f"d{n}", "text": f"cats {n % 7} dogs"}) for n in range(300)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    code = (
        "import sys; from adducir.cli.app import main\n"
        "for n in range(8):\n    for fold in ('porter', 'none', 'krovetz'):\n"
        "        assert main(['index', 'a.jsonl', '-o', 'ix', '--engine', 'memory',"
        " '--stemmer', fold]) == 0"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["index", "a.jsonl", "-o", "ix", "--engine", "memory"]) == 0
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as writer:
        codes = []
        while writer.poll() is None:
            codes.append(main(["search", "ix", "cats"]))
    assert writer.returncode == 0
    assert set(codes) == {0}


def test_faults_of_the_machine_are_not_called_damage(tmp_path, monkeypatch):
    path = built(OLD, tmp_path / "index")
    place = Path.open

    for number, part in ((errno.EMFILE, "open"), (errno.ENOMEM, "memory"), (errno.EACCES, "perm")):

        def failing(self, *rest, number=number, **more):
            if self.suffix == ".npy":
                raise OSError(number, os.strerror(number), str(self))
            return place(self, *rest, **more)

        monkeypatch.setattr(Path, "open", failing)
        with pytest.raises(AdducirError, match=part) as caught:
            open_index(path)
        assert not isinstance(caught.value, ArtifactError)
        assert "ebuild" not in str(caught.value)


@pytest.mark.parametrize("array", [np.zeros((2, 0)), np.arange(5, dtype=np.uint8), np.ones((2, 3))])
def test_mapped_arrays_are_those_that_were_saved(tmp_path, array):
    save(tmp_path / "a.npy", array)
    found = mapped(tmp_path / "a.npy")
    assert not found.flags.writeable
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)
    whole = (tmp_path / "a.npy").read_bytes()
    for content in (whole[:-1], whole + b"x", whole[:50], b"", whole.replace(b"NUMPY", b"NUMPX")):
        if content != whole:
            (tmp_path / "a.npy").write_bytes(content)
            with pytest.raises(ArtifactError):
                mapped(tmp_path / "a.npy")


@pytest.mark.parametrize("has_fallocate", [True, False])
def test_new_arrays_have_their_blocks_before_anything_is_written(
    tmp_path, monkeypatch, has_fallocate
):
    if not has_fallocate:
        monkeypatch.delattr(os, "posix_fallocate")
    array = new_array(tmp_path / "a.npy", np.int64, 1 << 20)
    assert (tmp_path / "a.npy").stat().st_blocks * 512 >= array.nbytes
    array[:] = 7
    assert (mapped(tmp_path / "a.npy") == 7).all()


def test_a_full_disk_ends_a_build_with_exit_4(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(arrays.os, "posix_fallocate", full)
    with pytest.raises(MachineError, match="no space"):
        build_index(OLD, tmp_path / "index")
    assert [one for one in tmp_path.iterdir() if one.suffix != ".lock"] == []


CRAFTED = {
    "files": [5, [], None, {"a": None}, {"a": {}}, {"a": {"bytes": "x", "sha256": "0"}}]
    + [{"a": {"bytes": -1, "sha256": "0"}}]
    + [
        {name: {"bytes": 0, "sha256": "0"}}
        for name in ("../a", "/dev/zero", "a/../../b", "", "x\0")
    ],
    "recipe": [
        *([], None, 5, {"fields": 5}, {"fields": [5]}, {"analysis": 5}, {"analysis": {"x": 1}}),
        *({"analysis": {"stemmer": 5, "stopwords": "lucene"}}, {"accurate_length": []}),
    ],
    "counts": [[], None, "x"],
    "inputs": [{"corpus": 5}, 7],
    "kind": [None, {}],
    "unknown": [1],
}


@pytest.mark.parametrize(("key", "value"), [(key, one) for key in CRAFTED for one in CRAFTED[key]])
def test_names_and_types_of_a_manifest_are_checked(tmp_path, key, value):
    path = built(OLD, tmp_path / "index")
    facts = json.loads((path / MANIFEST).read_text()) | {key: value}
    del facts["digest"]
    text = json.dumps({**facts, "digest": fingerprint(facts)})
    (path / MANIFEST).write_text(text)
    with pytest.raises(ArtifactError, match="manifest"):
        open_index(path)


def test_a_device_in_an_artifact_is_not_read(tmp_path):
    path = built(OLD, tmp_path / "index")
    facts = json.loads((path / MANIFEST).read_text())
    del facts["digest"]
    facts["files"]["zero"] = {"bytes": 0, "sha256": "0" * 64}
    (path / MANIFEST).write_text(json.dumps({**facts, "digest": fingerprint(facts)}))
    (path / "zero").symlink_to("/dev/zero")
    with pytest.raises(ArtifactError, match="missing"):
        open_index(path)


def test_many_indexes_can_be_open_under_a_low_limit(tmp_path):
    path = built(OLD, tmp_path / "index")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = open_files()
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 40, hard))
    try:
        kept = [open_index(path) for _ in range(60)]
        for index in kept:
            assert index.search(["cats"], BM25()).docnos.to_list() == ["d1"]
        assert [index.documents.get("d2").docno for index in kept[:9]] == ["d2"] * 9
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
