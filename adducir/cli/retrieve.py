"""``adducir retrieve``."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from adducir.cli import options
from adducir.cli.effects import with_any
from adducir.cli.outputs import SOURCE, Writes
from adducir.cli.parameters import option
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from adducir.encoders.model import DualEncoder
    from adducir.encoders.ranking import SpanTask


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
) -> None:
    """Rank the candidates of masked contexts with an encoder.

    Writes a run with the best candidates of each context, or the file that RELiC's leaderboard
    takes for its hidden test set: the numbers of the 100 best passages of each quotation.
    """
    if (relic is None) == (not spans):
        raise UsageError("give one of --spans and --relic.")
    submits = relic is not None and output.suffix == ".json"
    if submits and (depth != _submitted() or tag is not None):
        raise UsageError(f"a submission has {_submitted()} candidates of each, and no tag.")

    from adducir.cli.console import near, note, open_progress
    from adducir.encoders.ranking import relic_rankings, run_tasks
    from adducir.models.machine import using_threads

    encoder = _opened(model, left, right, device)
    with open_progress() as progress, using_threads(threads):
        how: dict[str, Any] = {"precision": precision, "progress": progress}
        if relic is not None and submits:
            from adducir.datasets.quotations import read_relic, write_submission

            books = read_relic(relic)
            count = write_submission(relic_rankings(encoder, books, depth, **how), books, output)
        else:
            from adducir.runs.write import write_run

            tasks = list(_tasks(spans or [], candidates or [], relic))
            run = run_tasks(encoder, tasks, depth, tag=options.tag_of(output, tag), **how)
            about = {"name": model, "precision": precision, "depth": depth}
            write_run(run, output, {"method": {"retrieval": [about]}})
            count = sum(len(task.spans) for task in tasks)
    note(f"{near(output)}: the best {depth} candidates of {count:,} contexts")


def _submitted() -> int:
    from adducir.datasets.quotations.submission import DEPTH

    return DEPTH


def _opened(model: str, left: int | None, right: int | None, device: str) -> "DualEncoder":
    """The encoder, reading those sentences of a context that were asked for."""
    from adducir.encoders.model import DualEncoder
    from adducir.encoders.settings import Settings
    from adducir.encoders.sources import encoder_source
    from adducir.models.machine import choose_device

    source = encoder_source(model)
    lengths = {key: value for key, value in (("left", left), ("right", right)) if value is not None}
    own = (source.settings or Settings()).context
    encoder = DualEncoder.load(source, context=own.model_copy(update=lengths))
    return encoder.to(choose_device(device))


def _tasks(spans: list[Path], candidates: list[Path], relic: Path | None) -> "Iterator[SpanTask]":
    from adducir.datasets.spans.record import read_spans
    from adducir.encoders.ranking import book_tasks, collection_task

    if relic is not None:
        from adducir.datasets.quotations import read_relic

        yield from book_tasks(read_relic(relic), hidden=True)
        return
    some, more = (
        [span for path in paths for span in read_spans(path)] for paths in (spans, candidates)
    )
    yield collection_task(some, more)
