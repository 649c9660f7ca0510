"""``adducir sharpness``."""

from pathlib import Path
from typing import Annotated

from adducir.cli import evaluate_options as opts
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import argument, option
from adducir.cli.ranks import numbers_of
from adducir.core.errors import UsageError


def sharpness(
    runs: Annotated[
        list[Path],
        argument("Runs whose scores are logarithms of probabilities; each is a system.", "RUN"),
        SOURCE,
    ],
    depth: Annotated[int, option("Passages of a query that share the probability.", min=1)] = 100,
    cutoffs: Annotated[
        list[str] | None,
        option("The k of Mass@k, with commas or repeated.", shown="1,2,5,10,20,50,100"),
    ] = None,
    temperature: Annotated[float, option("Divides the scores.", min=1e-6)] = 1.0,
    *,
    testing: opts.Testing,
    printing: opts.Printing,
) -> None:
    """Show how sharply runs decide: the probability that is reached by rank.

    Each query's scores become probabilities by a softmax over its passages; Mass@k is the sum of
    the k greatest. A sharp distribution is no better for it.
    """
    from adducir.cli import names
    from adducir.evaluation.generation.sharpness import CUTOFFS, mass_scores
    from adducir.runs.read import read_run
    from adducir.tables.sets import set_table

    scores = []
    for path, name in names.system_names(runs).items():
        rows: dict[str, list[float]] = {}
        for qid, score in read_run(path).frame.select("qid", "score").iter_rows():
            rows.setdefault(qid, []).append(score)
        if not rows:
            raise UsageError(f"the run {name} is empty.")
        scores.append(
            mass_scores(
                name,
                rows,
                cutoffs=numbers_of(cutoffs) or CUTOFFS,
                depth=depth,
                temperature=temperature,
            )
        )
    layout = printing.layout(testing, runs=opts.digests(runs))
    printing.show(set_table({"": scores}, testing=testing.arguments(), layout=layout))
