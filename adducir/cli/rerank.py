"""``adducir rerank``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adducir.cli import options
from adducir.cli.effects import without
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import option
from adducir.cli.shards import ShardOptions
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from adducir.rerankers.texts import Texts


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
        option(
            "Where scores are kept.",
            metavar="FOLDER",
            shown="rerankers/.scores of the study",
            rare=True,
        ),
        without("no_cache"),
    ] = None,
    no_cache: Annotated[
        bool, option("Neither look for known scores nor keep them.", rare=True)
    ] = False,
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
    from adducir.core.files import study_folder
    from adducir.corpora.sources import open_corpus
    from adducir.corpora.topics import load_topics
    from adducir.indexes.engines import open_index
    from adducir.models.machine import using_threads
    from adducir.rerankers.registry import open_reranker
    from adducir.rerankers.rerank import rerank as rerank_run
    from adducir.rerankers.texts import StoredTexts, texts_of
    from adducir.runs.metadata import metadata_for, part_of, read_metadata, reranked_method
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
        queries = load_topics(topics, field=topic_field)
        texts: Texts
        if index is not None:
            opened = open_index(index)
            texts = StoredTexts(opened.documents, wanted or opened.fields)
        else:
            docnos, folder = candidates.top(depth).frame["docno"], scratch / "texts"
            source = open_corpus(corpus or "")
            texts = texts_of(source, docnos, wanted, folder=folder)
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
        )
        facts = read_metadata(run) if metadata_for(run).is_file() else {}
        metadata = {"method": reranked_method(part_of(facts, "method"), found.settings)}
        if "topics" in part_of(facts, "data"):
            metadata["data"] = {"topics": facts["data"]["topics"]}
        write_run(found.run, output, metadata, topics=queries.qids)
        what = "windows" if reranker.is_listwise else "pairs"
        rate = found.computed / found.work_seconds if found.work_seconds else 0.0
        progress.note(
            f"{near(output)}: {len(found.run.qids):,} topics, {found.computed:,} {what} computed, "
            f"{found.cached:,} known, {found.work_seconds:.1f} s ({rate:,.0f} {what} a second); "
            f"score: {reranker.scale}"
        )
