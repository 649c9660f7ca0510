"""Options that commands of evaluation share: how differences are tested, and the table's look."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import adducir
from adducir.cli import options
from adducir.cli.choices import kind_of
from adducir.cli.effects import Effect, Values
from adducir.cli.options import format_of, listed
from adducir.cli.parameters import option
from adducir.core.errors import UsageError
from adducir.statistics.choices import BestName, FamilyName
from adducir.statistics.corrections import CORRECTIONS
from adducir.statistics.tests import TESTS
from adducir.tables.style import CriticalDifference, Fit

if TYPE_CHECKING:
    from adducir.tables.builder import Layout
    from adducir.tables.material import Material
    from adducir.tables.style import Style
    from adducir.tables.table import ResultTable

TESTING = "Testing differences"
LOOK = "The table"
DETAILS = ("difference", "ci", "effect", "wtl", "p", "p_corrected", "equivalence_p")
"""What ``--show`` offers: a table's details (:mod:`adducir.tables.style`)."""
DETAIL_ALIASES = {"wins": "wtl"}


def requested_format(values: Values) -> str:
    """The format of the table that is asked for: by name, or by the ending of its file."""
    return format_of(values.get("output"), values.get("format_name"))


def _differences(values: Values) -> bool:
    return bool(values.get("baseline")) or values.get("family") == "pairs"


DIFFERENCES = Effect("without --baseline or --family pairs", _differences)
TESTED = Effect(
    "without --baseline, --family pairs or --equivalence",
    lambda values: _differences(values) or values.get("equivalence") is not None,
)
DECIDED = Effect(
    "without --baseline, --family pairs, --equivalence or --set best=set",
    lambda values: TESTED.holds(values) or values.get("best") == "set",
)
INTERVALS = Effect(
    "without --show ci, where the format is not CSV, JSON or HTML",
    lambda values: (
        "ci" in listed(values.get("show")) or requested_format(values) in ("csv", "json", "html")
    ),
)
PERMUTED = Effect(
    "without --test randomisation, --correction maxt or tukey-randomised",
    lambda values: (
        values.get("test") == "randomisation"
        or values.get("correction") in ("maxt", "tukey-randomised")
        or values.get("preset") in ("t-maxt", "tukey-randomised")
    ),
)
DRAWN = Effect(
    "where --set best, --test and --correction draw nothing",
    lambda values: PERMUTED.holds(values) or values.get("best") == "set",
)
NOT_IN_CSV = Effect(
    "in CSV, which holds everything unrounded", lambda v: requested_format(v) != "csv"
)
IN_HTML = Effect("in a format other than HTML", lambda v: requested_format(v) == "html")
IN_LATEX = Effect("in a format other than LaTeX", lambda v: requested_format(v) == "latex")


