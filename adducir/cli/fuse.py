"""``adducir fuse``."""

from collections.abc import Sequence
from typing import Annotated

import typer

from adducir.cli import options
from adducir.cli.effects import where
from adducir.cli.outputs import SOURCE
from adducir.study.errors import UsageError


def fuse(
    runs: Annotated[options.RunPaths, SOURCE],
    output: options.RunOutput,
    method: Annotated[
        options.Method,
        typer.Option(
            "--method", help="Reciprocal rank fusion, or the sum of scores, plain or by hits."
        ),
    ] = options.Method.RRF,
    k: Annotated[
        float | None,
        typer.Option("--k", help="How much rrf evens out the first ranks.", show_default="60"),
        where("method", "rrf"),
    ] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            "--weights", help="One a run, with commas or repeated.", show_default="1 for each"
        ),
    ] = None,
    normalise: Annotated[
        options.Normalise | None,
        typer.Option(
            "--normalise",
            help="What combsum and combmnz do to the scores of a topic first.",
            show_default="min-max",
        ),
        where("method", "combsum", "combmnz"),
    ] = None,
    depth: options.Depth = 1000,
    tag: options.Tag = None,
) -> None:
    """Combine several runs into one.

    Topics that only some of the runs have are fused from those, and reported.
    """
    numbers = _numbers(weights)

    from adducir.cli.console import note
    from adducir.runs.fuse import fuse as fuse_runs
    from adducir.runs.fuse import lacking
    from adducir.runs.read import read_run
    from adducir.runs.write import write_run

    read = [read_run(path) for path in runs]
    how = {
        **({} if k is None else {"k": k}),
        **({} if normalise is None else {"normalise": normalise.value}),
    }
    fused = fuse_runs(
        read,
        method.value,
        weights=numbers,
        depth=depth,
        tag=options.tag_of(output, tag),
        **how,  # type: ignore[arg-type]  # likewise
    )
    members = {"runs": [str(path) for path in runs], "weights": numbers or [1.0] * len(runs)}
    write_run(fused, output, {"method": {"fusion": {"method": method.value, **how, **members}}})
    for path, qids in zip(runs, lacking(read), strict=True):
        if qids:
            note(f"{path} lacks {len(qids):,} topics of the others: {', '.join(qids[:5])}")
    note(f"{output}: {len(fused.qids):,} topics, {len(fused):,} documents")


def _numbers(texts: Sequence[str] | None) -> list[float] | None:
    try:
        return [float(text) for text in options.listed(texts)] or None
    except ValueError as error:
        raise UsageError(f"--weights takes numbers: {error}.") from error
