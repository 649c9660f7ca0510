"""``adducir corpora passages``."""

from pathlib import Path
from typing import Annotated

from adducir.cli.outputs import LINES, SOURCE
from adducir.cli.parameters import argument, option


def corpora_passages(
    sources: Annotated[
        list[Path],
        argument(
            "KILT's knowledge source, or parts of it: a page a line; plain or compressed.", "SOURCE"
        ),
        SOURCE,
    ],
    output: Annotated[Path, option("The passages to write, such as X.jsonl.gz.", "-o"), LINES],
    words: Annotated[int, option("Words of a passage, at most.", min=1)] = 150,
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
