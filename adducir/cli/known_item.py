"""``adducir known-item``: rank the candidates of masked contexts, and evaluate the ranks."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator

from adducir.cli import common
from adducir.cli.command import Writes, option, optional, repeatable
from adducir.cli.console import near, note
from adducir.cli.tabled import Tabled, digests
from adducir.core.errors import UsageError
from adducir.core.recipe import needs

if TYPE_CHECKING:
    from adducir.encoders.ranking import SpanTask
    from adducir.evaluation.gold_ranks import GoldRanks
    from adducir.experiments.known_item.system import LexicalPart
    from adducir.tables.ranks import Systems

DEFAULT_BM25 = 0.5, 0.9
"""k1 and b that RELiC's authors chose for contexts as queries."""


class RetrieveSettings(common.Computing):
    model: str = option(
        "An encoder, as for `adducir encode`, or `bm25:K1,B` (by default .5 and .9).", "-m"
    )
    output: Path = option(
        "The run to write; with --contexts a name ending in .json is a submission.",
        writes=Writes("file"),
    )
    spans: tuple[Path, ...] = repeatable("Masked spans, all of which are candidates; repeatable.")
    candidates: Annotated[tuple[Path, ...], needs("spans")] = repeatable(
        "With --spans: spans that are only candidates; repeatable."
    )
    contexts: common.Contexts = None
    key: Path | None = optional("Rank only the candidates of this proxy task's key.", shown="all")
    left: int | None = optional("Sentences left of the mask.", ge=0, shown="as it was trained")
    right: int | None = optional("Sentences right of the mask.", ge=0, shown="as it was trained")
    depth: int = option("Candidates to keep per context.", default=100, ge=1)
    precision: common.PrecisionOption = "float32"
    tag: common.Tag = None


def known_item_retrieve(settings: RetrieveSettings) -> None:
    """Rank the candidates of masked contexts with an encoder or BM25.

    Writes a run with the top candidates of each context, or a submission to a leaderboard with a
    hidden test set, such as RELiC's: the numbers of the 100 best passages for each quotation.
    Interrupted work resumes.

    Examples:
        adducir known-item retrieve -m encoders/x --spans test.jsonl.gz -o runs/x.trec.gz
        adducir known-item retrieve -m encoders/x --contexts relic test.json -o submission.json
        adducir known-item retrieve -m bm25 --contexts relic val.json -o runs/bm25.trec.gz
    """
    if (settings.contexts is None) == (not settings.spans):
        raise UsageError("give either --spans or --contexts.")

    from adducir.core.chunks import Chunking
    from adducir.encoders.kinds import encoder_source
    from adducir.encoders.ranking import CONTEXTS, DualVectors, SpanWork, best_of, run_tasks, scored
    from adducir.encoders.reading import ContextRecipe, Settings
    from adducir.models.machine import using_threads
    from adducir.runs.write import write_run

    output, depth, contexts = settings.output, settings.depth, settings.contexts
    reader = CONTEXTS.make(contexts[0]) if contexts is not None else None
    leaderboard = reader if output.suffix == ".json" else None
    if leaderboard is not None:
        if not leaderboard.submitted:
            raise UsageError("such contexts have no form of a submission: write a run.")
        if depth != leaderboard.submitted or settings.tag is not None:
            raise UsageError(
                f"a submission has {leaderboard.submitted} candidates per context and cannot have "
                "a tag."
            )
        if settings.key is not None:
            raise UsageError("a submission ranks all candidates: leave out --key.")
    tasks = partial(_tasks, settings)
    with using_threads(settings.threads), ExitStack() as stack:
        if (lexical := _lexical(settings.model)) is not None:
            if settings.key is not None:
                hint = "Rank all candidates: BM25 chooses the first that the key has."
                raise UsageError("BM25's scores depend on all candidates.", hint=hint)
            sides = ContextRecipe(left=settings.left, right=settings.right)
            ranked = lexical.best(tasks(), sides, depth, settings.threads)
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
            ranked = best_of(chunks, depth)
            about = {"name": settings.model, "precision": settings.precision}
        if contexts is not None and leaderboard is not None:
            count = leaderboard.submit(ranked, contexts[1], output)
        else:
            run = run_tasks(ranked, tag=common.tag_of(output, settings.tag))
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
        k1, b = map(float, parameters.split(",")) if colon else DEFAULT_BM25
        return LexicalPart(k1=k1, b=b)
    except ValueError:
        hint = "Write bm25, or bm25:K1,B such as bm25:0.5,0.9, with b from 0 to 1."
        raise UsageError(f"{model!r} does not state BM25's parameters.", hint=hint) from None


