"""``adducir ranks``."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import adducir
from adducir.cli import evaluate_options as opts
from adducir.cli import options
from adducir.cli.outputs import SOURCE
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from adducir.evaluation.gold_ranks import GoldRanks


class Ties(StrEnum):
    """How ties count (:mod:`adducir.evaluation.gold_ranks`)."""

    PESSIMISTIC = "pessimistic"
    EXPECTED = "expected"


Baselines = Annotated[
    list[str] | None,
    typer.Option(
        "--baseline",
        "-b",
        metavar="SYSTEM",
        help="The system that all others are tested against; can be repeated.",
        rich_help_panel=opts.TESTING,
    ),
]


def ranks(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="RANKS",
            help="TSV or JSONL with qid, rank and candidates, and perhaps system, tied and keys.",
            show_default=False,
        ),
        SOURCE,
    ],
    cutoffs: Annotated[
        list[str] | None,
        typer.Option(
            "--cutoffs",
            help="The k of R@k, with commas or repeated.",
            show_default="1,3,5,10,50,100",
        ),
    ] = None,
    ties: Annotated[
        Ties,
        typer.Option(
            "--ties",
            help="Count candidates that tie with the gold item as "
            "better, or take the exact mean over "
            "all orders.",
        ),
    ] = Ties.PESSIMISTIC,
    random: Annotated[
        bool, typer.Option("--random", help="Add the expectation of a random ranking.")
    ] = False,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="KEY", help="Show groups of queries by a further column."),
    ] = None,
    baseline: Baselines = None,
    test: opts.TestName = None,
    correction: opts.CorrectionName = None,
    family: opts.FamilyName = None,
    alpha: opts.Alpha = None,
    permutations: opts.Permutations = None,
    seed: opts.Seed = None,
    confidence: opts.Confidence = None,
    show: opts.Shown = None,
    decimals: opts.Decimals = 3,
    format_name: options.TableFormat = None,
    output: options.Output = None,
) -> None:
    """Evaluate known-item search from the ranks of the gold items.

    R@k, mean reciprocal rank, mean and median rank. A file without a column system is of one
    system, named after the file.
    """
    testing = opts.Testing(
        tuple(baseline or ()),
        test,
        correction,
        family,
        alpha,
        None,
        None,
        permutations,
        seed,
        confidence,
    )
    details = testing.details(show)

    from adducir.cli.tables import show_table
    from adducir.core.files import file_digest
    from adducir.evaluation.gold_ranks import CUTOFFS
    from adducir.tables.builder import Layout
    from adducir.tables.ranks import rank_table
    from adducir.tables.style import Style

    digests = {str(path): file_digest(path) for path in files}
    table = rank_table(
        _systems(files),
        by=by,
        cutoffs=numbers_of(cutoffs) or CUTOFFS,
        ties=ties.value,
        random=random,
        testing=testing.arguments() if testing.differences else {},
        layout=Layout(
            style=Style(decimals=decimals, details=details),
            provenance={"adducir": adducir.__version__, "ranks": digests},
        ),
    )
    show_table(table, format_name, output)


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
