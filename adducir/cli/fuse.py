"""``adducir fuse``."""

from typing import Annotated

from adducir.cli import common
from adducir.cli.command import option
from adducir.core.texts import counted, listed
from adducir.runs.kinds import FUSION
from adducir.runs.reading import RunReading


class FuseOptions(RunReading):
    runs: common.Runs
    output: common.RunOutput
    method: Annotated[str, FUSION] = option("How to fuse.", default="rrf")
    weights: common.Numbers = option(
        "One per run, comma-separated or repeated.", default=(), shown="1 for each"
    )
    more: dict[str, str] = option(
        "A hyperparameter of the method (`adducir kinds fusion` lists them), as in k=10; can be "
        "repeated.",
        "--set",
        default={},
    )
    depth: common.Depth = 1000
    tag: common.Tag = None


def fuse(settings: FuseOptions) -> None:
    """Fuse several runs into one.

    Topics that only some runs have are fused from those, and reported.

    Examples:
        adducir fuse runs/bm25.trec.gz runs/qld.trec.gz --output runs/fused.trec.gz
        adducir fuse runs/*.trec.gz --method combsum --weights 2,1 -o runs/fused.trec.gz
    """
    fusion = FUSION.make(settings.method, settings.more)

    from adducir.cli.console import open_progress
    from adducir.runs.fusion import fuse as fuse_runs
    from adducir.runs.fusion import lacking
    from adducir.runs.write import write_run

    with open_progress() as progress:
        runs = [settings.read_run(path) for path in settings.runs]
        tag = common.tag_of(settings.output, settings.tag)
        weights = list(settings.weights) or None
        values = fusion.model_dump()
        fused = fuse_runs(
            runs, settings.method, weights=weights, depth=settings.depth, tag=tag, **values
        )
        metadata = FUSION.settings(fusion, "method")
        metadata |= {"runs": list(map(str, settings.runs)), "weights": weights or [1.0] * len(runs)}
        if settings.columns:
            metadata["columns"] = list(settings.columns)
        write_run(fused, settings.output, {"method": {"fusion": metadata}})
        for path, qids in zip(settings.runs, lacking(runs), strict=True):
            if qids:
                topics = counted(len(qids), "topic")
                progress.note(f"{path} lacks {topics} of the others: {listed(qids)}")
        progress.note(f"{settings.output}: {len(fused.qids):,} topics, {len(fused):,} documents")
