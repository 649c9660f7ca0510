"""``adducir experiment``."""

from pathlib import Path
from typing import Annotated

from adducir.cli import options
from adducir.cli.effects import without
from adducir.cli.outputs import RESULTS, SOURCE
from adducir.cli.parameters import argument, option
from adducir.cli.shards import ShardOptions, shards_if
from adducir.core.errors import UsageError


def experiment(
    file: Annotated[Path, argument("The experiment file.", "FILE"), SOURCE, RESULTS],
    dry_run: Annotated[
        bool, option("Check everything but absent and large data, print the plan, stop.")
    ] = False,
    changes: Annotated[
        list[str] | None,
        option(
            "Change the file's content for this time, as in systems.BM25.k1=1.2; can be repeated.",
            "--set",
            metavar="KEY=VALUE",
        ),
    ] = None,
    rebuild: options.Rebuild = False,
    threads: Annotated[options.Threads, without("dry_run")] = None,
    device: Annotated[options.Device, without("dry_run")] = "auto",
    jobs: Annotated[
        int,
        option("Processes that make independent steps at once.", "-j", min=1),
        without("dry_run"),
    ] = 1,
    allow_code: Annotated[
        bool, option("Let Python code that the file names run, as it is now."), without("dry_run")
    ] = False,
    format_name: Annotated[options.TableFormat, without("dry_run")] = None,
    output: options.Output = None,
    *,
    shards: Annotated[ShardOptions, shards_if(without("dry_run"))],
) -> None:
    """Run an experiment file: build what is missing, evaluate, test and print the table.

    All of the file is checked before anything runs. Only what is missing or out of date is built;
    runs go to runs/, the table in all formats to a folder beside the file.
    """
    run(
        file,
        tuple(changes or ()),
        dry_run=dry_run,
        rebuild=rebuild,
        threads=threads,
        device=device,
        jobs=jobs,
        shards=shards,
        allow_code=allow_code,
        format_name=format_name,
        output=output,
    )


def run(
    file: Path,
    changes: tuple[str, ...] = (),
    *,
    dry_run: bool = False,
    rebuild: bool = False,
    threads: int | None = None,
    device: str = "auto",
    jobs: int = 1,
    shards: ShardOptions | None = None,
    allow_code: bool = False,
    format_name: str | None = None,
    output: Path | None = None,
) -> None:
    """Run an experiment file and print its table, or its plan for a dry run."""
    from adducir.cli.console import near, open_progress, show
    from adducir.cli.tables import show_table
    from adducir.experiments.context import Context
    from adducir.experiments.experiment import plan_experiment, run_experiment

    shards = shards or ShardOptions()
    context = Context(threads, device, shards.batch_tokens, shards.execution())
    with open_progress() as progress:
        plan = plan_experiment(file, changes, rebuild=rebuild, dry_run=dry_run)
        if dry_run:
            show("\n".join([*plan.lines(), *plan.notes()]), output)
            return
        if output is not None and plan.study.tables > 1:
            raise UsageError(
                f"this study has {plan.study.tables} tables, and --output is one file.",
                hint=f"Leave it out: all formats go to {near(plan.output)}.",
            )
        outcome = run_experiment(plan, context=context, jobs=jobs, allow_code=allow_code)
        progress.note(f"table and report: {near(plan.output)}")
    for table in outcome.tables.values():
        show_table(table, format_name, output)
