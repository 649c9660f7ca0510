"""``adducir sharpness``."""

from pathlib import Path
from typing import Annotated

import typer

import adducir
from adducir.cli import evaluate_options as opts
from adducir.cli import options
from adducir.cli.outputs import SOURCE
from adducir.cli.ranks import Baselines, numbers_of
from adducir.core.errors import UsageError


def sharpness(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="Runs whose scores are logarithms of probabilities; each is a system.",
            show_default=False,
        ),
        SOURCE,
    ],
    depth: Annotated[
        int, typer.Option("--depth", min=1, help="Passages of a query that share the probability.")
    ] = 100,
    cutoffs: Annotated[
        list[str] | None,
        typer.Option(
            "--cutoffs",
            help="The k of Mass@k, with commas or repeated.",
            show_default="1,2,5,10,20,50,100",
        ),
    ] = None,
    temperature: Annotated[
        float, typer.Option("--temperature", min=1e-6, help="Divides the scores.")
    ] = 1.0,
    baseline: Baselines = None,
    test: opts.TestName = None,
    correction: opts.CorrectionName = None,
    family: opts.FamilyName = None,
    alpha: opts.Alpha = None,
    permutations: opts.Permutations = None,
    seed: opts.Seed = None,
    confidence: opts.Confidence = None,
    show: opts.Shown = None,
    decimals: opts.Decimals = 3,
    format_name: options.TableFormat = None,
    output: options.Output = None,
) -> None:
    """Show how sharply runs decide: the probability that is reached by rank.

    Each query's scores become probabilities by a softmax over its passages; Mass@k is the sum of
    the k greatest. A sharp distribution is no better for it.
    """
    testing = opts.Testing(
        tuple(baseline or ()),
        test,
        correction,
        family,
        alpha,
        None,
        None,
        permutations,
        seed,
        confidence,
    )
    details = testing.details(show)

    from adducir.cli import names
    from adducir.cli.tables import show_table
    from adducir.core.files import file_digest
    from adducir.evaluation.generation.sharpness import CUTOFFS, mass_scores
    from adducir.runs.read import read_run
    from adducir.tables.builder import Layout
    from adducir.tables.sets import set_table
    from adducir.tables.style import Style

    scores = []
    for path, name in names.system_names(runs).items():
        rows: dict[str, list[float]] = {}
        for qid, score in read_run(path).frame.select("qid", "score").iter_rows():
            rows.setdefault(qid, []).append(score)
        if not rows:
            raise UsageError(f"the run {name} is empty.")
        scores.append(
            mass_scores(
                name,
                rows,
                cutoffs=numbers_of(cutoffs) or CUTOFFS,
                depth=depth,
                temperature=temperature,
            )
        )
    table = set_table(
        {"": scores},
        testing=testing.arguments() if testing.differences else {},
        layout=Layout(
            style=Style(decimals=decimals, details=details),
            provenance={
                "adducir": adducir.__version__,
                "runs": {str(path): file_digest(path) for path in runs},
            },
        ),
    )
    show_table(table, format_name, output)
