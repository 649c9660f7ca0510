"""What an experiment gives: its tables, their files, and what reports show of its steps."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adducir.core.files import writing_text
from adducir.experiments.context import Context
from adducir.experiments.step import ModelStep, Step
from adducir.experiments.study import Finding
from adducir.tables.formats import TABLES, render
from adducir.tables.material import Curve
from adducir.tables.table import ResultTable


@dataclass(frozen=True)
class Outcome:
    """What an experiment gave.

    Attributes:
        tables: Its tables, by the name of what they are of; ``""`` for the only one.
        files: Their files: the format, or ``NAME/format`` where there are several tables; the CSV
            of all queries is of the format ``per-topic`` and the like.
        made: The artifacts that were made, not those that were there.
        runs: Those of them that are evaluated.
    """

    tables: Mapping[str, ResultTable]
    files: Mapping[str, Path]
    made: Sequence[Path] = ()
    runs: Sequence[Path] = ()

    @property
    def table(self) -> ResultTable:
        """The table, or the first of several."""
        return next(iter(self.tables.values()))


def write_findings(folder: Path, findings: Sequence[Finding]) -> dict[str, Path]:
    """Write tables in every format; returns the files, as :class:`Outcome` has them."""
    files: dict[str, Path] = {}
    for finding in findings:
        before = f"{finding.name}/" if finding.name else ""
        before += "" if finding.file == "table" else f"{finding.file}."
        files |= {before + key: path for key, path in _write(folder, finding).items()}
    return files


def _write(folder: Path, finding: Finding) -> dict[str, Path]:
    folder = folder / finding.folder
    texts = {
        key: (f"{finding.file}{one.ending}", one().render(finding.table))
        for key, one in TABLES.kinds().items()
    }
    if finding.file == "table":
        texts["html"] = ("report.html", texts["html"][1])
    if finding.each is not None:
        each = render(finding.table, "csv", per_topic=True)
        texts[finding.each] = (f"{finding.each}.csv", each)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.values():
        with writing_text(folder / name) as handle:
            handle.write(text if text.endswith("\n") else text + "\n")
    return {key: folder / name for key, (name, _) in texts.items()}


def with_steps(finding: Finding, context: Context) -> Finding:
    """A finding whose report shows the graph of the plan's steps and the trainings among them."""
    from adducir.training.card import kept_epoch

    titles = {step: step.title(context.shown) for step in context.steps}
    graph = tuple(
        (title, tuple(titles[one] for one in step.inputs if one in titles))
        for step, title in titles.items()
    )
    trained = (step for step in context.steps if isinstance(step, ModelStep))
    models = {context.shown(step.path): step for step in trained}
    curves = {name: curve(training_log(step.path)) for name, step in models.items()}
    material = replace(finding.table.material, plan=graph, curves=curves)
    kept = {
        context.shown(step.path): epoch
        for step in context.steps
        if (epoch := kept_epoch(training_log(step.path)))
    }
    provenance = {**finding.table.provenance, **({"epochs kept": kept} if kept else {})}
    return replace(finding, table=replace(finding.table, material=material, provenance=provenance))


def training_log(folder: Path) -> Mapping[str, Any]:
    """What a training recorded of itself; nothing where a model records nothing."""
    try:
        found = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def curve(record: Mapping[str, Any]) -> Curve:
    """The losses of a training, by step."""
    entries = record.get("validations", ())
    losses = {
        key: tuple((one["step"], one[key]) for one in entries if one.get(key) is not None)
        for key in ("training_loss", "validation_loss")
    }
    return Curve(losses["training_loss"], losses["validation_loss"], record.get("best_step"))


def training_seconds(steps: Sequence[Step]) -> float | None:
    """The time of all trainings that steps are made from, each once; None without one."""
    models = {step for one in steps for step in _before(one) if isinstance(step, ModelStep)}
    times = [training_log(step.path).get("seconds") for step in models]
    return sum(time for time in times if time) if any(times) else None


def _before(step: Step) -> Iterator[Step]:
    yield step
    for one in step.inputs:
        yield from _before(one)
