"""What the commands of several studies share."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from adducir.cli import common
from adducir.cli.command import Writes, option
from adducir.cli.shares import part_path, shares_of
from adducir.core.errors import UsageError
from adducir.core.recipe import Recipe


def _shares(text: str) -> dict[str, float]:
    try:
        return shares_of(text) or {}
    except UsageError as error:
        raise ValueError(error.what.rstrip(".")) from None


def parts_of(path: Path, settings: Any) -> list[Path]:
    """The files that an output is, by the field ``shares`` of a command's recipe."""
    return [part_path(path, part) for part in settings.shares or [""]]


LINES_IN_PARTS = Writes("file", common.LINES.endings, parts_of)
Cutoffs = Annotated[tuple[int, ...], BeforeValidator(common.items)]
Shares = Annotated[
    dict[str, float] | None,
    BeforeValidator(_shares),
    option(
        "Shares of training, validation and test: a file for each that is not 0.",
        metavar="T,V,T",
        shown="one file",
    ),
]


class Drawing(Recipe):
    """How intervals of human judgements are drawn."""

    confidence: float = option("Level of the intervals.", default=0.95, gt=0, lt=1)
    samples: int = option("Samples of the bootstrap intervals.", default=2000, ge=1)
    seed: int = option("Seed of the bootstrap.", default=0, ge=0)


def show_counts(rows: Mapping[str, int] | Sequence[tuple[str, int]]) -> None:
    """Print names and counts as two columns."""
    from adducir.cli.console import columns, show

    pairs = rows.items() if isinstance(rows, Mapping) else rows
    show("\n".join(columns([(name, f"{count:,}") for name, count in pairs])))
