"""Indexing through Adducir against Anserini's own IndexCollection: documents a second, memory.

The same documents, cut into eight files, and the same number of threads. Adducir reads and checks
them and keeps their texts beside the index. Its Lucene index has positions and document vectors:
Anserini is run with the same options, without and with stored raw text (pyserini's usual index).
Its memory index has document vectors and no positions: Anserini is run without both, and with
vectors. Each run is a process of its own; the JVM's start is not counted for either (but in the
processor time of all threads, which depends less on what else the machine does). The memory is the
most that the process, its JVM included, held at any moment (resident set). With --anserini the
peer is another jar of Anserini than pyserini's.

    python benchmarks/indexing.py [--engine lucene] [--documents 100000] [--length 200]
        [--text made-up] [--rounds 3] [--threads 2] [--anserini JAR]
"""

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from peers import in_turn, report, run_apart
from synthetic import TEXTS, write_jsonl

_ANSERINI = ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator"]
_POSITIONS, _VECTORS, _RAW = "-storePositions", "-storeDocvectors", "-storeRaw"
PEERS = {
    "lucene": {
        "Anserini": [_POSITIONS, _VECTORS],
        "Anserini, raw text stored": [_POSITIONS, _VECTORS, _RAW],
    },
    "memory": {"Anserini, no vectors": [], "Anserini": [_VECTORS]},
}
OURS = "Adducir"


def index(
    engine: str, peer: str, source: Path, target: Path, threads: int, anserini: Path | None
) -> float:
    """Build the index and return the seconds it took."""
    from adducir.corpora.sources import open_corpus
    from adducir.indexes import jvm
    from adducir.indexes.engines import build_index

    if anserini is not None and peer != OURS:
        jvm.anserini_jar = lambda: anserini
    jvm.start()
    started = time.perf_counter()
    if peer == OURS:
        build_index(open_corpus(source), target, engine=engine, threads=threads)
    else:
        options = ["-input", str(source), "-index", str(target), "-threads", str(threads)]
        options += PEERS[engine][peer]
        jvm.java_class("io.anserini.index.IndexCollection").main(_ANSERINI + options)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=sorted(PEERS), default="lucene")
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--length", type=int, default=200)
    parser.add_argument("--text", choices=TEXTS, default="made-up")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--anserini", type=Path)
    parser.add_argument("--peer")
    parser.add_argument("--source", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.peer:
            busy = time.process_time()
            target, rest = folder / "index", (options.threads, options.anserini)
            seconds = index(options.engine, options.peer, options.source, target, *rest)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
            # The JVM's log lines may share the terminal; the figures stand in the last line.
            busy = time.process_time() - busy
            rate = options.documents / seconds
            figures = {"rate": rate, "busy": options.documents / busy, "peak": peak}
            sys.stdout.flush()
            os.write(1, b"\n" + json.dumps(figures).encode() + b"\n")
            return
        source = folder / "documents"
        size = write_jsonl(source, options.documents, options.length, 8, options.text)
        print(f"{options.documents:,} documents, {size / 1e6:.0f} MB, {options.threads} threads")
        common = ["--source", str(source), "--documents", str(options.documents)]
        common += ["--threads", str(options.threads), "--engine", options.engine]
        if options.anserini:
            common += ["--anserini", str(options.anserini)]
        common.append("--peer")
        peers = {
            peer: partial(run_apart, __file__, *common, peer)
            for peer in (OURS, *PEERS[options.engine])
        }
        figures = in_turn(peers, options.rounds)
        report(figures, "rate", "documents/s", ours=OURS)
        report(figures, "busy", "documents a second of processor time", ours=OURS)
        report(figures, "peak", "MB at most", ours=OURS)
        shutil.rmtree(source)


if __name__ == "__main__":
    main()
