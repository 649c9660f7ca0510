"""Options that several studies' commands share."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator

from adducir.cli import common
from adducir.cli.command import Writes, option
from adducir.cli.console import columns, show
from adducir.core.errors import UsageError
from adducir.core.files import is_standard_output
from adducir.core.progress import progress
from adducir.training import data

T = TypeVar("T")


def _shares(text: str) -> dict[str, float]:
    try:
        shares = zip(data.PARTS, map(float, text.split(",")), strict=True)
        return {part: share for part, share in shares if share}
    except ValueError:
        raise ValueError(f"must be three comma-separated numbers, not {text!r}") from None


def part_path(path: Path, part: str) -> Path:
    """``x.jsonl.gz`` as ``x.train.jsonl.gz``; the path itself without splits."""
    if not part:
        return path
    if is_standard_output(path):
        raise UsageError("--shares writes several files, but standard output is one.")
    first, dot, endings = path.name.partition(".")
    return path.with_name(f"{first}.{part}{dot}{endings}")


def in_parts(
    settings: Any, items: Sequence[T], group: Callable[[T], str]
) -> Iterator[tuple[str, Path, Sequence[T]]]:
    """The splits of an output by ``shares``: name, file and items, each group in one of them."""
    parts: Mapping[str, Sequence[T]] = {"": items}
    if settings.shares is not None:
        parts = data.split(items, group, settings.shares, settings.seed)
    for name, some in parts.items():
        yield name, part_path(settings.output, name), some


def parts_of(path: Path, settings: Any) -> list[Path]:
    """The files of an output, from the field ``shares`` of a command's recipe."""
    return [part_path(path, part) for part in settings.shares or [""]]


LINES_IN_PARTS = Writes("file", common.LINES.endings, parts_of)
Shares = Annotated[
    data.Shares | None,
    BeforeValidator(_shares),
    option(
        "Shares of training, validation and test; one file for each that is not 0.",
        metavar="T,V,T",
        shown="one file",
    ),
]


def counted(items: Iterable[T], doing: str, unit: str) -> Iterator[T]:
    """The same items, counted on the terminal while they are read."""
    with progress().doing(doing, None, unit):
        for item in items:
            progress().advance(1)
            yield item


def show_counts(rows: Mapping[str, int]) -> None:
    show("\n".join(columns([(name, f"{count:,}") for name, count in rows.items()])))
