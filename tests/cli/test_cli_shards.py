"""Parts of the work in jobs, put together by the command itself."""

import gzip
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))

from tiny import tiny_bert

from adducir.cli.app import main
from adducir.core.artifacts import read_manifest
from adducir.deepct.model import TermWeighter
from adducir.deepct.settings import Settings
from adducir.models.sources import model_source

ENCODE = ["encode", "-m", "tiny", "-c", "c.jsonl", "--precision", "float32"]
EXPAND = ["deepct", "expand", "-m", "weighter", "-c", "c.jsonl"]
INDEX = [*("index", "c.jsonl", "--engine", "dense", "--encoder", "tiny", "--precision", "float32")]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    tiny_bert(folder / "tiny")
    TermWeighter.untrained(
        model_source(str(folder / "tiny")), Settings(text=("text",)), seed=1
    ).save(folder / "weighter")
    lines = [json.dumps({"docno": f"d{n}", "text": f"the cat ran {n}"}) for n in range(7)]
    (folder / "c.jsonl").write_text("\n".join(lines))
    return folder


def files_of(folder):
    return {name: entry.sha256 for name, entry in read_manifest(folder).files.items()}


@pytest.mark.parametrize(
    ("command", "artifact"), [(ENCODE, "{}"), (EXPAND, "{}.weights"), (INDEX, "{}")]
)
def test_parts_make_what_the_command_makes(study, command, artifact, monkeypatch, capsys):
    monkeypatch.chdir(study)
    name = f"of-{command[0]}"
    ending = ".jsonl.gz" if command == EXPAND else ""
    whole, parts = f"{name}-whole", f"{name}-parts"
    assert main([*command, "-o", whole + ending]) == 0
    assert main([*command, "-o", parts + ending, "--part", "2/2"]) == 0
    assert "part 2/2 has nothing to make: there is 1 shard, and none falls to this part. When " in (
        capsys.readouterr().err
    )
    assert not Path(artifact.format(parts)).exists()
    assert main([*command, "-o", parts + ending, "--part=1/2"]) == 0
    assert main([*command, "-o", parts + ending]) == 0
    made, wanted = (study / artifact.format(one) for one in (parts, whole))
    assert files_of(made) == files_of(wanted)
    if ending:
        lines, others = (
            gzip.decompress((study / f"{one}{ending}").read_bytes()) for one in (parts, whole)
        )
        assert lines == others
        assert lines


def test_a_model_that_is_not_there_makes_no_part(study, monkeypatch, capsys):
    monkeypatch.chdir(study)
    words = ["-c", "c.jsonl", "--precision", "float32", "--part", "2/3", "-o", "z"]
    assert main(["encode", "-m", "minlm", *words]) == 4
    assert "the model minlm is neither a folder nor" in capsys.readouterr().err
    assert not list(study.glob(".z.parts-*"))


def test_options_that_mean_nothing(study, monkeypatch, capsys):
    monkeypatch.chdir(study)
    for words in (["--part", "3/2"], ["--part", "x"], ["--workers", "2", "--ray", "auto"]):
        assert main([*ENCODE, "-o", "never", *words]) == 2
    assert main([*ENCODE[:-2], "-o", "never", "--part", "1/2"]) == 2
    assert "Give --precision" in capsys.readouterr().err
    assert main(["index", "c.jsonl", "-o", "never", "--workers", "2"]) == 2
    assert "--workers means nothing without --engine memory or dense" in capsys.readouterr().err
    assert not list(study.glob("*never*"))


def test_no_command_is_taken_from_a_shared_folder(tmp_path, monkeypatch):
    """Whoever may write into the folder must not have others run a command of theirs."""
    monkeypatch.chdir(tmp_path)
    Path("victim.md").write_text("mine")
    Path(".x.parts-0123456789abcdef").mkdir()
    words = ["evaluate", "--force", "bundled:bm25", "-q", "bundled:qrels", "-o", "victim.md"]
    note = {"command": ["--debug", *words, "x"], "folder": str(tmp_path)}
    Path(".x.parts-0123456789abcdef/part-1-of-2.json").write_text(json.dumps(note))
    assert main(["finish", "x"]) == 2
    assert main(["index", "bundled:arguments", "--engine", "memory", "-o", "x"]) == 0
    assert Path("victim.md").read_text() == "mine"
