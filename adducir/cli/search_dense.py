"""``adducir search`` with a dense index."""

from pathlib import Path
from typing import NamedTuple

from adducir.cli import options


class Request(NamedTuple):
    """What the user asked for; see the options of ``adducir search``."""

    folder: Path
    topics: str
    output: Path
    topic_field: str | None
    depth: int | None
    threads: int | None
    tag: str | None


def is_dense(index: Path) -> bool:
    """Whether a folder is a dense index."""
    from adducir.core.artifacts import MANIFEST, read_manifest

    return (index / MANIFEST).is_file() and read_manifest(index).kind == "dense-index"


def search_dense(request: Request) -> None:
    """Search a dense index for every topic and write the run."""
    from adducir.cli.console import open_progress
    from adducir.cli.search_notes import metadata, notes
    from adducir.corpora.topics import load_topics
    from adducir.indexes.dense.index import DenseIndex
    from adducir.indexes.dense.searching import search_topics_dense
    from adducir.runs.write import write_run

    with open_progress() as progress:
        queries = load_topics(request.topics, field=request.topic_field, progress=progress)
        found = search_topics_dense(
            DenseIndex(request.folder),
            queries,
            tag=options.tag_of(request.output, request.tag),
            depth=request.depth,
            threads=request.threads,
        )
        write_run(found.run, request.output, metadata(found, queries), topics=queries.qids)
        for line in notes(found, queries, request.output):
            progress.note(line)
