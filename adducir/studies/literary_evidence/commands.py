"""``adducir literary-evidence``."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from adducir.cli import common
from adducir.cli.command import Writes, option
from adducir.cli.console import columns, near, note, open_progress, show
from adducir.cli.tabled import Tabled, TableOptions, digests
from adducir.cli.workers import Computing
from adducir.core.errors import UsageError
from adducir.core.recipe import needs
from adducir.studies.literary_evidence.ask import ask
from adducir.studies.literary_evidence.finding import Rules
from adducir.studies.literary_evidence.proxy_commands import add_figures, proxy_make, proxy_score
from adducir.studies.options import (
    LINES_IN_PARTS,
    Cutoffs,
    Shares,
    in_parts,
    part_path,
    parts_of,
)

if TYPE_CHECKING:
    from adducir.encoders.ranking import SpanTask
    from adducir.evaluation.gold_ranks import GoldRanks
    from adducir.experiments.known_item.system import LexicalPart
    from adducir.tables.ranks import Systems

RELIC_BM25 = 0.5, 0.9  # k1 and b of RELiC's authors


class Quotations(Rules):
    primary: list[Path] = option(
        "Books: text files or folders of them; repeatable.", metavar="BOOKS"
    )
    secondary: list[Path] = option(
        "Works that quote the books: text files or folders of them; repeatable.",
        metavar="CRITICISM",
    )
    output: Path = option(
        "RELiC's JSON, such as relic.json.", "-o", writes=Writes("file", (".json",), parts_of)
    )
    spans: Path | None = option(
        "The windows as masked spans, such as X.jsonl.gz.",
        default=None,
        writes=LINES_IN_PARTS,
    )
    shares: Shares = None
    seed: Annotated[int, needs("shares")] = option("The seed of the split by books.", default=0)


def quotations(settings: Quotations) -> None:
    """Find quotations from books in literary criticism.

    Passages that criticism quotes from a book become masked quotations in the critic's sentences.
    Prints the counts per book, and what was dropped and why.

    Examples:
        adducir literary-evidence quotations --primary novels --secondary works -o relic.json
        adducir literary-evidence quotations --primary novels --secondary works -o x.json --words 8
    """
    from adducir.corpora.spans import write_spans
    from adducir.studies.literary_evidence.quotations import REASONS, construct
    from adducir.studies.literary_evidence.relic import write_relic

    with open_progress():
        built = construct(settings.primary, settings.secondary, settings)
    rows = built.rows()
    lines = columns(rows)
    lines += [f"{reason}: {REASONS[reason]}" for reason in REASONS if reason in rows[0]]
    refused = built.refused.items()
    lines += [f"{name} was not searched: {REASONS[why]}" for name, why in refused]
    show("\n".join(lines))
    books = built.relic()
    for name, path, titles in in_parts(settings, list(books), str):
        part = {title: books[title] for title in titles}
        note(f"wrote {path}: {write_relic(part, path):,} quotations")
        if settings.spans is not None:
            path = part_path(settings.spans, name)
            note(f"wrote {path}: {write_spans(built.spans(part), path):,} quotations")


class Statistics(TableOptions):
    files: tuple[Path, ...] = option("RELiC's JSON files.", metavar="RELIC", argument=True)
    spans: tuple[Path, ...] = option(
        "The same windows as `quotations` writes them, with the works they are from; repeatable.",
        default=(),
        metavar="FILE",
    )
    books: bool = option("A row for each book, not for each file.", default=False)


def statistics(settings: Statistics) -> None:
    """Describe a collection: windows, lengths, and how much of the books is quoted.

    Examples:
        adducir literary-evidence statistics RELiC/train.json RELiC/val.json RELiC/test.json
        adducir literary-evidence statistics relic.json --spans windows.jsonl.gz --books
    """
    from adducir.corpora.spans import read_spans
    from adducir.studies.literary_evidence.collection import collection_table
    from adducir.studies.literary_evidence.relic import read_relic

    files = {name: read_relic(path) for path, name in common.system_names(settings.files).items()}
    spans = read_spans(*settings.spans) if settings.spans else ()
    works = {span.id: str(span.extra["work"]) for span in spans if "work" in span.extra}
    layout = settings.layout(files=digests([*settings.files, *settings.spans]))
    settings.print(collection_table(files, layout, works, by_book=settings.books))


class Retrieve(Computing):
    model: str = option(
        "An encoder, as for `adducir encode`, or `bm25:K1,B` (by default .5 and .9).",
        "-m",
        metavar="MODEL",
    )
    output: Path = option(
        "The run to write; with --relic a name ending in .json is a submission.",
        "-o",
        writes=Writes("file"),
    )
    spans: tuple[Path, ...] = option(
        "Masked spans, all of which are candidates; repeatable.", default=(), metavar="FILE"
    )
    candidates: Annotated[tuple[Path, ...], needs("spans")] = option(
        "With --spans: spans that are only candidates; repeatable.",
        default=(),
        metavar="FILE",
    )
    relic: Path | None = option(
        "RELiC's JSON instead: each quotation's candidates are the passages of its book.",
        default=None,
    )
    key: Path | None = option(
        "Rank only the candidates of this proxy task's key.", default=None, shown="all"
    )
    left: int | None = option(
        "Sentences left of the mask.", default=None, ge=0, shown="as it was trained"
    )
    right: int | None = option(
        "Sentences right of the mask.", default=None, ge=0, shown="as it was trained"
    )
    depth: int = option("Candidates to keep per context.", default=100, ge=1)
    device: common.Device = "auto"
    precision: common.PrecisionOption = "float32"
    threads: common.Threads = None
    tag: common.Tag = None


def retrieve(settings: Retrieve) -> None:
    """Rank the candidates of masked contexts with an encoder or BM25.

    Writes a run with the top candidates of each context, or a submission to RELiC's leaderboard for
    its hidden test set: the numbers of the 100 best passages for each quotation. Interrupted work
    resumes.

    Examples:
        adducir literary-evidence retrieve -m encoders/x --spans test.jsonl.gz -o runs/x.trec.gz
        adducir literary-evidence retrieve -m encoders/x --relic test.json -o submission.json
        adducir literary-evidence retrieve -m bm25 --relic val.json -o runs/bm25.trec.gz
    """
    if (settings.relic is None) == (not settings.spans):
        raise UsageError("give either --spans or --relic.")

    from adducir.core.chunks import Chunking
    from adducir.encoders.kinds import encoder_source
    from adducir.encoders.ranking import DualVectors, SpanWork, scored
    from adducir.encoders.reading import Settings
    from adducir.experiments.known_item.system import ContextRecipe, lexical_best
    from adducir.models.machine import using_threads
    from adducir.runs.write import write_run
    from adducir.studies.literary_evidence import relic as data

    output, depth, relic = settings.output, settings.depth, settings.relic
    submits = relic is not None and output.suffix == ".json"
    if submits and (depth != data.DEPTH or settings.tag is not None):
        raise UsageError(
            f"a submission has {data.DEPTH} candidates per quotation and cannot have a tag."
        )
    if submits and settings.key is not None:
        raise UsageError("a submission ranks all candidates: leave out --key.")
    tasks = partial(_tasks, settings.spans, settings.candidates, relic, settings.key)
    with open_progress(), using_threads(settings.threads), ExitStack() as stack:
        if (lexical := _lexical(settings.model)) is not None:
            if settings.key is not None:
                hint = "Rank all candidates: BM25 chooses the first that the key has."
                raise UsageError("BM25's scores depend on all candidates.", hint=hint)
            sides = ContextRecipe(left=settings.left, right=settings.right)
            ranked = lexical_best(lexical, tasks(), sides, depth, settings.threads)
            about: dict[str, object] = {"name": "bm25", **lexical.model_dump(mode="json")}
        else:
            source = encoder_source(settings.model)
            context = (source.settings or Settings()).context
            lengths = settings.model_dump(include={"left", "right"}, exclude_none=True)
            read = {"context": context.model_copy(update=lengths)}
            work = SpanWork(
                vectors=DualVectors(source, read), tasks=tasks, running=settings.running()
            )
            chunks = stack.enter_context(scored(work, Chunking(output, settings.execution())))
            ranked = data.best_of(chunks, depth)
            about = {"name": settings.model, "precision": settings.precision}
        if relic is not None and submits:
            rankings = data.relic_rankings(ranked)
            count = data.write_submission(rankings, data.read_relic(relic), output)
        else:
            run = data.run_tasks(ranked, tag=common.tag_of(output, settings.tag))
            write_run(run, output, {"method": {"retrieval": [{**about, "depth": depth}]}})
            count = len(run.qids)
    note(f"{near(output)}: the best {depth} candidates of {count:,} contexts")


def _lexical(model: str) -> "LexicalPart | None":
    """BM25's parameters, if the model is BM25."""
    from adducir.experiments.known_item.system import LexicalPart

    name, colon, parameters = model.partition(":")
    if name != "bm25" or Path(model).exists():
        return None
    try:
        k1, b = map(float, parameters.split(",")) if colon else RELIC_BM25
        return LexicalPart(k1=k1, b=b)
    except ValueError:
        hint = "Write bm25, or bm25:K1,B such as bm25:0.5,0.9, with b from 0 to 1."
        raise UsageError(f"{model!r} does not state BM25's parameters.", hint=hint) from None


