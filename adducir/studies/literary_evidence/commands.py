"""``adducir literary-evidence``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from adducir.cli import evaluate_options as opts
from adducir.cli import options
from adducir.cli.effects import where, with_any
from adducir.cli.outputs import JSON_IN_PARTS, LINES_IN_PARTS, SOURCE, Writes
from adducir.cli.parameters import argument, option
from adducir.cli.shards import ShardOptions
from adducir.cli.shares import part_path, shares_of
from adducir.core.errors import UsageError
from adducir.studies.literary_evidence.ask import ask
from adducir.studies.literary_evidence.judging import proxy_make, proxy_score
from adducir.studies.options import Shares, numbers_of

if TYPE_CHECKING:
    from adducir.encoders.ranking import SpanTask
    from adducir.evaluation.gold_ranks import GoldRanks
    from adducir.studies.literary_evidence.builder import Built

RELIC = where("rules", "relic")


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers of the rules; None for those that the rules themselves say."""

    words: Annotated[
        int, option("Words of the book in a quotation; relic: of a sought sentence.")
    ] = 10
    context: Annotated[int, option("Sentences of criticism on each side.")] = 4
    max_sentences: Annotated[
        int, option("Sentences of a quotation, at most.", max=5, rare=True)
    ] = 5
    parts: Annotated[
        int | None,
        option("strict: windows of a longer one.", shown="3", rare=True),
        where("rules", "strict"),
    ] = None
    min_matches: Annotated[
        int, option("Matches of a book that a work has, at least.", rare=True)
    ] = 3
    max_matches: Annotated[
        int | None,
        option(
            "Matches of a book that a work has, at most.",
            shown="half of its sentences; relic: 500",
            rare=True,
        ),
    ] = None
    echo: Annotated[
        int | None,
        option(
            "Words in a row that the context must not repeat; relic: characters.",
            shown="8; relic: 25",
            rare=True,
        ),
    ] = None
    min_similarity: Annotated[
        float | None, option("relic: QRatio that makes a match.", shown="80", rare=True), RELIC
    ] = None
    run: Annotated[
        int | None, option("relic: characters in a row by which a block grows.", shown="15"), RELIC
    ] = None


def quotations(
    primary: Annotated[
        list[Path],
        option("Books: text files or folders of them; repeatable.", metavar="BOOKS"),
        SOURCE,
    ],
    secondary: Annotated[
        list[Path], option("Works that quote the books, likewise.", metavar="CRITICISM")
    ],
    output: Annotated[Path, option("RELiC's JSON, such as relic.json.", "-o"), JSON_IN_PARTS],
    spans: Annotated[
        Path | None, option("The windows as masked spans, such as X.jsonl.gz."), LINES_IN_PARTS
    ] = None,
    shares: Shares = None,
    seed: Annotated[
        int,
        option("Decides which book goes to which part, and the sample."),
        with_any("shares", "sample"),
    ] = 0,
    sample: Annotated[int, option("Print so many windows, for reading.", min=0)] = 0,
    rules: Annotated[
        Literal["strict", "relic"], option("strict: words in a row; relic: alike sentences.")
    ] = "strict",
    *,
    numbers: Numbers,
) -> None:
    """Find quotations from books in literary criticism.

    What the criticism has of a book's words becomes a masked quotation with the critic's sentences
    around it. Prints the counts of each book, and what was dropped and why.

    Examples:
        adducir literary-evidence quotations --primary novels --secondary works -o relic.json
        adducir literary-evidence quotations --primary novels --secondary works -o x.json --sample 9
    """
    wanted = shares_of(shares)

    from adducir.cli.console import columns, note, open_progress, show
    from adducir.corpora.relic import write_relic
    from adducir.corpora.spans import write_spans
    from adducir.studies.literary_evidence.construction import (
        construct,
        relic_of,
        spans_of,
        split_relic,
    )
    from adducir.studies.literary_evidence.report import REASONS, as_rows
    from adducir.studies.literary_evidence.rules import rules_of

    chosen = rules_of(rules, options.given(**vars(numbers)))
    with open_progress():
        built = construct(primary, secondary, chosen)
    rows = as_rows(built.report.books)
    lines = columns(rows)
    lines += [f"{reason}: {REASONS[reason]}" for reason in REASONS if reason in rows[0]]
    refused = built.report.refused.items()
    lines += [f"{name} was not searched: {REASONS[why]}" for name, why in refused]
    show("\n".join(lines))
    books = relic_of(built)
    for name, part in ({"": books} if wanted is None else split_relic(books, wanted, seed)).items():
        path = part_path(output, name)
        note(f"wrote {path}: {write_relic(part, path):,} quotations")
        if spans is not None:
            path = part_path(spans, name)
            own = (span for span in spans_of(built) if span.group in part)
            note(f"wrote {path}: {write_spans(own, path):,} quotations")
    if sample:
        show(_sample(built, sample, seed))


