"""Indexing and searching against Anserini and pyserini, on the same documents and threads.

``index``: documents a second and memory, against Anserini's IndexCollection. Adducir reads and
checks the documents, which are cut into eight files, and keeps their texts beside the index. Its
Lucene index has positions and document vectors: Anserini is run with the same options, without and
with stored raw text (pyserini's usual index). Its memory index has document vectors and no
positions: Anserini is run without both, and with vectors. The JVM's start is not counted for either
(but in the processor time of all threads, which depends less on what else the machine does), and
our memory index does not need one. The memory is the most that the process, its JVM included, held
at any moment (resident set). With --anserini the peer is another jar of Anserini than pyserini's.

``search``: hits a second to depth 1,000 into a run file, against pyserini's ``batch_search`` on its
usual index and its own run writer. The order of the documents is compared line by line.

    python benchmarks/lucene.py index [--engine lucene] [--documents 100000] [--length 200]
        [--text made-up] [--rounds 3] [--threads 2] [--anserini JAR]
    python benchmarks/lucene.py search [--documents 100000] [--queries 500] [--rounds 5]
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from peers import in_turn, report, run_apart
from synthetic import TEXTS, queries, write_jsonl

_ANSERINI = ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator"]
_POSITIONS, _VECTORS, _RAW = "-storePositions", "-storeDocvectors", "-storeRaw"
OURS, RAW, DEPTH = "Adducir", "Anserini, raw text stored", 1000
PEERS = {
    "lucene": {"Anserini": [_POSITIONS, _VECTORS], RAW: [_POSITIONS, _VECTORS, _RAW]},
    "memory": {"Anserini, no vectors": [], "Anserini": [_VECTORS]},
}


def index(peer: str, source: Path, target: Path, options: argparse.Namespace) -> float:
    """Build the index and return the seconds it took."""
    from adducir.corpora.sources import open_corpus
    from adducir.indexes import jvm
    from adducir.indexes.kinds import INDEXES
    from adducir.models.running import Running

    if options.anserini is not None and peer != OURS:
        jvm.anserini_jar = lambda: options.anserini
    engine, threads = options.engine, options.threads
    if peer != OURS or engine == "lucene":
        jvm.start()
    started = time.perf_counter()
    if peer == OURS:
        settings = INDEXES.make(engine)
        settings.build(open_corpus(source), target, Running(threads=threads))
    else:
        places = ["-input", str(source), "-index", str(target), "-threads", str(threads)]
        program = jvm.java_class("io.anserini.index.IndexCollection")
        program.main(_ANSERINI + places + PEERS[engine][peer])
    return time.perf_counter() - started


def search_adducir(index: Path, texts: list[str], run: Path, threads: int) -> float:
    """Search and write with Adducir; returns the seconds."""
    from adducir.corpora.topics import Topics
    from adducir.indexes.lucene import LuceneIndex
    from adducir.indexes.search import search_topics
    from adducir.indexes.search_settings import SearchSettings
    from adducir.models.running import Running
    from adducir.runs.write import write_run

    opened = LuceneIndex(index)
    topics = Topics([str(i) for i in range(len(texts))], texts, source="synthetic")
    started = time.perf_counter()
    found = search_topics(
        opened, topics, SearchSettings(depth=DEPTH), running=Running(threads=threads)
    )
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


def alone(options: argparse.Namespace) -> dict[str, float]:
    """The figures of one peer, in a process of its own."""
    folder, peer = options.folder, options.peer
    if options.what == "search":
        search = search_adducir if peer == OURS else search_pyserini
        run = folder / f"{peer}.trec"
        seconds = search(folder / peer, queries(options.queries, 5), run, options.threads)
        return {"rate": sum(1 for _ in run.open()) / seconds}
    with tempfile.TemporaryDirectory() as place:
        busy = time.process_time()
        seconds = index(peer, folder / "documents", Path(place) / "index", options)
        busy = time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return {"rate": options.documents / seconds, "busy": options.documents / busy, "peak": peak}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["index", "search"])
    parser.add_argument("--engine", choices=sorted(PEERS), default="lucene")
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--length", type=int, default=200)
    parser.add_argument("--text", choices=TEXTS, default="made-up")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--anserini", type=Path)
    parser.add_argument("--peer")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.peer:
        figures = json.dumps(alone(options)).encode()
        sys.stdout.flush()
        os.write(1, b"\n" + figures + b"\n")  # the JVM's log lines may share the terminal
        return
    with tempfile.TemporaryDirectory() as name:
        folder, threads = Path(name), options.threads
        source = folder / "documents"
        size = write_jsonl(source, options.documents, options.length, 8, options.text)
        print(f"{options.documents:,} documents, {size / 1e6:.0f} MB, {threads} threads")
        names = [OURS, *PEERS[options.engine]] if options.what == "index" else [OURS, RAW]
        if options.what == "search":
            for peer in names:
                index(peer, source, folder / peer, options)
        common = [*sys.argv[1:], "--folder", name, "--peer"]
        peers = {peer: partial(run_apart, __file__, *common, peer) for peer in names}
        figures = in_turn(peers, options.rounds)
        if options.what == "search":
            report(figures, "rate", "hits/s", ours=OURS)
            print(agreement(*(folder / f"{peer}.trec" for peer in names)))
        else:
            report(figures, "rate", "documents/s", ours=OURS)
            report(figures, "busy", "documents a second of processor time", ours=OURS)
            report(figures, "peak", "MB at most", ours=OURS)


if __name__ == "__main__":
    main()