@dataclass(frozen=True, kw_only=True)
class Testing:
    """What is tested, and how; None is what was not said."""

    baseline: Annotated[
        list[str] | None,
        option(
            "The system that all others are tested against; can be repeated.",
            "-b",
            metavar="SYSTEM",
            panel=TESTING,
        ),
    ] = None
    test: Annotated[
        str | None,
        option("The paired test.", shown="t", **kind_of(TESTS), panel=TESTING),
        DIFFERENCES,
    ] = None
    correction: Annotated[
        str | None,
        option(
            "Correction of the p-values within a family.",
            shown="holm",
            **kind_of(CORRECTIONS),
            panel=TESTING,
        ),
        TESTED,
    ] = None
    family: Annotated[
        FamilyName | None,
        option(
            "Scope of the multiple-testing correction: the tests of one measure, those of all "
            "measures, or those of all pairs of systems on one measure.",
            shown="measure",
            panel=TESTING,
        ),
        TESTED,
    ] = None
    alpha: Annotated[
        float | None, option("Significance level (alpha).", shown="0.05", panel=TESTING), DECIDED
    ] = None
    best: Annotated[
        BestName | None,
        option(
            "set: mark all systems that may be the best on a measure (model confidence set), "
            "beside the best mean.",
            shown="mean",
            panel=TESTING,
            rare=True,
        ),
    ] = None
    permutations: Annotated[
        int | None,
        option(
            "Sign vectors of the randomisation test and of max-T.",
            min=1,
            shown="100000",
            panel=TESTING,
            rare=True,
        ),
        PERMUTED,
    ] = None
    seed: Annotated[
        int | None,
        option("Seed of whatever the tests draw.", min=0, shown="0", panel=TESTING, rare=True),
        DRAWN,
    ] = None
    confidence: Annotated[
        float | None,
        option(
            "Level of the confidence intervals of --show ci.",
            shown="1 - alpha",
            panel=TESTING,
            rare=True,
        ),
        DIFFERENCES,
        INTERVALS,
    ] = None
    show: Annotated[
        list[str] | None,
        option(
            "What to show below each mean, with commas or repeated. About the difference to the "
            "baseline: difference, ci (confidence interval), effect (size), wins (topics won, tied "
            "and lost), p, p_corrected; about the equivalence test: equivalence_p.",
            metavar="DETAIL",
            panel=LOOK,
        ),
        NOT_IN_CSV,
    ] = None

    @property
    def details(self) -> tuple[Any, ...]:
        """The table's details that ``--show`` asks for, in its order."""
        return tuple(dict.fromkeys(DETAIL_ALIASES.get(name, name) for name in listed(self.show)))

    def __post_init__(self) -> None:
        """Refuse details that there are not, or that are about nothing.

        Raises:
            UsageError: There are such.
        """
        for name in self.details:
            if name not in DETAILS:
                raise UsageError(
                    f"--show knows no {name!r}.", hint=f"Choose of {', '.join(DETAILS)}."
                )
        if "equivalence_p" in self.details and "equivalence" not in self.arguments():
            raise UsageError("--show equivalence_p means nothing without --equivalence.")
        if set(self.details) - {"equivalence_p"} and not _differences(vars(self)):
            raise UsageError("--show means nothing without --baseline or --family pairs.")

    def arguments(self) -> dict[str, Any]:
        """The settings, under the names of ``compare``'s parameters; nothing for no tests."""
        return options.given(**vars(self) | {"show": None})


@dataclass(frozen=True, kw_only=True)
class Further:
    """What the footer says on request."""

    topics_for: Annotated[
        float | None,
        option(
            "State in the footer how many topics it takes to find a true difference of this size, "
            "by the variance of these scores (topic set size design).",
            metavar="DIFFERENCE",
            panel=TESTING,
            rare=True,
        ),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """The settings, under the names of ``compare``'s parameters."""
        return options.given(**vars(self))


@dataclass(frozen=True, kw_only=True)
class Printing:
    """How the table looks, and where it goes."""

    decimals: Annotated[
        int, option("Digits after the point.", min=0, max=15, panel=LOOK, rare=True), NOT_IN_CSV
    ] = 3
    fit: Annotated[
        Fit,
        option(
            "How LaTeX places it: in one column or over the whole page, cut into several tables "
            "where it is wider; auto goes by its number of columns, and never cuts.",
            panel=LOOK,
            rare=True,
        ),
        IN_LATEX,
    ] = "auto"
    footer: Annotated[
        bool, option("Legend and footer in LaTeX.", panel=LOOK, rare=True), IN_LATEX
    ] = True
    critical_difference: Annotated[
        CriticalDifference,
        option(
            "Critical-difference diagrams in the HTML report: mean ranks, joined by the tests of "
            "all pairs.",
            panel=LOOK,
            rare=True,
        ),
        IN_HTML,
    ] = "none"
    format_name: options.TableFormat = None
    output: options.Output = None

    def style(self, details: tuple[Any, ...] = ()) -> "Style":
        """How its numbers are printed."""
        from adducir.tables.style import Style

        return Style(
            self.decimals,
            leading_zero=True,
            details=details,
            fit=self.fit,
            footer=self.footer,
            critical_difference=self.critical_difference,
        )

    def layout(
        self, testing: Testing, material: "Material | None" = None, **provenance: Any
    ) -> "Layout":
        """How it is arranged, what its report shows besides, and what it was made from."""
        from adducir.tables.builder import Layout
        from adducir.tables.material import Material

        return Layout(
            style=self.style(testing.details),
            provenance={"adducir": adducir.__version__, **provenance},
            material=material or Material(),
        )

    def show(self, table: "ResultTable", *, per_topic: bool = False) -> None:
        """Print it, or write it to its file."""
        from adducir.cli.tables import show_table, show_topics

        (show_topics if per_topic else show_table)(table, self.format_name, self.output)


def digests(paths: Iterable[Path]) -> dict[str, str]:
    """The SHA-256 of each file that was read, by its path."""
    from adducir.core.files import digest_as_read

    return {str(path): digest_as_read(path) for path in paths}
