"""``adducir proxy make``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adducir.cli import options
from adducir.cli.effects import with_any, without
from adducir.cli.outputs import SOURCE, Writes
from adducir.cli.parameters import option
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from adducir.core.progress import Progress
    from adducir.evaluation.proxy.tasks import Question


TASK = Writes("file", (".csv", ".jsonl"))
KEY = Writes("file", (".csv",))


def proxy_make(
    run: Annotated[Path, option("The run whose best other candidates are offered: BM25's, say.")],
    corpus: Annotated[str, option("The candidates: file, folder or ir_datasets id.", "-c"), SOURCE],
    output: Annotated[Path, option("What judges get: a .csv or .jsonl file.", "-o"), TASK],
    key: Annotated[Path, option("Where the answers go: a .csv file."), KEY],
    topics: Annotated[
        str | None,
        option("The contexts, as topics; they need --qrels.", "-t"),
        without("spans"),
        SOURCE,
    ] = None,
    qrels: Annotated[
        list[str] | None,
        option("The gold items: one relevant document per topic.", "-q"),
        SOURCE,
        without("spans"),
    ] = None,
    spans: Annotated[
        Path | None, option("Masked spans, which name their gold items, instead of topics."), SOURCE
    ] = None,
    others: Annotated[
        int, option("Distractors beside the gold item.", "--num-distractors", min=1)
    ] = 2,
    sample: Annotated[int | None, option("Items to take at random.", min=1, shown="all")] = None,
    seed: Annotated[int, option("Seed of the order and of the sample.", min=0)] = 0,
    topic_field: Annotated[
        str | None, option("The field of the contexts."), with_any("topics")
    ] = None,
    group_field: Annotated[
        str | None,
        option("A field of the topics to break the results down by later."),
        with_any("topics"),
    ] = None,
    fields: Annotated[
        list[str] | None,
        option(
            "Fields of the candidates to show, with commas or repeated.", shown="the corpus's texts"
        ),
    ] = None,
) -> None:
    """Make a multiple-choice task for human judges: the gold item among distractors.

    The judges' file shows neither docnos nor the gold item; the key file does. Both bear the same
    mark, so that choices are never scored by another key.
    """
    from adducir.cli.console import note, open_progress
    from adducir.corpora.sources import open_corpus
    from adducir.evaluation.proxy.files import check_task_name, write_key, write_task
    from adducir.evaluation.proxy.loading import ranking_of, texts_of
    from adducir.evaluation.proxy.tasks import make_task
    from adducir.runs.read import read_run

    check_task_name(output)
    ranking = ranking_of(read_run(run))
    with open_progress() as progress:
        questions = _questions(topics, qrels, spans, topic_field, group_field, progress)
        documents = open_corpus(corpus, progress=progress)
        texts = texts_of(documents, questions, ranking, options.listed(fields))
    task = make_task(questions, ranking, texts, others=others, seed=seed, sample=sample)
    write_key(task, key)
    write_task(task, output)
    note(f"{output}: {len(task.items):,} items with {others + 1} candidates each; key in {key}")
    for reason, count in task.left_out.items():
        note(f"left out, {reason}: {count:,}")


def _questions(
    topics: str | None,
    qrels: list[str] | None,
    spans: Path | None,
    topic_field: str | None,
    group_field: str | None,
    progress: "Progress",
) -> "list[Question]":
    from adducir.corpora.qrels import load_qrels
    from adducir.corpora.topics import load_topics
    from adducir.evaluation.proxy.loading import questions_of_spans, questions_of_topics

    if spans is not None:
        return questions_of_spans(spans)
    if not topics or not qrels:
        raise UsageError("the contexts are missing.", hint="Give --topics and --qrels, or --spans.")
    groups = load_topics(topics, field=group_field) if group_field else None
    contexts = load_topics(topics, field=topic_field, progress=progress)
    return questions_of_topics(contexts, load_qrels(qrels, progress=progress), groups)
