"""What the report of any experiment shows of its steps: their graph, and how trainings went."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from adducir.experiments.context import Context
from adducir.experiments.plan import Finding
from adducir.experiments.step import ModelStep, Step
from adducir.tables.material import Curve
from adducir.training.history import kept_epoch


def with_steps(finding: Finding, context: Context) -> Finding:
    """A finding whose report shows the graph of the plan's steps and the trainings among them."""
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
