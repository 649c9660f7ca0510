"""``adducir filter`` and ``adducir fuse``."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from adducir.cli import common
from adducir.cli.command import option
from adducir.core.errors import UsageError
from adducir.core.texts import counted, listed
from adducir.corpora.reading import QrelsReading
from adducir.runs.kinds import FUSION, FoldName, FusionSettings
from adducir.runs.reading import RunReading


class FilterOptions(RunReading, QrelsReading):
    run: Path = option("The run.", argument=True)
    output: common.RunOutput
    fold: FoldName | None = option(
        "Fold passages to documents first: firstp, maxp, sump or avgp.", default=None
    )
    drop_judged: list[str] = option(
        "Drop the documents judged here for the topic: the residual collection.",
        metavar="QRELS",
        default=[],
        reads=True,
    )
    drop_own: bool = option(
        "Drop the document whose docno is the topic's qid (ArguAna, Quora).", default=False
    )
    drop_duplicates: bool = option(
        "Drop documents that a topic ranks again, at lower ranks.", default=False
    )
    keep_topics: list[str] = option(
        "Keep only topics judged here.", metavar="QRELS", default=[], reads=True
    )
    depth: Annotated[int, Field(ge=1)] | None = option(
        "Keep at most this many of the remaining documents of each topic.",
        default=None,
        shown="all",
    )
    tag: Annotated[str | None, "the run's tag"] = option(
        "The run's tag.", default=None, shown="that of RUN"
    )


def filter(settings: FilterOptions) -> None:  # noqa: A001  (the command's name)
    """Drop what an evaluation must not count from a run, or fold passages to documents.

    The rest keeps its order and scores. What was dropped is printed and written into the run's
    metadata.

    Examples:
        adducir filter runs/rm3.trec.gz --drop-judged feedback.qrels -o runs/residual.trec.gz
        adducir filter runs/arguana.trec.gz --drop-own --depth 100 -o runs/arguana-100.trec.gz
        adducir filter runs/passages.trec.gz --fold maxp -o runs/documents.trec.gz
    """
    from dataclasses import replace

    from adducir.cli.console import near, open_progress
    from adducir.runs.filtering import filter_run
    from adducir.runs.write import metadata_for, part_of, read_metadata, write_run

    with open_progress() as progress:
        repeats = "first" if settings.drop_duplicates else "refuse"
        run = settings.read_run(settings.run, duplicates=repeats)
        options: dict[str, Any] = {
            "judged": settings.drop_judged,
            "own": settings.drop_own,
            "topics": settings.keep_topics,
            "depth": settings.depth,
            "fold": settings.fold,
        }
        dropped = dict[str, int]()
        if any(options.values()):
            read = {
                name: settings.read_qrels(options[name]) if options[name] else None
                for name in ("judged", "topics")
            }
            run, dropped = filter_run(run, **options | read)
        elif not settings.drop_duplicates:
            raise UsageError("name at least one filter.")
        facts = read_metadata(settings.run) if metadata_for(settings.run).is_file() else {}
        stage = {key: value for key, value in options.items() if value}
        stage |= {"duplicates": "first"} if settings.drop_duplicates else {}
        stage |= {"run": str(settings.run), "dropped": dropped}
        method = part_of(facts, "method")
        earlier = method.get("filtering")
        stages = [*(earlier if isinstance(earlier, list) else []), stage]
        metadata: dict[str, Any] = {"method": {**method, "filtering": stages}}
        if "topics" in part_of(facts, "data"):
            metadata["data"] = {"topics": facts["data"]["topics"]}
        write_run(replace(run, tag=settings.tag or run.tag), settings.output, metadata)
        parts = [f"{name} {number:,}" for name, number in dropped.items()]
        left_out = f" (dropped: {', '.join(parts)})" if parts else ""
        documents = counted(len(run), "document")
        progress.note(f"{near(settings.output)}: {len(run.qids):,} topics, {documents}{left_out}")


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
