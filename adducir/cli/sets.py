"""``adducir sets``."""

from pathlib import Path
from typing import Annotated

import typer

import adducir
from adducir.cli import evaluate_options as asked
from adducir.cli import options
from adducir.cli.outputs import SOURCE
from adducir.cli.ranks import Baselines
from adducir.study.errors import UsageError


def sets(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="CHOSEN",
            help="Chosen sets, JSONL with id and chosen; each file is a system, named after it.",
            show_default=False,
        ),
    ],
    questions: Annotated[
        list[Path],
        typer.Option(
            "--questions",
            "-q",
            metavar="FILE",
            help="The questions with their true sets, JSONL; can be repeated.",
        ),
        SOURCE,
    ],
    upper_bound: Annotated[
        bool,
        typer.Option(
            "--upper-bound", help="Add what the best selection from each question's pool reaches."
        ),
    ] = False,
    baseline: Baselines = None,
    test: asked.TestName = None,
    correction: asked.CorrectionName = None,
    family: asked.FamilyName = None,
    alpha: asked.Alpha = None,
    permutations: asked.Permutations = None,
    seed: asked.Seed = None,
    confidence: asked.Confidence = None,
    show: asked.Shown = None,
    decimals: asked.Decimals = 3,
    format_name: options.TableFormat = None,
    output: options.Output = None,
) -> None:
    """Test and tabulate chosen sets of passages against the true ones.

    EM (exact match), F1, and Cover (a whole true set is among what was chosen), over all questions
    that have a true set; a question without a chosen set counts 0 and is reported.
    """
    testing = asked.Testing(
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
    from adducir.experiments.evaluation.set_files import read_sets, read_truth
    from adducir.experiments.tables.build import Layout
    from adducir.experiments.tables.sets import set_table
    from adducir.experiments.tables.style import Style
    from adducir.study.files import file_digest

    digests = {str(path): file_digest(path) for path in (*files, *questions)}
    truth = read_truth(questions)
    chosen: dict[str, dict[str, tuple[str, ...]]] = {}
    for path in files:
        name = Path(stem(path)).stem
        if name in chosen:
            raise UsageError(f"two files are systems called {name}.", mend="Rename one of them.")
        chosen[name] = read_sets(path, truth)
    bounds = None
    if upper_bound:
        most = max((len(one) for some in chosen.values() for one in some.values()), default=1)
        bounds = {"": truth.bound(max(1, most))}
    table = set_table(
        {"": [truth.scores(name, some) for name, some in chosen.items()]},
        bounds=bounds,
        testing=testing.said() if testing.differences else {},
        layout=Layout(
            style=Style(decimals=decimals, details=details),
            provenance={"adducir": adducir.__version__, "files": digests},
        ),
    )
    show_table(table, format_name, output)
