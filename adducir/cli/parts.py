"""What the commands that make collections share: options, and tables of counts."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from adducir.cli.outputs import LINES, QRELS, SOURCE


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
        """The format, or None where the files show it."""
        return None if self is TextFormat.AUTO else self.value


Texts = Annotated[
    list[Path],
    typer.Argument(
        metavar="SOURCE",
        help="Answers (JSON objects) and books (plain text), or folders of them; also .gz, .bz2.",
        show_default=False,
    ),
    SOURCE,
]
Spans = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="FILE", help="The spans to write, such as X.jsonl.gz."),
    LINES,
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

GoldQrels = Annotated[
    Path | None,
    typer.Option(
        "--qrels", metavar="FILE", help="Write the gold passages as qrels, too: X.qrels, X.txt."
    ),
    QRELS,
]


def counts_of(rows: Sequence[tuple[str, int]]) -> str:
    """Names and counts as two columns."""
    cells = [(name, f"{count:,}") for name, count in rows]
    widths = [max(len(cell[side]) for cell in cells) for side in (0, 1)]
    return "\n".join(f"{name:{widths[0]}}  {count:>{widths[1]}}" for name, count in cells)
