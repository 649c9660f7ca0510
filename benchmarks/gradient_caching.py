"""Memory and time of a contrastive step, plain, cached, and by sentence-transformers.

A dual encoder with one MiniLM tower (its own weights, mean pooling, cosine / 0.05) takes steps on
a batch of random token ids, 64 a text. Each way runs in a process of its own, in one thread: all at
once; in pieces by gradient caching; sentence-transformers' MultipleNegativesRankingLoss and
CachedMultipleNegativesRankingLoss on the same ids, with pieces of as many texts. Reported are the
peak of the resident memory above what was there before the first step, the processor's time of a
step (the median), and the first loss and the norm of the last gradient, which must be the same for
all; dropout is off.

    python benchmarks/gradient_caching.py [--batch 256] [--piece 32] [--tokens 64] [--steps 3]
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from training_memory import peak

WAYS = ("plain", "cached", "peer", "peer, cached")
_TEMPERATURE = 0.05


def ours(options: argparse.Namespace, cached: bool) -> tuple[Callable[[], Any], Any]:
    """The loss of our encoder, and its network."""
    from adducir.encoders.contrast import contrast
    from adducir.encoders.model import DualEncoder
    from adducir.encoders.pieces import in_pieces
    from adducir.encoders.sources import encoder_source

    encoder = DualEncoder.load(encoder_source("minilm"))
    sides = [[row.astype(np.int64) for row in ids] for ids in batch(options)]
    limit = options.piece * options.tokens if cached else None
    same = torch.arange(options.batch)

    def loss() -> Any:
        contexts, spans = (in_pieces(encoder.query.forward, side, limit) for side in sides)
        return contrast(contexts, spans, same, _TEMPERATURE)

    return loss, encoder.query.network.transformer


def theirs(options: argparse.Namespace, cached: bool) -> tuple[Callable[[], Any], Any]:
    """The loss of sentence-transformers, and its network."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import losses

    from adducir.models.sources import model_source

    model = SentenceTransformer(str(model_source("minilm").local()), device="cpu")
    scale = 1 / _TEMPERATURE
    if cached:
        made = losses.CachedMultipleNegativesRankingLoss(
            model, scale=scale, mini_batch_size=options.piece
        )
    else:
        made = losses.MultipleNegativesRankingLoss(model, scale=scale)
    features = [
        {
            "input_ids": torch.from_numpy(ids),
            "attention_mask": torch.ones_like(torch.from_numpy(ids)),
        }
        for ids in batch(options)
    ]

    def loss() -> Any:
        return made([{**one} for one in features], torch.arange(options.batch))

    return loss, model[0].model


def batch(options: argparse.Namespace) -> tuple[Any, Any]:
    """(batch, tokens) ids of contexts and of spans."""
    draw = np.random.default_rng(3)
    shape = 2, options.batch, options.tokens
    one, two = draw.integers(1000, 30000, shape)
    return one, two


def measure(way: str, options: argparse.Namespace) -> dict[str, Any]:
    """Take steps in one way, in this process."""
    torch.set_num_threads(1)
    loss, network = (ours if way in WAYS[:2] else theirs)(options, "cached" in way)
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    network.train()
    before, times, values = peak(), [], []
    for _ in range(options.steps):
        network.zero_grad(set_to_none=True)
        began = time.process_time()
        value = loss()
        value.backward()
        times.append(time.process_time() - began)
        values.append(float(value))
    norm = sum(float((p.grad**2).sum()) for p in network.parameters() if p.grad is not None) ** 0.5
    return {
        "step": statistics.median(times),
        "memory": peak() - before,
        "loss": values[0],
        "gradient": norm,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("batch", 256), ("piece", 32), ("tokens", 64), ("steps", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--way", choices=WAYS, help="in this process")
    options = parser.parse_args()
    if options.way:
        print(json.dumps(measure(options.way, options)))
        return
    found = {}
    for way in WAYS:
        command = [sys.executable, __file__, *sys.argv[1:], f"--way={way}"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        one = found[way] = json.loads(done.stdout.splitlines()[-1])
        print(
            f"{way:<13} {one['memory']:8,.0f} MB, {one['step']:6.2f} s a step, loss "
            f"{one['loss']:.5f}, norm of the gradient {one['gradient']:.5f}"
        )
    for one in found.values():
        assert abs(one["loss"] - found["plain"]["loss"]) < 1e-4
        assert abs(one["gradient"] / found["plain"]["gradient"] - 1) < 1e-3


if __name__ == "__main__":
    main()
