"""``adducir rerank`` and ``adducir requests``."""

from dataclasses import replace
from pathlib import Path

from adducir.cli import common
from adducir.cli.command import option, optional
from adducir.cli.console import near, note, shown_rate
from adducir.cli.texts import TextSources
from adducir.core.errors import UsageError, worded
from adducir.core.texts import counted
from adducir.corpora.reading import CorpusReading, QueryReading
from adducir.runs.kinds import RerankSettings
from adducir.runs.reading import RunReading


class RerankOptions(
    common.Asking,
    common.Computing,
    CorpusReading,
    TextSources,
    RunReading,
    QueryReading,
    RerankSettings,
):
    run: Path = option("The run with the candidates.", "-r", metavar="RUN")
    topics: common.Topics
    output: common.RunOutput
    tag: common.Tag = None
    costs: Path | None = optional(
        "What a language model took per topic (requests, tokens, seconds, cost), for `compare`.",
        rare=True,
        flag=True,
        writes=common.LINES,
    )
    allow_code: common.AllowCode = False


def rerank(settings: RerankOptions) -> None:
    """Rerank the top documents of a run with a neural model, or by asking a language model.

    Documents below the depth follow in their old order. Killed work resumes. A language model's
    answers are kept; queries and texts are sent to the server that its file names.

    Examples:
        adducir rerank -r runs/bm25.trec.gz -t bundled:topics -i indexes/arguments \
            -m maxsim:minilm -o runs/reranked.trec.gz
    """
    settings.check_source()

    from adducir.core.chunks import Chunking
    from adducir.core.files import is_stream, scratch_folder
    from adducir.judges.files import write_lines
    from adducir.judges.prompting import refuse_empty_queries
    from adducir.rerankers.asked import AskedReranker
    from adducir.rerankers.recipe import open_reranker
    from adducir.rerankers.rerank import questions_of, reranked_part
    from adducir.rerankers.rerank import rerank as rerank_run
    from adducir.runs.write import facts_at, part_of, remade, reranked_method, write_run
    from adducir.training.leaks import note_seen

    output, execution = settings.output, settings.execution()
    # A cluster's nodes see files beside the output.
    is_here = execution.is_local or is_stream(output)
    with scratch_folder(None if is_here else output.absolute().parent) as scratch:
        candidates = settings.read_run(settings.run)
        reranker = open_reranker(settings.reranker, running=settings.running())
        reranker.check()
        topics = settings.read_topics(settings.topics)
        note_seen(reranker.source.folder, topics)
        best = reranked_part(candidates, settings.depth, settings.fold)
        texts = settings.texts(best.frame["docno"], scratch, reranker.fields)
        if isinstance(reranker, AskedReranker):
            reranker = replace(reranker, answering=settings.answering())
        elif asking := sorted({"cache", "costs", "dry_run", "offline"} & settings.model_fields_set):
            raise UsageError(f"{worded(asking[0])} has no effect: {reranker.name} asks nobody.")
        if settings.dry_run and isinstance(reranker, AskedReranker):
            rows = questions_of(candidates, best, topics)
            refuse_empty_queries({qid: query for qid, query, _ in rows})
            questions = [(query, texts.get(docnos)) for _, query, docnos in rows]
            note(reranker.plan(questions, output))
            return
        reranked = rerank_run(
            candidates,
            topics,
            texts,
            reranker,
            depth=settings.depth,
            fold=settings.fold,
            tag=common.tag_of(output, settings.tag),
            chunking=Chunking(output, execution),
        )
        facts = facts_at(settings.run)
        stage = {**reranked.settings, "candidates": {"file": str(settings.run)}}
        metadata = remade(facts, reranked_method(part_of(facts, "method"), stage))
        write_run(reranked.run, output, metadata, topics=topics.qids)
        if settings.costs is not None:
            write_lines(reranked.costs, settings.costs)
        rate = shown_rate(reranked.pairs, reranked.work_seconds)
        note(
            f"{near(output)}: {counted(len(reranked.run.qids), 'topic')}, "
            f"{counted(reranked.pairs, 'pair')}, "
            f"{reranked.work_seconds:.1f} s ({rate} pairs/s); score: {reranker.scale}"
        )


class RequestsOptions(TextSources, QueryReading, RunReading):
    run: Path = option("The run with the candidates.", argument=True)
    topics: common.Topics
    output: Path = option("The requests.", writes=common.JSONL)
    depth: int = option("Documents per topic.", default=100, ge=1)


def requests(settings: RequestsOptions) -> None:
    """Write a run's documents with their texts as rank_llm's requests.

    The file is a run, topics and a corpus at once: `adducir rerank` reads it as each.

    Examples:
        adducir requests runs/bm25.trec.gz -t bundled:topics -i indexes/arguments -o requests.jsonl
    """
    settings.check_source()

    from adducir.core.files import scratch_folder, writing_text
    from adducir.corpora.rank_llm import request_line
    from adducir.rerankers.rerank import questions_of

    with scratch_folder() as scratch:
        run = settings.read_run(settings.run)
        best = run.top(settings.depth)
        questions = questions_of(run, best, settings.read_topics(settings.topics))
        texts = settings.texts(best.frame["docno"], scratch)
        scores = iter(best.frame["score"].to_list())
        with writing_text(settings.output) as file:
            for qid, query, docnos in questions:
                rows = list(zip(docnos, scores, texts.get(docnos), strict=False))
                file.write(f"{request_line(qid, query, rows)}\n")
        note(f"{near(settings.output)}: {len(questions):,} topics, {len(best):,} documents")
