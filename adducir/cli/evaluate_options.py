"""What :mod:`.tabled` states, for commands of studies that still go by signatures."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import adducir
from adducir.cli import options
from adducir.cli.choices import kind_of
from adducir.cli.effects import Effect, Values
from adducir.cli.options import format_of, listed
from adducir.cli.parameters import Several, keyword, option
from adducir.core.errors import UsageError
from adducir.core.recipe import validated
from adducir.statistics.settings import CORRECTIONS, TESTS
from adducir.statistics.settings import Testing as Settings

if TYPE_CHECKING:
    from adducir.tables.build import Layout
    from adducir.tables.material import Material
    from adducir.tables.style import Style
    from adducir.tables.table import ResultTable

TESTING = "Testing differences"
LOOK = "The table"
DETAILS = ("difference", "ci", "effect", "wins", "p", "p_corrected", "equivalence_p")
"""What ``--show`` offers: a table's details (:data:`adducir.tables.table.DETAILS`)."""
_USUAL: Mapping[str, Any] = {
    "baseline": {"names": ("-b",), "metavar": "SYSTEM"},
    "comparisons": {},
    "test": kind_of(TESTS),
    "correction": kind_of(CORRECTIONS),
    "alpha": {},
}
_RARE = ("family", "best", "confidence", "permutations", "seed")


@dataclass(frozen=True)
class Asked:
    """What is to be tested, and which details of it the table shows."""

    testing: Settings
    details: tuple[Any, ...]


def _asked(show: list[str] | None, **values: Any) -> Asked:
    """What options ask for; those that contradict each other are refused."""
    given = {key: value for key, value in values.items() if value not in (None, False)}
    testing, errors = validated(Settings, given)
    if testing is None:
        what = (
            f"{_shown(str(one.path[0]))} {one.what}" if one.path else one.what for one in errors
        )
        told = re.sub(r"`(\w+)`", lambda found: _shown(found[1]), "; ".join(what))
        raise UsageError(f"{told}.")
    details = tuple(dict.fromkeys(listed(show)))
    for name in details:
        if name not in DETAILS:
            raise UsageError(f"--show knows no {name!r}.", hint=f"Choose of {', '.join(DETAILS)}.")
    if "equivalence_p" in details and testing.equivalence is None:
        raise UsageError("--show equivalence_p has no effect without --equivalence.")
    if set(details) - {"equivalence_p"} and not testing.differences:
        raise UsageError("--show has no effect without --baseline or --comparisons all-pairs.")
    return Asked(testing, details)


def _shown(key: str) -> str:
    return f"--set {key}" if key in _RARE else f"--{key.replace('_', '-')}"


def _testing(usual: Mapping[str, Mapping[str, Any]], rare: Iterable[str]) -> Several:
    """The options of some fields of the settings, and ``--show``."""
    parameters = []
    for name, field in Settings.model_fields.items():
        if name not in (*usual, *rare):
            continue
        details = dict(usual.get(name, {}))
        default, is_flag = field.default, field.annotation is bool
        shown = f"{default:g}" if isinstance(default, float) else default is None or str(default)
        made = option(
            str(field.description),
            *details.pop("names", ()),
            panel=TESTING,
            rare=name in rare,
            shown=details.pop("shown", shown),
            **details,
        )
        kind: Any = list[str] if name == "baseline" else field.annotation
        annotation: Any = Annotated[kind if is_flag else kind | None, made]
        parameters.append(keyword(name, annotation, False if is_flag else None))
    about = (
        "What to show below each mean, with commas or repeated. About the difference to the "
        "baseline: difference, ci (confidence interval), effect (size), wins (topics won, tied "
        "and lost), p, p_corrected; about the equivalence test: equivalence_p."
    )
    show = option(about, metavar="DETAIL", panel=LOOK)
    parameters.append(keyword("show", Annotated[list[str] | None, show, NOT_IN_CSV], None))
    return Several(tuple(parameters), _asked)


def requested_format(values: Values) -> str:
    """The format of the table that is asked for: by name, or by the ending of its file."""
    return format_of(values.get("output"), values.get("format_name"))


NOT_IN_CSV = Effect(
    "in CSV, which holds everything unrounded", lambda v: requested_format(v) != "csv"
)
IN_LATEX = Effect("in a format other than LaTeX", lambda v: requested_format(v) == "latex")

_TESTING = _testing(_USUAL, _RARE)
Testing: TypeAlias = Annotated[Asked, _TESTING]
"""What is tested, and how."""


@dataclass(frozen=True, kw_only=True)
class Printing:
    """How the table looks, and where it goes."""

    decimals: Annotated[
        int, option("Digits after the point.", min=0, max=15, panel=LOOK, rare=True), NOT_IN_CSV
    ] = 3
    fit: Annotated[
        options.Fit,
        option(
            "How LaTeX places it: in one column or over the whole page, scaled down where it is "
            "wider; auto goes by its number of columns.",
            panel=LOOK,
            rare=True,
        ),
        IN_LATEX,
    ] = "auto"
    footer: Annotated[
        bool, option("Notes below the table in LaTeX.", panel=LOOK, rare=True), IN_LATEX
    ] = True
    format_name: options.TableFormat = None
    output: options.Output = None

    def style(self, details: tuple[Any, ...] = ()) -> "Style":
        """How its numbers are printed."""
        from adducir.tables.style import Style

        return Style(self.decimals, details=details, fit=self.fit, footer=self.footer)

    def layout(
        self, asked: Asked | None = None, material: "Material | None" = None, **provenance: Any
    ) -> "Layout":
        """How it is arranged, what its report shows besides, and what it was made from."""
        from adducir.tables.build import Layout
        from adducir.tables.material import Material

        return Layout(
            style=self.style(asked.details if asked else ()),
            provenance={"adducir": adducir.__version__, **provenance},
            material=material or Material(),
        )

    def show(self, table: "ResultTable", *, per_topic: bool = False) -> None:
        """Print it, or write it to its file."""
        from adducir.cli.tables import show_table

        show_table(table, self.format_name, self.output, per_topic=per_topic)


def digests(paths: Iterable[Path]) -> dict[str, str]:
    """The SHA-256 of each file that was read, by its path."""
    from adducir.core.files import digest_as_read

    return {str(path): digest_as_read(path) for path in paths}
