"""DeepCT's weighting on a CPU against a plain loop over passages: passages a second.

The network is MiniLM (22M parameters) with a head of random weights: what it says is nonsense, what
it costs is not. The texts are the bundled arguments, cut into passages of at most 126 pieces. The
loop is what one writes with transformers alone: batches of 16 passages in the order of the corpus,
padded to the longest ("loop"), or to 128 pieces as in the authors' code ("loop, 128"); each word's
weight is that of its first piece. Weights must agree to 1e-4 before times are compared; with
--precision bfloat16 ours are only reported: greatest difference and Kendall's tau of a passage's
words.

    python benchmarks/weighting.py [--rounds 3] [--texts 200] [--threads 2] [--precision float32]
"""

import argparse
import time
from functools import partial

import numpy as np
import torch
from peers import in_turn, multiplying, report, roofline
from scipy.stats import kendalltau

from adducir.corpora.documents import text_of
from adducir.corpora.sources import open_corpus
from adducir.deepct.model import KIND, Cut, Reader, TermWeighter
from adducir.deepct.recipe import PassageRecipe, Settings
from adducir.models.loading import load_model, load_tokenizer
from adducir.models.sources import model_source
from adducir.models.work import Running

BATCH, LONGEST = 16, 128


def loop(network, tokenizer, cuts: list[Cut], padding: str) -> list[np.ndarray]:
    """The weights of the words of each passage, by transformers alone."""
    found = []
    for start in range(0, len(cuts), BATCH):
        some = cuts[start : start + BATCH]
        encoded = tokenizer(
            [one.text for one in some],
            padding=padding,
            truncation=True,
            max_length=LONGEST,
            return_offsets_mapping=True,
            return_tensors="pt",
        )
        offsets = encoded.pop("offset_mapping").numpy()
        with torch.inference_mode():
            logits = network(**encoded).logits[..., 0].sigmoid().numpy()
        for one, row, spans in zip(some, logits, offsets, strict=True):
            weights = np.zeros(len(one.words), dtype=np.float32)
            for number, word in enumerate(one.words):
                pieces = np.flatnonzero((spans[:, 1] > word.start) & (spans[:, 0] < word.end))
                if len(pieces):
                    weights[number] = row[pieces[0]]
            found.append(weights)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    source = model_source("minilm")
    settings = Settings(text=("text",), passages=PassageRecipe(length=LONGEST - 2))
    network = load_model(source, KIND, new_head=True, num_labels=1).eval()
    with torch.no_grad():
        network.classifier.weight.normal_(0.0, 0.3)
    model = TermWeighter(network, Reader.of(source, settings))
    texts = [text_of(one, ("conclusion", "premise")) for one in open_corpus("bundled:arguments")]
    cuts = [cut for text in texts[: options.texts] for cut in model.reader.cut(text)]

    def ours(precision: str) -> list[np.ndarray]:
        return model.weights(model.reader.encode(cuts, LONGEST), Running(precision=precision))

    plain = partial(loop, network, load_tokenizer(source), cuts)  # a call sets its state
    exact, theirs = ours("float32"), plain("longest")
    apart = max(float(np.abs(a - b).max()) for a, b in zip(exact, theirs, strict=True) if len(a))
    if apart > 1e-4:
        raise SystemExit(f"weights differ by {apart}")
    lengths = [len(one.ids) for one in model.reader.encode(cuts, LONGEST)]
    print(
        f"{len(cuts)} passages of {min(lengths)} to {max(lengths)} pieces, {np.mean(lengths):.0f} "
        f"on average; weights apart by {apart:.1e}"
    )
    if options.precision != "float32":
        found = ours(options.precision)
        pairs = [(a, b) for a, b in zip(exact, found, strict=True) if len(a) > 1]
        taus = [kendalltau(a, b).statistic for a, b in pairs]
        apart = max(float(np.abs(a - b).max()) for a, b in pairs)
        print(f"{options.precision}: apart by {apart:.1e}, tau {np.nanmean(taus):.4f} a passage")

    def timed(call) -> dict[str, float]:
        began, work = time.perf_counter(), time.process_time()
        call()
        worked, took = time.process_time() - work, time.perf_counter() - began
        return {"passages": len(cuts) / took, "by work": len(cuts) / worked}

    peers = {
        "adducir": partial(timed, partial(ours, options.precision)),
        "loop": partial(timed, partial(plain, "longest")),
        "loop, 128": partial(timed, partial(plain, "max_length")),
        "multiplying": partial(multiplying, network.config),
    }
    figures = in_turn(peers, options.rounds)
    rates = figures.pop("multiplying")
    report(figures, "passages", "passages a second", "adducir")
    report(figures, "by work", "passages a second of processor time", "adducir")
    roofline(figures, rates, network.config, lengths)


if __name__ == "__main__":
    main()
