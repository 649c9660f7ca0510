"""``adducir fuse``."""

from typing import Annotated

from adducir.cli import options
from adducir.cli.hyperparameters import hyperparameters_of, kind_option
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import option
from adducir.core.errors import UsageError
from adducir.runs.fusion import FUSION


def fuse(
    runs: Annotated[options.RunPaths, SOURCE],
    output: options.RunOutput,
    method: Annotated[str, kind_option(FUSION)] = "rrf",
    weights: Annotated[
        list[str] | None, option("One per run, with commas or repeated.", shown="1 for each")
    ] = None,
    depth: options.Depth = 1000,
    tag: options.Tag = None,
    *,
    hyperparameters: Annotated[dict[str, str], hyperparameters_of(FUSION)],
) -> None:
    """Fuse several runs into one.

    Topics that only some of the runs have are fused from those, and reported.
    """
    fusion = FUSION.make(method, hyperparameters)
    try:
        numbers = [float(text) for text in options.listed(weights)] or None
    except ValueError as error:
        raise UsageError(f"--weights takes numbers: {error}.") from error

    from adducir.cli.console import note
    from adducir.runs.fusion import fuse as fuse_runs
    from adducir.runs.fusion import lacking
    from adducir.runs.read import read_run
    from adducir.runs.write import write_run

    read = [read_run(path) for path in runs]
    fused = fuse_runs(
        read,
        method,
        weights=numbers,
        depth=depth,
        tag=options.tag_of(output, tag),
        **fusion.model_dump(),
    )
    members = {"runs": [str(path) for path in runs], "weights": numbers or [1.0] * len(runs)}
    settings = FUSION.settings(fusion, "method") | members
    write_run(fused, output, {"method": {"fusion": settings}})
    for path, qids in zip(runs, lacking(read), strict=True):
        if qids:
            note(f"{path} lacks {len(qids):,} topics of the others: {', '.join(qids[:5])}")
    note(f"{output}: {len(fused.qids):,} topics, {len(fused):,} documents")