def _tasks(
    spans: Sequence[Path], candidates: Sequence[Path], relic: Path | None, key: Path | None
) -> "Iterator[SpanTask]":
    """The tasks, reread; also in other processes."""
    from adducir.corpora.spans import read_spans
    from adducir.encoders.ranking import task_among
    from adducir.studies.literary_evidence.proxy import read_key, tasks_of_key
    from adducir.studies.literary_evidence.relic import book_tasks, read_relic

    if relic is not None:
        tasks = book_tasks(read_relic(relic), hidden=True)
    else:
        some = [*read_spans(*spans)]
        tasks = iter([task_among(some, chain(some, read_spans(*candidates)))])
    yield from tasks if key is None else tasks_of_key([*tasks], read_key(key))


class Ranks(Tabled):
    files: tuple[Path, ...] = option(
        "TSV or JSONL with qid, rank and candidates, and optionally system, tied and keys.",
        metavar="RANKS",
        argument=True,
    )
    cutoffs: Cutoffs = option(
        "The k of R@k, comma-separated or repeated.", default=(), shown="1,3,5,10,50,100"
    )
    ties: Literal["pessimistic", "expected"] = option(
        "Count candidates tied with the gold item as better, or take the exact mean over all "
        "orders.",
        default="pessimistic",
    )
    random: bool = option("Add the expectation of a random ranking.", default=False)
    pool_seeds: common.PoolSeeds = False
    by: str | None = option(
        "Also show groups of queries, by another column.", default=None, metavar="KEY"
    )


