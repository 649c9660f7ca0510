"""The options of ``adducir evaluate``, and which of them mean something together."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Annotated, Any

import typer

from adducir.cli.choices import kind_of
from adducir.cli.effects import Effect, Values, with_any
from adducir.cli.options import DEFAULT_MEASURES, Family, Negative, format_of, listed
from adducir.cli.outputs import SOURCE
from adducir.core.errors import UsageError
from adducir.statistics.corrections import CORRECTIONS
from adducir.statistics.tests import TESTS

MEASURING = "Measures"
TESTING = "Testing differences"
LOOK = "The table"
DETAILS = ("difference", "ci", "effect", "wtl", "p", "p_corrected", "equivalence_p")
"""What ``--show`` offers: a table's details (:mod:`adducir.tables.style`)."""
DETAIL_ALIASES = {"wins": "wtl"}


def requested_format(values: Values) -> str:
    """The format of the table that is asked for: by name, or by the ending of its file."""
    return format_of(values.get("output"), values.get("format_name"))


def _differences(values: Values) -> bool:
    return bool(values.get("baseline")) or values.get("family") == Family.PAIRS


DIFFERENCES = Effect("without --baseline or --family pairs", _differences)
TESTED = Effect(
    "without --baseline, --family pairs or --equivalence",
    lambda values: _differences(values) or values.get("equivalence") is not None,
)
INTERVALS = Effect(
    "without --show ci, where the format is not CSV, JSON or HTML",
    lambda values: (
        "ci" in listed(values.get("show")) or requested_format(values) in ("csv", "json", "html")
    ),
)
PERMUTED = Effect(
    "without --test randomisation or --correction maxt",
    lambda values: values.get("test") == "randomisation" or values.get("correction") == "maxt",
)
DRAWN = Effect(
    "without --test randomisation or bootstrap, --correction maxt or --best set",
    lambda values: (
        values.get("test") == "bootstrap" or values.get("best") == "set" or PERMUTED.holds(values)
    ),
)


class BestChoice(StrEnum):
    """Which systems are marked best."""

    MEAN = "mean"
    SET = "set"


NOT_IN_CSV = Effect(
    "in CSV, which holds everything unrounded", lambda v: requested_format(v) != "csv"
)

