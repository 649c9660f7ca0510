"""Tuning BM25 with RM3 over a grid of 90 settings by the memory engine, against Anserini.

100 topics of five words over made-up documents with made-up judgements; fb_terms 4 to 14, fb_docs
4 to 8 (each in steps of 2), the query's weight 0.2 to 1 (in steps of 0.2): the grid of
experiments/touche-lexical.yaml. Timed is all of ``tune``: each setting is searched to depth 1,000
and evaluated for every topic. Loading the index is timed too; building it is not. Anserini, called
as pyserini calls it and without stored text, searches for two of the settings and does nothing
else; its time for 90 is extrapolated.

    python benchmarks/memory_grid.py [--documents 300000] [--topics 100] [--rounds 3] [--threads 2]
        [--folder FOLDER]
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import indexing
import numpy as np
import polars as pl
from peers import in_turn, report, run_apart
from synthetic import queries, write_jsonl

GRID = {
    "fb_terms": [4, 6, 8, 10, 12, 14],
    "fb_docs": [4, 6, 8],
    "original_query_weight": [0.2, 0.4, 0.6, 0.8, 1.0],
}
SETTINGS = 90
PART = [(4, 4, 0.2), (14, 8, 0.8)]


def tune_ours(index: Path, texts: list[str], documents: int, threads: int) -> float:
    """Seconds for the whole grid."""
    from adducir.corpora.qrels import Qrels
    from adducir.corpora.topics import Topics
    from adducir.experiments.retrieval.search import Search
    from adducir.experiments.tuning.design import Grid, JudgedTopics, Pool, k_fold
    from adducir.experiments.tuning.tune import tune
    from adducir.indexes.engines import open_index

    qids = [str(number) for number in range(len(texts))]
    rng = np.random.default_rng(5)
    judged = [f"D{n:08d}" for n in rng.integers(0, documents, 100 * len(qids))]
    frame = pl.DataFrame({"qid": np.repeat(qids, 100), "docno": judged}).unique()
    frame = frame.with_columns(grade=pl.lit(1, dtype=pl.Int64))
    qrels = Qrels(frame, "made up")
    pool = Pool.of([JudgedTopics("topics", Topics(qids, texts, source="made up"), qrels)])
    started = time.perf_counter()
    system = Search.model_validate({"index": "index", "rm3": {}})
    grid = Grid.of(GRID, system.hyperparameters)
    tunable = system.tunable(open_index(index), 1000, threads)
    tuning = tune(tunable, grid, pool, k_fold(pool, 2), "nDCG@5")
    seconds = time.perf_counter() - started
    if len(tuning.grid) != SETTINGS:
        raise SystemExit(f"{len(tuning.grid)} settings, not {SETTINGS}")
    return seconds


def search_anserini(index: Path, texts: list[str], threads: int) -> float:
    """Seconds for the whole grid, extrapolated from a part."""
    from adducir.indexes import jvm

    jvm.start()
    os.environ.setdefault("OPENAI_API_KEY", "none")  # pyserini 1.6 fails to import without one
    from pyserini.search.lucene import LuceneSearcher

    searcher = LuceneSearcher(str(index))
    searcher.set_bm25(0.9, 0.4)
    qids = [str(number) for number in range(len(texts))]
    searcher.batch_search(texts[:10], qids[:10], k=1000, threads=threads)
    started = time.perf_counter()
    for terms, docs, weight in PART:
        searcher.set_rm3(terms, docs, weight)
        searcher.batch_search(texts, qids, k=1000, threads=threads)
    return (time.perf_counter() - started) / len(PART) * SETTINGS


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=300_000)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--peer")
    options = parser.parse_args(arguments)
    texts = queries(options.topics, 5)
    if options.peer:
        if options.peer == indexing.OURS:
            index = options.folder / "memory"
            seconds = tune_ours(index, texts, options.documents, options.threads)
        else:
            seconds = search_anserini(options.folder / "anserini", texts, options.threads)
        print("\n" + json.dumps({"seconds": seconds, "speed": 1 / seconds}))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        if not (folder / "documents").exists():
            write_jsonl(folder / "documents", options.documents, 200, files=8)
        for peer, target in ((indexing.OURS, "memory"), ("Anserini", "anserini")):
            if not (folder / target).exists():
                source = folder / "documents"
                indexing.index("memory", peer, source, folder / target, options.threads)
        common = ["--folder", str(folder), "--topics", str(options.topics)]
        common += ["--threads", str(options.threads), "--documents", str(options.documents)]
        peers = {
            peer: partial(run_apart, __file__, *common, "--peer", peer)
            for peer in (indexing.OURS, "Anserini")
        }
        figures = in_turn(peers, options.rounds)
        print(f"{SETTINGS} settings, {options.topics} topics, {options.documents:,} documents")
        report(figures, "seconds", "s (Anserini's extrapolated)", ours=indexing.OURS)
        report(figures, "speed", "grids a second", ours=indexing.OURS)


if __name__ == "__main__":
    main()
