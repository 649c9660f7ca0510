"""``adducir rouge``."""

from pathlib import Path
from typing import Annotated

from adducir.cli import evaluate_options as opts
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import argument, option
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
    *,
    testing: opts.Testing,
    printing: opts.Printing,
) -> None:
    """Compare top-ranked candidates with the gold text by ROUGE-L.

    A span that a run lacks counts 0 and is reported.
    """
    more = candidates or []

    from adducir.cli import names
    from adducir.datasets.spans.record import read_spans
    from adducir.evaluation.rouge import RougeL, rouge_of_run
    from adducir.evaluation.scores import Scores
    from adducir.runs.read import read_run
    from adducir.tables.sets import set_table

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
    table = set_table(
        {"": scores},
        testing=testing.arguments(),
        layout=printing.layout(testing, files=opts.digests([*runs, *spans, *more])),
    )
    printing.show(table)
