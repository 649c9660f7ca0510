"""Parts of the work in jobs, and the command that puts them together."""

import gzip
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))

from tiny import tiny_bert

from adducir.cli.app import main
from adducir.cli.shards import without_part
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
def test_parts_and_finish_make_what_the_command_makes(
    study, command, artifact, monkeypatch, capsys
):
    monkeypatch.chdir(study)
    name = f"of-{command[0]}"
    ending = ".jsonl.gz" if command == EXPAND else ""
    whole, parts = f"{name}-whole", f"{name}-parts"
    assert main([*command, "-o", whole + ending]) == 0
    assert main(["finish", parts + ending]) == 5
    assert "there are no parts of this artifact" in capsys.readouterr().err
    assert main([*command, "-o", parts + ending, "--part", "2/2"]) == 0
    assert "part 2/2 has nothing to make: there is 1 shard, and none falls to this part. When " in (
        capsys.readouterr().err
    )
    assert not Path(artifact.format(parts)).exists()
    assert main(["finish", parts + ending]) == 6
    assert "1 of 1 shards are missing: 1 of part 1/2." in capsys.readouterr().err
    assert main([*command, "-o", parts + ending, "--part=1/2"]) == 0
    monkeypatch.chdir(study.parent)  # as a job elsewhere would
    assert main(["finish", str(study / (parts + ending))]) == 0
    made, wanted = (study / artifact.format(one) for one in (parts, whole))
    assert files_of(made) == files_of(wanted)
    if ending:
        lines, others = (
            gzip.decompress((study / f"{one}{ending}").read_bytes()) for one in (parts, whole)
        )
        assert lines == others
        assert lines
    capsys.readouterr()
    assert main(["finish", artifact.format(study / parts)]) == 0
    assert "it is finished already" in capsys.readouterr().err


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


def test_the_words_without_the_part():
    words = ("encode", "--part", "1/2", "-o", "x", "--part=2/2")
    assert without_part(words) == ("encode", "-o", "x")
