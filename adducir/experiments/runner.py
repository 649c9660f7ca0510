"""Runs a planned experiment: the steps that are to be made, then evaluation, tests, tables."""

from collections.abc import Sequence
from dataclasses import replace

from adducir.experiments.code import require_consent
from adducir.experiments.context import Context
from adducir.experiments.executor import make_steps
from adducir.experiments.outcome import Outcome, write_findings
from adducir.experiments.plan import Plan
from adducir.experiments.step import Step
from adducir.study.checking import checked
from adducir.study.locks import locked
from adducir.study.progress import SILENT, Progress
from adducir.study.results import publishing_results, refuse_other_folder


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
        plan: From :func:`adducir.experiments.planner.plan_experiment`.
        threads: Java's, or torch's; by default one per core, or torch's own choice. No figure
            depends on it.
        device: Where networks compute; see :func:`adducir.models.machine.choose_device`.
        rebuild: Make everything anew, as for a plan that says so.
        jobs: How many processes make steps that do not depend on one another.
        allow_code: Whether Python code that the experiment file names may run; that it may is
            remembered for the study.
        progress: Told of each step.

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
        make_steps(plan, needed, context, jobs)
        findings = plan.study.findings(context)
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


def _tell_kept(plan: Plan, needed: Sequence[Step], progress: Progress) -> None:
    steps = [step for step in plan.goals if step.kept == "keep"]
    kept = len(steps) - sum(step in needed for step in steps)
    if kept:
        share = f"all {kept}" if kept == len(steps) else f"{kept} of {len(steps)}"
        progress.note(f"{share} {plan.study.makes} are there and kept")
