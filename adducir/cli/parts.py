"""What the commands that make collections share: options, and tables of counts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from adducir.cli.outputs import LINES, QRELS, SOURCE
from adducir.cli.parameters import argument, option

Texts = Annotated[
    list[Path],
    argument(
        "Answers (JSON objects) and books (plain text), or folders of them; also .gz, .bz2.",
        "SOURCE",
    ),
    SOURCE,
]
Spans = Annotated[Path, option("The spans to write, such as X.jsonl.gz.", "-o"), LINES]
Form = Annotated[
    Literal["auto", "eli5", "kilt", "nq", "qa", "book"],
    option("What the sources are; auto: by beginning and name of each.", "--format"),
]
ContextWords = Annotated[
    int, option("Keep sentences on each side until they have so many words.", min=0)
]
Shares = Annotated[
    str | None,
    option(
        "Shares of training, validation and test: a file for each that is not 0.",
        metavar="T,V,T",
        shown="one file",
    ),
]
GoldQrels = Annotated[
    Path | None,
    option("Write the gold passages as qrels, too: X.qrels, X.txt."),
    QRELS,
]


def counts_of(rows: Sequence[tuple[str, int]]) -> str:
    """Names and counts as two columns."""
    from adducir.cli.console import columns

    return "\n".join(columns([(name, f"{count:,}") for name, count in rows]))
