"""Reranking on a CPU against sentence-transformers.

The model is MiniLM (22M parameters) with a classifier of random weights: what it says is nonsense,
what it costs is not. Both get the same pairs of the bundled collection, in turn, each at its
defaults (sentence-transformers: batches of 32 pairs; here: of 2,048 padded tokens), with the same
threads. Texts are single arguments, or several joined, so that lengths differ as documents' do.
Processor time is reported beside time, since it hardly depends on what else the machine does (with
one thread; two wait for each other, which counts). Before times are compared, scores must agree to
1e-4, and every topic must be ordered alike.

    python benchmarks/reranking.py [--rounds 3] [--topics 12] [--depth 16] [--threads 2]
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from peers import in_turn, multiplying, report, roofline

from adducir.corpora.documents import text_of
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import load_topics
from adducir.models.loading import load_model, load_tokenizer
from adducir.models.sources import model_source
from adducir.models.work import Running
from adducir.rerankers.cross_encoder import KIND
from adducir.rerankers.recipe import open_reranker

MOST = 7
"""Arguments that are joined into one text, at most."""


def pairs_of(topics: int, depth: int, most: int) -> list[tuple[str, str]]:
    """``depth`` texts for each topic, of 1 to ``most`` arguments."""
    draw = np.random.default_rng(1)
    texts = [text_of(one, ("conclusion", "premise")) for one in open_corpus("bundled:arguments")]
    pairs = []
    for query in load_topics("bundled:topics").queries[:topics]:
        for _ in range(depth):
            chosen = draw.choice(len(texts), size=int(draw.integers(1, most + 1)), replace=False)
            pairs.append((query, "\n".join(texts[number] for number in chosen)))
    return pairs


def save_model(folder: Path) -> None:
    """MiniLM with a random classifier of one output, as wide as scores of a trained one."""
    source = model_source("minilm")
    torch.manual_seed(1)
    network, tokenizer = (
        load_model(source, KIND, new_head=True, num_labels=1),
        load_tokenizer(source),
    )
    with torch.no_grad():
        network.classifier.weight.normal_(0.0, 0.3)
    tokenizer.model_max_length = 512
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def agree(ours: np.ndarray, theirs: np.ndarray, depth: int) -> float:
    """Check scores and orders; how far scores are apart at most."""
    apart = float(np.abs(ours - theirs).max())
    if apart > 1e-4:
        raise SystemExit(f"scores differ by {apart}")
    for topic in range(0, len(ours), depth):
        some = slice(topic, topic + depth)
        one, other = (np.argsort(-v[some], kind="stable").tolist() for v in (ours, theirs))
        if one != other:
            raise SystemExit(f"topic {topic // depth} is ordered otherwise: {one}, {other}")
    return apart


def timed(pairs: list[tuple[str, str]], call) -> dict[str, float]:
    began, work = time.perf_counter(), time.process_time()
    call()
    worked, took = time.process_time() - work, time.perf_counter() - began
    return {"pairs": len(pairs) / took, "by work": len(pairs) / worked}


def compare(folder: Path, pairs: list[tuple[str, str]], depth: int, rounds: int) -> None:
    import sentence_transformers

    peer = sentence_transformers.CrossEncoder(str(folder), device="cpu")
    model = open_reranker(f"cross-encoder:{folder}", running=Running("cpu")).model
    logits = peer.predict(pairs, activation_fn=torch.nn.Identity())
    apart = agree(model.scores(pairs), logits, depth)
    shown = peer.predict(pairs)
    agree(1 / (1 + np.exp(-model.scores(pairs))), shown, depth)
    lengths = [len(one) for one in model.encode(pairs)]
    print(
        f"\n{len(pairs)} pairs of {min(lengths)} to {max(lengths)} tokens, {np.mean(lengths):.0f} "
        f"on average; scores apart by {apart:.1e}, orders alike"
    )
    figures = in_turn(
        {
            "adducir": lambda: timed(pairs, lambda: model.scores(pairs)),
            "sentence-transformers": lambda: timed(pairs, lambda: peer.predict(pairs)),
            "multiplying": lambda: multiplying(model.network.config),
        },
        rounds,
    )
    rates = figures.pop("multiplying")
    report(figures, "pairs", "pairs a second", "adducir")
    report(figures, "by work", "pairs a second of processor time", "adducir")
    roofline(figures, rates, model.network.config, lengths)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--topics", type=int, default=12)
    parser.add_argument("--depth", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"{options.threads} threads, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        save_model(folder)
        for most in (1, MOST):
            pairs = pairs_of(options.topics, options.depth, most)
            compare(folder, pairs, options.depth, options.rounds)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
