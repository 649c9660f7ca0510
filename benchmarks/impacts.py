"""Exact search of token weights by the memory engine against five peers.

Documents are vectors that ``adducir encode --sparse`` wrote of real passages, recombined to any
number: each has half of the tokens of one passage and half of another's. Weights are quantised to
bytes. Queries are from ``encode --sparse --topics``; "10" takes their 10 heaviest tokens, "30-60"
the queries with as many, both quantised to bytes ("integers"), or as they are ("reals", which PISA
and BMP cannot score exactly). Every peer has one thread and an index of its own kind; hits of exact
peers must have our scores before any time is reported, Seismic's recall of our hits is printed
beside its time. Times are processor time per query until a system has its own kind of result; a
system's first query is the clock's, after opening. PISA is the fastest of its algorithms. Peers
that are not installed are left out, and Lucene if ANSERINI_JAR does not name a jar of Anserini 2:

    python benchmarks/impacts.py DOCUMENTS.jsonl.gz QUERIES.jsonl.gz [--passages 100000]
        [--queries 200] [--depths 10 1000] [--rounds 3] [--peers-python .peers/bin/python]
        [--systems adducir splade-index pisa bmp seismic lucene] [--folder FOLDER]
"""

import argparse
import gzip
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from peers import in_turn, report, run_apart

Vectors = list[dict[str, float]]
Search = Callable[[Vectors], Any]
"""Queries to what a system returns, which is timed."""
Split = Callable[[Any], tuple[Any, Any]]
"""That to docnos and scores, a row or list per query."""
PEERS = {"splade-index": "splade_index", "pisa": "pyterrier_pisa", "bmp": "bmp"}
PEERS |= {"seismic": "seismic", "lucene": "jnius"}
KINDS = ("10 integers", "10 reals", "30-60 integers", "30-60 reals")
_HALF = 0.45  # of the tokens dropped, so that unions are about as long as passages