def ranks(settings: Ranks) -> None:
    """Evaluate known-item search from the ranks of the gold items.

    Prints R@k, mean reciprocal rank, mean and median rank. A file without a `system` column is one
    system, named after the file.

    Examples:
        adducir literary-evidence ranks bm25.tsv dense.tsv --baseline bm25 --random
        adducir literary-evidence ranks ranks.jsonl.gz -b bm25 --by length --cutoffs 1,10,100
    """
    from adducir.evaluation.gold_ranks import CUTOFFS, read_ranks
    from adducir.evaluation.scores import by_system
    from adducir.tables.ranks import by_key, rank_table

    ranks_of_runs: dict[str, GoldRanks] = {}
    for path in settings.files:
        add_figures(ranks_of_runs, read_ranks(path, common.stem(path)), path)
    pooled = (
        by_system(ranks_of_runs)
        if settings.pool_seeds
        else {name: [name] for name in ranks_of_runs}
    )
    systems: Systems = {
        name: {run: ranks_of_runs[run] for run in runs} for name, runs in pooled.items()
    }
    table = rank_table(
        by_key(systems, settings.by) if settings.by else {"": systems},
        cutoffs=settings.cutoffs or CUTOFFS,
        ties=settings.ties,
        random=settings.random,
        testing=settings.testing(),
        layout=settings.layout(ranks=digests(settings.files)),
    )
    settings.print(table)


COMMANDS = (quotations, statistics, retrieve, ranks, ask, proxy_make, proxy_score)
