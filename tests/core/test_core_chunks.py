"""Long work in chunks: killed, damaged, failing or elsewhere, the artifact stays the same."""

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import fake_work
import pytest
from fake_work import FakeWork, build, digest
from plugin_package import install

from adducir.core.errors import ArtifactError, IncompleteError, MachineError, UsageError
from adducir.core.executors import HERE, Execution

TWO = Execution(workers=2)
EVERYWHERE = pytest.mark.parametrize("execution", [HERE, TWO], ids=["here", "processes"])


def left(folder):
    return [path.name for path in folder.iterdir() if ".parts-" in path.name]


def chunks_of(folder):
    return sorted(folder.glob(".*.parts-*/0*-*"))


@EVERYWHERE
def test_data_that_cannot_be_processed_are_named_and_the_rest_is_made(tmp_path, execution):
    work = FakeWork(trouble={"d5": "data", "d9": "data"}, folder=tmp_path)
    with pytest.raises(IncompleteError, match="2 of 6 chunks") as caught:
        build(tmp_path / "x", work, execution)
    assert "chunk 1 (d4, d5, d6, d7): d5 cannot be done." in str(caught.value)
    assert caught.value.exit_code == 6
    assert len(chunks_of(tmp_path)) == 4
    begun = (tmp_path / "begun.txt").read_text().count("\n")
    made = build(tmp_path / "x", replace(work, trouble={}))
    # Only what was missing is made.
    assert (tmp_path / "begun.txt").read_text().count("\n") == begun + 2
    assert digest(made) == digest(build(tmp_path / "y", FakeWork()))


def test_a_worker_that_is_killed_once_costs_nothing_but_time(tmp_path):
    made = build(tmp_path / "x", FakeWork(trouble={"d9": "kill once"}, folder=tmp_path), TWO)
    assert digest(made) == digest(build(tmp_path / "y", FakeWork()))
    assert left(tmp_path) == []


@EVERYWHERE
def test_an_exception_in_a_plug_in_is_blamed_on_it(tmp_path, monkeypatch, execution):
    source = Path(fake_work.__file__).read_text()
    install(tmp_path, "fake_plugin", source, {"adducir.fusion": {"x": "FakeWork"}})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)  # processes that were started before know nothing of it
    work = import_module("fake_plugin").FakeWork(trouble={"d9": "surprise"})
    with pytest.raises(
        MachineError, match=r"fake_plugin\.py:\d+: the package fake_plugin 1\.2 raised"
    ):
        build(tmp_path / "x", work, execution)


def test_what_kills_every_worker_is_named_and_the_rest_is_made(tmp_path):
    trouble = {"d9": "kill", "d1": "surprise", "d13": "unreadable"}
    work = FakeWork(trouble=trouble, folder=tmp_path)
    with pytest.raises(IncompleteError) as caught:
        build(tmp_path / "x", work, TWO)
    assert "chunk 2 (d8, d9, d10, d11): its worker died" in str(caught.value)
    assert "chunk 0 (d0, d1, d2, d3): ValueError: surprised by d1" in str(caught.value)
    assert "chunk 3 (d12, d13, d14, d15): Unreadable: d13: odd" in str(caught.value)


@EVERYWHERE
def test_a_full_disk_ends_the_work_and_leaves_nothing_half_written(tmp_path, execution):
    work = FakeWork(trouble={"d9": "disk"}, folder=tmp_path)
    with pytest.raises(MachineError):
        build(tmp_path / "x", work, execution)
    assert not (tmp_path / "x").exists()
    assert digest(build(tmp_path / "x", FakeWork())) == digest(build(tmp_path / "y", FakeWork()))


@pytest.mark.parametrize("damage", [lambda one: b"x" * len(one), lambda one: one[:-1]])
def test_a_damaged_chunk_is_made_again(tmp_path, damage):
    with pytest.raises(IncompleteError):
        build(tmp_path / "x", FakeWork(trouble={"d22": "data"}))
    chunk = chunks_of(tmp_path)[1]
    chunk.write_bytes(damage(chunk.read_bytes()))
    made = build(tmp_path / "x", FakeWork())
    assert digest(made) == digest(build(tmp_path / "y", FakeWork()))


def test_chunks_of_other_items_or_another_rule_are_not_taken(tmp_path):
    wanted = digest(build(tmp_path / "y", FakeWork()))
    for other in ({"text": "other"}, {"rule": 2}, {"size": 3}):
        with pytest.raises(IncompleteError):
            build(tmp_path / "x", FakeWork(trouble={"d22": "data"}, **other))
        assert digest(build(tmp_path / "x", FakeWork())) == wanted
        (tmp_path / "x" / "manifest.json").unlink()
        for file in (tmp_path / "x").iterdir():
            file.unlink()


def test_chunks_of_different_device_types_are_refused(tmp_path):
    with pytest.raises(IncompleteError):
        build(tmp_path / "x", FakeWork(trouble={"d22": "data"}, device="GPU"))
    with pytest.raises(ArtifactError, match="GPU, abacus"):
        build(tmp_path / "x", FakeWork())


def test_slurm_without_sbatch_is_an_error_and_nothing_is_computed_here(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match="sbatch"):
        build(tmp_path / "x", FakeWork(), Execution(slurm="partition=gpu"))
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_slurm_jobs_give_the_same_artifact(tmp_path, monkeypatch):
    """By submitit's own executor of local jobs."""
    pytest.importorskip("submitit")
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    work = FakeWork(count=9, trouble={"d5": "kill once"}, folder=tmp_path)
    made = build(tmp_path / "x", work, Execution(workers=2, slurm="cluster=local,timeout_min=5"))
    assert digest(made) == digest(build(tmp_path / "y", FakeWork(count=9)))
    with pytest.raises(IncompleteError, match="d5 cannot be done"):
        build(tmp_path / "z", FakeWork(trouble={"d5": "data"}), Execution(slurm="cluster=local"))
    assert not list((cache / "adducir").glob("slurm-*"))


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ("partition", UsageError, "'partition' is not KEY=VALUE"),
        ("cluster=local,nodes=x", MachineError, "nodes"),
    ],
)
def test_settings_that_slurm_does_not_take(given, error, told, tmp_path):
    pytest.importorskip("submitit")
    with pytest.raises(error, match=told):
        build(tmp_path / "x", FakeWork(), Execution(slurm=f"folder={tmp_path},{given}"))
    assert not list(tmp_path.glob("slurm-*"))
