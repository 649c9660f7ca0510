"""Ways of evidence sets, reranking and dense indexes, which ``streaming_memory.py`` measures.

``selection``: ``adducir complementary-evidence select --model bm25`` for so many questions of
twenty passages. ``sets``: a
study of one such system. ``reranking``: ``adducir rerank`` of a run of so many topics, ten
documents each, by a tiny BERT; the documents stay the same ones. ``flat``: so many vectors of 384
numbers are put into a dense index.
"""

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from span_studies import Work, apart, command, write_base
from synthetic import documents

PASSAGES, DOCUMENTS, DEPTH, SHARD = 20, 1000, 10, 2000


def write_some_questions(path: Path, count: int, name: str = "q") -> None:
    """Made-up questions, each with passages of 60 words of which two are right; few other words."""
    texts = list(documents(DOCUMENTS + PASSAGES, 60, different=3000))
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            some = texts[number % DOCUMENTS :][:PASSAGES]
            question = f"{name} {number}: {some[3][1][:60]}"
            passages = [
                {"id": f"{number}-{docno}", "title": docno, "text": text} for docno, text in some
            ]
            record = {"id": f"{name}{number}", "question": question, "passages": passages}
            file.write(json.dumps(record | {"gold": [[number % 7, 7 + number % 5]]}) + "\n")


def selection(folder: Path, count: int, part: int | None) -> Work:
    """Select the sets of so many questions."""
    del part
    apart(write_some_questions, folder / "some.jsonl", count)
    apart(write_some_questions, folder / "few.jsonl", 64)
    words = (
        "complementary-evidence",
        "select",
        "--model",
        "bm25",
        "--set",
        "analysis=split",
        "--threads",
        "1",
        "--questions",
    )
    command(folder, *words, "few.jsonl", "-o", "few.sets.jsonl")

    def work() -> bytes:
        command(folder, *words, "some.jsonl", "-o", "sets.jsonl")
        return (folder / "sets.jsonl").read_bytes()

    return work


def sets(folder: Path, count: int, part: int | None) -> Work:
    """Select and measure the sets of so many questions, by an experiment file."""
    del part
    apart(write_some_questions, folder / "some.jsonl", count)
    apart(write_some_questions, folder / "few.jsonl", 64)
    apart(write_some_questions, folder / "learnt.jsonl", 1, "l")
    for name in ("few", "some"):
        (folder / f"study-{name}.yaml").write_text(
            f"task: evidence-sets\ndata: {{X: [{{train: learnt.jsonl, test: {name}.jsonl}}]}}\n"
            "systems: {S: {selector: bm25, analysis: split}}\n",
            encoding="utf-8",
        )
    command(folder, "experiment", "study-few.yaml", "--threads", "1")

    def work() -> bytes:
        command(folder, "experiment", "study-some.yaml", "--threads", "1")
        (found,) = (folder / "runs" / "study-some").rglob("chosen.jsonl")
        return found.read_bytes()

    return work


def write_run(folder: Path, name: str, count: int) -> None:
    """So many topics, and a run of ten documents each."""
    texts = [text for _, text in documents(DOCUMENTS, 60, different=3000)]
    names = (f"{name}.tsv", f"{name}.run")
    topics, run = ((folder / one).open("w", encoding="utf-8") for one in names)
    with topics, run:
        for number in range(count):
            topics.write(f"t{number}\t{texts[number % DOCUMENTS][:40]} {number}\n")
            for rank in range(DEPTH):
                docno = f"D{(number + rank) % DOCUMENTS:08d}"
                run.write(f"t{number} Q0 {docno} {rank + 1} {DEPTH - rank} x\n")


def write_corpus(path: Path) -> None:
    """The documents that are put in a new order."""
    with path.open("w", encoding="utf-8") as file:
        for docno, text in documents(DOCUMENTS, 60, different=3000):
            file.write(json.dumps({"docno": docno, "text": text}) + "\n")


def reranking(folder: Path, count: int, part: int | None) -> Work:
    """Rerank a run of so many topics."""
    del part
    write_base(folder, 16)
    apart(write_corpus, folder / "corpus.jsonl")
    for name, size in (("few", 100), ("some", count)):
        apart(write_run, folder, name, size)
    words = (
        "rerank",
        "--model",
        "maxsim:base",
        "--corpus",
        "corpus.jsonl",
        "--set",
        "no_cache=true",
    )

    def work(name: str = "some") -> bytes:
        files = ("--run", f"{name}.run", "--topics", f"{name}.tsv", "--output", f"{name}.new.run")
        command(folder, *words, *files, "--depth", str(DEPTH), "--threads", "1")
        return (folder / f"{name}.new.run").read_bytes()

    work("few")
    return work


def write_vectors(folder: Path, count: int) -> None:
    """Shards of vectors, as encoding makes them."""
    import numpy as np

    from adducir.encoders.vectors import write_shard

    draw = np.random.default_rng(1)
    for first in range(0, count, SHARD):
        names = [f"d{number}" for number in range(first, min(first + SHARD, count))]
        values = draw.normal(size=(len(names), 384)).astype(np.float32)
        write_shard(folder / f"{first:08d}.safetensors", names, values)


def flat(folder: Path, count: int, part: int | None) -> Work:
    """Put so many vectors into a flat index."""
    del part
    from adducir.indexes.dense import engine
    from adducir.indexes.dense.builder import _DenseWork
    from adducir.indexes.dense.settings import DenseSettings

    apart(write_vectors, folder, count)
    made: Any = SimpleNamespace(files=sorted(folder.glob("*.safetensors")))
    engine.version()  # FAISS is there

    def work() -> bytes:
        docnos = [f"d{number}" for number in range(count)]
        order: Any = SimpleNamespace(size=SHARD, settings=DenseSettings(), threads=1)
        _DenseWork._indexed(order, folder, made, docnos, 384)
        with (folder / "index.faiss").open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()

    return work
