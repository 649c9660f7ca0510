"""``adducir filter``."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from adducir.cli import common
from adducir.cli.command import option
from adducir.core.errors import UsageError
from adducir.core.texts import counted
from adducir.corpora.reading import QrelsReading
from adducir.runs.kinds import FoldName
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
