"""``adducir corpora kilt``."""

from pathlib import Path
from typing import Annotated

from adducir.cli.effects import with_any
from adducir.cli.outputs import LINES_IN_PARTS, SOURCE
from adducir.cli.parameters import argument, option
from adducir.cli.parts import GoldQrels, Shares, counts_of
from adducir.cli.shares import part_path, shares_of


def corpora_kilt(
    source: Annotated[Path, argument("A KILT task, such as wow-dev-kilt.jsonl.", "SOURCE"), SOURCE],
    passages: Annotated[
        list[Path],
        option("Passages that `corpora passages` wrote; repeatable.", metavar="FILE"),
        SOURCE,
    ],
    output: Annotated[
        Path, option("The contexts to write, such as X.jsonl.gz.", "-o"), LINES_IN_PARTS
    ],
    qrels: GoldQrels = None,
    turns: Annotated[
        str, option("What parts the turns of an input.", metavar="TEXT", shown="' | '")
    ] = " | ",
    shares: Shares = None,
    seed: Annotated[int, option("Decides parts."), with_any("shares")] = 0,
) -> None:
    """Make contexts of a KILT task, with gold passages by provenance.

    Gold are all passages that overlap the provenance of the answer. Contexts without one are kept.
    Parts share no dialogue, and --qrels is of all of them.
    Prints counts, and the task's digest: KILT changed the split of Wizard of Wikipedia in 2021.
    """
    wanted = shares_of(shares)

    from adducir.cli.console import note, open_progress, show
    from adducir.core.files import file_digest
    from adducir.datasets.grounded.contexts import write_contexts
    from adducir.datasets.grounded.judgements import write_gold
    from adducir.datasets.grounded.kilt import read_kilt, with_gold
    from adducir.datasets.grounded.pages import read_passages
    from adducir.datasets.splitting import split

    examples = list(read_kilt(source))
    with open_progress() as progress:
        progress.start("Reading passages", None, "passages")
        read = (passage for path in passages for passage in read_passages(path))
        made = with_gold(examples, (one for one in read if progress.advance(1) is None), turns)
        progress.finish()
    parts = {"": made.contexts}
    if wanted is not None:
        parts = split(made.contexts, lambda one: one.group or one.id, wanted, seed)
    written = {part_path(output, name): some for name, some in parts.items()}
    for path, some in written.items():
        write_contexts(some, path)
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
    for path, some in written.items():
        note(f"wrote {path}: {len(some):,} contexts")