def _tasks(settings: RetrieveSettings) -> "Iterator[SpanTask]":
    """The tasks, reread; also in other processes."""
    from adducir.annotations.multiple_choice import read_key, tasks_of_key
    from adducir.corpora.spans import read_spans
    from adducir.encoders.ranking import CONTEXTS, task_among

    if settings.contexts is not None:
        kind, path = settings.contexts
        tasks = CONTEXTS.make(kind).hidden_tasks(path)
    else:
        some = [*read_spans(*settings.spans)]
        tasks = iter([task_among(some, chain(some, read_spans(*settings.candidates)))])
    yield from tasks_of_key([*tasks], read_key(settings.key)) if settings.key else tasks


class RanksSettings(Tabled):
    files: tuple[Path, ...] = option(
        "TSV or JSONL with qid, rank and candidates, and optionally system, tied and keys.",
        metavar="RANKS",
        argument=True,
    )
    cutoffs: Annotated[tuple[int, ...], BeforeValidator(common.items)] = repeatable(
        "The k of R@k, comma-separated or repeated.", shown="1,3,5,10,50,100"
    )
    ties: Literal["pessimistic", "expected"] = option(
        "Count candidates tied with the gold item as better, or take the exact mean over all "
        "orders.",
        default="pessimistic",
    )
    random: bool = option("Add the expectation of a random ranking.", default=False)
    pool_seeds: common.PoolSeeds = False
    by: str | None = optional("Also show groups of queries, by another column.", metavar="KEY")


def known_item_ranks(settings: RanksSettings) -> None:
    """Evaluate known-item search from the ranks of the gold items.

    Prints R@k, mean reciprocal rank, mean and median rank. A file without a `system` column is one
    system, named after the file.

    Examples:
        adducir known-item ranks bm25.tsv dense.tsv --baseline bm25 --random
        adducir known-item ranks ranks.jsonl.gz -b bm25 --by length --cutoffs 1,10,100
    """
    from adducir.evaluation.gold_ranks import CUTOFFS, read_ranks
    from adducir.evaluation.scores import by_system
    from adducir.tables.ranks import by_key, rank_table

    ranks_of_runs: dict[str, GoldRanks] = {}
    for path in settings.files:
        common.add_figures(ranks_of_runs, read_ranks(path, common.stem(path)), path)
    systems: Systems = {name: {name: ranks} for name, ranks in ranks_of_runs.items()}
    if settings.pool_seeds:
        pooled = by_system(ranks_of_runs).items()
        systems = {name: {run: ranks_of_runs[run] for run in runs} for name, runs in pooled}
    table = rank_table(
        by_key(systems, settings.by) if settings.by else {"": systems},
        cutoffs=settings.cutoffs or CUTOFFS,
        ties=settings.ties,
        random=settings.random,
        testing=settings.testing(),
        layout=settings.layout({"ranks": digests(settings.files)}),
    )
    settings.print(table)


class RougeSettings(Tabled):
    runs: tuple[Path, ...] = option(
        "Runs over masked spans, such as `adducir known-item retrieve` writes; each is a system.",
        metavar="RUN",
        argument=True,
    )
    spans: tuple[Path, ...] = option("The spans with their gold texts; can be repeated.")
    candidates: tuple[Path, ...] = repeatable("Spans that are candidates only; can be repeated.")
    depth: int = option("Add the best and the mean of this many candidates.", default=1, ge=1)
    stem: bool = option("Compare Porter stems.", default=False)
    without_gold: bool = option("Remove the gold candidate from the runs.", default=False)


def known_item_rouge(settings: RougeSettings) -> None:
    """Compare top-ranked candidates with the gold text by ROUGE-L.

    Spans missing from a run count 0 and are reported.

    Examples:
        adducir known-item rouge runs/egret.trec.gz runs/bm25.trec.gz --spans test.jsonl.gz
        adducir known-item rouge runs/egret.trec.gz --spans test.jsonl.gz --without-gold
    """
    from adducir.corpora.spans import read_spans
    from adducir.evaluation.rouge import rouge_of_run, stems_of, words_of
    from adducir.runs.read import read_run
    from adducir.statistics.comparison import compare
    from adducir.tables.build import build_table

    gold, others = [*read_spans(*settings.spans)], [*read_spans(*settings.candidates)]
    scores = [
        rouge_of_run(
            name,
            read_run(path),
            gold,
            others,
            depth=settings.depth,
            without_gold=settings.without_gold,
            words=stems_of if settings.stem else words_of,
        )
        for path, name in common.system_names(settings.runs).items()
    ]
    files = [*settings.runs, *settings.spans, *settings.candidates]
    layout = settings.layout({"files": digests(files)})
    settings.print(build_table(compare(scores, settings.testing()), layout))
