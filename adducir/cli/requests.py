"""``adducir requests``."""

from pathlib import Path

from adducir.cli import common
from adducir.cli.command import Writes, option
from adducir.cli.texts import TextSources
from adducir.corpora.reading import QueryReading
from adducir.runs.reading import RunReading


class RequestsOptions(TextSources, QueryReading, RunReading):
    run: Path = option("The run with the candidates.", argument=True)
    topics: common.Topics
    output: Path = option("The requests.", writes=Writes("file", (".jsonl",)))
    depth: int = option("Documents per topic.", default=100, ge=1)


def requests(settings: RequestsOptions) -> None:
    """Write a run's documents with their texts as rank_llm's requests.

    The file is a run, topics and a corpus at once: `adducir rerank` reads it as each.

    Examples:
        adducir requests runs/bm25.trec.gz -t bundled:topics -i indexes/arguments -o requests.jsonl
    """
    settings.check_source()

    from tempfile import TemporaryDirectory

    from adducir.cli.console import near, open_progress
    from adducir.core.files import writing_text
    from adducir.corpora.rank_llm import request_line
    from adducir.rerankers.rerank import questions_of

    with open_progress() as progress, TemporaryDirectory(prefix="adducir-") as scratch:
        run = settings.read_run(settings.run)
        best = run.top(settings.depth)
        questions = questions_of(run, best, settings.read_topics(settings.topics))
        texts = settings.texts(best.frame["docno"], Path(scratch))
        scores = iter(best.frame["score"].to_list())
        with writing_text(settings.output) as file:
            for qid, query, docnos in questions:
                rows = list(zip(docnos, scores, texts.get(docnos), strict=False))
                file.write(f"{request_line(qid, query, rows)}\n")
        progress.note(
            f"{near(settings.output)}: {len(questions):,} topics, {len(best):,} documents"
        )
