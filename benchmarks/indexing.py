"""Indexing through Adducir against Anserini's own IndexCollection: documents a second.

The same documents, cut into eight files, and the same number of threads. Adducir reads and checks
them, keeps their texts beside the index and writes positions and document vectors; Anserini is run
with the same options, without and with stored raw text (pyserini's usual index). Each run is a
process of its own; the JVM's start is not counted for either.

    python benchmarks/indexing.py [--documents 100000] [--length 200] [--rounds 3] [--threads 2]
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from peers import in_turn, report, run_apart
from synthetic import write_jsonl

_ANSERINI = ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator"]
_ANSERINI += ["-storePositions", "-storeDocvectors"]


def index(peer: str, source: Path, target: Path, threads: int) -> float:
    """Build the index and return the seconds it took."""
    from adducir.corpora.documents import open_corpus
    from adducir.indexes import build_index, jvm

    jvm.start()
    started = time.perf_counter()
    if peer == "adducir":
        build_index(open_corpus(source), target, threads=threads)
    else:
        options = ["-input", str(source), "-index", str(target), "-threads", str(threads)]
        options += ["-storeRaw"] if peer == "anserini-raw" else []
        jvm.java_class("io.anserini.index.IndexCollection").main(_ANSERINI + options)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--length", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peer")
    parser.add_argument("--source", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.peer:
            seconds = index(options.peer, options.source, folder / "index", options.threads)
            # The JVM's log lines may share the terminal; the figures stand in the last line.
            sys.stdout.flush()
            os.write(1, b"\n" + json.dumps({"rate": options.documents / seconds}).encode() + b"\n")
            return
        source = folder / "documents"
        size = write_jsonl(source, options.documents, options.length, files=8)
        print(f"{options.documents:,} documents, {size / 1e6:.0f} MB, {options.threads} threads")
        common = ["--source", str(source), "--documents", str(options.documents)]
        common += ["--threads", str(options.threads), "--peer"]
        peers = {
            peer: partial(run_apart, __file__, *common, peer)
            for peer in ("adducir", "anserini", "anserini-raw")
        }
        report(in_turn(peers, options.rounds), "rate", "documents/s", ours="adducir")
        shutil.rmtree(source)


if __name__ == "__main__":
    main()
