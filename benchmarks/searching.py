"""Searching to depth 1,000 into a run file: hits a second, against pyserini's batch_search.

pyserini searches its usual index (raw text stored, as its documentation builds it) and writes the
run with its own writer; Adducir searches its index of the same documents and writes its run. Both
use the same number of threads. The order of the documents is compared line by line.

    python benchmarks/searching.py [--documents 100000] [--queries 500] [--rounds 5] [--threads 2]
"""

import argparse
import json
import os
import tempfile
import time
from functools import partial
from pathlib import Path

import indexing
from peers import in_turn, report, run_apart
from synthetic import queries, write_jsonl

DEPTH = 1000


def search_adducir(index: Path, texts: list[str], run: Path, threads: int) -> float:
    """Search and write with Adducir; returns the seconds."""
    from adducir.corpora.topics import Topics
    from adducir.indexes.lucene import LuceneIndex
    from adducir.indexes.models import BM25
    from adducir.indexes.search import search_topics
    from adducir.runs.write import write_run

    opened = LuceneIndex(index)
    topics = Topics([str(i) for i in range(len(texts))], texts, source="synthetic")
    started = time.perf_counter()
    found = search_topics(opened, topics, BM25(), tag="x", depth=DEPTH, threads=threads)
    write_run(found.run, run)
    return time.perf_counter() - started


def search_pyserini(index: Path, texts: list[str], run: Path, threads: int) -> float:
    """Search and write with pyserini; returns the seconds."""
    from adducir.indexes import jvm

    jvm.start()
    os.environ.setdefault("OPENAI_API_KEY", "none")  # pyserini 1.6 fails to import without one
    from pyserini.output_writer import OutputFormat, get_output_writer
    from pyserini.search.lucene import LuceneSearcher

    searcher = LuceneSearcher(str(index))
    searcher.set_bm25(0.9, 0.4)
    qids = [str(i) for i in range(len(texts))]
    started = time.perf_counter()
    hits = searcher.batch_search(texts, qids, k=DEPTH, threads=threads)
    with get_output_writer(str(run), OutputFormat("trec"), "w", max_hits=DEPTH, tag="x") as writer:
        for qid in qids:
            writer.write(qid, hits[qid])
    return time.perf_counter() - started


def agreement(ours: Path, theirs: Path) -> str:
    """How many lines name the same document."""
    with ours.open() as mine, theirs.open() as other:
        pairs = [(a.split()[:3], b.split()[:3]) for a, b in zip(mine, other, strict=True)]
    same = sum(a == b for a, b in pairs)
    return f"{same:,} of {len(pairs):,} positions hold the same document"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peer")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    texts = queries(options.queries, 5)
    if options.peer:
        search = search_adducir if options.peer == "adducir" else search_pyserini
        run = options.folder / f"{options.peer}.trec"
        seconds = search(options.folder / options.peer, texts, run, options.threads)
        print()
        print(json.dumps({"rate": sum(1 for _ in run.open()) / seconds}))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_jsonl(folder / "documents", options.documents, 200, files=8)
        built = ((indexing.OURS, "adducir"), ("Anserini, raw text stored", "pyserini"))
        for peer, target in built:
            source = folder / "documents"
            indexing.index("lucene", peer, source, folder / target, options.threads)
        common = ["--folder", str(folder), "--queries", str(options.queries)]
        common += ["--threads", str(options.threads), "--peer"]
        peers = {p: partial(run_apart, __file__, *common, p) for p in ("adducir", "pyserini")}
        report(in_turn(peers, options.rounds), "rate", "hits/s", ours="adducir")
        print(agreement(folder / "adducir.trec", folder / "pyserini.trec"))


if __name__ == "__main__":
    main()
