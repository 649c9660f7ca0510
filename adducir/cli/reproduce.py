"""``adducir reproduce``."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adducir.cli import evaluate, options
from adducir.cli import evaluate_options as opts
from adducir.cli.effects import with_any
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import argument, option

if TYPE_CHECKING:
    from adducir.evaluation.reproduction import Orders, Reproduced
    from adducir.evaluation.scores import Scores

ORIGINAL, REPRODUCED = "original", "reproduced"
RunPath = Annotated[Path, argument("The original run.", "ORIGINAL"), SOURCE]


def reproduce(
    original: RunPath,
    reproduced: Annotated[Path, argument("The run that reproduces it.", "REPRODUCED"), SOURCE],
    qrels: Annotated[options.QrelsSources, SOURCE],
    measures: Annotated[
        list[str] | None,
        option(
            "Measures, as ir_measures or trec_eval name them, with blanks between them.",
            "-m",
            shown="AP nDCG@10 P@10",
            panel=evaluate.MEASURING,
        ),
    ] = None,
    original_baseline: Annotated[
        Path | None,
        option("The baseline's run in the original experiment.", metavar="RUN"),
        SOURCE,
        with_any("new_baseline"),
    ] = None,
    new_baseline: Annotated[
        Path | None,
        option("The baseline's run in the reproduction.", metavar="RUN"),
        SOURCE,
        with_any("original_baseline"),
    ] = None,
    depth: Annotated[int, option("Documents of a topic whose order is compared.", min=1)] = 1000,
    persistence: Annotated[float, option("p of rank-biased overlap.")] = 0.8,
    equivalence: Annotated[
        float, option("Bound within which the two are tested for equivalence.", metavar="BOUND")
    ] = 0.05,
    *,
    printing: opts.Printing,
) -> None:
    """Compare a reproduction with the original: order, effectiveness, effect, equivalence.

    Rank-biased overlap, root mean square error; with the baselines of both experiments the effect
    ratio and the delta relative improvement.
    """
    from adducir.corpora.qrels import load_qrels
    from adducir.evaluation.evaluator import Evaluator
    from adducir.evaluation.reproduction import compare_effects, compare_orders
    from adducir.runs.read import read_run
    from adducir.statistics.comparison.comparison import compare
    from adducir.tables.builder import build_table

    evaluator = Evaluator(load_qrels(qrels), measures or "AP nDCG@10 P@10")
    runs = {ORIGINAL: read_run(original), REPRODUCED: read_run(reproduced)}
    scores = [evaluator.score(run, system=name) for name, run in runs.items()]
    baselines = None
    if original_baseline is not None and new_baseline is not None:
        first, second = (
            evaluator.score(read_run(path)) for path in (original_baseline, new_baseline)
        )
        baselines = first, second
    orders = compare_orders(runs[ORIGINAL], runs[REPRODUCED], depth=depth, p=persistence)
    effects = compare_effects(scores[0], scores[1], baselines)
    found = compare(scores, baseline=ORIGINAL, equivalence=equivalence, against=ORIGINAL)
    layout = printing.layout(opts.Testing(), runs=opts.digests([original, reproduced]))
    notes = [*_ordered(orders), *_effective(effects), *_same(effects, scores[0])]
    printing.show(build_table(found, scores, layout=replace(layout, notes=notes)))


def _ordered(found: "Orders") -> Iterator[str]:
    yield (
        f"Order of documents (first {found.depth:,}, {found.topics:,} topics): rank-biased overlap "
        f"{found.overlap:.3f} (p = {found.p:g})."
    )


def _same(found: "dict[str, Reproduced]", original: "Scores") -> Iterator[str]:
    same = [measure for measure, one in found.items() if one.rmse == 0]
    if same:
        yield (
            f"All {len(original.qids):,} topics have the same values in both: {', '.join(same)}. "
            "Equivalence is not tested where so few topics differ."
        )


def _effective(found: "dict[str, Reproduced]") -> Iterator[str]:
    errors = ", ".join(f"{measure} {one.rmse:.3f}" for measure, one in found.items())
    yield f"Root mean square error of topics: {errors}."
    ratios = ", ".join(
        f"{measure} {one.effect_ratio:.3f} and {one.delta_improvement:+.3f}"
        for measure, one in found.items()
        if one.effect_ratio is not None
    )
    if ratios:
        yield f"Effect ratio (1: the same) and delta relative improvement (0: the same): {ratios}."
