"""``adducir corpora kilt``."""

from pathlib import Path
from typing import Annotated

import typer

from adducir.cli.outputs import LINES, SOURCE
from adducir.cli.parts import GoldQrels, counts_of


def corpora_kilt(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="A KILT task, such as wow-dev-kilt.jsonl.", show_default=False
        ),
        SOURCE,
    ],
    passages: Annotated[
        list[Path],
        typer.Option(
            "--passages",
            metavar="FILE",
            help="Passages that `corpora passages` wrote; repeatable.",
        ),
        SOURCE,
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The contexts to write, such as X.jsonl.gz."
        ),
        LINES,
    ],
    qrels: GoldQrels = None,
    turns: Annotated[
        str,
        typer.Option(
            "--turns",
            metavar="TEXT",
            help="What parts the turns of an input.",
            show_default="' | '",
        ),
    ] = " | ",
) -> None:
    """Make contexts of a KILT task, with gold passages by provenance.

    Gold are all passages that overlap the provenance of the answer. Contexts without one are kept.
    Prints counts, and the task's digest: KILT changed the split of Wizard of Wikipedia in 2021.
    """
    from adducir.cli.console import note, open_progress, show
    from adducir.core.files import file_digest
    from adducir.datasets.grounded.contexts import write_contexts
    from adducir.datasets.grounded.judgements import write_gold
    from adducir.datasets.grounded.kilt import read_kilt, with_gold
    from adducir.datasets.grounded.pages import read_passages

    examples = list(read_kilt(source))
    with open_progress() as progress:
        progress.start("Reading passages", None, "passages")
        read = (passage for path in passages for passage in read_passages(path))
        made = with_gold(examples, (one for one in read if progress.advance(1) is None), turns)
        progress.finish()
    write_contexts(made.contexts, output)
    if qrels is not None:
        write_gold(made.contexts, qrels)
    counts = made.counts
    rows = [
        ("contexts", counts.contexts),
        ("  with a gold passage", counts.found),
        ("    with several", counts.several),
        ("  without provenance", counts.unknown),
        ("  with a provenance that no passage overlaps", counts.lost),
    ]
    show(counts_of(rows))
    note(f"{source}: sha256 {file_digest(source)}")
    note(f"wrote {output}: {counts.contexts:,} contexts")
