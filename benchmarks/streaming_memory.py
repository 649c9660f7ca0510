"""Peak memory of what searches many texts, as these grow: 1, 4 and 16 times as many.

``grounded``: the passages of a study of grounded generation are read. ``late``: late interaction
over a book's passages. So many made-up passages are encoded by a tiny BERT and ranked for 32
contexts, as a study of known items does. Each runs in a process of its own, whose greatest resident
memory (VmHWM) is reported, before the texts and at the end, with a digest of what came out. The
ways of a study of masked spans (``masks``, ``examples``, ``opening``, ``training``,
``candidates``, ``passages``) are those of ``span_studies.py``, ``reranking`` and ``flat`` those of
``set_studies.py``.

    python benchmarks/streaming_memory.py late [--texts 1000] [--growth 1,4,16]
    python benchmarks/streaming_memory.py training [--texts 2000]
"""

import argparse
import ctypes
import gc
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import set_studies
import span_studies
from synthetic import documents
from training_memory import peak

from adducir.corpora.spans import MaskedSpan
from adducir.encoders.ranking import SpanTask
from adducir.evaluation.gold_ranks import GoldRanks

CONTEXTS = 32
TEXTS = {
    "late": 1000,
    "grounded": 10_000,
    "masks": 2000,
    "examples": 2000,
    "opening": 2000,
    "training": 2000,
    "candidates": 2000,
    "passages": 2000,
    "reranking": 500,
    "flat": 25_000,
}


def late(folder: Path, count: int, part: int | None) -> Callable[[], bytes]:
    """Rank so many passages of a book for contexts, by late interaction."""
    del part
    import numpy as np
    import transformers

    from adducir.core.chunks import Chunking, Local
    from adducir.encoders.token_work import Making
    from adducir.experiments.known_item.late import Late, by_late_interaction
    from adducir.experiments.known_item.system import ContextRecipe
    from adducir.models.sources import model_source
    from adducir.rerankers.colbert import LateInteraction, Reading

    tokenizer = transformers.AutoTokenizer.from_pretrained(model_source("minilm").local())
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=128,
    )
    import torch

    torch.manual_seed(1)
    transformers.BertModel(config).save_pretrained(folder / "base")
    tokenizer.save_pretrained(folder / "base")
    reading = Reading(document_length=64, markers=None, special=False, fill=False)
    source = model_source(str(folder / "base"))
    model = Local(LateInteraction.load(source, reading))

    def task(size: int) -> SpanTask:
        texts = [text for _, text in documents(size, 40)]
        spans = [
            MaskedSpan(f"s{n}", "book", (texts[n],), (texts[n + 1],), (texts[n + 2],))
            for n in range(min(CONTEXTS, size - 2))
        ]
        gold = np.arange(1, 1 + len(spans), dtype=np.int64)
        return SpanTask(spans, texts, [f"d{n}" for n in range(size)], gold)

    def ranked(tasks: list[SpanTask]) -> GoldRanks:
        late = Late(source, reading, "float32", tasks.copy, model, Local(tasks))
        how = Making("", Chunking(folder / f"{len(tasks[0].texts)}", keep=True), "cpu")
        return by_late_interaction(late, tasks, ContextRecipe(), how, how)

    ranked([task(64)])
    whole = task(count)

    def work() -> bytes:
        found = ranked([whole])
        return found.better.tobytes() + found.tied.tobytes()

    return work


def grounded(folder: Path, count: int, part: int | None) -> Callable[[], bytes]:
    """Read so many passages of a study of grounded generation."""
    del part
    from adducir.studies.grounded_generation.contexts import GroundedContext, write_contexts
    from adducir.studies.grounded_generation.experiment.data import DataRecipe, GroundedData

    with (folder / "passages.jsonl").open("w", encoding="utf-8") as file:
        for docno, text in documents(count, 100):
            file.write(json.dumps({"docno": docno, "title": docno, "text": text}) + "\n")
    write_contexts([GroundedContext("c", "what", "that", ("D00000001",))], folder / "test.jsonl")
    recipe = DataRecipe(passages=str(folder / "passages.jsonl"), test=("test.jsonl",))
    data = GroundedData(recipe, folder)

    def work() -> bytes:
        digest = hashlib.sha256()
        for text in data.problem().passages:
            digest.update(text.encode())
        return digest.digest()

    return work


def begin_anew() -> None:
    """Give back what is free, and let the greatest resident memory be that of now (Linux)."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def measured(what: str, count: int, part: int | None) -> dict[str, Any]:
    """In this process."""
    with tempfile.TemporaryDirectory() as place:
        makers = {"late": late, "grounded": grounded}
        others = {**vars(span_studies), **vars(set_studies)}
        maker = makers.get(what) or others[what]
        work = maker(Path(place), count, part)
        begin_anew()
        figures: dict[str, Any] = {"before": peak()}
        began = time.process_time()
        found = work()
        figures |= {"seconds": time.process_time() - began, "peak": peak()}
        return figures | {"digest": hashlib.sha256(found).hexdigest()[:16]}


def measured_apart(what: str, count: int, part: int | None = None) -> dict[str, Any]:
    """In a process of its own."""
    words = [sys.executable, __file__, what, "--here", f"--texts={count}"]
    words += [] if part is None else [f"--part={part}"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=sorted(TEXTS))
    parser.add_argument("--texts", type=int)
    parser.add_argument("--growth", default="1,4,16")
    parser.add_argument("--part", type=int, help="paragraphs that are searched at a time")
    parser.add_argument("--here", action="store_true", help="measure so many in this process")
    options = parser.parse_args()
    count = options.texts or TEXTS[options.what]
    if options.here:
        print("\n" + json.dumps(measured(options.what, count, options.part)))
        return
    for times in map(int, options.growth.split(",")):
        one = measured_apart(options.what, times * count, options.part)
        print(
            f"{times:>2}x: {times * count:,} texts; peak in MB: {one['before']:,.0f} before, "
            f"{one['peak']:,.0f} in all; {one['seconds']:.1f} s of the processor; digest "
            f"{one['digest']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
