"""A study of ranks by workers, killed with SIGKILL again and again."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path += [str(Path(__file__).parents[1] / name) for name in ("models", "encoders")]

from some_spans import some_spans
from test_grounded_kills import check_kills, digests
from tiny import tiny_bert, tiny_colbert

from adducir.cli.app import main
from adducir.core.errors import MachineError
from adducir.corpora.spans import write_spans
from adducir.experiments.known_item import late

STUDY = """task: known-item
data: {A: {spans: spans.jsonl, sentences: [1]}}
contexts: {L: {right: 0}, L+R: {}}
systems:
  zero: {encoder: tiny}
  BM25: {bm25: {}}
  late: {maxsim: tiny}
  colbert: {colbert: tiny-colbert, lengths: {context: 12}}
rouge: true
"""
PROGRAM = """
import sys
from adducir.cli.app import main
from adducir.encoders import span_work
from adducir.experiments.known_item import bm25, late
late.LEAST, late.SCORES, late.BLOCK = 20, 3000, 60
late.by_late_interaction.__defaults__ = (3000,)
bm25.LEXICAL_BLOCK = 3000
if __name__ == "__main__":
    sys.exit(main(["experiment", "experiments/x.yaml", "--threads", "1", *sys.argv[1:]]))
"""


def study(folder: Path) -> Path:
    (folder / "experiments").mkdir(parents=True)
    tiny_bert(folder / "tiny")
    tiny_colbert(folder / "tiny", folder / "tiny-colbert")
    (folder / "experiments" / "x.yaml").write_text(STUDY)
    (folder / "program.py").write_text(PROGRAM)
    write_spans(some_spans(150, groups=9), folder / "spans.jsonl")
    return folder


@pytest.mark.slow
def test_killed_workers_and_drivers_leave_the_same_ranks(tmp_path: Path) -> None:
    check_kills(*(study(tmp_path / name) for name in ("whole", "killed")))


def test_vectors_of_candidates_outlive_what_ends_between_contexts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first context needed is there for the second, and gone when that is ranked."""
    monkeypatch.chdir(study(tmp_path / "x"))
    given = ["experiment", "experiments/x.yaml", "--set", "systems={late: {maxsim: tiny}}"]
    whole, ranked = late.LateRanker.rank, Path("runs/x/A/late/L/manifest.json")

    def rank(self: late.LateRanker, some: Any) -> Any:
        if ranked.exists():
            raise MachineError("no memory is left.")
        return whole(self, some)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(late.LateRanker, "rank", rank)
        assert main(given) == 4
    of_system = list(Path("runs/x/A").glob(".late.parts-*/0*[0-9].json"))
    assert of_system
    assert ranked.exists()

    def candidates(self: late.Late, device: Any) -> Any:
        raise AssertionError("they were encoded before")

    monkeypatch.setattr(late.Late, "candidates", candidates)
    assert main(given) == 0
    assert not list(Path("runs").rglob(".*parts*"))
    assert len(digests(Path())) == 2
