"""``adducir search`` with a dense index."""

from pathlib import Path

from adducir.cli import options


def is_dense(index: Path) -> bool:
    """Whether a folder is a dense index."""
    from adducir.core.artifacts import MANIFEST, read_manifest

    return (index / MANIFEST).is_file() and read_manifest(index).kind == "dense-index"


def search_dense(
    index: Path,
    topics: str,
    output: Path,
    topic_field: str | None,
    depth: int | None,
    threads: int | None,
    tag: str | None,
    encoder: str | None,
) -> None:
    """Search a dense index for every topic and write the run."""
    from adducir.cli.console import open_progress
    from adducir.cli.search_notes import metadata, notes
    from adducir.corpora.topics import load_topics
    from adducir.indexes.dense.index import DenseIndex
    from adducir.indexes.dense.searching import search_topics_dense
    from adducir.runs.write import write_run

    with open_progress() as progress:
        queries = load_topics(topics, field=topic_field, progress=progress)
        found = search_topics_dense(
            DenseIndex(index, encoder=encoder),
            queries,
            tag=options.tag_of(output, tag),
            depth=depth,
            threads=threads,
        )
        write_run(found.run, output, metadata(found, queries), topics=queries.qids)
        for line in notes(found, queries, output):
            progress.note(line)
