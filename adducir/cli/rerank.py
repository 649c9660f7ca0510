"""``adducir rerank``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from adducir.cli import options
from adducir.cli.effects import without
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import option
from adducir.cli.shards import ShardOptions
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from adducir.core.progress import Progress
    from adducir.rerankers.registry import Reranker
    from adducir.rerankers.rerank import Reranked
    from adducir.rerankers.texts import Texts
    from adducir.runs.run import Run


def rerank(
    run: Annotated[Path, option("The run with the candidates.", "-r", metavar="RUN"), SOURCE],
    topics: Annotated[str, option("The topics that were searched; as for search.", "-t"), SOURCE],
    model: Annotated[
        str,
        option(
            "A recipe (rerankers/NAME.yaml), the folder of a trained model, or a pretrained "
            "model by folder or Hub name, its kind before it where need be: maxsim:minilm.",
            "-m",
            metavar="MODEL",
        ),
    ],
    output: options.RunOutput,
    index: Annotated[
        Path | None, option("The index that holds the texts.", "-i", metavar="FOLDER")
    ] = None,
    corpus: Annotated[
        str | None, option("The corpus with the texts, without an index.", "-c", metavar="SOURCE")
    ] = None,
    depth: Annotated[int, option("Documents a topic that are put in a new order.", min=1)] = 100,
    topic_field: Annotated[
        str | None, option("Topic field used as the query.", shown="as for search")
    ] = None,
    fields: Annotated[
        list[str] | None,
        option(
            "The documents' fields to read, with commas or repeated.",
            shown="the recipe's, or those indexed",
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        option("Where scores are kept.", metavar="FOLDER", shown="rerankers/.scores of the study"),
        without("no_cache"),
    ] = None,
    no_cache: Annotated[bool, option("Neither look for known scores nor keep them.")] = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
    tag: options.Tag = None,
    *,
    shards: ShardOptions,
) -> None:
    """Rerank the top documents of a run with a neural model.

    Documents below the depth keep their order, below. Scores are kept by model, query text and
    document text: a deeper rerank computes only what is new. Work that was killed resumes.
    """
    if (index is None) == (corpus is None):
        raise UsageError("give one of --index and --corpus, which the texts come from.")

    from adducir.cli.console import near, open_progress
    from adducir.core.chunks import Chunking, scratch_for
    from adducir.core.paths import study_folder
    from adducir.corpora.topics import load_topics
    from adducir.models.machine import using_threads
    from adducir.rerankers.registry import open_reranker
    from adducir.rerankers.rerank import rerank as rerank_run
    from adducir.runs.read import read_run
    from adducir.runs.write import write_run

    kept = None if no_cache else cache or study_folder(output) / "rerankers" / ".scores"
    candidates = read_run(run)
    reranker = open_reranker(model, device=device).in_batches(shards.batch_tokens)
    wanted = options.listed(fields) or list(reranker.fields)
    with (
        open_progress() as progress,
        using_threads(threads),
        scratch_for(output, shards.execution()) as scratch,
    ):
        queries = load_topics(topics, field=topic_field, progress=progress)
        texts = _texts(index, corpus, candidates.top(depth), wanted, scratch / "texts", progress)
        found = rerank_run(
            candidates,
            queries,
            texts,
            reranker,
            depth=depth,
            tag=options.tag_of(output, tag),
            cache=kept,
            threads=threads,
            chunking=Chunking(output, shards.execution()),
            progress=progress,
        )
        write_run(found.run, output, _metadata(run, found), topics=queries.qids)
        progress.note(_described(near(output), found, reranker))


def _texts(
    index: Path | None,
    corpus: str | None,
    run: "Run",
    fields: list[str],
    folder: Path,
    progress: "Progress",
) -> "Texts":
    """Where the documents' texts come from."""
    from adducir.rerankers.texts import StoredTexts, texts_of

    if index is not None:
        from adducir.indexes.engine import open_index

        opened = open_index(index)
        return StoredTexts(opened.documents, fields or opened.fields)
    from adducir.corpora.sources import open_corpus

    source = open_corpus(corpus or "", progress=progress)
    return texts_of(source, run.frame["docno"], fields, folder=folder, progress=progress)


def _metadata(run: Path, found: "Reranked") -> dict[str, Any]:
    """What to record beside the run; how its candidates were found is handed on."""
    from adducir.runs.metadata import metadata_for, read_metadata, reranked_method

    facts = read_metadata(run) if metadata_for(run).is_file() else {}
    data = facts.get("data")
    topics = (
        {key: data[key] for key in ("topics",) if key in data} if isinstance(data, dict) else {}
    )
    method = reranked_method(facts.get("method"), found.settings)
    return {"method": method} | ({"data": topics} if topics else {})


def _described(output: str, found: "Reranked", reranker: "Reranker") -> str:
    what = "windows" if reranker.is_listwise else "pairs"
    rate = found.computed / found.work_seconds if found.work_seconds else 0.0
    return (
        f"{output}: {len(found.run.qids):,} topics, {found.computed:,} {what} computed, "
        f"{found.cached:,} known, {found.work_seconds:.1f} s ({rate:,.0f} {what} a second); "
        f"score: {reranker.scale}"
    )
