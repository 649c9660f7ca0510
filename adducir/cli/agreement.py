"""``adducir agreement``."""

from pathlib import Path
from typing import Annotated

import adducir
from adducir.cli import agreement_options as opts
from adducir.cli import options
from adducir.cli.choices import kind_of
from adducir.cli.effects import with_any
from adducir.cli.evaluate_options import Testing
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import argument, option
from adducir.core.errors import UsageError
from adducir.statistics.corrections import CORRECTIONS
from adducir.statistics.tests import TESTS


def agreement(
    ratings: Annotated[
        Path,
        argument(
            "A CSV file with the columns item, rater, system, and rating or rank or both.",
            "RATINGS",
        ),
        SOURCE,
    ],
    level: Annotated[
        opts.Level, option("What ratings mean to Krippendorff's alpha.")
    ] = opts.Level.ORDINAL,
    unigrams: Annotated[
        bool, option("Ratings are texts that raters marked: measure the overlap of their words.")
    ] = False,
    mean_ranks: Annotated[
        bool, option("Give equal ranks the mean of their places: 1, 1, 2 as 1.5, 1.5, 3.")
    ] = False,
    baseline: Annotated[
        list[str] | None,
        option(
            "Test the means of all others against it, paired over items; repeatable.",
            "-b",
            metavar="SYSTEM",
        ),
    ] = None,
    test: Annotated[
        str | None, option("The paired test.", shown="t", **kind_of(TESTS)), with_any("baseline")
    ] = None,
    correction: Annotated[
        str | None,
        option("Correction of the p-values of each mean.", shown="holm", **kind_of(CORRECTIONS)),
        with_any("baseline"),
    ] = None,
    alpha: Annotated[
        float | None, option("Significance level (alpha).", shown="0.05"), with_any("baseline")
    ] = None,
    confidence: opts.Confidence = 0.95,
    samples: opts.Samples = 2000,
    seed: opts.Seed = 0,
    decimals: opts.Decimals = 3,
    format_name: options.TableFormat = None,
    output: options.Output = None,
) -> None:
    """Inter-annotator agreement, and how raters rate and rank each system.

    Krippendorff's alpha and Fleiss' kappa (of two raters Cohen's, too) with bootstrap intervals,
    the rates at which all and none agree, mean ratings and mean ranks with t intervals over items.
    """
    testing = Testing(
        tuple(baseline or ()), test, correction, None, alpha, None, None, None, None, None
    )
    if unigrams and level not in (opts.Level.ORDINAL, opts.Level.NOMINAL):
        raise UsageError("--unigrams takes texts, which have no level but nominal.")

    from adducir.cli.tables import show_table
    from adducir.core.files import file_digest
    from adducir.evaluation.agreement.reading import read_ratings
    from adducir.evaluation.agreement.summary import Drawing
    from adducir.evaluation.agreement.systems import with_mean_ranks
    from adducir.tables.agreement import Study, agreement_table
    from adducir.tables.style import Style

    found = read_ratings(ratings)
    if mean_ranks:
        if not found.has("rank"):
            raise UsageError(f"--mean-ranks means nothing without ranks in {ratings}.")
        found = with_mean_ranks(found)
    study = Study(
        level="nominal" if unigrams else level.value,
        unigrams=unigrams,
        drawing=Drawing(samples, seed, confidence),
        testing=testing.arguments() if testing.differences else {},
        style=Style(decimals=decimals),
        provenance={
            "adducir": adducir.__version__,
            "ratings": {"path": str(ratings), "sha256": file_digest(ratings)},
        },
    )
    show_table(agreement_table(found, study), format_name, output)
