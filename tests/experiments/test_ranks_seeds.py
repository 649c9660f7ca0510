"""Systems of known-item search with several runs, one for each seed of their trainings."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest

from adducir.cli.app import main
from adducir.core.artifacts import read_manifest
from adducir.core.errors import InputError
from adducir.corpora.spans import write_spans
from adducir.evaluation.gold_ranks import median_rank, recall
from adducir.evaluation.rank_files import read_ranks
from adducir.experiments.experiment import plan_experiment, run_experiment
from adducir.statistics.two_level import two_level

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
sys.path.insert(0, str(Path(__file__).parents[1] / "encoders"))

from some_spans import some_spans
from tiny import tiny_bert

SHARES = "{train: 0.4, validation: 0.2, test: 0.4}"
FILE = f"""task: known-item
data: {{A: {{spans: spans.jsonl, part: test, shares: {SHARES}}}}}
contexts: {{L: {{right: 0}}}}
systems:
  BM25: {{bm25: {{}}}}
  ours: {{train: encoders/tiny.yaml, seeds: [0, 4]}}
cutoffs: [1, 5]
by: [length]
comparison: {{baseline: BM25}}
table: {{system_names: {{ours: Our encoder}}}}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    tiny_bert(folder / "tiny")
    for room in ("encoders", "experiments"):
        (folder / room).mkdir()
    write_spans(some_spans(30, groups=9), folder / "spans.jsonl")
    (folder / "encoders" / "tiny.yaml").write_text(
        f"base: tiny\ndata: {{train: spans.jsonl, shares: {SHARES}}}\n"
        "training: {epochs: 2, batch_size: 5, learning_rate: 0.001, patience: null}\n"
    )
    (folder / "experiments" / "study.yaml").write_text(FILE)
    return folder


def test_a_row_is_of_all_seeds(place, capsys):
    plan = plan_experiment(place / "experiments" / "study.yaml")
    assert [line for line in plan.lines() if "ours" in line] == [
        "make   spans encoders/study/ours.seed0/L.prepared",
        "train  encoders/study/ours.seed0/L",
        "train  encoders/study/ours.seed4/L",
        *(line for line in plan.lines() if line.startswith("rank   runs/study/A/ours.seed")),
    ]
    outcome = run_experiment(plan)
    seeds = [
        read_manifest(place / f"encoders/study/ours.seed{seed}/L").recipe["training"]["seed"]
        for seed in (0, 4)
    ]
    assert seeds == [0, 4]
    runs = {
        name: read_ranks(place / f"runs/study/A/{name}/L/ranks.tsv", "x")[name]
        for name in ("BM25", "ours.seed0", "ours.seed4")
    }
    own = [runs["ours.seed0"], runs["ours.seed4"]]
    assert (own[0].better != own[1].better).any()
    rows = {row.system: row for row in outcome.table.rows}
    cells = dict(zip((c.measure for c in outcome.table.columns), rows["ours"].cells, strict=True))
    by_hand = {
        "R@5": (np.stack([recall(one, 5) for one in own]), recall(runs["BM25"], 5)[None]),
        "Rank": (
            np.stack([1.0 * (one.better + one.tied) for one in own]),
            1.0 * (runs["BM25"].better + runs["BM25"].tied)[None],
        ),
    }
    for measure, (ours, base) in by_hand.items():
        assert cells[measure].mean == pytest.approx(ours.mean())
        tests = outcome.table.comparison.tests.filter(system="ours", measure=measure)
        assert tests["statistic"][0] == two_level(ours, base).t
        assert tests.select("p", "verdict").row(0) == (None, None)  # two runs
    medians = [median_rank(one) for one in own]
    pooled = np.median(np.mean([one.better + one.tied for one in own], axis=0))
    assert medians[0] != medians[1] or pooled != medians[0]  # else nothing is shown below
    assert cells["Median rank"].mean == np.mean(medians)
    footer = " ".join(outcome.table.footer)
    assert "Runs of a system: Our encoder 2." in footer
    assert "Seeds of the trainings of Our encoder: 0, 4." in footer
    assert "Median rank is over queries, of several runs the mean of their medians, and" in footer
    with (place / "experiments/study/per-context.csv").open() as handle:
        systems = {row["system"] for row in csv.DictReader(handle)}
    assert {"BM25", "ours.seed0", "ours.seed4"} <= systems
    assert "ours" not in systems
    # The files of ranks give the same row.
    files = [str(place / f"runs/study/A/{name}/L/ranks.tsv") for name in runs]
    options = ["--set", "pool_seeds=true", "-b", "BM25", "--cutoffs", "1,5", "--format", "csv"]
    assert main(["literary-evidence", "ranks", *files, *options]) == 0
    again = {
        line["measure"]: float(line["mean"])
        for line in csv.DictReader(capsys.readouterr().out.splitlines())
        if line["system"] == "ours"
    }
    assert again == {name: cell.mean for name, cell in cells.items()}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("{bm25: {}}", "{bm25: {}, seeds: 2}", "at `systems.BM25.seeds`: nothing that it is made"),
        ("comparison: {", "comparison: {test: sign, ", "at `comparison.test`: there is no sign"),
        ("  ours:", "  ours.seed4: {bm25: {}}\n  ours:", "have the name of `ours.seed4`"),
    ],
)
def test_errors_are_found_before_anything_runs(place, old, new, words):
    assert old in FILE
    file = place / "experiments" / "wrong.yaml"
    file.write_text(FILE.replace(old, new, 1))
    with pytest.raises(InputError) as error:
        plan_experiment(file)
    assert words in str(error.value)
