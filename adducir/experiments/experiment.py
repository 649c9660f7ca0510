"""From an experiment file to its tables.

All of the file is read and all that it names is opened before anything is made, and every error is
kept for one message. The fingerprint of a step covers all that determines its content, so that a
step whose artifact is there, unchanged and whole, is not done again; nor is an artifact made that
nothing to be made needs.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from adducir.core.absent import without_downloads
from adducir.core.checking import checked
from adducir.core.errors import InputError
from adducir.core.folders import study_folder
from adducir.core.locks import locked
from adducir.core.progress import SILENT, Progress
from adducir.core.recipe import read
from adducir.core.results import publishing_results, refuse_other_folder
from adducir.core.yaml import load
from adducir.experiments.code import require_consent
from adducir.experiments.context import Context
from adducir.experiments.errors import ErrorList
from adducir.experiments.executor import make_steps
from adducir.experiments.outcome import Outcome, write_findings
from adducir.experiments.plan import Finding, Plan
from adducir.experiments.planner import Planner
from adducir.experiments.step import Step
from adducir.experiments.tasks import task_of


@checked
def plan_experiment(
    path: Path,
    overrides: tuple[str, ...] = (),
    *,
    rebuild: bool = False,
    dry_run: bool = False,
    folder: Path | None = None,
    progress: Progress = SILENT,
) -> Plan:
    """Read an experiment file, check all of it, and plan it; nothing is built.

    Args:
        path: The file.
        overrides: ``key.key=value`` changes to it.
        rebuild: Plan to make everything, even what is there.
        dry_run: Plan without what is not at hand, and download nothing: such a plan is for
            reading, and :attr:`.Plan.needs` says what it lacks.
        folder: The study's folder, where artifacts go and relative paths start; by default the
            folder that holds ``experiments/``.
        progress: Notified of what ir_datasets downloads.

    Raises:
        InputError: The file or something that it names is wrong, or is not at hand; all of it in
            one message.
        MachineError: Something cannot be downloaded, and nothing else is wrong.
    """
    document = load(path)
    reading = read(document, task_of(document), overrides)
    folder = study_folder(path) if folder is None else folder.absolute()
    errors, recipe = ErrorList(reading, dry_run=dry_run), reading.rest
    if recipe is None:
        errors.check()
        raise InputError("the file cannot be understood.", path=path)  # never without an error
    planner = Planner(document, reading.data, folder, overrides, errors, progress)
    with without_downloads(dry_run or reading.recipe is None):
        study = recipe.study(planner)
    plan = Plan(path, folder, recipe, overrides, study, rebuild)
    _refuse_files_for_folders(plan, errors)
    needs = errors.check()
    goals = study.goals()
    steps = tuple(_in_order([*study.others(), *goals]))
    plan = replace(plan, needs=needs, goals=tuple(goals), steps=steps)
    return replace(plan, state=plan.current())


def _in_order(steps: Sequence[Step]) -> list[Step]:
    """The steps and all that they are made from, each after what it is made from."""
    found: dict[Step, None] = {}

    def add(step: Step) -> None:
        if step not in found:
            for one in step.inputs:
                add(one)
            found[step] = None

    for step in steps:
        add(step)
    return list(found)


def _refuse_files_for_folders(plan: Plan, errors: ErrorList) -> None:
    """Refuse what would only fail when the table is written."""
    for folder in (plan.output, plan.run_folder):
        for place in (folder.parent, folder):
            if place.exists() and not place.is_dir():
                what = f"{place}: a file stands where a folder is needed"
                if place.samefile(plan.path):
                    what = f"{what}: the experiment file's name needs an ending, such as .yaml"
                errors.add((), what)


@checked
def run_experiment(
    plan: Plan,
    *,
    threads: int | None = None,
    device: str = "auto",
    rebuild: bool = False,
    jobs: int = 1,
    allow_code: bool = False,
    progress: Progress = SILENT,
) -> Outcome:
    """Make the steps of a plan that are not made, evaluate, test, and write the tables.

    One process at a time is at work on an experiment; another waits, and then finds the artifacts
    there. What is evaluated is what stands in the files.

    Args:
        plan: From :func:`plan_experiment`.
        threads: Java's, or torch's; by default one per core, or torch's own choice. No figure
            depends on it.
        device: Where networks compute; see :func:`adducir.models.machine.choose_device`.
        rebuild: Make everything anew, as for a plan that says so.
        jobs: How many processes make steps that do not depend on one another.
        allow_code: Whether Python code that the experiment file names may run; that it may is
            remembered for the study.
        progress: Notified of each step.

    Raises:
        UsageError: Code would run that nobody allowed to.
        AdducirError: A corpus record is malformed, the disk is full, and the like.
    """
    refuse_other_folder(plan.output)
    if rebuild:
        plan = replace(plan, rebuild=True)
        plan = replace(plan, state=plan.current())
    code = [step.runs_code for step in plan.needed(plan.state) if step.runs_code is not None]
    require_consent(list(dict.fromkeys(code)), plan.folder, allow_code)
    plan.fetch(progress)
    with (
        locked(plan.run_folder, progress),
        Context(plan.shown, threads, device, plan.rebuild, progress) as context,
    ):
        # Another process may have made some since the plan was made.
        needed = plan.needed(plan.current())
        _tell_kept(plan, needed, progress)
        make_steps(plan, needed, context, jobs, plan_experiment)
        findings = [_with_plan(one, plan) for one in plan.study.findings(context)]
        with publishing_results(plan.output, progress) as folder:
            written = write_findings(folder, findings)
        files = {key: plan.output / path.relative_to(folder) for key, path in written.items()}
    made, goals = [step.path for step in needed], set(plan.goals)
    return Outcome(
        {one.name: one.table for one in findings if one.is_printed},
        files,
        made,
        [step.path for step in needed if step in goals],
    )


def _with_plan(finding: Finding, plan: Plan) -> Finding:
    """A finding whose report shows the graph of the plan's steps."""
    titles = {step: step.title(plan.shown) for step in plan.steps}
    graph = tuple(
        (title, tuple(titles[one] for one in step.inputs if one in titles))
        for step, title in titles.items()
    )
    table = finding.table
    return replace(finding, table=replace(table, material=replace(table.material, plan=graph)))


def _tell_kept(plan: Plan, needed: Sequence[Step], progress: Progress) -> None:
    steps = [step for step in plan.goals if step.kept == "keep"]
    kept = len(steps) - sum(step in needed for step in steps)
    if kept:
        share = f"all {kept}" if kept == len(steps) else f"{kept} of {len(steps)}"
        progress.note(f"{share} {plan.study.makes} are there and kept")
