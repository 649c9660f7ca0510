"""What commands of several studies share: options, and tables of counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from adducir.cli import options
from adducir.cli.command import option as field
from adducir.cli.outputs import LINES, LINES_IN_PARTS
from adducir.cli.parameters import option
from adducir.cli.shares import part_path, shares_of
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from adducir.statistics.agreement import summary

Lines = Annotated[Path, option("The file to write, such as X.jsonl.gz.", "-o"), LINES]
LinesInParts = Annotated[
    Path, option("The file to write, such as X.jsonl.gz.", "-o"), LINES_IN_PARTS
]
Shares = Annotated[
    str | None,
    option(
        "Shares of training, validation and test: a file for each that is not 0.",
        metavar="T,V,T",
        shown="one file",
    ),
]


def _shares(text: str) -> dict[str, float]:
    try:
        return shares_of(text) or {}
    except UsageError as error:
        raise ValueError(error.what.rstrip(".")) from None


InShares = Annotated[
    dict[str, float] | None,
    BeforeValidator(_shares),
    field(
        "Shares of training, validation and test: a file for each that is not 0.",
        metavar="T,V,T",
        shown="one file",
    ),
]
"""The field ``shares`` of a command's recipe."""


def parts_of(path: Path, settings: Any) -> list[Path]:
    """The files that an output is, by the field ``shares`` of a command's recipe."""
    return [part_path(path, part) for part in settings.shares or [""]]


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """How intervals of human judgements are made."""

    confidence: Annotated[float, option("Level of the intervals.")] = 0.95
    samples: Annotated[int, option("Samples of the bootstrap intervals.", min=1)] = 2000
    seed: Annotated[int, option("Seed of the bootstrap.", min=0)] = 0

    def drawing(self) -> "summary.Drawing":
        """The same, as the packages have it."""
        from adducir.statistics.agreement.summary import Drawing as Drawn

        return Drawn(self.samples, self.seed, self.confidence)


def counts_of(rows: Sequence[tuple[str, int]]) -> str:
    """Names and counts as two columns."""
    from adducir.cli.console import columns

    return "\n".join(columns([(name, f"{count:,}") for name, count in rows]))


def numbers_of(texts: Sequence[str] | None) -> list[int]:
    """What ``--cutoffs`` says.

    Raises:
        UsageError: Something is not a whole number.
    """
    try:
        return list(dict.fromkeys(int(text) for text in options.listed(texts)))
    except ValueError as error:
        raise UsageError(f"--cutoffs takes whole numbers: {error}.") from error
