"""``adducir filter``, ``adducir fuse`` and ``adducir check``."""

import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from adducir.cli import common
from adducir.cli.command import option, optional, repeatable
from adducir.cli.console import columns, near, note, show
from adducir.core.errors import EXIT_PROBLEMS_FOUND, UsageError
from adducir.core.recipe import needs
from adducir.core.texts import counted, listed
from adducir.corpora.reading import QrelsReading, QueryReading
from adducir.runs.kinds import FoldName, FusionSettings
from adducir.runs.reading import RunReading

if TYPE_CHECKING:
    from adducir.runs.check import Finding

_SHOWN = {"error": "error", "warning": "warning", "info": "remark"}


class FilterOptions(RunReading, QrelsReading):
    conditions = dict.fromkeys(("qrels_columns", "duplicates"), needs("drop_judged", "keep_topics"))
    run: Path = option("The run.", argument=True)
    output: common.RunOutput
    fold: FoldName | None = optional(
        "Fold passages to documents first: firstp, maxp, sump or avgp."
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
    depth: Annotated[int, Field(ge=1)] | None = optional(
        "Keep at most this many of the remaining documents of each topic.", shown="all"
    )
    tag: Annotated[str | None, "the run's tag"] = optional("The run's tag.", shown="that of RUN")


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

    from adducir.runs.filtering import filter_run
    from adducir.runs.write import facts_at, part_of, remade, write_run

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
    facts = facts_at(settings.run)
    stage = {key: value for key, value in options.items() if value}
    stage |= {"duplicates": "first"} if settings.drop_duplicates else {}
    stage |= {"run": str(settings.run), "dropped": dropped}
    method = part_of(facts, "method")
    earlier = method.get("filtering")
    stages = [*(earlier if isinstance(earlier, list) else []), stage]
    metadata = remade(facts, {**method, "filtering": stages})
    write_run(replace(run, tag=settings.tag or run.tag), settings.output, metadata)
    parts = [f"{name} {number:,}" for name, number in dropped.items()]
    left_out = f" (dropped: {', '.join(parts)})" if parts else ""
    documents = counted(len(run), "document")
    note(f"{near(settings.output)}: {len(run.qids):,} topics, {documents}{left_out}")


class FuseOptions(FusionSettings, RunReading):
    runs: common.Runs
    output: common.RunOutput
    weights: common.Numbers = repeatable(
        "One per run, comma-separated or repeated.", shown="1 for each"
    )
    tag: common.Tag = None


def fuse(settings: FuseOptions) -> None:
    """Fuse several runs into one.

    Topics that only some runs have are fused from those, and reported.

    Examples:
        adducir fuse runs/bm25.trec.gz runs/qld.trec.gz --output runs/fused.trec.gz
        adducir fuse runs/*.trec.gz --method combsum --weights 2,1 -o runs/fused.trec.gz
    """
    from adducir.runs.fusion import fuse as fuse_runs
    from adducir.runs.fusion import fused_method, lacking
    from adducir.runs.write import write_run

    runs = [settings.read_run(path) for path in settings.runs]
    tag = common.tag_of(settings.output, settings.tag)
    fused = fuse_runs(runs, settings, tag)
    method = fused_method(settings, [*map(str, settings.runs)])
    if settings.columns:
        method["fusion"]["columns"] = list(settings.columns)
    write_run(fused, settings.output, {"method": method})
    for path, qids in zip(settings.runs, lacking(runs), strict=True):
        if qids:
            topics = counted(len(qids), "topic")
            note(f"{path} lacks {topics} of the others: {listed(qids)}")
    note(f"{settings.output}: {len(fused.qids):,} topics, {len(fused):,} documents")


class CheckOptions(RunReading, QrelsReading, QueryReading):
    runs: common.Runs
    qrels: common.Qrels = []  # noqa: RUF012  (pydantic copies it)
    topics: str | None = optional("Topics: a file or an ir_datasets id.", reads=True)
    index: Path | None = optional("The index, to find unknown documents.")
    measures: list[str] = option("Measures to compute from the runs later.", default=[])
    format: Literal["terminal", "csv", "json"] = option(
        "How to print findings.", default="terminal"
    )


def check(settings: CheckOptions) -> int:
    """Validate run files.

    Finds duplicate documents, scores that are not numbers, ties, missing, unknown and truncated
    topics and documents, qrels of another collection, rankings too short for a measure, and more.
    The exit code is 1 if there are errors; it is 0 for warnings and remarks.

    Examples:
        adducir check runs/bm25.trec.gz --qrels bundled:qrels --topics bundled:topics
        adducir check runs/bm25.trec.gz --index indexes/arguments --measures 'nDCG@10 R@100'
    """
    from adducir.core.csv_files import CsvWriter
    from adducir.evaluation.measures import parse_measures
    from adducir.indexes.engines import open_index
    from adducir.runs.check import check as findings_of

    findings = findings_of(
        settings.runs,
        qrels=settings.read_qrels(settings.qrels) if settings.qrels else None,
        topics=settings.read_topics(settings.topics) if settings.topics else None,
        docnos=open_index(settings.index).docnos.to_list() if settings.index else None,
        measures=parse_measures(settings.measures) if settings.measures else (),
        columns=settings.columns,
        quotes=settings.quotes,
    )
    if settings.format == "json":
        show(json.dumps([finding._asdict() for finding in findings], indent=2, ensure_ascii=False))
    elif settings.format == "csv":
        handle = io.StringIO()
        CsvWriter(handle).rows([("run", "severity", "code", "line", "message"), *findings])
        show(handle.getvalue())
    else:
        show("\n".join(_report(list(map(str, settings.runs)), findings)))
    return EXIT_PROBLEMS_FOUND if any(finding.severity == "error" for finding in findings) else 0


def _report(runs: Sequence[str], findings_: "Sequence[Finding]") -> Iterator[str]:

    if len(runs) > 1 and findings_:
        codes = list(dict.fromkeys(finding.code for finding in findings_))
        weights = {(finding.run, finding.code): finding.severity for finding in reversed(findings_)}
        cells = [[_SHOWN.get(weights.get((run, code), ""), "-") for code in codes] for run in runs]
        rows = ([run, *row] for run, row in zip(runs, cells, strict=True))
        yield from columns([["", *codes], *rows])
        yield ""
    alike: dict[tuple[Finding, ...], list[str]] = {}
    for run in dict.fromkeys(runs):
        key = tuple(finding for finding in findings_ if finding.run == run)
        # Lines that several runs share are printed once.
        alike.setdefault(tuple(finding._replace(run="") for finding in key), []).append(run)
    for findings, names in alike.items():
        counts = Counter(finding.severity for finding in findings)
        shown = [counted(n, _SHOWN[kind]) for kind, n in counts.items()]
        yield f"{', '.join(names)}: {', '.join(shown) or 'no findings'}"
        for finding in findings:
            place = f"line {finding.line}: " if finding.line else ""
            yield f"  {_SHOWN[finding.severity]:<7}  {place}{finding.message} [{finding.code}]"
