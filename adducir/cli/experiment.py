"""``adducir experiment``."""

from pathlib import Path
from typing import Annotated

from adducir.cli import options
from adducir.cli.effects import without
from adducir.cli.outputs import RESULTS, SOURCE
from adducir.cli.parameters import argument, option
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
    workers: Annotated[
        int,
        option("Processes that make the shards of one step: one per core, or one per GPU.", min=1),
        without("dry_run"),
    ] = 1,
    ray: Annotated[
        str | None,
        option("Make shards on a Ray cluster: 'auto', or its address.", metavar="ADDRESS"),
        without("dry_run"),
    ] = None,
    part: Annotated[
        str | None,
        option(
            "Make what can be made now of part I of N, and stop: for the jobs of an array, given "
            "again until all is made.",
            metavar="I/N",
        ),
        without("dry_run"),
    ] = None,
    processes: Annotated[
        int,
        option("Processes of this machine that train one model together, one per GPU.", min=1),
        without("dry_run"),
    ] = 1,
    batch_tokens: Annotated[
        int | None,
        option(
            "Padded tokens in a batch of what networks compute, trainings aside. Figures depend "
            "on it in their last digits.",
            min=1,
            shown="2,048 on a CPU, 16,384 on a GPU",
        ),
        without("dry_run"),
    ] = None,
    mixed_devices: Annotated[
        bool,
        option("Accept shards that unlike kinds of devices made; the manifest says which."),
        without("dry_run"),
    ] = False,
    allow_code: Annotated[
        bool, option("Let Python code that the file names run, as it is now."), without("dry_run")
    ] = False,
    format_name: Annotated[options.TableFormat, without("dry_run"), without("part")] = None,
    output: Annotated[options.Output, without("part")] = None,
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
        workers=workers,
        ray=ray,
        part=part,
        processes=processes,
        batch_tokens=batch_tokens,
        mixed_devices=mixed_devices,
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
    workers: int = 1,
    ray: str | None = None,
    part: str | None = None,
    processes: int = 1,
    batch_tokens: int | None = None,
    mixed_devices: bool = False,
    allow_code: bool = False,
    format_name: str | None = None,
    output: Path | None = None,
) -> None:
    """Run an experiment file and print its table, or its plan for a dry run."""
    from adducir.cli.console import near, open_progress, show
    from adducir.cli.shards import PartOptions
    from adducir.cli.tables import show_table
    from adducir.core.rates import kept_rates
    from adducir.experiments.context import Resources
    from adducir.experiments.estimates import MEASURE
    from adducir.experiments.experiment import (
        make_part_of_experiment,
        plan_experiment,
        run_experiment,
    )
    from adducir.experiments.measuring import this_machine

    execution = PartOptions(workers, part, ray).execution()  # refuses what excludes each other
    with open_progress() as progress:
        plan = plan_experiment(file, changes, rebuild=rebuild, dry_run=dry_run, progress=progress)
        if dry_run:
            rates = kept_rates(this_machine())
            lines = [*plan.lines(rates), *plan.notes()]
            if rates is None and not plan.is_made:
                lines.append(MEASURE)
            show("\n".join(lines), output)
            return
        if execution.part is not None:
            resources = Resources(
                threads,
                device,
                workers,
                ray,
                processes,
                batch_tokens,
                mixed_devices,
                execution.part,
            )
            made = make_part_of_experiment(
                plan, resources, jobs=jobs, allow_code=allow_code, progress=progress
            )
            progress.note(made.line(file))
            return
        if output is not None and plan.study.tables > 1:
            raise UsageError(
                f"this study has {plan.study.tables} tables, and --output is one file.",
                hint=f"Leave it out: all formats go to {near(plan.output)}.",
            )
        outcome = run_experiment(
            plan,
            threads=threads,
            device=device,
            jobs=jobs,
            workers=workers,
            ray=ray,
            processes=processes,
            batch_tokens=batch_tokens,
            mixed_devices=mixed_devices,
            allow_code=allow_code,
            progress=progress,
        )
        progress.note(f"table and report: {near(plan.output)}")
    for table in outcome.tables.values():
        show_table(table, format_name, output)
