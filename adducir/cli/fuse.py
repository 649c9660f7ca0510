"""``adducir fuse``."""

from adducir.cli import common
from adducir.cli.command import option
from adducir.core.texts import counted, listed
from adducir.runs.kinds import FUSION, FusionSettings
from adducir.runs.reading import RunReading


class FuseOptions(FusionSettings, RunReading):
    runs: common.Runs
    output: common.RunOutput
    weights: common.Numbers = option(
        "One per run, comma-separated or repeated.", default=(), shown="1 for each"
    )
    tag: common.Tag = None


def fuse(settings: FuseOptions) -> None:
    """Fuse several runs into one.

    Topics that only some runs have are fused from those, and reported.

    Examples:
        adducir fuse runs/bm25.trec.gz runs/qld.trec.gz --output runs/fused.trec.gz
        adducir fuse runs/*.trec.gz --method combsum --weights 2,1 -o runs/fused.trec.gz
    """
    from adducir.cli.console import open_progress
    from adducir.runs.fusion import fuse as fuse_runs
    from adducir.runs.fusion import lacking
    from adducir.runs.write import write_run

    with open_progress() as progress:
        runs = [settings.read_run(path) for path in settings.runs]
        tag = common.tag_of(settings.output, settings.tag)
        fused = fuse_runs(runs, settings, tag)
        metadata = FUSION.settings(settings.fusion, "method")
        weights = list(settings.weights) or [1.0] * len(runs)
        metadata |= {"runs": list(map(str, settings.runs)), "weights": weights}
        if settings.columns:
            metadata["columns"] = list(settings.columns)
        write_run(fused, settings.output, {"method": {"fusion": metadata}})
        for path, qids in zip(settings.runs, lacking(runs), strict=True):
            if qids:
                topics = counted(len(qids), "topic")
                progress.note(f"{path} lacks {topics} of the others: {listed(qids)}")
        progress.note(f"{settings.output}: {len(fused.qids):,} topics, {len(fused):,} documents")
