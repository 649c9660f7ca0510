"""Short benchmarks of this machine, from which a dry run estimates the time of steps.

Each part runs in a process of its own, whose peak memory is what a process of that part needs with
little to do. The texts are the bundled collection's, repeated under new docnos.
"""

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, get_args

from adducir.core.cores import cores
from adducir.core.progress import SILENT, Progress
from adducir.core.rates import Rates
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import load_topics
from adducir.experiments.work import operations_in
from adducir.models.machine import Precision
from adducir.version import __version__

if TYPE_CHECKING:
    from adducir.models.sizes import NetworkSize

COPIES = 30
"""How often the bundled documents are repeated."""
DEPTH = 1000
TEXTS = 384
"""Texts that are encoded."""
STEPS = 8
BATCH = 16
LENGTH = 128
"""Tokens of a text in training."""
PAIRS = 4096
TARGET = 150
"""Characters of a target."""
WRITTEN = 1 << 28


@dataclass
class Measured:
    """What a part found; see :class:`.Rates`."""

    rates: dict[str, float] = field(default_factory=dict)
    starts: dict[str, float] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)


def this_machine(device: str = "auto") -> Mapping[str, Any]:
    """All that the figures depend on: processor, device, cores, versions."""
    from importlib.metadata import PackageNotFoundError, version

    from adducir.models.machine import processor

    versions = {"adducir": __version__, "python": platform.python_version()}
    for package in ("torch", "pyserini"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = ""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    where = {"processor": processor(), "system": sys.platform, "cores": cores(), "threads": threads}
    return {**where, "device": device, "versions": versions}


def measure(device: str = "auto", progress: Progress = SILENT) -> tuple[Rates, list[str]]:
    """Measure all parts, each in its process; takes one to two minutes.

    Args:
        device: Where networks compute.
        progress: Notified of each part.

    Returns:
        The figures, and a line for each part that could not be measured.
    """
    found, failed = Measured(), list[str]()
    progress.start("measuring", len(PARTS), "parts")
    for name in PARTS:
        progress.detail(name)
        # A new process for each: what one part has loaded is not another's memory.
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            try:
                one = pool.submit(_measured, name, device).result()
            except Exception as error:  # noqa: BLE001  (what is not installed is not measured)
                failed.append(f"{name}: {' '.join(str(error).split())[:200]}")
            else:
                for key in ("rates", "starts", "memory", "shares"):
                    getattr(found, key).update(getattr(one, key))
        progress.advance(1)
    progress.finish()
    today = datetime.now(UTC).date().isoformat()
    machine = this_machine(device)
    return Rates(today, machine, found.rates, found.starts, found.memory, found.shares), failed


def _measured(name: str, device: str) -> Measured:
    """In a process of its own: measure a part, and the memory that this took."""
    with TemporaryDirectory(prefix="adducir-measure-") as folder:
        found = PARTS[name](Path(folder), device)
    found.memory[name] = _peak()
    return found


def _peak() -> float:
    """Bytes of this process at its peak; 0 where the system does not say."""
    # Linux starts ru_maxrss at what the parent had resident.
    with suppress(OSError, ValueError, IndexError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return float(status.partition("VmHWM:")[2].split()[0]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak) * (1 if sys.platform == "darwin" else 1024)


def _texts() -> Iterator[str]:
    for document in open_corpus("bundled:arguments"):
        yield "\n".join(text for text in document.fields.values() if text)


def _corpus(folder: Path) -> tuple[Path, int]:
    """A file of documents with one field, and how many there are."""
    texts, path, count = list(_texts()), folder / "corpus.jsonl", 0
    with path.open("w", encoding="utf-8") as handle:
        for copy in range(COPIES):
            for number, text in enumerate(texts):
                handle.write(json.dumps({"docno": f"{copy}-{number}", "text": text}) + "\n")
                count += 1
    return path, count


def _engine(engine: Literal["lucene", "memory"], folder: Path) -> Measured:
    """Indexing and search of one engine."""
    from adducir.indexes.builders import builder
    from adducir.indexes.engine import open_index
    from adducir.indexes.feedback import FEEDBACK
    from adducir.indexes.lucene_builder import IndexSettings
    from adducir.indexes.models import MODELS
    from adducir.indexes.search import search_topics

    path, count = _corpus(folder)
    small = folder / "small.jsonl"
    with path.open(encoding="utf-8") as handle:
        small.write_text("".join(islice(handle, 100)), encoding="utf-8")
    settings, build = IndexSettings(fields=("text",)), builder(engine)
    model, topics = MODELS.make("bm25"), load_topics("bundled:topics")

    def searched(index: Any, feedback: Any) -> float:
        began = time.perf_counter()
        search_topics(index, topics, model, tag="x", feedback=feedback, depth=DEPTH)
        return time.perf_counter() - began

    began = time.perf_counter()
    build(open_corpus(small), folder / "small", settings)
    rm3 = FEEDBACK.make("rm3")
    with_small = open_index(folder / "small")
    for feedback in (None, rm3):
        searched(with_small, feedback)
    with_small.close()
    start = time.perf_counter() - began
    began = time.perf_counter()
    build(open_corpus(path), folder / "index", settings)
    seconds = time.perf_counter() - began
    size = path.stat().st_size
    index = open_index(folder / "index")
    pairs = len(topics) * count
    found = Measured(
        rates={
            f"{engine} bytes": size / seconds,
            f"{engine} pairs": pairs / searched(index, None),
            f"{engine} feedback pairs": pairs / searched(index, rm3),
        },
        starts={engine: start},
        shares={engine: _bytes(folder / "index") / size},
    )
    index.close()
    return found


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _networks(folder: Path, device: str) -> Measured:
    """Encoding with MiniLM, in operations per second."""
    del folder
    began = time.perf_counter()
    import numpy as np
    from faiss import IndexFlatIP

    from adducir.encoders.model import DualEncoder
    from adducir.encoders.sources import encoder_source
    from adducir.models.machine import choose_device
    from adducir.models.sources import MINILM

    size, encoder = _minilm(), DualEncoder.load(encoder_source(MINILM))
    encoder.to(choose_device(device))
    texts = list(_texts())
    encoder.encode_documents(texts[:32])
    start = time.perf_counter() - began
    texts = [texts[number % len(texts)] for number in range(TEXTS)]
    lengths = [len(one) for one in encoder.read_documents(texts)]
    rates = dict[str, float]()
    for precision in get_args(Precision):
        began = time.perf_counter()
        encoder.encode_documents(texts, precision=precision)
        seconds = time.perf_counter() - began
        operations = sum(size.operations(length, length) for length in lengths)
        rates[operations_in(precision)] = operations / seconds
        rates.setdefault("tokens", sum(lengths) / seconds)
    vectors = np.random.default_rng(0).random((COPIES * TEXTS, size.width), dtype=np.float32)
    index = IndexFlatIP(size.width)
    index.add(vectors)
    began = time.perf_counter()
    index.search(vectors[:TEXTS], DEPTH)
    products = 2.0 * TEXTS * vectors.size / (time.perf_counter() - began)
    return Measured(
        rates={**rates, "products": products, "lexical pairs": _lexical_pairs()},
        starts={"networks": start},
    )


def _lexical_pairs() -> float:
    """Pairs of context and passage that the lexical mixture scores in a second."""
    import numpy as np
    import torch

    from adducir.generators.generator import Texts
    from adducir.generators.lexical import Lexical

    texts = list(_texts())
    generator = Lexical()
    read = generator.read(Texts(texts, [text[:TARGET] for text in texts], texts))
    contexts, passages = np.divmod(np.arange(PAIRS), len(texts))
    began = time.perf_counter()
    with torch.inference_mode():
        generator.log_likelihood(read, contexts, passages[:, None])
    return PAIRS / (time.perf_counter() - began)


def _passages(folder: Path, device: str) -> Measured:
    """Cutting passages to train term weighters on, with MiniLM's tokenizer."""
    del device
    began = time.perf_counter()
    from adducir.core.sharding.work import WorkerPlace
    from adducir.deepct.cutting import CutSettings
    from adducir.deepct.prepared import PassageWork
    from adducir.deepct.stopwords import stop_words
    from adducir.models.sources import MINILM, model_source

    path, _ = _corpus(folder)
    settings, corpus = CutSettings(("text",)), open_corpus(path)
    work = PassageWork(corpus, model_source(MINILM), settings, stop_words("english"))
    items = list(work.items(check=False))
    builder = work.builder(WorkerPlace())
    builder.make(items[:32], folder / "first")
    start = time.perf_counter() - began
    began = time.perf_counter()
    builder.make(items, folder / "all")
    size = path.stat().st_size
    return Measured(
        rates={"passage bytes": size / (time.perf_counter() - began)},
        starts={"passages": start},
        shares={"passages": (folder / "all").stat().st_size / size},
    )


def _training(folder: Path, device: str) -> Measured:
    """Training steps of MiniLM, in operations per second: three passes forward make a step."""
    del folder
    from adducir.models.machine import choose_device

    chosen, operations = choose_device(device), 3 * _minilm().operations(BATCH * LENGTH, LENGTH)
    return Measured(
        rates={
            operations_in(one, "training"): operations / _training_seconds(chosen, one)
            for one in get_args(Precision)
        }
    )


def _minilm() -> "NetworkSize":
    from adducir.models.sizes import network_size
    from adducir.models.sources import MINILM, model_source

    size = network_size(model_source(MINILM))
    if size is None:
        raise ValueError(f"the size of {MINILM} is not known")
    return size


def _training_seconds(device: Any, precision: Precision) -> float:
    """Seconds of a training step of MiniLM, the median."""
    import statistics

    import torch
    from transformers import AutoModel

    from adducir.models.explaining import explaining
    from adducir.models.precision import computing_in
    from adducir.models.sources import MINILM, model_source

    folder = model_source(MINILM).local()
    with explaining("model", folder):  # without transformers' progress bar
        network = AutoModel.from_pretrained(folder).to(device).train()
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-6)
    draw = torch.Generator().manual_seed(0)
    taken = []
    for _ in range(1 + STEPS):
        pieces = torch.randint(1000, 30000, (BATCH, LENGTH), generator=draw).to(device)
        began = time.perf_counter()
        with computing_in(precision, network):
            loss = network(input_ids=pieces).last_hidden_state.square().mean()
            loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        loss.item()  # waits for a device
        taken.append(time.perf_counter() - began)
    return statistics.median(taken[1:])


def _disk(folder: Path, device: str) -> Measured:
    """Writing, forced to the disk, and reading; where temporary files go."""
    del device
    block, path = os.urandom(1 << 22), folder / "written"
    began = time.perf_counter()
    with path.open("wb") as handle:
        for _ in range(WRITTEN // len(block)):
            handle.write(block)
        handle.flush()
        os.fsync(handle.fileno())
    return Measured(rates={"written bytes": WRITTEN / (time.perf_counter() - began)})


def _lucene(folder: Path, device: str) -> Measured:
    del device
    return _engine("lucene", folder)


def _memory(folder: Path, device: str) -> Measured:
    del device
    return _engine("memory", folder)


def _runs(folder: Path, device: str) -> Measured:
    """Fusing and writing runs."""
    del device
    import numpy as np
    import polars as pl

    from adducir.runs.fuse import fuse
    from adducir.runs.run import Run
    from adducir.runs.write import write_run

    topics = 50
    draw, runs = np.random.default_rng(0), []
    for name in ("a", "b"):
        scores = np.sort(draw.random((topics, DEPTH)))[:, ::-1]
        docnos = np.array([draw.choice(10 * DEPTH, DEPTH, replace=False) for _ in range(topics)])
        qids = np.repeat([f"{number}" for number in range(topics)], DEPTH)
        frame = {"qid": qids, "docno": docnos.ravel().astype(str), "score": scores.ravel()}
        runs.append(Run(pl.DataFrame(frame), name))
    began = time.perf_counter()
    path = folder / "fused.trec.gz"
    write_run(fuse(runs), path)
    rows = 2 * topics * DEPTH
    rate = rows / (time.perf_counter() - began)
    return Measured(rates={"fused rows": rate}, shares={"run row": path.stat().st_size / rows * 2})


PARTS: Mapping[str, Callable[[Path, str], Measured]] = {
    "disk": _disk,
    "runs": _runs,
    "memory": _memory,
    "lucene": _lucene,
    "passages": _passages,
    "networks": _networks,
    "training": _training,
}
"""The parts that are measured, by name."""
