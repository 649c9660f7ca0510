"""From an experiment file to its tables.

All of the file is read and all that it names is opened before anything is made, and every error is
kept for one message. The fingerprint of a step covers all that determines its content, so that a
step whose artifact is there, unchanged and whole, is not done again; nor is an artifact made that
nothing to be made needs.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from adducir.core.absent import Unread, leaving_unread
from adducir.core.artifacts import publishing_results
from adducir.core.config import load, read
from adducir.core.errors import InputError, UsageError
from adducir.core.files import study_folder
from adducir.experiments.context import Context
from adducir.experiments.plan import Plan, make_steps
from adducir.experiments.planner import ErrorList, Planner
from adducir.experiments.sections import Names, comparison_errors
from adducir.experiments.tasks import task_of

if TYPE_CHECKING:
    from adducir.experiments.outcome import Outcome


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
        dry_run: Plan without what is not at hand, download nothing, and leave large files of data
            unread (:mod:`adducir.core.absent`): such a plan is for reading, and
            :meth:`.Plan.notes` says what it lacks.
        folder: The study's folder, where artifacts go and relative paths start; by default the
            folder that holds ``experiments/``.

    Raises:
        InputError: The file or something that it names is wrong, or is not at hand; all of it in
            one message.
        MachineError: Something cannot be downloaded, and nothing else is wrong.
    """
    unread = Unread() if dry_run else None
    document = load(path)
    reading = read(document, task_of(document), overrides)
    folder = study_folder(path) if folder is None else folder.absolute()
    errors, recipe = ErrorList(reading, dry_run=dry_run), reading.rest
    if recipe is None:
        errors.check()
        raise InputError("the file cannot be understood.", path=path)  # never without an error
    planner = Planner(document, reading.data, folder, overrides, errors)
    errors.extend(comparison_errors(recipe.comparison, recipe.table, Names(planner.data)))
    with leaving_unread(unread):
        study = recipe.study(planner)
        planner.refuse_files_for_folders()
        needs = errors.check()
        goals = tuple(study.goals())
    return Plan(path, folder, recipe, overrides, study, needs, goals, rebuild, unread)


def run_experiment(
    plan: Plan,
    *,
    context: Context | None = None,
    rebuild: bool = False,
    jobs: int = 1,
    allow_code: bool = False,
) -> "Outcome":
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
    from adducir.experiments.outcome import Outcome, with_steps, write_findings

    if plan.unread is not None:
        raise UsageError(
            "this plan is of a dry run, which is for reading.", hint="Plan it without dry_run."
        )
    if rebuild:
        plan = replace(plan, rebuild=True)
    context = replace(
        context or Context(),
        shown=plan.shown,
        rebuild=plan.rebuild,
        steps=plan.steps,
    )
    with publishing_results(plan.output) as folder, context:
        made = plan.prepare(allow_code=allow_code)
        make_steps(plan, made, context, jobs, plan_experiment)
        findings = [with_steps(one, context) for one in plan.study.findings(context)]
        written = write_findings(folder, findings)
    return Outcome(
        {one.name: one.table for one in findings if one.is_printed},
        {key: plan.output / path.relative_to(folder) for key, path in written.items()},
        [step.path for step in made],
        [step.path for step in made if step in plan.goals],
    )
