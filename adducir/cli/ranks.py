"""``adducir ranks``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from adducir.cli import evaluate_options as opts
from adducir.cli import options
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import argument, option
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from adducir.evaluation.gold_ranks import GoldRanks


def ranks(
    files: Annotated[
        list[Path],
        argument(
            "TSV or JSONL with qid, rank and candidates, and perhaps system, tied and keys.",
            "RANKS",
        ),
        SOURCE,
    ],
    cutoffs: Annotated[
        list[str] | None, option("The k of R@k, with commas or repeated.", shown="1,3,5,10,50,100")
    ] = None,
    ties: Annotated[
        Literal["pessimistic", "expected"],
        option(
            "Count candidates that tie with the gold item as "
            "better, or take the exact mean over "
            "all orders."
        ),
    ] = "pessimistic",
    random: Annotated[bool, option("Add the expectation of a random ranking.")] = False,
    pool_seeds: Annotated[
        bool,
        option(
            "Take systems whose names differ only in seed1, seed2, ... for runs of one system.",
            panel=opts.TESTING,
        ),
    ] = False,
    by: Annotated[
        str | None, option("Show groups of queries by a further column.", metavar="KEY")
    ] = None,
    *,
    testing: opts.Testing,
    printing: opts.Printing,
) -> None:
    """Evaluate known-item search from the ranks of the gold items.

    R@k, mean reciprocal rank, mean and median rank. A file without a column system is of one
    system, named after the file.
    """
    from adducir.evaluation.gold_ranks import CUTOFFS
    from adducir.evaluation.seeds import by_system
    from adducir.tables.ranks import rank_table

    found = _systems(files)
    table = rank_table(
        by_system(found) if pool_seeds else found,
        by=by,
        cutoffs=numbers_of(cutoffs) or CUTOFFS,
        ties=ties,
        random=random,
        testing=testing.arguments(),
        layout=printing.layout(testing, ranks=opts.digests(files)),
    )
    printing.show(table)


def _systems(files: Sequence[Path]) -> "dict[str, GoldRanks]":
    from adducir.cli.names import stem
    from adducir.evaluation.rank_files import read_ranks

    found: dict[str, GoldRanks] = {}
    for path in files:
        for name, one in read_ranks(path, Path(stem(path)).stem).items():
            if name in found:
                raise UsageError(
                    f"{path} holds ranks of {name}, as a file before it.",
                    hint="Give every system a name of its own.",
                )
            found[name] = one
    return found


def numbers_of(texts: Sequence[str] | None) -> list[int]:
    """What ``--cutoffs`` says.

    Raises:
        UsageError: Something is no whole number.
    """
    try:
        return list(dict.fromkeys(int(text) for text in options.listed(texts)))
    except ValueError as error:
        raise UsageError(f"--cutoffs takes whole numbers: {error}.") from error
