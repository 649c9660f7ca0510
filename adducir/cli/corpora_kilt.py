"""``adducir corpora kilt``."""

from pathlib import Path
from typing import Annotated

from adducir.cli.outputs import LINES, SOURCE
from adducir.cli.parameters import argument, option
from adducir.cli.parts import GoldQrels, counts_of


def corpora_kilt(
    source: Annotated[Path, argument("A KILT task, such as wow-dev-kilt.jsonl.", "SOURCE"), SOURCE],
    passages: Annotated[
        list[Path],
        option("Passages that `corpora passages` wrote; repeatable.", metavar="FILE"),
        SOURCE,
    ],
    output: Annotated[Path, option("The contexts to write, such as X.jsonl.gz.", "-o"), LINES],
    qrels: GoldQrels = None,
    turns: Annotated[
        str, option("What parts the turns of an input.", metavar="TEXT", shown="' | '")
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
