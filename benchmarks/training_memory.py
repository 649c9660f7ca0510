"""Memory of a training: examples read from the disk, beside the same examples held in memory.

Both ways make the same synthetic examples (token ids with segments, a label), draw the same order,
and train a small BERT for a few steps, each in a process of its own; weights must be the same.
Reported is the peak of the resident memory, and how much of it is there before the first example.

    python benchmarks/training_memory.py [--examples 1000000] [--tokens 64] [--steps 20]
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from adducir.training.card import Card
from adducir.training.loop import train
from adducir.training.recipe import TrainingRecipe
from adducir.training.store import Array, Numbers, Store, StoreWriter
from adducir.training.task import Examples, TrainingTask, write_parts

WAYS = ("disk", "memory")
VOCABULARY = 200


def synthetic(count: int, tokens: int) -> Iterator[dict[str, Array]]:
    """Examples of half to all of so many tokens, the same for every run."""
    draw = np.random.default_rng(7)
    for _ in range(count):
        ids = draw.integers(0, VOCABULARY, draw.integers(tokens // 2, tokens + 1))
        yield {"ids": ids, "types": np.zeros_like(ids), "label": np.float32(draw.random() < 0.5)}


class Held(Examples):
    """Examples in memory, as the network takes them."""

    def __init__(self, examples: Sequence[dict[str, Array]]) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, places: Numbers) -> list[dict[str, Array]]:
        return [self.examples[place] for place in places]

    def lengths(self, name: str) -> Numbers:
        """How long each one's array is."""
        return np.array([len(one[name]) for one in self.examples])


class Synthetic(TrainingTask):
    """A small classifier of synthetic examples."""

    def __init__(self, options: argparse.Namespace) -> None:
        torch.manual_seed(1)
        config = transformers.BertConfig(
            vocab_size=VOCABULARY,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            num_labels=1,
        )
        self.model = transformers.BertForSequenceClassification(config)
        self.recipe = TrainingRecipe(epochs=1, batch_size=16, patience=None)
        self.options = options

    def write(self, folder: Path) -> dict[str, Any]:
        """Write the examples as a kind does."""
        with StoreWriter(folder) as writer:
            for one in synthetic(self.options.examples, self.options.tokens):
                ids, types = one["ids"].astype(np.int32), one["types"].astype(np.int8)
                writer.add(ids=ids, types=types, label=one["label"])
        write_parts(folder, training=np.arange(self.options.examples), held_out=())
        return {}

    def hold(self) -> None:
        """Make the examples in memory."""
        self.training = Held(list(synthetic(self.options.examples, self.options.tokens)))
        self.held_out = Held([])

    def batches(self, epoch: int) -> Sequence[Numbers]:
        """The first steps of an epoch's order."""
        return super().batches(epoch)[: self.options.steps]

    def losses_of(self, examples: list[dict[str, Array]]) -> tuple[torch.Tensor, int]:
        """Binary cross-entropy."""
        longest = max(len(one["ids"]) for one in examples)
        ids = np.zeros((len(examples), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, one in enumerate(examples):
            ids[row, : len(one["ids"])] = one["ids"]
            mask[row, : len(one["ids"])] = 1
        found = self.model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))
        labels = torch.tensor([float(one["label"]) for one in examples])
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            found.logits[:, 0], labels, reduction="sum"
        )
        return loss, len(examples)

    def summary(self, counts: Any) -> str:
        """Nothing."""
        return ""

    def save(self, folder: Path) -> None:
        """Not kept."""
        raise NotImplementedError

    def card(self, counts: Any) -> Card:
        """Not reported."""
        raise NotImplementedError


def peak() -> float:
    """The most megabytes that this process had resident.

    Not ``ru_maxrss``: Linux starts it at what the parent had resident when it forked.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def measure(way: str, options: argparse.Namespace) -> dict[str, Any]:
    """Train in one way, in this process."""
    task = Synthetic(options)
    losses, _ = task.losses_of(list(synthetic(16, options.tokens)))  # what torch itself takes
    losses.backward()
    before, began = peak(), time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        if way == "memory":
            task.hold()
        else:
            task.write(Path(place))
            task.read(Path(place))
        made = time.perf_counter()
        history = train(task, task.recipe)
        size = sum(path.stat().st_size for path in Path(place).iterdir()) / 1e6
        if isinstance(task.training, Examples) and way == "disk":
            assert isinstance(task.training.store, Store)
            task.close()
    digest = hashlib.sha256()
    for tensor in task.model.state_dict().values():
        digest.update(tensor.numpy().tobytes())
    return {
        "peak": peak(),
        "before": before,
        "examples": peak() - before,
        "making": made - began,
        "training": time.perf_counter() - made,
        "disk": size,
        "steps": history.steps,
        "weights": digest.hexdigest(),
    }


def measured(way: str, examples: int, tokens: int = 64, steps: int = 20) -> dict[str, Any]:
    """Train in one way, in a process of its own."""
    requested = [f"--examples={examples}", f"--tokens={tokens}", f"--steps={steps}", f"--way={way}"]
    done = subprocess.run(
        [sys.executable, __file__, *requested], check=True, capture_output=True, text=True
    )
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1_000_000)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--way", choices=WAYS, help="in this process")
    options = parser.parse_args()
    if options.way:
        print(json.dumps(measure(options.way, options)))
        return
    found = {way: measured(way, options.examples, options.tokens, options.steps) for way in WAYS}
    assert found["disk"]["weights"] == found["memory"]["weights"]
    print(f"{options.examples:,} examples of up to {options.tokens} tokens, the same weights")
    for way, one in found.items():
        print(
            f"{way:<8} peak {one['peak']:8,.0f} MB, of which {one['examples']:8,.0f} for examples "
            f"({one['examples'] * 1e6 / options.examples:6,.0f} bytes each); made in "
            f"{one['making']:5.1f} s, {one['disk']:,.0f} MB on the disk"
        )


if __name__ == "__main__":
    main()
