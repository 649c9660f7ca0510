"""English text to term ids: our compiled analysis against Lucene's, called from Java in bulk.

Both get the same blocks of a megabyte and return every term's number; Lucene's is what memory
indexes were built with before, and what every other language still has. All terms must be the
same. Processor time of all threads, the start of the JVM and compilation not counted.

    python benchmarks/analysis.py [--documents 100000] [--text real] [--stemmer porter] [--rounds 3]
"""

import argparse
import json
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from peers import in_turn, report
from synthetic import TEXTS, write_jsonl

from adducir.indexes import jvm
from adducir.indexes.analysis import Analysis
from adducir.indexes.building import packed
from adducir.indexes.vocabulary import BulkAnalyser, bulk_analyser

OURS, LUCENE = "Adducir", "Lucene, in bulk from Java"


def numbered(analyser: BulkAnalyser, blocks: list[tuple[int, bytes]]) -> list[np.ndarray]:
    return [analyser.tokens(count, block)[0] for count, block in blocks]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--text", choices=TEXTS, default="real")
    parser.add_argument("--stemmer", choices=["porter", "none"], default="porter")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "documents"
        write_jsonl(source, options.documents, 200, 1, options.text)
        with next(source.iterdir()).open(encoding="utf-8") as lines:
            texts = [json.loads(line)["contents"] for line in lines]
    pairs = (("", text.encode()) for text in texts)
    blocks = [(len(some), block) for some, block in packed(pairs, with_docnos=False)]
    jvm.start()
    analyses = {
        name: Analysis(options.stemmer, by_lucene=name == LUCENE) for name in (OURS, LUCENE)
    }
    terms = {}
    for name, analysis in analyses.items():  # which also compiles
        analyser = bulk_analyser(analysis)
        ids = np.concatenate(numbered(analyser, blocks))
        terms[name] = np.array(analyser.terms())[ids]
    if not np.array_equal(terms[OURS], terms[LUCENE]):
        raise SystemExit("terms differ: no times")
    count = len(terms[OURS])
    print(f"{len(texts):,} texts, {sum(map(len, texts)) / 1e6:.0f} MB, {count:,} equal terms")

    def timed(analysis: Analysis) -> dict[str, float]:
        analyser, began = bulk_analyser(analysis), time.process_time()
        numbered(analyser, blocks)
        return {"rate": count / (time.process_time() - began) / 1e6}

    peers = {name: partial(timed, analysis) for name, analysis in analyses.items()}
    report(in_turn(peers, options.rounds), "rate", "million terms/s of processor time", OURS)


if __name__ == "__main__":
    main()
