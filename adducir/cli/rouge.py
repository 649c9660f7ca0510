"""``adducir rouge``."""

from pathlib import Path
from typing import Annotated

import adducir
from adducir.cli import evaluate_options as opts
from adducir.cli import options
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import argument, option
from adducir.cli.ranks import Baselines
from adducir.core.errors import UsageError


def rouge(
    runs: Annotated[
        list[Path],
        argument(
            "Runs over masked spans, such as `adducir retrieve` writes; each is a system.", "RUN"
        ),
        SOURCE,
    ],
    spans: Annotated[
        list[Path],
        option("The spans with their gold texts; can be repeated.", metavar="FILE"),
        SOURCE,
    ],
    candidates: Annotated[
        list[Path] | None,
        option("Spans that are candidates only; can be repeated.", metavar="FILE"),
        SOURCE,
    ] = None,
    depth: Annotated[int, option("Add the best and the mean of so many candidates.", min=1)] = 1,
    stem: Annotated[bool, option("Compare Porter stems.")] = False,
    without_gold: Annotated[
        bool, option("Leave the gold candidate itself out of the runs.")
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
    """Compare top-ranked candidates with the gold text by ROUGE-L.

    A span that a run lacks counts 0 and is reported.
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
    more = candidates or []

    from adducir.cli import names
    from adducir.cli.tables import show_table
    from adducir.core.files import file_digest
    from adducir.datasets.spans.record import read_spans
    from adducir.evaluation.rouge import RougeL, rouge_of_run
    from adducir.evaluation.scores import Scores
    from adducir.runs.read import read_run
    from adducir.tables.builder import Layout
    from adducir.tables.sets import set_table
    from adducir.tables.style import Style

    gold = [span for path in spans for span in read_spans(path)]
    others = [span for path in more for span in read_spans(path)]
    model = RougeL(stem=stem)
    scores: list[Scores] = []
    for path in runs:
        name = Path(names.stem(path)).stem
        if name in (one.system for one in scores):
            raise UsageError(f"two runs are systems called {name}.", hint="Rename one of them.")
        scores.append(
            rouge_of_run(
                name,
                read_run(path),
                gold,
                others,
                depth=depth,
                without_gold=without_gold,
                rouge=model,
            )
        )
    digests = {str(path): file_digest(path) for path in (*runs, *spans, *more)}
    table = set_table(
        {"": scores},
        testing=testing.arguments() if testing.differences else {},
        layout=Layout(
            style=Style(decimals=decimals, details=details),
            provenance={"adducir": adducir.__version__, "files": digests},
        ),
    )
    show_table(table, format_name, output)
