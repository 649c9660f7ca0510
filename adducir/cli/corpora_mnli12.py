"""``adducir corpora mnli12``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adducir.cli.outputs import LINES_IN_PARTS, SOURCE
from adducir.cli.parameters import argument, option
from adducir.cli.parts import Shares, counts_of
from adducir.cli.shares import part_path, shares_of

if TYPE_CHECKING:
    from adducir.datasets.evidence_sets.mnli12 import Dropped


def corpora_mnli12(
    sources: Annotated[
        list[Path], argument("MultiNLI: JSONL or tables with tabs; plain or .gz.", "SOURCE"), SOURCE
    ],
    output: Annotated[
        Path, option("The questions to write, such as X.jsonl.gz.", "-o"), LINES_IN_PARTS
    ],
    min_words: Annotated[int, option("Words of a segment, at least.", min=1)] = 6,
    negatives: Annotated[int, option("False pairs of a question to train on.", min=0)] = 8,
    shares: Shares = None,
    seed: Annotated[int, option("Decides parts, cuts, other premises, order and pairs.")] = 0,
) -> None:
    """Build MNLI-12 from MultiNLI.

    The task is to find the two halves of what a premise entails. Each hypothesis is cut in two; a
    question has the six halves of its premise's hypotheses and six of another's. Parts share no
    premise. Prints what was left out, and why.
    """
    wanted = shares_of(shares)

    from adducir.cli.console import note, show
    from adducir.datasets.evidence_sets.mnli import read_mnli
    from adducir.datasets.evidence_sets.mnli12 import build_mnli12, group_premises, split_premises
    from adducir.datasets.evidence_sets.record_files import write_questions

    premises = group_premises((path, read_mnli(path)) for path in sources)
    parts = {"": premises} if wanted is None else split_premises(premises, wanted, seed)
    for name, part in parts.items():
        made = build_mnli12(part, min_words=min_words, negatives=negatives, seed=seed)
        path = part_path(output, name)
        write_questions(made.questions, path)
        show(_report(made.dropped, name))
        note(f"wrote {path}: {made.dropped.questions:,} questions")


def _report(dropped: "Dropped", part: str) -> str:
    """The counts, as a table."""
    rows = [
        ("pairs read", dropped.pairs),
        ("  dropped: no agreed label", dropped.unlabelled),
        (f"premises{f' in {part}' if part else ''}", dropped.premises),
        ("  dropped: not one hypothesis of each label", dropped.incomplete),
        ("  dropped: a hypothesis is too short to cut", dropped.short),
        ("  dropped: a true half comes again", dropped.repeated),
        ("questions", dropped.questions),
    ]
    return counts_of(rows)
