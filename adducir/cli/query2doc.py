"""``adducir query2doc``."""

from pathlib import Path

from adducir.cli import common
from adducir.cli.command import Writes, option
from adducir.cli.common import LLM, Asking
from adducir.corpora.reading import QueryReading


class Query2docOptions(Asking, QueryReading):
    topics: common.Topics
    llm: str = option(LLM)
    output: Path = option("The expanded topics.", writes=Writes("file", (".tsv",)))
    dense: bool = option(
        "For vectors: the query once, [SEP], and the passage; otherwise the query repeated.",
        default=False,
    )
    repeats: int = option("How often the query stands before the passage.", default=5, ge=1)
    prompt: str = option("The bundled prompt, or a file.", "-p", default="query2doc")
    failures: float = option(
        "The share of queries that may stay unexpanded.", default=0.01, ge=0, le=1
    )
    allow_code: common.AllowCode = False


def query2doc(settings: Query2docOptions) -> None:
    """Expand queries by passages that a language model writes.

    The queries are sent to the server that the model's file names; answers are kept.

    Examples:
        adducir query2doc -t bundled:topics -l llm/qwen.yaml -o topics.query2doc.tsv
    """
    from adducir.cli.console import near, open_progress
    from adducir.core.files import publishing, writing_text
    from adducir.judges.llm import open_llm
    from adducir.judges.prompting import QueryPrompt, open_prompt
    from adducir.judges.query2doc import Expansion
    from adducir.runs.write import metadata_for, metadata_text

    prompt = open_prompt(settings.prompt, QueryPrompt)
    form = settings.model_dump(include={"repeats", "failures"})
    expansion = Expansion(open_llm(settings.llm), prompt, is_dense=settings.dense, **form)
    with open_progress() as progress:
        topics = settings.read_topics(settings.topics)
        asked = settings.asked(expansion.model, [expansion.talk(topics)], settings.output)
        if asked is None:
            return
        expanded = expansion.expanded(topics, *asked)
        with publishing(metadata_for(settings.output)) as hidden:
            hidden.write_text(metadata_text({"query2doc": expanded.facts}), encoding="utf-8")
        with writing_text(settings.output) as file:
            for qid, query in zip(topics.qids, expanded.topics.queries, strict=True):
                file.write(f"{qid}\t{query}\n")
        written = sum(map(bool, expanded.passages))
        progress.note(f"{near(settings.output)}: {written:,} of {len(topics):,} queries expanded")
