"""``adducir sets``."""

from pathlib import Path
from typing import Annotated

import adducir
from adducir.cli import evaluate_options as opts
from adducir.cli import options
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import argument, option
from adducir.cli.ranks import Baselines
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
    """Evaluate selected sets of passages against the gold sets.

    EM (exact match), F1, and Cover (a whole gold set is among what was chosen), over all questions
    that have a gold set; a question without a selected set counts 0 and is reported.
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

    from adducir.cli.names import stem
    from adducir.cli.tables import show_table
    from adducir.core.files import file_digest
    from adducir.evaluation.set_files import read_gold_sets, read_sets
    from adducir.tables.builder import Layout
    from adducir.tables.sets import set_table
    from adducir.tables.style import Style

    digests = {str(path): file_digest(path) for path in (*files, *questions)}
    gold = read_gold_sets(questions)
    chosen: dict[str, dict[str, tuple[str, ...]]] = {}
    for path in files:
        name = Path(stem(path)).stem
        if name in chosen:
            raise UsageError(f"two files are systems called {name}.", hint="Rename one of them.")
        chosen[name] = read_sets(path, gold)
    bounds = None
    if upper_bound:
        most = max((len(one) for some in chosen.values() for one in some.values()), default=1)
        bounds = {"": gold.bound(max(1, most))}
    table = set_table(
        {"": [gold.scores(name, some) for name, some in chosen.items()]},
        bounds=bounds,
        testing=testing.arguments() if testing.differences else {},
        layout=Layout(
            style=Style(decimals=decimals, details=details),
            provenance={"adducir": adducir.__version__, "files": digests},
        ),
    )
    show_table(table, format_name, output)
