"""``adducir sets``."""

from pathlib import Path
from typing import Annotated

from adducir.cli import evaluate_options as opts
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import argument, option
from adducir.core.errors import UsageError


def sets(
    files: Annotated[
        list[Path],
        argument(
            "Chosen sets, JSONL with id and chosen; each file is a system, named after it.",
            "CHOSEN",
        ),
    ],
    questions: Annotated[
        list[Path],
        option("The questions with their gold sets, JSONL; can be repeated.", "-q", metavar="FILE"),
        SOURCE,
    ],
    upper_bound: Annotated[
        bool, option("Add what the best selection from each question's pool reaches.")
    ] = False,
    *,
    testing: opts.Testing,
    printing: opts.Printing,
) -> None:
    """Evaluate selected sets of passages against the gold sets.

    EM (exact match), F1, and Cover (a whole gold set is among what was chosen), over all questions
    that have a gold set; a question without a selected set counts 0 and is reported.
    """
    from adducir.cli.names import stem
    from adducir.evaluation.set_files import read_gold_sets, read_sets
    from adducir.tables.sets import set_table

    gold = read_gold_sets(questions)
    chosen: dict[str, dict[str, tuple[str, ...]]] = {}
    for path in files:
        name = Path(stem(path)).stem
        if name in chosen:
            raise UsageError(f"two files are systems called {name}.", hint="Rename one of them.")
        chosen[name] = read_sets(path, gold)
    bounds = {"": gold.bound(chosen.values())} if upper_bound else None
    table = set_table(
        {"": [gold.scores(name, some) for name, some in chosen.items()]},
        bounds=bounds,
        testing=testing.arguments(),
        layout=printing.layout(testing, files=opts.digests([*files, *questions])),
    )
    printing.show(table)
