"""From an experiment file to its tables.

All of the file is read and all that it names is opened before anything is made, and every error is
kept for one message. The fingerprint of a step covers all that determines its content, so that a
step whose artifact is there, unchanged and whole, is not done again; nor is an artifact made that
nothing to be made needs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from adducir.core.absent import Unread, leaving_unread
from adducir.core.artifacts import publishing_results
from adducir.core.config import load, read
from adducir.core.errors import InputError, UsageError
from adducir.core.files import study_folder, writing_text
from adducir.experiments.context import Context
from adducir.experiments.plan import Plan, clear_up, make_steps
from adducir.experiments.planner import Planner
from adducir.experiments.step import ModelStep, training_log
from adducir.experiments.study import TASKS, Finding
from adducir.tables.formats import TABLES, render
from adducir.tables.material import Curve
from adducir.tables.table import ResultTable


def plan_experiment(
    path: Path,
    overrides: tuple[str, ...] = (),
    *,
    rebuild: bool = False,
    dry_run: bool = False,
    folder: Path | None = None,
) -> Plan:
    """Read an experiment file, check all of it, and plan it; nothing is built.

    Args:
        path: The file.
        overrides: ``key.key=value`` changes to it.
        rebuild: Plan to make everything, even what is there.
        dry_run: Plan without what is not available, download nothing, and leave large files of data
            unread (:mod:`adducir.core.absent`): such a plan is for reading, and
            :meth:`.Plan.notes` says what it lacks.
        folder: The study's folder, where artifacts go and relative paths start; by default the
            folder that holds ``experiments/``.

    Raises:
        InputError: The file or something that it names is wrong, or is not available; all of it in
            one message.
        MachineError: Something cannot be downloaded, and nothing else is wrong.
    """
    document = load(path)
    try:
        task = TASKS.kind(document.data.get("task", "retrieval"))
    except UsageError as error:
        line = document.line_of(("task",))
        raise InputError(error.what, path=path, line=line, hint=error.hint) from error
    reading = read(document, task, overrides)
    folder = study_folder(path) if folder is None else folder.absolute()
    planner, recipe = Planner(reading, folder, overrides, dry_run=dry_run), reading.rest
    if recipe is None:
        planner.check()
        raise InputError("the file cannot be understood.", path=path)  # never without an error
    unread = Unread() if dry_run else None
    with leaving_unread(unread):
        plan = Plan(recipe.study(planner), planner, rebuild, unread)
        _ = plan.goals  # opens the systems
        _refuse_files_for_folders(planner)
        planner.check()
    return plan


def _refuse_files_for_folders(planner: Planner) -> None:
    """Refuse what would only fail when the table is written."""
    for folder in (planner.output, planner.folder / "runs" / planner.name):
        for place in (folder.parent, folder):
            if place.exists() and not place.is_dir():
                what = f"{place}: a file stands where a folder is needed"
                if place.samefile(planner.path):
                    what = f"{what}: the experiment file's name needs an ending, such as .yaml"
                planner.add((), what)


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


def run_experiment(
    plan: Plan,
    *,
    context: Context | None = None,
    rebuild: bool = False,
    jobs: int = 1,
    allow_code: bool = False,
) -> Outcome:
    """Make the steps of a plan that are not made, evaluate, test, and write the tables.

    One process at a time is at work on an experiment; another waits, and then finds the artifacts
    there. What is evaluated is what stands in the files. The tables appear all at once.

    Args:
        plan: From :func:`plan_experiment`.
        context: Threads, device, batches, workers; no figure depends on them but for the last
            digits of networks' by device and batches.
        rebuild: Make everything anew, as for a plan that says so.
        jobs: How many processes make steps that do not depend on one another.
        allow_code: Whether Python code that the experiment file names may run; that it may is
            remembered for the study.

    Raises:
        UsageError: Code would run that nobody allowed to, or the plan is of a dry run.
        ArtifactError: Something else stands where the tables go.
        AdducirError: A corpus record is malformed, the disk is full, and the like.
    """
    if plan.unread is not None:
        raise UsageError(
            "this plan is of a dry run, which is for reading.", hint="Plan it without dry_run."
        )
    planner, output = plan.planner, plan.output
    plan = replace(plan, rebuild=rebuild or plan.rebuild)
    context = replace(context or Context(), folder=planner.folder, rebuild=plan.rebuild)
    again = partial(
        plan_experiment, planner.path.absolute(), planner.overrides, folder=planner.folder
    )
    with publishing_results(output) as folder, context:
        made = plan.prepare(allow_code=allow_code)
        make_steps(made, context, jobs, plan.identity, again)
        clear_up(made)
        findings = [_with_steps(one, plan) for one in plan.study.findings(context)]
        written = {key: path for one in findings for key, path in _write(folder, one).items()}
    return Outcome(
        {one.name: one.table for one in findings if one.is_printed},
        {key: output / path.relative_to(folder) for key, path in written.items()},
        [step.path for step in made],
        [step.path for step in made if step in plan.goals],
    )


def _write(folder: Path, finding: Finding) -> dict[str, Path]:
    """Write a table in every format; returns the files, as :class:`Outcome` has them."""
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
    before = f"{finding.name}/" if finding.name else ""
    before += "" if finding.file == "table" else f"{finding.file}."
    return {before + key: folder / name for key, (name, _) in texts.items()}


def _with_steps(finding: Finding, plan: Plan) -> Finding:
    """A finding whose report shows the graph of the plan's steps and the trainings among them."""
    from adducir.training.card import kept_epoch

    titles = {step: step.title(plan.shown) for step in plan.steps}
    graph = tuple(
        (title, tuple(titles[one] for one in step.inputs if one in titles))
        for step, title in titles.items()
    )
    logs = {step: training_log(step.path) for step in plan.steps}
    epochs = {plan.shown(step.path): kept_epoch(log) for step, log in logs.items()}
    kept = {name: epoch for name, epoch in epochs.items() if epoch}
    curves = {
        plan.shown(step.path): _curve(log)
        for step, log in logs.items()
        if isinstance(step, ModelStep)
    }
    material = replace(finding.table.material, plan=graph, curves=curves)
    provenance = {**finding.table.provenance, **({"epochs kept": kept} if kept else {})}
    return replace(finding, table=replace(finding.table, material=material, provenance=provenance))


def _curve(log: Mapping[str, Any]) -> Curve:
    """The losses of a training, by step."""
    training, validation = (
        tuple(
            (one["step"], one[key])
            for one in log.get("validations", ())
            if one.get(key) is not None
        )
        for key in ("training_loss", "validation_loss")
    )
    return Curve(training, validation, log.get("best_step"))
