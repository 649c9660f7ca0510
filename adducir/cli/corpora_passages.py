"""``adducir corpora passages``."""

from pathlib import Path
from typing import Annotated

import typer

from adducir.cli.outputs import LINES, SOURCE


def corpora_passages(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE",
            help="KILT's knowledge source, or parts of it: a page a line; plain or compressed.",
            show_default=False,
        ),
        SOURCE,
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The passages to write, such as X.jsonl.gz."
        ),
        LINES,
    ],
    words: Annotated[
        int, typer.Option("--words", min=1, help="Words of a passage, at most.")
    ] = 150,
) -> None:
    """Cut KILT's Wikipedia pages into passages.

    Passages keep within a section. One page at a time is in memory.
    """
    from adducir.cli.console import note, open_progress
    from adducir.datasets.grounded.pages import cut_page, read_pages, write_passages

    with open_progress() as progress:
        progress.start("Cutting pages", None, "pages")
        pages = (page for path in sources for page in read_pages(path))
        counted = (page for page in pages if progress.advance(1) is None)
        count = write_passages(
            (passage for page in counted for passage in cut_page(page, words)), output
        )
        progress.finish()
    note(f"wrote {output}: {count:,} passages")
