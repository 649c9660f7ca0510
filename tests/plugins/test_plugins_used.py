"""What another package brings is used on the command line and in an experiment file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from plugin_package import install

from adducir.runs.metadata import read_metadata

BORDA = '''
"""Borda's count, of an author who is not of Adducir."""
from pydantic import Field
from adducir.runs.fusion import FusionMethod

class Borda(FusionMethod):
    """Points for each document that is ranked below."""
    bonus: float = Field(0.0, ge=0, description="Points for being ranked at all.")

    def contributions(self, run):
        return run.lengths[run.topics] - run.ranks - 1 + self.bonus
'''
EXPERIMENT = """\
topics:
  t: {source: topics.tsv, qrels: qrels.txt}
systems:
  A: {run: a.run}
  B: {run: b.run}
  A+B: {fuse: [A, B], method: borda}
measures: [nDCG@3]
comparison: {baseline: A}
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "topics.tsv").write_text("1\tcats\n2\tdogs\n")
    (tmp_path / "qrels.txt").write_text("1 0 x 1\n2 0 y 1\n")
    (tmp_path / "a.run").write_text("1 Q0 x 1 9 a\n1 Q0 y 2 8 a\n1 Q0 z 3 7 a\n2 Q0 y 1 3 a\n")
    (tmp_path / "b.run").write_text("1 Q0 z 1 5 b\n1 Q0 x 2 4 b\n2 Q0 y 1 2 b\n")
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "borda.yaml").write_text(EXPERIMENT)
    install(tmp_path / "site", "borda_fusion", BORDA, {"adducir.fusion": {"borda": "Borda"}})
    return tmp_path


def adducir(study: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    path = os.pathsep.join([str(study / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "adducir.cli.app", *arguments],
        cwd=study,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_fusion_method_is_an_option_with_its_hyperparameters(study: Path) -> None:
    shown = adducir(study, "fuse", "--help").stdout
    assert "borda" in shown
    assert "--bonus" in shown
    done = adducir(
        study, "fuse", "a.run", "b.run", "--method", "borda", "--bonus", "1", "-o", "f.run"
    )
    assert done.returncode == 0, done.stderr
    scores = {
        line.split()[2]: float(line.split()[4])
        for line in (study / "f.run").read_text().splitlines()
        if line.startswith("1 ")
    }
    assert scores == {"x": 4.0, "z": 3.0, "y": 2.0}
    fusion = read_metadata(study / "f.run")["method"]["fusion"]
    assert (fusion["method"], fusion["bonus"]) == ("borda", 1.0)
    assert (fusion["package"], fusion["version"]) == ("borda_fusion", "1.2")
    wrong = adducir(study, "fuse", "a.run", "b.run", "--bonus", "1", "-o", "g.run")
    assert wrong.returncode == 2
    assert "`bonus` is no hyperparameter of rrf" in wrong.stderr


def test_a_fusion_method_is_a_system_and_its_version_is_fingerprinted(study: Path) -> None:
    done = adducir(study, "experiment", "experiments/borda.yaml")
    assert done.returncode == 0, done.stderr
    table = json.loads((study / "experiments" / "borda" / "table.json").read_text())
    assert "A+B" in json.dumps(table)
    again = adducir(study, "experiment", "experiments/borda.yaml", "--dry-run")
    assert "keep   run runs/borda/A+B.t.trec.gz" in again.stdout + again.stderr
    newer = study / "site" / "borda_fusion-1.3.dist-info"
    (study / "site" / "borda_fusion-1.2.dist-info").rename(newer)
    metadata = newer / "METADATA"
    metadata.write_text(metadata.read_text().replace("1.2", "1.3"))
    later = adducir(study, "experiment", "experiments/borda.yaml", "--dry-run")
    assert "fuse   run runs/borda/A+B.t.trec.gz" in later.stdout + later.stderr
