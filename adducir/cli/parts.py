"""What the commands that make collections share: options, outputs in parts, tables of counts."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from adducir.study.errors import UsageError


class TextFormat(StrEnum):
    """Formats of texts."""

    AUTO = "auto"
    ELI5 = "eli5"
    KILT = "kilt"
    NQ = "nq"
    QA = "qa"
    BOOK = "book"

    @property
    def wanted(self) -> str | None:
        """The format, or None where the files tell."""
        return None if self is TextFormat.AUTO else self.value


Texts = Annotated[
    list[Path],
    typer.Argument(
        metavar="SOURCE",
        help="Answers (JSON objects) and books (plain text), or folders of them; also .gz, .bz2.",
        show_default=False,
    ),
]
Spans = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="FILE", help="The spans to write, such as X.jsonl.gz."),
]
Form = Annotated[
    TextFormat,
    typer.Option("--format", help="What the sources are; auto: by beginning and name of each."),
]
ContextWords = Annotated[
    int,
    typer.Option(
        "--words", min=0, help="Keep sentences on each side until they have so many words."
    ),
]
Shares = Annotated[
    str | None,
    typer.Option(
        "--shares",
        metavar="T,V,T",
        help="Shares of training, validation and test: a file for each that is not 0.",
        show_default="one file",
    ),
]


def shares_of(text: str | None) -> dict[str, float] | None:
    """The shares of the parts, or None for one undivided file.

    Raises:
        UsageError: The text is not three numbers with commas, or they do not add up to 1.
    """
    if text is None:
        return None
    from adducir.corpora.spans.splitting import PARTS, check_shares

    try:
        numbers = [float(one) for one in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != len(PARTS):
        raise UsageError(f"--shares takes three numbers with commas, not {text!r}.")
    shares = dict(zip(PARTS, numbers, strict=True))
    check_shares(shares)
    return {name: share for name, share in shares.items() if share}


def part_path(path: Path, part: str) -> Path:
    """``x.jsonl.gz`` as ``x.train.jsonl.gz``; the path itself where there are no parts."""
    if not part:
        return path
    first, dot, endings = path.name.partition(".")
    return path.with_name(f"{first}.{part}{dot}{endings}")


def counts_of(rows: Sequence[tuple[str, int]]) -> str:
    """Names and counts as two columns."""
    cells = [(name, f"{count:,}") for name, count in rows]
    widths = [max(len(cell[side]) for cell in cells) for side in (0, 1)]
    return "\n".join(f"{name:{widths[0]}}  {count:>{widths[1]}}" for name, count in cells)
