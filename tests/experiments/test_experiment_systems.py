"""Systems of every kind in one experiment file: dense, hybrid, Python, side by side."""

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from experiment_studies import Study

from adducir.cli.app import main
from adducir.core.errors import InputError, UsageError
from adducir.experiments.experiment import plan_experiment, run_experiment
from adducir.experiments.step import Context
from adducir.runs.read import read_run

EXPERIMENT = """\
corpora:
  pets: {source: data/pets.jsonl}
indexes:
  pets: {corpus: pets, engine: memory, fields: [text]}
  vectors: {corpus: pets, engine: dense, encoder: minilm, fields: [text]}
topics:
  t: {source: data/topics.tsv, qrels: data/qrels.txt}
systems:
  BM25: {index: pets}
  MiniLM: {index: vectors}
  Hybrid: {fuse: [BM25, MiniLM]}
  Twice: {fuse: [Hybrid, BM25], method: combsum}
  Reversed: {python: "mine.py:Reversed", input: BM25}
  Longest: {python: "experiments/more.py:longest", input: Hybrid, texts: pets}
  Mine: {python: "mine:Searcher", searches: pets, arguments: {depth: 2}}
measures: [nDCG@5, P@1]
comparison: {baseline: BM25}
"""
MINE = """\
import pyterrier as pt

print("imported")

class Reversed(pt.Transformer):
    def transform(self, inp):
        return inp.assign(score=-inp["score"])

class Searcher(pt.Transformer):
    def __init__(self, index, depth):
        self.index, self.depth = index, depth

    def transform(self, inp):
        from adducir.indexes.models import BM25
        hits = self.index.search(list(inp["query"]), BM25(), depth=self.depth)
        return hits.to_polars(list(inp["qid"])).to_pandas()
"""
MORE = """\
import pyterrier as pt

def longest():
    return pt.apply.doc_score(lambda row: len(row["text"]))
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Study:
    study = Study(tmp_path_factory.mktemp("systems") / "study", EXPERIMENT)
    (study.folder / "mine.py").write_text(MINE)
    (study.folder / "experiments" / "more.py").write_text(MORE)
    study.run(allow_code=True)
    return study


@pytest.fixture
def study(finished: Study, tmp_path: Path) -> Study:
    return finished.copied(tmp_path / "study")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def ranking(study: Study, system: str) -> dict[str, list[str]]:
    frame = read_run(study.path(system)).frame
    return {
        str(qid): rows["docno"].to_list()
        for (qid,), rows in frame.group_by("qid", maintain_order=True)
    }


def test_a_transformer_is_given_what_the_file_says(study: Study) -> None:
    before, reverse = ranking(study, "BM25"), ranking(study, "Reversed")
    assert before.keys() == reverse.keys()
    assert all(reverse[qid] == before[qid][::-1] for qid in before)
    assert {qid: docnos[:2] for qid, docnos in before.items()} == ranking(study, "Mine")
    lines = (study.folder / "data" / "pets.jsonl").read_text().splitlines()
    texts = {one["docno"]: one["text"] for one in map(json.loads, lines)}
    for docnos in ranking(study, "Longest").values():
        lengths = [len(texts[docno]) for docno in docnos]
        assert lengths == sorted(lengths, reverse=True)


def test_code_runs_with_consent_only_and_a_plan_never_imports_it(study: Study, capsys) -> None:
    study.path("Mine").unlink()
    file = str(study.file)
    assert main(["experiment", file, "--dry-run"]) == 0
    assert "imported" not in capsys.readouterr().out
    assert main(["experiment", file]) == 2
    assert "imported" not in capsys.readouterr().out
    assert not study.path("Mine").exists()
    assert main(["experiment", file, "--allow-code"]) == 0
    # It is remembered for the study, in the user's own folder.
    study.path("Mine").unlink()
    assert main(["experiment", file]) == 0
    assert not list(study.folder.rglob("allowed-code.json"))
    # What was changed is asked for again: the code, and what of the study it imports.
    (study.folder / "helper.py").write_text("print('imported')\n")
    code = study.folder / "mine.py"
    code.write_text("import helper\n" + code.read_text())
    assert main(["experiment", file]) == 2
    assert main(["experiment", file, "--allow-code"]) == 0
    (study.folder / "helper.py").write_text("print('imported', 'again')\n")
    assert main(["experiment", file]) == 2
    assert main(["experiment", file, "--allow-code"]) == 0
    # Another study asks again, unless all its runs are there.
    other = shutil.copytree(study.folder, study.folder.parent / "other") / "experiments/pets.yaml"
    assert run_experiment(plan_experiment(other)).runs == []
    with pytest.raises(UsageError):
        run_experiment(plan_experiment(other, rebuild=True))


def test_code_is_run_as_it_is_now_whatever_python_has_loaded(study: Study) -> None:
    code = study.folder / "mine.py"
    (study.folder / "mine").mkdir()  # which is not the module
    for depth in ("1         ", "self.depth"):
        before = code.stat()
        code.write_text(MINE.replace("depth=self.depth", f"depth={depth}"))
        os.utime(code, ns=(before.st_atime_ns, before.st_mtime_ns))
        study.run(allow_code=True)
        most = max(map(len, ranking(study, "Mine").values()))
        assert most == (2 if depth == "self.depth" else 1)


@pytest.mark.parametrize(
    "body",
    [
        "raise ValueError('no')",
        "def longest(): return 3",
        "def longest(x): return x",
        "def longest(): return open('/no/such')",
        "class longest:\n    def transform(self, inp): return inp.drop(columns='docno')",
        "class longest:\n    def transform(self, inp): return 1 / 0",
        "class longest:\n    def transform(self, inp): return inp.assign(qid='77')",
    ],
)
def test_errors_of_code_name_it(study: Study, body: str) -> None:
    (study.folder / "experiments" / "more.py").write_text(f"{body}\nlongest = longest\n")
    before = study.path("Longest").read_bytes()
    with pytest.raises(InputError) as error:
        study.run(allow_code=True)
    assert "longest" in str(error.value) or "more.py" in str(error.value)
    assert study.path("Longest").read_bytes() == before


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has the device")
def test_networks_compute_on_the_device_that_is_named(study: Study) -> None:
    study.path("MiniLM").unlink()
    with pytest.raises(UsageError, match=r"device .cuda. is not"):
        run_experiment(study.plan(), context=Context(threads=1, device="cuda"))
    assert not study.path("MiniLM").exists()
