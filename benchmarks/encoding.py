"""Encoding on a CPU against sentence-transformers' own encode, at its defaults, on the same texts.

The model is MiniLM; the texts are passages of novels of one to six sentences where
ADDUCIR_COLLECTIONS is set, else arguments of the bundled collection, single or joined. Both go from
texts to an array of vectors, in turn, with the same threads. In single precision vectors must agree
to 1e-4 before any time is reported; of bfloat16 the cosines with single precision's vectors are
reported, and how many of each text's ten nearest neighbours stay.

    python benchmarks/encoding.py [--texts 512] [--rounds 5] [--threads 2]
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from peers import in_turn, report

from adducir.corpora.documents import text_of
from adducir.corpora.sources import open_corpus
from adducir.encoders.kinds import encoder_source
from adducir.encoders.model import DualEncoder
from adducir.studies.literary_evidence.ask import open_book

NEIGHBOURS = 10
LONGEST = 6
LARGE = 8192
"""Padded tokens of a batch that is too large for a CPU's caches."""


def texts_of(count: int) -> list[str]:
    """``count`` texts of different lengths, the same for every run."""
    draw = np.random.default_rng(1)
    if folder := os.environ.get("ADDUCIR_COLLECTIONS"):
        books = sorted((Path(folder) / "gutenberg" / "novels").glob("*.txt"))[:4]
        sentences = [sentence for path in books for sentence in open_book(path).sentences]
    else:
        corpus = open_corpus("bundled:arguments")
        sentences = [text_of(one, ("conclusion", "premise")) for one in corpus]
    starts = draw.integers(0, len(sentences) - LONGEST, count)
    sizes = draw.integers(1, LONGEST + 1, count)
    return [
        " ".join(sentences[start : start + size]) for start, size in zip(starts, sizes, strict=True)
    ]


def timed(count: int, call: Callable[[], object]) -> dict[str, float]:
    """Texts a second, and a second of processor time."""
    began, work = time.perf_counter(), time.process_time()
    call()
    worked, took = time.process_time() - work, time.perf_counter() - began
    return {"texts": count / took, "by work": count / worked}


def nearest(vectors: np.ndarray) -> np.ndarray:
    """(n, 10) each text's nearest other texts by cosine."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    near = unit @ unit.T
    np.fill_diagonal(near, -2)
    return np.argsort(-near, axis=1, kind="stable")[:, :NEIGHBOURS]


def agreement(exact: np.ndarray, coarse: np.ndarray) -> str:
    """How near vectors of half precision are to the exact ones."""
    lengths = np.linalg.norm(exact, axis=1) * np.linalg.norm(coarse, axis=1)
    cosines = (exact * coarse).sum(1) / lengths
    pairs = zip(nearest(exact), nearest(coarse), strict=True)
    stay = np.mean([len(set(a) & set(b)) / NEIGHBOURS for a, b in pairs])
    return (
        f"cosine with single precision: mean {cosines.mean():.5f}, least {cosines.min():.5f}; "
        f"{stay:.3f} of ten nearest neighbours stay"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    import sentence_transformers

    torch.set_num_threads(options.threads)
    print(f"{options.threads} threads, load {os.getloadavg()[0]:.1f}")
    texts = texts_of(options.texts)
    source = encoder_source("minilm")
    encoder = DualEncoder.load(source)
    peer = sentence_transformers.SentenceTransformer(str(source.query.local()), device="cpu")
    ours = encoder.encode_documents(texts)
    theirs = peer.encode(texts)
    apart = float(np.abs(ours - theirs).max())
    lengths = [len(one) for one in encoder.inputs.documents(texts)]
    print(
        f"{len(texts)} texts of {min(lengths)} to {max(lengths)} tokens, {np.mean(lengths):.0f} on "
        f"average; vectors apart by {apart:.1e}"
    )
    if apart > 1e-4:
        raise SystemExit("the vectors disagree: no times")
    print(agreement(ours, encoder.encode_documents(texts, precision="bfloat16")))
    figures = in_turn(
        {
            "adducir, bfloat16": lambda: timed(
                len(texts), lambda: encoder.encode_documents(texts, precision="bfloat16")
            ),
            "adducir, float32": lambda: timed(len(texts), lambda: encoder.encode_documents(texts)),
            f"the same, {LARGE} tokens a batch": lambda: timed(
                len(texts), lambda: encoder.encode_documents(texts, tokens=LARGE)
            ),
            "sentence-transformers": lambda: timed(len(texts), lambda: peer.encode(texts)),
        },
        options.rounds,
    )
    report(figures, "texts", "texts a second", "adducir, bfloat16")
    report(figures, "texts", "texts a second", "adducir, float32")
    report(figures, "by work", "texts a second of processor time", "adducir, bfloat16")
    report(figures, "by work", "texts a second of processor time", "adducir, float32")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
