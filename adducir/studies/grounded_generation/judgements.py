"""Gold passages of contexts as judgements, for measures of rankings."""

from collections.abc import Iterable
from pathlib import Path

from adducir.core.files import writing_text
from adducir.studies.grounded_generation.contexts import GroundedContext


def write_gold(contexts: Iterable[GroundedContext], path: Path) -> int:
    """Write gold passages as qrels in TREC's form, each with grade 1, whole or not at all.

    Contexts without a gold passage have no line, so that measures leave them out.

    Returns:
        How many lines there are.

    Raises:
        InputError: ``path`` is a folder.
        MachineError: The disk is full, or the place cannot be written.
    """
    count = 0
    with writing_text(path) as handle:
        for context in contexts:
            for docno in context.gold:
                handle.write(f"{context.id} 0 {docno} 1\n")
                count += 1
    return count
