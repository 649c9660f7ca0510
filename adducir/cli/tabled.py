"""Options of commands that test differences and print a table."""

import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BeforeValidator, model_validator

from adducir.cli import common
from adducir.cli.command import Writes, option, optional, repeatable
from adducir.cli.console import is_terminal, show
from adducir.core.errors import UsageError
from adducir.core.files import is_standard_output
from adducir.core.recipe import Keyed, Needs, Recipe
from adducir.statistics.settings import Testing
from adducir.tables.formats import TABLES
from adducir.tables.style import Detail, Fit, Style
from adducir.version import __version__

if TYPE_CHECKING:
    from adducir.tables.table import Layout, ResultTable

MEASURING = "Measures"
MEASURES = "Measures by the names of ir_measures, trec_eval or papers, separated by blanks."
WIDTH = 100
"""Columns of the terminal format without a terminal."""
LOOK, TESTING = "The table", "Testing differences"
NOT_IN_CSV = Needs(
    "in CSV, which contains everything unrounded", lambda recipe: recipe.form != "csv"
)
IN_HTML = Needs("in a format other than HTML", lambda recipe: recipe.form == "html")
IN_LATEX = Needs("in a format other than LaTeX", lambda recipe: recipe.form == "latex")

Table = Annotated[
    Path | None,
    AfterValidator(lambda path: None if path and is_standard_output(path) else path),
    option("Write to this file instead of the terminal.", "-o", writes=Writes("table")),
]


class Printed(Recipe):
    """A table's destination."""

    format: Annotated[str | None, TABLES] = optional(
        "The format; by default from --output's suffix.", shown="terminal"
    )
    output: Table = None

    @property
    def form(self) -> str:
        """The chosen format, or else the one of the file's suffix."""
        ending = Path(self.output.name.removesuffix(".gz")).suffix.lower() if self.output else ""
        kinds = TABLES.kinds().items() if ending and not self.format else ()
        by_suffix = (name for name, kind in kinds if kind.ending == ending)
        return self.format or next(by_suffix, "terminal")

    def print(self, table: "ResultTable", *, per_topic: bool = False) -> None:
        """Print a table or write it to a file, with values per topic on request."""
        from adducir.tables.build import topic_table

        topics = TABLES.kind(self.form).topics if per_topic else ""
        if topics == "nowhere":
            raise UsageError(
                "the values per topic are too many for a LaTeX table.",
                hint="Use --format csv for them.",
            )
        more = [topic_table(table, each) for each in table.columns] if topics == "tables" else []
        options: dict[str, Any] = {"per_topic": True} if topics == "per_topic" else {}
        if self.form == "terminal":
            is_shown = self.output is None and is_terminal(sys.stdout)
            options["width"] = shutil.get_terminal_size((WIDTH, 24)).columns if is_shown else WIDTH
            options["color"] = is_shown
        form = TABLES.make(self.form, options)
        text = "\n".join(map(form.rendered, [table, *more]))
        show(text, self.output, styled=self.form == "terminal")


class TableOptions(Printed):
    """A table's layout and destination."""

    decimals: Annotated[int, NOT_IN_CSV] = option(
        "Decimal places.", default=3, ge=0, le=15, rare=True
    )
    fit: Annotated[Fit, IN_LATEX] = option(
        "How LaTeX places it: in one column or across the whole page, scaled down if too wide; "
        "auto decides by the number of columns.",
        default="auto",
        rare=True,
    )
    footer: Annotated[bool, IN_LATEX] = option(
        "Notes below the table in LaTeX.", default=True, rare=True
    )

    @property
    def style(self) -> Style:
        details = getattr(self, "show", ())
        return Style(self.decimals, details=details, fit=self.fit, footer=self.footer)

    def layout(self, provenance: Mapping[str, Any], **details: Any) -> "Layout":
        from adducir.tables.table import Layout

        origin = {"adducir": __version__, **provenance}
        return Layout(style=self.style, provenance=origin, **details)


class Tabled(Testing, TableOptions):
    """What is tested, and the layout of its table."""

    baseline: tuple[str, ...] = repeatable(
        "The system that all others are tested against, by name or file; can be repeated.",
        metavar="SYSTEM",
        reads=True,
        panel=TESTING,
    )
    show: Annotated[tuple[Detail, ...], BeforeValidator(common.items), NOT_IN_CSV] = repeatable(
        "What to show below each mean, comma-separated or repeated. For the difference from the "
        "baseline: difference, ci (confidence interval), effect (size), wins (topics won, tied and "
        "lost), p and p_corrected; for the equivalence test: equivalence_p.",
        metavar="DETAIL",
        panel=LOOK,
    )

    @model_validator(mode="after")
    def _shows_what_is_tested(self) -> "Tabled":
        if "equivalence_p" in self.show and self.equivalence is None:
            raise ValueError(
                Keyed("{} equivalence_p has no effect without {}", "show", "equivalence")
            )
        if set(self.show) - {"equivalence_p"} and not self.differences:
            keys = "show", "baseline", ("comparisons", "all-pairs")
            raise ValueError(Keyed("{} has no effect without {} or {}", *keys))
        return self

    def testing(self, **changes: Any) -> Testing:
        stated = self.model_dump(include=set(Testing.model_fields), exclude_unset=True)
        return Testing.model_validate(stated | changes)


def digests(paths: Iterable[Path]) -> dict[str, str]:
    from adducir.core.files import file_digest

    return {str(path): file_digest(path) for path in paths}
