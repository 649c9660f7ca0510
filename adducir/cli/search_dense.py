"""``adducir search`` with a dense index."""

from pathlib import Path
from typing import NamedTuple

from adducir.cli import options


class Asked(NamedTuple):
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
    from adducir.study.products import MANIFEST, read_manifest

    return (index / MANIFEST).is_file() and read_manifest(index).kind == "dense-index"


def search_dense(asked: Asked) -> None:
    """Search a dense index for every topic and write the run."""
    from adducir.cli.console import open_progress
    from adducir.cli.search_notes import metadata, notes
    from adducir.corpora.topics import load_topics
    from adducir.indexes.dense.index import DenseIndex
    from adducir.indexes.dense.searching import search_topics_dense
    from adducir.runs.write import write_run

    with open_progress() as progress:
        queries = load_topics(asked.topics, field=asked.topic_field, progress=progress)
        found = search_topics_dense(
            DenseIndex(asked.folder),
            queries,
            tag=options.tag_of(asked.output, asked.tag),
            depth=asked.depth,
            threads=asked.threads,
        )
        write_run(found.run, asked.output, metadata(found, queries), topics=queries.qids)
        for line in notes(found, queries, asked.output):
            progress.note(line)
