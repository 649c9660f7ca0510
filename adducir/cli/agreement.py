"""``adducir agreement``."""

from pathlib import Path
from typing import Annotated, Literal

import adducir
from adducir.cli import options
from adducir.cli.agreement_options import Drawing
from adducir.cli.choices import kind_of
from adducir.cli.effects import with_any
from adducir.cli.evaluate_options import Printing
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
        Literal["nominal", "ordinal", "interval", "ratio"],
        option("What ratings mean to Krippendorff's alpha."),
    ] = "ordinal",
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
    *,
    drawing: Drawing,
    printing: Printing,
) -> None:
    """Inter-annotator agreement, and how raters rate and rank each system.

    Krippendorff's alpha and Fleiss' kappa (of two raters Cohen's, too) with bootstrap intervals,
    the rates at which all and none agree, mean ratings and mean ranks with t intervals over items.
    """
    if unigrams and level not in ("ordinal", "nominal"):
        raise UsageError("--unigrams takes texts, which have no level but nominal.")

    from adducir.core.files import file_digest
    from adducir.evaluation.agreement.reading import read_ratings
    from adducir.evaluation.agreement.systems import with_mean_ranks
    from adducir.tables.agreement import Study, agreement_table

    found = read_ratings(ratings)
    if mean_ranks:
        if not found.has("rank"):
            raise UsageError(f"--mean-ranks means nothing without ranks in {ratings}.")
        found = with_mean_ranks(found)
    study = Study(
        level="nominal" if unigrams else level,
        unigrams=unigrams,
        drawing=drawing.drawing(),
        testing=options.given(baseline=baseline, test=test, correction=correction, alpha=alpha),
        style=printing.style(),
        provenance={
            "adducir": adducir.__version__,
            "ratings": {"path": str(ratings), "sha256": file_digest(ratings)},
        },
    )
    printing.show(agreement_table(found, study))
