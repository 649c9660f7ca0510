"""Runs as sources of training examples: what to learn from, and a teacher's scores."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from adducir.core.errors import InputError
from adducir.core.progress import progress
from adducir.corpora.topics import Topics
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.runs.write import metadata_for, part_of, read_metadata


def run_of(path: Path, topics: Topics) -> Run:
    """A run of some of the topics."""
    run = read_run(path)
    if {*topics.qids}.isdisjoint(run.frame["qid"].unique()):
        message = "this run has none of the qids of `examples.topics`."
        raise InputError(message, path=path, hint="Name a run of the same topics.")
    return run


def teacher_scores(paths: Iterable[Path], topics: Topics) -> Mapping[str, Mapping[str, float]]:
    """A teacher's scores by qid and docno; the first run that has a document counts.

    What a reranked run has below the depth of reranking is not the reranker's.
    """
    scores: dict[str, dict[str, float]] = {}
    for path in paths:
        run = run_of(path, topics)
        facts = read_metadata(path) if metadata_for(path).is_file() else {}
        stages = part_of(facts, "method").get("reranking")
        depth = part_of(stages, len(stages) - 1).get("depth") if isinstance(stages, list) else None
        if isinstance(depth, int) and 0 < depth < run.depth:
            run = run.top(depth)
            progress().note(f"{path}: a teacher's scores are of the {depth:,} reranked documents")
        for qid, docno, score in run.frame.iter_rows():
            scores.setdefault(qid, {}).setdefault(docno, score)
    return scores