QrelsSources = Annotated[
    list[str],
    typer.Option("--qrels", "-q", help="Judgements: a file or an ir_datasets id; can be repeated."),
    SOURCE,
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measures",
        "-m",
        help="Measures, as ir_measures or trec_eval name them, with blanks between them.",
        show_default=DEFAULT_MEASURES,
        rich_help_panel=MEASURING,
    ),
]
NegativeGrades = Annotated[
    Negative,
    typer.Option(
        "--negative-grades",
        help="Count negative grades as judged and not relevant, or leave them to trec_eval's rule.",
        rich_help_panel=MEASURING,
    ),
]
Baselines = Annotated[
    list[str] | None,
    typer.Option(
        "--baseline",
        "-b",
        metavar="RUN",
        help="The run that all others are tested against: its path or its name in the table; can "
        "be repeated.",
        rich_help_panel=TESTING,
    ),
]
TestName = Annotated[
    str | None,
    typer.Option(
        "--test",
        **kind_of(TESTS),
        help="The paired test.",
        show_default="t",
        rich_help_panel=TESTING,
    ),
    DIFFERENCES,
]
CorrectionName = Annotated[
    str | None,
    typer.Option(
        "--correction",
        **kind_of(CORRECTIONS),
        help="Correction of the p-values within a family.",
        show_default="holm",
        rich_help_panel=TESTING,
    ),
    TESTED,
]
FamilyName = Annotated[
    Family | None,
    typer.Option(
        "--family",
        help="Scope of the multiple-testing correction: the tests of "
        "one measure, those of all measures, or "
        "those of all pairs of systems on one measure.",
        show_default="measure",
        rich_help_panel=TESTING,
    ),
    TESTED,
]
Alpha = Annotated[
    float | None,
    typer.Option(
        "--alpha", help="Significance level (alpha).", show_default="0.05", rich_help_panel=TESTING
    ),
    TESTED,
]
EquivalenceBound = Annotated[
    float | None,
    typer.Option(
        "--equivalence",
        metavar="BOUND",
        help="Test as well whether the difference lies within plus or minus this bound (TOST).",
        rich_help_panel=TESTING,
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="best|RUN",
        help="Equivalent with what: the best system of each measure, or a run.",
        show_default="best",
        rich_help_panel=TESTING,
    ),
    with_any("equivalence"),
]
Best = Annotated[
    BestChoice | None,
    typer.Option(
        "--best",
        help="Mark the best mean of each measure, or the set of all systems that may be the best.",
        show_default="mean",
        rich_help_panel=TESTING,
    ),
]
Permutations = Annotated[
    int | None,
    typer.Option(
        "--permutations",
        min=1,
        help="Sign vectors of the randomisation test and of max-T.",
        show_default="100000",
        rich_help_panel=TESTING,
    ),
    PERMUTED,
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        help="Seed of whatever the tests draw.",
        show_default="0",
        rich_help_panel=TESTING,
    ),
    DRAWN,
]
Confidence = Annotated[
    float | None,
    typer.Option(
        "--confidence",
        help="Level of the confidence intervals of --show ci.",
        show_default="1 - alpha",
        rich_help_panel=TESTING,
    ),
    DIFFERENCES,
    INTERVALS,
]
Shown = Annotated[
    list[str] | None,
    typer.Option(
        "--show",
        metavar="DETAIL",
        help="What to show below each mean, with commas or repeated. About the difference to the "
        "baseline: difference, ci (confidence interval), effect (size), wins (topics won, tied and "
        "lost), p, p_corrected; about the equivalence test: equivalence_p.",
        rich_help_panel=LOOK,
    ),
    NOT_IN_CSV,
]
PerTopic = Annotated[
    bool,
    typer.Option("--per-topic", help="Show the values of each topic.", rich_help_panel=LOOK),
    Effect(
        "in HTML, which shows each topic anyway", lambda values: requested_format(values) != "html"
    ),
]
Decimals = Annotated[
    int,
    typer.Option("--decimals", min=0, max=15, help="Digits after the point.", rich_help_panel=LOOK),
    NOT_IN_CSV,
]
QuerySource = Annotated[
    str | None,
    typer.Option(
        "--topics",
        metavar="SOURCE",
        help="The queries, for the HTML report: a file or an ir_datasets id.",
        rich_help_panel=LOOK,
    ),
    SOURCE,
    Effect("in a format other than HTML", lambda values: requested_format(values) == "html"),
]


@dataclass(frozen=True)
class Testing:
    """What the user said about tests; None is what was not said."""

    baseline: tuple[str, ...]
    test: str | None
    correction: str | None
    family: str | None
    alpha: float | None
    equivalence: float | None
    against: str | None
    permutations: int | None
    seed: int | None
    confidence: float | None
    best: str | None = None

    def details(self, show: Sequence[str] | None) -> tuple[Any, ...]:
        """The table's details that ``--show`` asks for, in its order."""
        wanted = [DETAIL_ALIASES.get(name, name) for name in listed(show)]
        for name in wanted:
            if name not in DETAILS:
                raise UsageError(
                    f"--show knows no {name!r}.", hint=f"Choose of {', '.join(DETAILS)}."
                )
        equivalence = self.equivalence is not None
        if "equivalence_p" in wanted and not equivalence:
            raise UsageError("--show equivalence_p means nothing without --equivalence.")
        if set(wanted) - {"equivalence_p"} and not self.differences:
            raise UsageError("--show means nothing without --baseline or --family pairs.")
        return tuple(dict.fromkeys(wanted))

    @property
    def differences(self) -> bool:
        """Whether differences are tested."""
        return bool(self.baseline) or self.family == Family.PAIRS

    def arguments(self) -> dict[str, Any]:
        """What was requested, under the names of ``compare``'s parameters."""
        pairs = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in pairs if value is not None}