def read(path: Path) -> Iterator[dict[str, float]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["vector"]


def prepare(options: argparse.Namespace, folder: Path) -> None:
    """Write the documents (a matrix and JSON lines), their tokens and the queries."""
    tokens: dict[str, int] = {}
    vectors = list(read(options.documents))
    ids = [tokens.setdefault(token, len(tokens)) for vector in vectors for token in vector]
    weights = np.array([weight for vector in vectors for weight in vector.values()])
    starts = np.cumsum([0, *map(len, vectors)])
    real = sp.csr_matrix((weights, ids, starts), shape=(len(vectors), len(tokens)))
    draw, parts = np.random.default_rng(5), []
    for first in range(0, options.passages, 20_000):
        halves = []
        for _ in range(2):
            size = min(20_000, options.passages - first)
            half = real[draw.integers(0, len(vectors), size)].copy()
            half.data[draw.random(len(half.data)) < _HALF] = 0
            halves.append(half)
        part = halves[0].maximum(halves[1]).tocsr()
        part.eliminate_zeros()
        parts.append(part)
    matrix = sp.vstack(parts).tocsr()
    matrix.data = np.ceil(matrix.data * (255 / weights.max())).astype(np.uint8)
    sp.save_npz(folder / "matrix.npz", matrix, compressed=False)
    names = list(tokens)
    (folder / "tokens.json").write_text(json.dumps(names))
    asked = [
        {t: w for t, w in vector.items() if t in tokens} for vector in read(options.queries_of)
    ]
    largest = max(weight for vector in asked for weight in vector.values())
    queries: dict[str, Vectors] = {}
    for kind in KINDS:
        chosen = [v for v in asked if (30 <= len(v) <= 60 if kind[0] == "3" else len(v) >= 10)]
        if not chosen:
            print(f"{kind}: no query has so many tokens")
            continue
        if kind[0] == "1":
            chosen = [dict(sorted(v.items(), key=lambda pair: -pair[1])[:10]) for v in chosen]
        if "integers" in kind:
            scale = 255 / largest
            chosen = [{t: float(np.ceil(w * scale)) for t, w in v.items()} for v in chosen]
        queries[kind] = chosen[: options.queries]
    (folder / "queries.json").write_text(json.dumps(queries))


def read_tokens(folder: Path) -> list[str]:
    return json.loads((folder / "tokens.json").read_text())


def vectors(folder: Path) -> Iterator[tuple[str, dict[str, int]]]:
    """Docnos, and their tokens with weights."""
    matrix, names = sp.load_npz(folder / "matrix.npz"), read_tokens(folder)
    for row in range(matrix.shape[0]):
        part = slice(*matrix.indptr[row : row + 2])
        named = map(names.__getitem__, matrix.indices[part].tolist())
        yield f"d{row:08}", dict(zip(named, matrix.data[part].tolist(), strict=True))


def adducir(folder: Path, depth: int) -> tuple[Search, Split]:
    from adducir.corpora.documents import Document
    from adducir.indexes.engines import open_index
    from adducir.indexes.memory.build import Arrived
    from adducir.indexes.memory.impacts import IMPACT_FILES
    from adducir.indexes.models import Impact
    from adducir.indexes.settings import TokenWeightSettings

    matrix, names = sp.load_npz(folder / "matrix.npz"), read_tokens(folder)
    docnos = [f"d{row:08}" for row in range(matrix.shape[0])]

    class Passages:
        default_fields, source = ("text",), "matrix"

        def __iter__(self) -> Iterator[Document]:
            return (Document(docno, {"text": ""}) for docno in docnos)

        def size_hint(self) -> int:
            return len(docnos)

        def identity(self) -> dict[str, Any]:
            return {"documents": len(docnos)}

    def take(arrived: Any, *_: Any) -> None:
        starts, ids = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
        arrived._add(docnos, starts, ids, matrix.data)
        arrived._names = names

    path = folder / "adducir"
    if not path.exists():
        Arrived.take_weights = take  # no JSON lines between, of a million passages
        (weights := folder / "weights.jsonl").touch()
        TokenWeightSettings(weights=weights).build(Passages(), path)
    index = open_index(path)
    size = sum((path / name).stat().st_size for name in IMPACT_FILES.values())
    print(f"{size / matrix.nnz:.2f} bytes a posting", file=sys.stderr)

    def split(hits: Any) -> tuple[Any, Any]:
        ends = np.cumsum(hits.counts)
        parts = [slice(end - count, end) for end, count in zip(ends, hits.counts, strict=True)]
        return [hits.docnos[part] for part in parts], [hits.scores[part] for part in parts]

    return lambda queries: index.search(queries, Impact(), depth=depth, threads=1), split


def splade_index(folder: Path, depth: int) -> tuple[Search, Split]:
    from splade_index.numba.retrieve_utils import _retrieve_numba_functional

    matrix = sp.load_npz(folder / "matrix.npz").tocsc()
    names = read_tokens(folder)
    numbers = {token: number for number, token in enumerate(names)}
    data, indices = matrix.data.astype(np.float32), matrix.indices.astype(np.int32)
    scores = {"data": data, "indices": indices, "indptr": matrix.indptr.astype(np.int32)}
    scores["num_docs"] = matrix.shape[0]
    docnos = np.array([f"d{row:08}" for row in range(matrix.shape[0])])

    def search(queries: Vectors) -> tuple[Any, Any]:
        ids = [np.array([numbers[token] for token in query]) for query in queries]
        weights = [np.array(list(query.values())) for query in queries]
        found = _retrieve_numba_functional(ids, weights, scores, k=depth, show_progress=False)
        return docnos[found[0]], found[1]

    return search, tuple


def write_pisa(folder: Path) -> None:
    """PISA's postings, in a second instead of its package's minutes."""
    from pyterrier_pisa import _pisathon

    matrix, names = sp.load_npz(folder / "matrix.npz"), read_tokens(folder)
    postings, out = matrix.tocsc(), folder / "pisa"
    postings.sort_indices()
    counts = np.diff(postings.indptr)
    terms = sorted(np.flatnonzero(counts).tolist(), key=lambda term: names[term].encode())
    out.mkdir()
    (out / "fwd.documents").write_text("".join(f"d{n:08}\n" for n in range(matrix.shape[0])))
    (out / "fwd.terms").write_text("".join(f"{names[term]}\n" for term in terms))
    sums = np.asarray(matrix.sum(axis=1, dtype=np.uint32)).ravel()
    np.concatenate([[len(sums)], sums]).astype(np.uint32).tofile(out / "inv.sizes")
    with (out / "inv.docs").open("wb") as docs, (out / "inv.freqs").open("wb") as weights:
        docs.write(np.array([1, len(sums)], dtype=np.uint32).tobytes())
        for term in terms:
            part, size = slice(*postings.indptr[term : term + 2]), counts[term : term + 1]
            docs.write(np.concatenate([size, postings.indices[part]]).astype(np.uint32).tobytes())
            weights.write(np.concatenate([size, postings.data[part]]).astype(np.uint32).tobytes())
    for name, lexicon in (("documents", "doclex"), ("terms", "termlex")):
        _pisathon.build_binlex(str(out / f"fwd.{name}"), str(out / f"fwd.{lexicon}"))
    about = {"type": "sparse_index", "format": "pisa", "package_hint": "pyterrier-pisa"}
    (out / "pt_meta.json").write_text(json.dumps(about | {"stemmer": "none"}))


def pisa(folder: Path, depth: int) -> tuple[Search, Split]:
    import pandas as pd
    from pyterrier_pisa import PisaIndex

    if not (folder / "pisa").exists():
        write_pisa(folder)
    index = PisaIndex(str(folder / "pisa"), stemmer="none", stops="none", threads=1)

    def searching(algorithm: str) -> Search:
        settings = {"threads": 1, "toks_scale": 1.0, "query_algorithm": algorithm}
        retrieve = index.quantized(num_results=depth, **settings)

        def search(queries: Vectors) -> Any:
            qids = [str(number) for number in range(len(queries))]
            return retrieve(pd.DataFrame({"qid": qids, "query_toks": queries}))

        return search

    def split(found: Any) -> tuple[Any, Any]:
        ends = np.cumsum(found.groupby("qid", sort=False).size().to_numpy())[:-1]
        docnos, scores = found["docno"].to_numpy(), found["score"].to_numpy()
        return np.split(docnos, ends), np.split(scores, ends)

    kinds = json.loads((folder / "queries.json").read_text())
    algorithms = ("maxscore", "block_max_maxscore", "block_max_wand")
    some = kinds[KINDS[2]][:20]
    return min(map(searching, algorithms), key=lambda search: seconds(search, some)), split


def bmp(folder: Path, depth: int) -> tuple[Search, Split]:
    from bmp import Indexer, Searcher

    path = folder / "bmp"
    if not path.exists():
        indexer = Indexer(str(path), bsize=32, compress_range=False)
        for docno, vector in vectors(folder):
            indexer.add_document(docno, vector)
        indexer.finish()
    searcher = Searcher(str(path))

    def search(queries: Vectors) -> tuple[Any, Any]:
        found = [searcher.search(query, k=depth, alpha=1.0, beta=1.0) for query in queries]
        return [docnos for docnos, _ in found], [scores for _, scores in found]

    return search, tuple


def seismic(folder: Path, depth: int) -> tuple[Search, Split]:
    """The fastest of some settings whose recall of the matrix product's best is .95."""
    from seismic import SeismicDataset, SeismicIndex, get_seismic_string

    names = read_tokens(folder)
    matrix = sp.load_npz(folder / "matrix.npz").astype(np.float32)
    kind, dataset, text = get_seismic_string(), SeismicDataset(), np.array(names)
    for row in range(matrix.shape[0]):
        part = slice(*matrix.indptr[row : row + 2])
        words = text[matrix.indices[part]].astype(kind)
        dataset.add_document(f"d{row:08}", words, matrix.data[part])
    index = SeismicIndex.build_from_dataset(dataset, n_postings=3500, num_threads=1)

    def searching(cut: int, factor: float) -> Search:
        def search(queries: Vectors) -> tuple[Any, Any]:
            found = []
            for query in queries:
                words, weights = np.array(list(query), dtype=kind), np.array(list(query.values()))
                values = weights.astype(np.float32)
                found.append(index.search("q", words, values, depth, cut, factor))
            return [[hit[2] for hit in hits] for hits in found], [
                [hit[1] for hit in hits] for hits in found
            ]

        return search

    some = json.loads((folder / "queries.json").read_text())[KINDS[3]][:50]
    numbers = {token: number for number, token in enumerate(names)}
    best = []
    for query in some:
        scores = matrix[:, [numbers[token] for token in query]] @ np.array(list(query.values()))
        best.append({f"d{row:08}" for row in np.argsort(-scores, kind="stable")[:depth]})
    settings = [(cut, factor) for cut in (5, 10, 20, 40) for factor in (0.9, 0.8, 0.7)]
    fit = []
    for setting in settings:
        docnos, _ = searching(*setting)(some)
        recall = np.mean(
            [len(b.intersection(d)) / len(b) for b, d in zip(best, docnos, strict=True)]
        )
        if recall >= 0.95:
            fit.append((seconds(searching(*setting), some), setting))
    return searching(*min(fit)[1] if fit else settings[-1]), tuple


def lucene(folder: Path, depth: int) -> tuple[Search, Split]:
    """Lucene's impact-ordered search as Anserini sets it up, in one segment; gives ``TopDocs``."""
    import jnius_config

    jnius_config.set_classpath(os.environ["ANSERINI_JAR"])
    from jnius import autoclass

    path, source = folder / "lucene", folder / "lucene-source"
    if not path.exists():
        source.mkdir()
        with (source / "weights.jsonl").open("w") as file:
            for docno, vector in vectors(folder):
                file.write(json.dumps({"id": docno, "contents": "", "vector": vector}) + "\n")
        options = ["-collection", "JsonVectorCollection", "-input", str(source), "-threads", "1"]
        options += ["-generator", "DefaultLuceneDocumentGenerator", "-index", str(path)]
        options += ["-impact", "-pretokenized", "-memoryBuffer", "1900", "-optimize"]
        autoclass("io.anserini.index.IndexCollection").main(options)
    directory = autoclass("org.apache.lucene.store.FSDirectory")
    directory = directory.open(autoclass("java.nio.file.Paths").get(str(path)))
    reader = autoclass("org.apache.lucene.index.DirectoryReader").open(directory)
    signature = "(Lorg/apache/lucene/index/IndexReader;)V"
    searcher = autoclass("org.apache.lucene.search.IndexSearcher")(reader, signature=signature)
    searcher.setSimilarity(autoclass("io.anserini.search.similarity.ImpactSimilarity")())
    searcher.setQueryCache(None)
    term_class, query_class = "org.apache.lucene.index.Term", "org.apache.lucene.search.TermQuery"
    term, of_term = autoclass(term_class), autoclass(query_class)
    boosted = autoclass("org.apache.lucene.search.BoostQuery")
    builder = autoclass("org.apache.lucene.search.BooleanQuery$Builder")
    should = autoclass("org.apache.lucene.search.BooleanClause$Occur").SHOULD
    parsed = {}

    def parse(vector: dict[str, float]) -> Any:
        query = builder()
        for token, weight in vector.items():
            of_token = of_term(
                term("contents", token), signature=f"(L{term_class};)V".replace(".", "/")
            )
            query.add(boosted(of_token, weight), should)
        return query.build()

    def search(queries: Vectors) -> Any:
        return [searcher.search(parsed[id(query)][1], depth) for query in queries]

    def split(found: Any) -> tuple[Any, Any]:
        hits = [top.scoreDocs for top in found]
        return [[hit.doc for hit in some] for some in hits], [
            [h.score for h in some] for some in hits
        ]

    def asked(queries: Vectors) -> Any:
        for query in queries:
            if id(query) not in parsed:
                parsed[id(query)] = query, parse(query)
        return search(queries)

    kinds = json.loads((folder / "queries.json").read_text())
    for _ in range(3):  # the compiler of the JVM takes its time
        for queries in kinds.values():
            asked(queries)
    return asked, split


SYSTEMS = {"adducir": adducir, "splade-index": splade_index, "pisa": pisa, "bmp": bmp}
SYSTEMS |= {"seismic": seismic, "lucene": lucene}


def seconds(search: Search, queries: Vectors) -> float:
    search(queries[:3])
    started = time.process_time()
    search(queries)
    return time.process_time() - started


def measure(system: str, folder: Path, depth: int) -> dict[str, float]:
    search, split = SYSTEMS[system](folder, depth)
    kinds, figures = json.loads((folder / "queries.json").read_text()), {}
    started = time.perf_counter()
    search(kinds[KINDS[0]][:1])
    figures["first"] = 1e6 * (time.perf_counter() - started)
    for kind, queries in kinds.items():
        if system in ("pisa", "bmp") and "reals" in kind:
            continue
        docnos, scores = split(search(queries))
        rows = [
            [list(map(str, d)), list(map(float, s))] for d, s in zip(docnos, scores, strict=True)
        ]
        (folder / f"{system}.{kind}.{depth}.json").write_text(json.dumps(rows))
        figures[kind] = 1e6 * min(seconds(search, queries) for _ in range(3)) / len(queries)
    return figures


def compare(system: str, folder: Path, depth: int, kind: str) -> str:
    """What is equal to ours: all scores, or how many hits."""
    ours, theirs = (
        json.loads((folder / f"{name}.{kind}.{depth}.json").read_text())
        for name in ("adducir", system)
    )
    is_same, recalls = True, []
    for (docnos, scores), (others, values) in zip(ours, theirs, strict=True):
        values = sorted(values, reverse=True)[: len(scores)]
        is_same = is_same and len(values) == len(scores) and np.allclose(scores, values, rtol=1e-5)
        recalls.append(len(set(docnos).intersection(others)) / max(1, len(docnos)))
    return "same scores" if is_same else f"recall {np.mean(recalls):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("documents", type=Path, nargs="?")
    parser.add_argument("queries_of", type=Path, nargs="?")
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--depths", type=int, nargs="+", default=[10, 1000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--peers-python", default=sys.executable)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--peer")
    options = parser.parse_args()
    if options.peer:
        print("\n" + json.dumps(measure(options.peer, options.folder, options.depths[0])))
        return
    from memory_search import installed

    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        folder.mkdir(exist_ok=True)
        if not (folder / "queries.json").exists():
            prepare(options, folder)
        systems = []
        for system in options.systems:
            has_jar = system != "lucene" or "ANSERINI_JAR" in os.environ
            if system == "adducir" or (has_jar and installed(options.peers_python, PEERS[system])):
                systems.append(system)
            else:
                print(f"{system} is not installed")
        for depth in options.depths:
            runs = {}
            for system in systems:
                python = sys.executable if system == "adducir" else options.peers_python
                arguments = ["--peer", system, "--folder", str(folder), "--depths", str(depth)]
                runs[system] = partial(run_apart, __file__, *arguments, python=python)
            figures = in_turn(runs, options.rounds)
            for figure in ("first", *KINDS):
                held = {name: values for name, values in figures.items() if figure in values}
                print(f"\ndepth {depth}, {figure}")
                report(held, figure, "us a query", ours="adducir")
                for system in held if figure != "first" else ():
                    print(f"{system:28}{compare(system, folder, depth, figure)}")


if __name__ == "__main__":
    main()
