"""Runs a planned study of evidence sets: training, choosing, measuring, testing, the table."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from adducir.corpora.evidence_sets.chosen import read_chosen, write_chosen
from adducir.corpora.evidence_sets.record import EvidenceQuestion
from adducir.corpora.evidence_sets.record_files import read_questions
from adducir.experiments.evaluation.scores import Scores
from adducir.experiments.evaluation.set_files import checked
from adducir.experiments.evidence.planning import Step, StudyPlan
from adducir.experiments.study_files import StudyOutcome, write_table
from adducir.experiments.tables.build import Layout
from adducir.experiments.tables.sets import set_table
from adducir.experiments.tables.style import Style
from adducir.experiments.tables.table import ResultTable
from adducir.models.machine import choose_device, using_threads
from adducir.rerankers.complementary.selecting import load_evidence_model, select
from adducir.study.files import file_digest
from adducir.study.fingerprint import fingerprint
from adducir.study.folders import name_in_study
from adducir.study.products import Manifest, build, read_manifest
from adducir.study.progress import SILENT, Progress
from adducir.study.results import publishing_results, refuse_other_folder
from adducir.training.artifacts import train_model
from adducir.version import __version__

CHOSEN_FILE = "chosen.jsonl"
_KIND = "chosen-sets"
_MAKER_VERSION = 2


def run_study(
    plan: StudyPlan,
    *,
    device: str = "auto",
    threads: int | None = None,
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> StudyOutcome:
    """Train and choose what is not there yet, measure, test, and write the table.

    Args:
        plan: From :func:`adducir.experiments.evidence.planning.plan_study`.
        device: See :func:`adducir.models.machine.choose_device`.
        threads: Of torch while sets are chosen; by default its own choice.
        rebuild: Make everything anew.
        progress: Told of each step.

    Raises:
        AdducirError: A model cannot be loaded, the disk is full, and the like.
    """
    refuse_other_folder(plan.output)
    plan.fetch(progress, rebuild=rebuild)
    for place, step in enumerate(plan.steps, 1):
        progress.note(f"{place} of {len(plan.steps)}: {step.model.name}")
        train_model(
            step.course,
            step.model,
            device=device,
            rebuild=rebuild,
            progress=progress,
        )
        with using_threads(threads):
            _choose(plan, step, device, rebuild, progress)
    table = _table(plan)
    with publishing_results(plan.output, progress) as folder:
        files = write_table(folder, table, each="per-question")
    return StudyOutcome({"": table}, {key: plan.output / path.name for key, path in files.items()})


def _choose(
    plan: StudyPlan, step: Step, device: str, rebuild: bool, progress: Progress
) -> Manifest:
    """The sets that a step's model chooses for its test questions, a product of its own."""
    tests = plan.tests[step.data, step.round]
    decides = {"precision": plan.recipe.precision}
    inputs = {
        "model": read_manifest(step.model).fingerprint,
        "questions": fingerprint([file_digest(path) for path in tests]),
    }

    def make(folder: Path) -> dict[str, Any]:
        model = load_evidence_model(step.model, choose_device(device))
        chosen = select(
            model, _questions(tests), precision=plan.recipe.precision, progress=progress
        )
        return {"questions": write_chosen(chosen, folder / CHOSEN_FILE)}

    return build(
        step.chosen,
        kind=_KIND,
        recipe=decides,
        inputs=inputs,
        maker_version=_MAKER_VERSION,
        make=make,
        rebuild=rebuild,
        progress=progress,
    )


def _questions(paths: tuple[Path, ...]) -> Iterator[EvidenceQuestion]:
    for path in paths:
        yield from read_questions(path)


def _table(plan: StudyPlan) -> ResultTable:
    recipe, asked = plan.recipe, plan.recipe.comparison
    scores: dict[str, list[Scores]] = {}
    bounds: dict[str, Scores] = {}
    notes: list[str] = []
    for data, truth in plan.truths.items():
        name = data if len(plan.truths) > 1 else ""
        scores[name] = []
        for system in recipe.systems:
            each = [_seed_scores(plan, system, data, seed) for seed in recipe.seeds]
            scores[name].append(_mean(each))
            if len(each) > 1:
                rates = ", ".join(f"{one.values[:, 0].mean():.3f}" for one in each)
                notes.append(f"EM of {system} on {data} by seed: {rates}.")
        bounds[name] = truth.bound(_size(plan, data))
    if len(recipe.seeds) > 1:
        notes.insert(0, f"Figures of a question are means over {len(recipe.seeds)} seeds.")
    table = recipe.table
    return set_table(
        scores,
        bounds=bounds,
        testing=asked.model_dump(exclude_none=True) if asked else {},
        layout=Layout(
            title=table.caption or recipe.description,
            label=table.label or f"tab:{plan.path.stem}",
            style=Style(
                decimals=table.decimals, leading_zero=table.leading_zero, details=table.show
            ),
            measure_names=table.measure_names,
            system_names=table.system_names,
            notes=notes,
            provenance=_provenance(plan),
        ),
    )


def _seed_scores(plan: StudyPlan, system: str, data: str, seed: int) -> Scores:
    """The scores of a system with one seed, over the rounds' test questions together."""
    truth = plan.truths[data]
    chosen: dict[str, tuple[str, ...]] = {}
    for step in plan.steps:
        if (step.system, step.data, step.seed) == (system, data, seed):
            path = step.chosen / CHOSEN_FILE
            chosen |= checked(path, read_chosen(path), truth)
    return truth.scores(system, chosen)


def _mean(each: list[Scores]) -> Scores:
    """The mean over seeds, question by question."""
    first = each[0]
    values = np.mean([one.values for one in each], axis=0)
    values.setflags(write=False)
    return Scores(first.system, first.qids, first.measures, values, first.missing, first.extra)


def _size(plan: StudyPlan, data: str) -> int:
    """The passages of the largest set that is chosen."""
    sizes = [step.course.model_settings.selection.size for step in plan.steps if step.data == data]
    return max(sizes)


def _provenance(plan: StudyPlan) -> dict[str, Any]:
    models = {step.model.name: step.course.fingerprint for step in plan.steps}
    return {"adducir": __version__, "file": name_in_study(plan.path), "models": models}
