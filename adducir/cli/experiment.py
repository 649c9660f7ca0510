"""``adducir experiment``."""

import gc
from pathlib import Path
from typing import Annotated, Any

from adducir.cli import common
from adducir.cli.command import option, repeatable
from adducir.cli.console import near, note, show
from adducir.cli.tabled import Printed
from adducir.core.errors import InputError, UsageError
from adducir.core.recipe import without
from adducir.core.texts import counted

RUN = without("dry_run")


class ExperimentOptions(common.Computing, Printed):
    conditions = dict.fromkeys([*common.Computing.model_fields, "format"], RUN)
    file: Path = option("The experiment file.", argument=True)
    dry_run: bool = option(
        "Check everything except missing and large data, print the plan and stop.", default=False
    )
    changes: tuple[str, ...] = repeatable(
        "Override a key of the file, as in systems.BM25.k1=1.2; can be repeated.", "--set"
    )
    rebuild: common.Rebuild = False
    allow_code: Annotated[bool, RUN] = option(
        "Allow the Python code named in the file to run, in its current version.", default=False
    )


def experiment(settings: ExperimentOptions) -> None:
    """Run an experiment file: build what is missing, evaluate, test and print the table.

    The whole file is checked before anything runs. Only what is missing or out of date is built;
    runs go to runs/, the table in all formats to a folder beside the file.

    Examples:
        adducir experiment experiments/demo.yaml --dry-run
        adducir experiment experiments/demo.yaml --set systems.BM25.k1=1.2
    """
    output = settings.output
    gc.disable()  # nearly everything loaded here stays; collecting takes a tenth of the time
    try:
        from adducir.experiments.experiment import plan_experiment

        how: Any = {"rebuild": settings.rebuild, "dry_run": settings.dry_run}
        plan = plan_experiment(settings.file, settings.changes, **how)
    finally:
        gc.enable()
    if settings.dry_run:
        show("\n".join([*plan.lines(), *plan.planner.notes()]), output)
        if lacking := {str(error.path) for error in plan.planner.lacks()}:
            files = counted(len(lacking), "file")
            message = f"{files} that it names cannot be found, see above."
            raise InputError(message, path=settings.file)
        return
    if output is not None and plan.study.tables > 1:
        raise UsageError(
            f"this study has {plan.study.tables} tables, but --output is one file.",
            hint=f"Omit it: all formats go to {near(plan.output)}.",
        )
    from adducir.experiments.experiment import run_experiment
    from adducir.experiments.step import Context

    context = Context(
        settings.threads, settings.device, settings.batch_tokens, settings.execution()
    )
    outcome = run_experiment(plan, context=context, allow_code=settings.allow_code)
    note(f"table and report: {near(plan.output)}")
    for table in outcome.tables.values():
        settings.print(table)
