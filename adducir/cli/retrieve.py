"""``adducir retrieve``."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adducir.cli import options
from adducir.cli.effects import with_any
from adducir.cli.outputs import SOURCE, Writes
from adducir.cli.parameters import option
from adducir.cli.shards import ShardOptions
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from adducir.encoders.ranking import SpanTask
    from adducir.encoders.settings import ContextPart
    from adducir.encoders.sources import EncoderSource


def retrieve(
    model: Annotated[str, option("An encoder, as for `adducir encode`.", "-m", metavar="MODEL")],
    output: Annotated[
        Path,
        option("A run; with --relic a name that ends in .json is a submission.", "-o"),
        Writes("file"),
    ],
    spans: Annotated[
        list[Path] | None,
        option("Masked spans, all candidates; can be repeated.", metavar="FILE"),
        SOURCE,
    ] = None,
    candidates: Annotated[
        list[Path] | None,
        option("With --spans: spans that are candidates only; can be repeated.", metavar="FILE"),
        SOURCE,
        with_any("spans"),
    ] = None,
    relic: Annotated[
        Path | None,
        option(
            "RELiC's JSON instead: the passages of a quotation's book are its candidates.",
            metavar="FILE",
        ),
        SOURCE,
    ] = None,
    left: Annotated[
        int | None, option("Sentences on the left of the mask.", min=0, shown="as it was trained")
    ] = None,
    right: Annotated[
        int | None, option("Sentences on the right.", min=0, shown="as it was trained")
    ] = None,
    depth: Annotated[int, option("Candidates of a context.", min=1)] = 100,
    device: options.Device = "auto",
    precision: options.PrecisionOption = "float32",
    threads: options.Threads = None,
    tag: options.Tag = None,
    *,
    shards: ShardOptions,
) -> None:
    """Rank the candidates of masked contexts with an encoder.

    Writes a run with the best candidates of each context, or the file that RELiC's leaderboard
    takes for its hidden test set: the numbers of the 100 best passages of each quotation. Work
    that was killed resumes.
    """
    if (relic is None) == (not spans):
        raise UsageError("give one of --spans and --relic.")
    submits = relic is not None and output.suffix == ".json"
    if submits and (depth != _submitted() or tag is not None):
        raise UsageError(f"a submission has {_submitted()} candidates of each, and no tag.")

    from adducir.cli.console import near, note, open_progress
    from adducir.core.chunks import Chunking
    from adducir.encoders.ranking import relic_rankings, run_tasks
    from adducir.encoders.sources import encoder_source
    from adducir.encoders.span_work import SpanWork, scored_by_shards
    from adducir.models.machine import using_threads

    source = encoder_source(model)
    work = SpanWork(
        source,
        partial(_tasks, tuple(spans or ()), tuple(candidates or ()), relic),
        {"context": _context(source, left, right)},
        precision,
        device=device,
        threads=threads,
        tokens=shards.batch_tokens,
    )
    with (
        open_progress() as progress,
        using_threads(threads),
        scored_by_shards(work, Chunking(output, shards.execution()), progress) as scored,
    ):
        if relic is not None and submits:
            from adducir.datasets.quotations.relic_files import read_relic
            from adducir.datasets.quotations.submission import write_submission

            books = read_relic(relic)
            count = write_submission(relic_rankings(scored, depth), books, output)
        else:
            from adducir.runs.write import write_run

            run = run_tasks(scored, depth, tag=options.tag_of(output, tag))
            about = {"name": model, "precision": precision, "depth": depth}
            write_run(run, output, {"method": {"retrieval": [about]}})
            count = len(run.qids)
    note(f"{near(output)}: the best {depth} candidates of {count:,} contexts")


def _submitted() -> int:
    from adducir.datasets.quotations.submission import DEPTH

    return DEPTH


def _context(source: "EncoderSource", left: int | None, right: int | None) -> "ContextPart":
    """What is read of a context: as the encoder does, but for what was asked for."""
    from adducir.encoders.settings import Settings

    lengths = {key: value for key, value in (("left", left), ("right", right)) if value is not None}
    return (source.settings or Settings()).context.model_copy(update=lengths)


def _tasks(
    spans: Sequence[Path], candidates: Sequence[Path], relic: Path | None
) -> "Iterator[SpanTask]":
    """The tasks, read anew; in other processes, too."""
    from adducir.core.text_file import TextFile
    from adducir.datasets.spans.record import read_spans
    from adducir.encoders.ranking import book_tasks, task_among

    if relic is not None:
        from adducir.datasets.quotations.relic_files import read_relic

        yield from book_tasks(read_relic(relic), hidden=True)
        return
    some = [span for path in spans for span in read_spans(path)]
    more = (span for path in candidates for span in read_spans(path))
    yield task_among(some, chain(some, more), TextFile)
