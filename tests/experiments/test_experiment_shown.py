"""What reports show of an experiment's steps: trainings, costs, hits, the plan's graph."""

import json
import re
from pathlib import Path
from typing import Any

from experiment_studies import GIVEN, Study

from adducir.experiments.outcome import curve, training_log, training_seconds
from adducir.experiments.step import ModelStep
from adducir.tables.material import Curve


def trained(folder: Path, seconds: float, *inputs: ModelStep) -> ModelStep:
    folder.mkdir()
    entries = [
        {"step": 5, "training_loss": 0.9, "validation_loss": None},
        {"step": 9, "training_loss": 0.5, "validation_loss": 0.7},
    ]
    record = {"validations": entries, "best_step": 9, "seconds": seconds}
    (folder / "training.json").write_text(json.dumps(record))
    return ModelStep(folder, unneeded, inputs)


def unneeded() -> Any:
    raise AssertionError("no plan is needed to read what a training recorded")


def test_the_course_of_a_training(tmp_path: Path) -> None:
    step = trained(tmp_path / "model", 2.5)
    assert curve(training_log(step.path)) == Curve(((5, 0.9), (9, 0.5)), ((9, 0.7),), 9)
    assert curve(training_log(tmp_path)) == Curve()


def test_each_training_counts_once(tmp_path: Path) -> None:
    first = trained(tmp_path / "first", 2.0)
    second = trained(tmp_path / "second", 3.0, first)
    assert training_seconds([second, first]) == 5.0
    assert training_seconds([]) is None


def test_a_report_has_the_hits_queries_and_plan_of_its_experiment(tmp_path: Path) -> None:
    study = Study(tmp_path / "study", GIVEN)
    outcome = study.run()
    hits = outcome.table.material.topics[""]
    assert hits.queries["1"] == "cats sleep"
    assert set(hits.runs) == {"A", "B", "A+B"}
    page = outcome.files["html"].read_text(encoding="utf-8")
    assert "Topic 1  cats sleep" in page or re.search(r"Topic \d  \w+", page)
    titles = [title for title, _ in outcome.table.material.plan]
    assert any("fuse" in title or "A+B" in title for title in titles)
    assert 'id="plan"' in page
    assert not outcome.table.material.snippets
