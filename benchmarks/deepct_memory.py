"""Memory of DeepCT's training, from the corpus to the steps, as the corpus grows.

Corpora of 1, 4 and 16 times as many made-up arguments (premise and conclusion) are each prepared
and trained on for a few steps by a tiny BERT with MiniLM's tokenizer, each in a process of its own.
Reported is the peak of the resident memory after each stage: before the corpus is opened
(libraries, model, one step); when the passages are cut, in shards; when a model's targets are laid
on them; when it has trained. What grows is what is held for each example, and what is remembered of
words; text and tokens lie on the disk. Cutting is done once for all models that share passages.

    python benchmarks/deepct_memory.py [--documents 3000] [--words 60] [--different 100000]
        [--steps 5] [--workers 1]
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import transformers
from synthetic import documents
from training_memory import peak

from adducir.core.executors import Execution
from adducir.models.sources import model_source
from adducir.training.kinds import open_training
from adducir.training.loop import train

GROWTH = (1, 4, 16)


def write_corpus(path: Path, count: int, words: int, different: int = 100_000) -> None:
    """Made-up arguments; the conclusion has some words of the premise."""
    with path.open("w", encoding="utf-8") as file:
        for docno, text in documents(count, words, different=different):
            parts = text.split()
            record = {"docno": docno, "premise": text, "conclusion": " ".join(parts[::7])}
            file.write(json.dumps(record) + "\n")


def write_base(folder: Path, layers: int = 1) -> None:
    """A tiny BERT with MiniLM's tokenizer."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(model_source("minilm").local())
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=32,
    )
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def write_study(folder: Path, corpus: Path) -> Path:
    """A base, and a recipe that trains it on the corpus."""
    write_base(folder / "base")
    recipe = folder / "recipe.yaml"
    recipe.write_text(
        f"kind: deepct\nbase: {folder / 'base'}\ncorpus: {{source: {corpus}}}\ntext: premise\n"
        "reference: conclusion\npassages: {length: 100}\nheld_out: {share: 0.1}\n"
        "training: {epochs: 1, batch_size: 16, patience: null}\n",
        encoding="utf-8",
    )
    return recipe


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Prepare and train in this process."""
    import torch

    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        small = folder / "small.jsonl"
        write_corpus(small, 64, options.words)
        warm = open_training(write_study(folder, small)).task(torch.device("cpu"))
        (folder / "warm").mkdir()
        warm.write(folder / "warm")
        warm.read(folder / "warm")
        train(warm, warm.recipe)
        warm.close()
        figures["before"] = peak()
        recipe = write_study(folder, Path(options.corpus))
        plan = open_training(recipe)
        task = plan.task(torch.device("cpu"))
        (folder / "examples").mkdir()
        began = time.process_time()
        task.prepared = folder / "passages"
        plan.preparation.make(task.prepared, execution=Execution(workers=options.workers))
        figures["cutting"] = time.process_time() - began
        figures["cut"] = peak()
        began = time.process_time()
        task.write(folder / "examples")
        figures["targets"] = time.process_time() - began
        figures["prepared"] = peak()
        task.read(folder / "examples")
        every = task.batches
        task.batches = lambda epoch: every(epoch)[: options.steps]  # type: ignore[method-assign]
        task.validate = lambda: None  # type: ignore[method-assign]
        train(task, task.recipe)
        figures["trained"] = peak()
        figures["examples"] = len(task.training.store)
        digest = hashlib.sha256()
        files = sorted(path for path in (folder / "examples").iterdir() if path.is_file())
        for path in files:
            digest.update(path.name.encode() + path.read_bytes())
        figures["disk"] = sum(path.stat().st_size for path in files) / 1e6
        figures["digest"] = digest.hexdigest()[:16]
    return figures


def measured(
    documents: int, words: int = 60, steps: int = 5, workers: int = 1, different: int = 100_000
) -> dict[str, Any]:
    """Prepare and train on so many documents, in a process of its own."""
    with tempfile.TemporaryDirectory() as place:
        corpus = Path(place) / "corpus.jsonl"
        write_corpus(corpus, documents, words, different)
        options = [f"--corpus={corpus}", f"--words={words}", f"--steps={steps}"]
        options.append(f"--workers={workers}")
        done = subprocess.run(
            [sys.executable, __file__, *options], check=True, capture_output=True, text=True
        )
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=3000)
    parser.add_argument("--words", type=int, default=60)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--different", type=int, default=100_000, help="words in all")
    parser.add_argument("--corpus", help="prepare and train on this file, in this process")
    options = parser.parse_args()
    if options.corpus:
        print(json.dumps(measure(options)))
        return
    first: dict[str, Any] | None = None
    for times in GROWTH:
        count = times * options.documents
        one = measured(count, options.words, options.steps, options.workers, options.different)
        first = first or one
        more = max(1, one["examples"] - first["examples"])
        each = (one["trained"] - first["trained"]) * 1e6 / more
        peaks = ", ".join(
            f"{one[key]:,.0f} {key}" for key in ("before", "cut", "prepared", "trained")
        )
        print(
            f"{times:>2}x: {one['examples']:,} examples, {one['disk']:,.1f} MB on the disk; peak "
            f"in MB: {peaks} ({each:,.0f} bytes for each further example); {one['cutting']:.1f} "
            f"s of the processor to cut, {one['targets']:.1f} for targets; digest {one['digest']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
