"""``adducir agreement``."""

from pathlib import Path
from typing import Annotated

import typer

import adducir
from adducir.cli import agreement_options as asked
from adducir.cli import options
from adducir.cli.choices import kind_of
from adducir.cli.effects import with_any
from adducir.cli.evaluate_options import Testing
from adducir.cli.outputs import SOURCE
from adducir.experiments.significance.corrections import CORRECTIONS
from adducir.experiments.significance.tests import TESTS
from adducir.study.errors import UsageError


def agreement(
    ratings: Annotated[
        Path,
        typer.Argument(
            metavar="RATINGS",
            help="A CSV file with the columns item, rater, system, and rating or rank or both.",
            show_default=False,
        ),
        SOURCE,
    ],
    level: Annotated[
        asked.Level, typer.Option("--level", help="What ratings mean to Krippendorff's alpha.")
    ] = asked.Level.ORDINAL,
    unigrams: Annotated[
        bool,
        typer.Option(
            "--unigrams",
            help="Ratings are texts that raters marked: tell how far they have the same words.",
        ),
    ] = False,
    mean_ranks: Annotated[
        bool,
        typer.Option(
            "--mean-ranks",
            help="Give equal ranks the mean of their places: 1, 1, 2 as 1.5, 1.5, 3.",
        ),
    ] = False,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            "--baseline",
            "-b",
            metavar="SYSTEM",
            help="Test the means of all others against it, paired over items; repeatable.",
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option("--test", **kind_of(TESTS), help="The paired test.", show_default="t"),
        with_any("baseline"),
    ] = None,
    correction: Annotated[
        str | None,
        typer.Option(
            "--correction",
            **kind_of(CORRECTIONS),
            help="Correction of the p-values of each mean.",
            show_default="holm",
        ),
        with_any("baseline"),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option("--alpha", help="Level of the tests.", show_default="0.05"),
        with_any("baseline"),
    ] = None,
    confidence: asked.Confidence = 0.95,
    samples: asked.Samples = 2000,
    seed: asked.Seed = 0,
    decimals: asked.Decimals = 3,
    format_name: options.TableFormat = None,
    output: options.Output = None,
) -> None:
    """Tell how far raters agree, and how they rate and rank each system.

    Krippendorff's alpha and Fleiss' kappa (of two raters Cohen's, too) with bootstrap intervals,
    the rates at which all and none agree, mean ratings and mean ranks with t intervals over items.
    """
    testing = Testing(
        tuple(baseline or ()), test, correction, None, alpha, None, None, None, None, None
    )
    if unigrams and level not in (asked.Level.ORDINAL, asked.Level.NOMINAL):
        raise UsageError("--unigrams takes texts, which have no level but nominal.")

    from adducir.cli.tables import show_table
    from adducir.experiments.agreement.reading import read_ratings
    from adducir.experiments.agreement.summary import Drawing
    from adducir.experiments.agreement.systems import with_mean_ranks
    from adducir.experiments.agreement.table import Study, agreement_table
    from adducir.experiments.tables.style import Style
    from adducir.study.files import file_digest

    found = read_ratings(ratings)
    if mean_ranks:
        if not found.has("rank"):
            raise UsageError(f"--mean-ranks means nothing without ranks in {ratings}.")
        found = with_mean_ranks(found)
    study = Study(
        level="nominal" if unigrams else level.value,
        unigrams=unigrams,
        drawing=Drawing(samples, seed, confidence),
        testing=testing.said() if testing.differences else {},
        style=Style(decimals=decimals),
        provenance={
            "adducir": adducir.__version__,
            "ratings": {"path": str(ratings), "sha256": file_digest(ratings)},
        },
    )
    show_table(agreement_table(found, study), format_name, output)