def _sample(built: "Built", count: int, seed: int) -> str:
    """Windows drawn by chance, in their order, each as a paragraph for reading."""
    import numpy as np

    sentences = {book.name: book.sentences for book in built.books}
    total = len(built.windows)
    drawn = np.random.default_rng(seed).choice(total, min(count, total), replace=False)
    texts: list[str] = []
    for number in sorted(drawn.tolist()):
        one = built.windows[number]
        passage = sentences[one.book][one.start : one.start + one.length]
        texts.append(
            f"\n{number:06}  {one.book}, sentence {one.start}, in {one.work}\n"
            f"  before: {' '.join(one.left)}\n"
            f"  critic: {one.quoted}\n"
            f"  book:   {' | '.join(passage)}\n"
            f"  after:  {' '.join(one.right)}"
        )
    return "\n".join(texts)


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

    Examples:
        adducir literary-evidence retrieve -m encoders/x --spans test.jsonl.gz -o runs/x.trec.gz
        adducir literary-evidence retrieve -m encoders/x --relic test.json -o submission.json
    """
    if (relic is None) == (not spans):
        raise UsageError("give one of --spans and --relic.")

    from adducir.cli.console import near, note, open_progress
    from adducir.core.chunks import Chunking
    from adducir.corpora.relic import read_relic
    from adducir.encoders.ranking import relic_rankings, run_tasks
    from adducir.encoders.reading import Settings
    from adducir.encoders.sources import encoder_source
    from adducir.encoders.span_vectors import DualVectors, SpanWork, scored
    from adducir.models.machine import using_threads
    from adducir.runs.write import write_run
    from adducir.studies.literary_evidence.submission import DEPTH, write_submission

    submits = relic is not None and output.suffix == ".json"
    if submits and (depth != DEPTH or tag is not None):
        raise UsageError(f"a submission has {DEPTH} candidates of each, and no tag.")
    source = encoder_source(model)
    context = (source.settings or Settings()).context
    read = {"context": context.model_copy(update=options.given(left=left, right=right))}
    work = SpanWork(
        vectors=DualVectors(source, read, precision),
        tasks=partial(_tasks, tuple(spans or ()), tuple(candidates or ()), relic),
        device=device,
        threads=threads,
        tokens=shards.batch_tokens,
    )
    chunking = Chunking(output, shards.execution())
    with open_progress(), using_threads(threads), scored(work, chunking) as ranked:
        if relic is not None and submits:
            count = write_submission(relic_rankings(ranked, depth), read_relic(relic), output)
        else:
            run = run_tasks(ranked, depth, tag=options.tag_of(output, tag))
            about = {"name": model, "precision": precision, "depth": depth}
            write_run(run, output, {"method": {"retrieval": [about]}})
            count = len(run.qids)
    note(f"{near(output)}: the best {depth} candidates of {count:,} contexts")


def _tasks(
    spans: Sequence[Path], candidates: Sequence[Path], relic: Path | None
) -> "Iterator[SpanTask]":
    """The tasks, read anew; in other processes, too."""
    from adducir.core.names import TextFile
    from adducir.corpora.spans import read_spans
    from adducir.encoders.ranking import book_tasks, task_among

    if relic is not None:
        from adducir.corpora.relic import read_relic

        yield from book_tasks(read_relic(relic), hidden=True)
        return
    some = [span for path in spans for span in read_spans(path)]
    more = (span for path in candidates for span in read_spans(path))
    yield task_among(some, chain(some, more), TextFile)


def ranks(
    files: Annotated[
        list[Path],
        argument(
            "TSV or JSONL with qid, rank and candidates, and perhaps system, tied and keys.",
            "RANKS",
        ),
        SOURCE,
    ],
    cutoffs: Annotated[
        list[str] | None, option("The k of R@k, with commas or repeated.", shown="1,3,5,10,50,100")
    ] = None,
    ties: Annotated[
        Literal["pessimistic", "expected"],
        option(
            "Count candidates that tie with the gold item as "
            "better, or take the exact mean over "
            "all orders."
        ),
    ] = "pessimistic",
    random: Annotated[bool, option("Add the expectation of a random ranking.")] = False,
    pool_seeds: Annotated[
        bool,
        option(
            "Take systems whose names differ only in seed1, seed2, ... for runs of one system.",
            panel=opts.TESTING,
            rare=True,
        ),
    ] = False,
    by: Annotated[
        str | None, option("Show groups of queries by a further column.", metavar="KEY")
    ] = None,
    *,
    testing: opts.Testing,
    printing: opts.Printing,
) -> None:
    """Evaluate known-item search from the ranks of the gold items.

    R@k, mean reciprocal rank, mean and median rank. A file without a column system is of one
    system, named after the file.

    Examples:
        adducir literary-evidence ranks bm25.tsv dense.tsv --baseline bm25 --random
        adducir literary-evidence ranks ranks.jsonl.gz -b bm25 --by length --cutoffs 1,10,100
    """
    from adducir.cli.names import stem
    from adducir.evaluation.gold_ranks import CUTOFFS
    from adducir.evaluation.rank_files import read_ranks
    from adducir.evaluation.seeds import by_system
    from adducir.tables.ranks import rank_table

    found: dict[str, GoldRanks] = {}
    for path in files:
        for name, one in read_ranks(path, stem(path)).items():
            if name in found:
                raise UsageError(
                    f"{path} holds ranks of {name}, as a file before it.",
                    hint="Give every system a name of its own.",
                )
            found[name] = one
    table = rank_table(
        by_system(found) if pool_seeds else found,
        by=by,
        cutoffs=numbers_of(cutoffs) or CUTOFFS,
        ties=ties,
        random=random,
        testing=testing.arguments(),
        layout=printing.layout(testing, ranks=opts.digests(files)),
    )
    printing.show(table)


COMMANDS = (quotations, retrieve, ranks, ask, proxy_make, proxy_score)
