"""Ways of reranking and dense indexes, which ``streaming_memory.py`` measures.

``reranking``: ``adducir rerank`` of a run of so many topics, ten
documents each, by a tiny BERT; the documents stay the same ones. ``flat``: so many vectors of 384
numbers are put into a dense index.
"""

import hashlib
import json
from pathlib import Path

from span_studies import Work, apart, command, write_base
from synthetic import documents

DOCUMENTS, DEPTH, SHARD = 1000, 10, 2000


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
    from adducir.encoders.vectors import read_shard
    from adducir.indexes.building import DenseSettings
    from adducir.indexes.dense_build import put_together

    apart(write_vectors, folder, count)
    files = sorted(folder.glob("*.safetensors"))

    def work() -> bytes:
        docnos = [f"d{number}" for number in range(count)]
        shards = (
            read_shard(path, docnos[number * SHARD : (number + 1) * SHARD])
            for number, path in enumerate(files)
        )
        put_together(shards, (count, 384), DenseSettings(), folder)
        with (folder / "index.faiss").open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()

    return work
