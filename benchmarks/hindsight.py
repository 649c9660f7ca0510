"""A round's three parts beside the plain loop: encode, closed sets, a training step.

The plain loop is what people write first: in every round retriever and guide encode all passages
again, one at a time or in batches of 32 in the corpus' order, padded to the longest; each context's
scores are taken passage by passage; and in a step every example's k passages go through retriever
and guide by themselves, though several examples may have sampled the same ones. Both ways have the
same weights, texts and samples; vectors must agree to 1e-4, and gradients to 1e-3 of the largest,
before any time is reported. The network is MiniLM (dropout off), trained or frozen with adapters of
rank 16; the generator is the lexical mixture. The arguments are those of the bundled collection.

A round encodes with the guide and the retriever apart (in the very first both are one network).

    python benchmarks/hindsight.py [--passages 96] [--examples 8] [--k 8] [--rounds 5]
    python benchmarks/hindsight.py --memory       peak memory of a step with k = 8 and k = 100
    python benchmarks/hindsight.py --candidates   peak memory of ranking candidates
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from peers import in_turn, report, run_apart
from synthetic import vocabulary, zipf_words

from adducir.core.chunks import Local
from adducir.corpora.documents import text_of
from adducir.corpora.sources import open_corpus
from adducir.encoders.maxsim import maxsim
from adducir.models.machine import Precision
from adducir.studies.grounded_generation.contexts import GroundedContext
from adducir.studies.grounded_generation.generators.lexical import Lexical
from adducir.studies.grounded_generation.hindsight.building import (
    Frozen,
    Problem,
    assemble,
    readable_texts,
    save_vectors,
)
from adducir.studies.grounded_generation.hindsight.candidates import (
    bm25_ranking,
    texts_of,
    vector_ranking,
)
from adducir.studies.grounded_generation.hindsight.closed import ClosedRequest
from adducir.studies.grounded_generation.hindsight.closed_work import closed_sets
from adducir.studies.grounded_generation.hindsight.losses import Computed, loss_of
from adducir.studies.grounded_generation.hindsight.model import Data, Hindsight, Scorer
from adducir.studies.grounded_generation.hindsight.recipe import GuideRecipe, RetrieverRecipe
from adducir.studies.grounded_generation.hindsight.token_work import (
    Loader,
    Making,
    Readable,
    vectors_of,
)
from adducir.studies.grounded_generation.hindsight.vectors import Live, Network

DEPTH = 20


def problem_of(passages: int, examples: int) -> Problem:
    """Arguments as passages; the first words of some as contexts, others as targets."""
    texts = [text_of(one, ("premise",)) for one in open_corpus("bundled:arguments")]
    texts = [" ".join(text.split()[:150]) for text in texts]
    texts = (texts * (passages // len(texts) + 1))[:passages]
    contexts = [
        GroundedContext(str(n), " ".join(text.split()[:8]), " ".join(text.split()[8:24]))
        for n, text in enumerate(texts[:examples])
    ]
    everyone = np.arange(len(contexts))
    parts = {"train": everyone, "validation": everyone[:0], "test": everyone[:0]}
    return Problem(contexts, parts, [str(n) for n in range(passages)], texts, {})


class Round(NamedTuple):
    """What a round computes with, and what the plain loop does."""

    model: Hindsight
    data: Data
    plain: Data


def model_of(problem: Problem, network: str = "trained") -> Round:
    """Retriever and guide with a MiniLM each, or one frozen MiniLM with adapters; no dropout."""
    guide, generator, device = GuideRecipe(), Lexical(), torch.device("cpu")
    if network == "trained":
        recipe = RetrieverRecipe(network="trained", adapter="full", towers="shared")
        given = recipe, guide, Path(), problem, generator, None, 0, device
        model, data = assemble(*given)
        return Round(model.eval(), data, data)
    recipe = RetrieverRecipe()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.safetensors"
        load = partial(readable_texts, problem, recipe, guide, Path())
        save_vectors(path, problem, recipe, guide, Path(), load, Making())
        frozen = Frozen.load(path, problem, generator, device)
    model, data = assemble(recipe, guide, Path(), problem, generator, frozen, 0, device)
    with torch.no_grad():  # adapters begin as nothing
        for one in model.parameters():
            one += 0.01 * torch.randn_like(one)
    layers = Network(recipe, Path()).eval().requires_grad_(False)
    passages = Live(layers, problem.passages, "document")
    inputs = Live(layers, problem.inputs, "query")
    hindsight = Live(layers, problem.hindsight(guide), "query")
    return Round(model.eval(), data, Data(inputs, hindsight, passages, passages, data.texts))


def sampled_of(problem: Problem, k: int, pool: int) -> "np.ndarray[tuple[int, ...], Any]":
    """Passages of each example, of the first so many of a collection."""
    draw = np.random.default_rng(2)
    most = min(len(problem.passages), pool)
    if most >= k * len(problem.contexts):  # none is sampled twice
        return draw.permutation(most)[: k * len(problem.contexts)].reshape(-1, k)
    rows = [draw.choice(most, size=k, replace=False) for _ in problem.contexts]
    return np.stack(rows)


def one_by_one(scorer: Scorer, queries, passages, contexts, sampled) -> torch.Tensor:
    """The scores of the plain loop."""
    rows = []
    for context, own in zip(contexts, sampled, strict=True):
        row = []
        for passage in own:
            query, query_mask = scorer.side(queries, np.array([context]), "query")
            document, mask = scorer.side(passages, np.array([passage]), "document")
            row.append(maxsim(query, document, query_mask, mask) * scorer.log_scale.exp())
        rows.append(torch.cat(row))
    return torch.stack(rows)


def step(of: Round, sampled, *, plain: bool) -> list[torch.Tensor]:
    """The gradients of the evidence lower bound."""
    contexts, model, data = np.arange(len(sampled)), of.model, of.plain if plain else of.data
    model.zero_grad(set_to_none=True)
    if plain:
        found = Computed(
            one_by_one(model.retriever, data.inputs, data.retriever_passages, contexts, sampled),
            one_by_one(model.guide, data.hindsight, data.guide_passages, contexts, sampled),
            model.generator.log_likelihood(data.texts, contexts, sampled),
        )
    else:
        found = model.compute(data, contexts, sampled)
    loss_of("elbo", found).mean().backward()
    return [one.grad for one in model.parameters() if one.grad is not None]


def encoded(of: Round, *, batch: int | None = None, precision: Precision = "float32") -> np.ndarray:
    """The retriever's vectors of all passages; by the plain loop in batches of so many."""
    passages = of.data.retriever_passages if batch is None else of.plain.retriever_passages
    numbers, scorer = np.arange(len(passages)), of.model.retriever
    if batch is not None:
        with torch.inference_mode():
            each = [
                scorer.side(passages, numbers[first : first + batch], "document")[0][:, 0]
                for first in range(0, len(numbers), batch)
            ]
        return torch.cat(each).numpy()
    request = ClosedRequest(of.model, of.data, numbers[:1], DEPTH, precision=precision)
    texts: Readable = request.passages["retriever"]
    found = dict(vectors_of(*texts.block(0, len(numbers), None)))
    return np.concatenate([found[place] for place in range(len(found))])


def ranked(of: Round, *, plain: bool) -> np.ndarray:
    """Closed sets of retriever and guide."""
    model, data = of.model, of.plain if plain else of.data
    contexts = np.arange(len(data.inputs))
    if not plain:
        request = ClosedRequest(model, data, contexts, DEPTH)
        names = [str(number) for number in contexts]
        closed = closed_sets(Loader(lambda _: request, Local(request)), names, Making())
        return np.concatenate([closed.retriever_scores, closed.guide_scores])
    found = []
    everything = np.tile(np.arange(len(data.retriever_passages)), (len(contexts), 1))
    for scorer, queries, passages in (
        (model.retriever, data.inputs, data.retriever_passages),
        (model.guide, data.hindsight, data.guide_passages),
    ):
        with torch.inference_mode():
            scores = one_by_one(scorer, queries, passages, contexts, everything).numpy()
        found.append(-np.sort(-scores, axis=1)[:, :DEPTH])
    return np.concatenate(found)


def timed(count: int, call: Callable[[], object]) -> dict[str, float]:
    """Items a second, and a second of processor time, which depends less on other work."""
    began, busy = time.perf_counter(), time.process_time()
    call()
    seconds, busy = time.perf_counter() - began, time.process_time() - busy
    return {"rate": count / seconds, "busy": count / busy}


def arithmetic(of: Round, rounds: int) -> None:
    """What a core computes while it encodes, beside products of matrices that are nothing else.

    Their ratio is the most that encoding in single precision can still gain.
    """
    passages = of.data.retriever_passages
    assert isinstance(passages, Live)
    lengths = [len(one) for one in passages.inputs]
    # MiniLM: 6 layers of width 384, 1,536 within; two operations for each weight and token, and
    # attention (Kaplan et al. 2020, table 1).
    layers, width, inner = 6, 384, 1536
    weights = 4 * width**2 + 2 * width * inner
    count = sum(layers * n * (2 * weights + 4 * width * n) for n in lengths)
    one, other = torch.randn(2048, 1536), torch.randn(1536, 384)
    product = 2.0 * 2048 * 1536 * 384

    def products() -> None:
        for _ in range(round(count / product)):
            one @ other

    ways = {"encode": partial(encoded, of), "products": products}
    timings = {name: partial(timed, count / 1e9, way) for name, way in ways.items()}
    print(f"arithmetic, 10^9 operations, passages of {np.mean(lengths):.0f} tokens on average")
    report(in_turn(timings, rounds), "busy", "a second of processor time", "encode")


def agree(of: Round, samples) -> None:
    """Stop unless all ways give the same."""
    ours = encoded(of)
    assert all(np.allclose(ours, encoded(of, batch=batch), atol=1e-4) for batch in (1, 32))
    for sampled in samples:
        ours, theirs = (step(of, sampled, plain=plain) for plain in (False, True))
        for one, other in zip(ours, theirs, strict=True):
            assert float((one - other).abs().max()) <= 1e-3 * float(other.abs().max()) + 1e-6


def memory(k: int) -> None:
    """Print the peak of this process's memory in a step, in MB."""
    problem = problem_of(120, 3)
    of = model_of(problem)
    before = resident("VmHWM")
    step(of, sampled_of(problem, k, 3 * k), plain=False)
    peak = resident("VmHWM")
    print(json.dumps({"peak": peak, "before": before}))


class MadeUp:
    """A network of random vectors of 384 numbers: what is measured is ranking, not encoding."""

    device = torch.device("cpu")

    def read(self, texts, side: str) -> list[np.ndarray]:
        """The seed of each text."""
        return [np.array([len(text), sum(map(ord, text[:50]))]) for text in texts]

    def __call__(self, inputs, side: str) -> tuple[torch.Tensor, torch.Tensor]:
        """(n, 1, 384) vectors, and which count."""
        draws = [np.random.default_rng(one).standard_normal((1, 384), np.float32) for one in inputs]
        return torch.from_numpy(np.stack(draws)), torch.ones(len(inputs), 1)


def candidates(what: str, passages: int, contexts: int) -> None:
    """Print the peak of this process's memory while candidates are ranked, in MB."""
    draw = np.random.default_rng(5)
    words = zipf_words(vocabulary(100_000), passages * 60, draw)
    texts = [" ".join(one) for one in np.split(words, passages)]
    del words
    queries = [" ".join(text.split()[:15]) for text in texts[:contexts]]
    ways = {
        "bm25": lambda some: bm25_ranking(some, queries, 1000, threads=2),
        "vectors": lambda some: vector_ranking(
            some, queries, 1000, lambda _: texts_of(MadeUp(), some, queries), Making()
        ),
    }
    ways[what](texts[:2000])  # compiles, and starts Java
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = resident("VmHWM")
    began = time.process_time()
    ways[what](texts)
    seconds = time.process_time() - began
    print(json.dumps({"before": before, "peak": resident("VmHWM"), "seconds": seconds}))


def resident(figure: str) -> float:
    """The most megabytes that this process had resident (VmHWM), or has now (VmRSS)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition(f"{figure}:")[2].split()[0]) * 1024 / 1e6


def report_candidates(contexts: int) -> None:
    """Memory of candidates with 1, 4 and 16 times as many passages."""
    for what in ("bm25", "vectors"):
        for passages in (20_000, 80_000, 320_000):
            given = ("--candidates-of", what, str(passages), str(contexts))
            found = run_apart(__file__, *given)
            matrix = passages * contexts * (8 if what == "bm25" else 4) / 1e6
            print(
                f"{what:8} {passages:8,} passages, {contexts:,} queries: {found['before']:,.0f} MB "
                f"before, peak {found['peak']:,.0f} MB, {found['seconds']:,.0f} s of processor "
                f"time; all scores would take {matrix:,.0f} MB"
            )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=96)
    parser.add_argument("--examples", type=int, default=8)
    parser.add_argument("--k", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--networks", default="trained,frozen")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--memory-of", type=int)
    parser.add_argument("--candidates", action="store_true")
    parser.add_argument("--candidates-of", nargs=3)
    parser.add_argument("--queries", type=int, default=4000)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.memory_of:
        memory(options.memory_of)
        return
    if options.candidates_of:
        what, passages, contexts = options.candidates_of
        candidates(what, int(passages), int(contexts))
        return
    if options.candidates:
        report_candidates(options.queries)
        return
    if options.memory:
        for k in (8, 100):
            found = run_apart(__file__, "--memory-of", str(k))
            print(f"k = {k}: {found['peak']:,.0f} MB, of which {found['before']:,.0f} before it")
        return
    problem = problem_of(options.passages, options.examples)
    for network in options.networks.split(","):
        print(f"\nthe network is {network}")
        compare(model_of(problem, network), problem, options.k, options.rounds)


def compare(of: Round, problem: Problem, k: int, rounds: int) -> None:
    """Time both ways in turn."""
    passages, examples = len(problem.passages), len(problem.contexts)
    shared, own = (sampled_of(problem, k, pool) for pool in (3 * k, k * examples))
    agree(of, (shared, own))
    loops = {"one at a time": 1, "batches of 32": 32}
    encoding = {name: partial(encoded, of, batch=batch) for name, batch in loops.items()}
    encoding["Adducir, bfloat16"] = partial(encoded, of, precision="bfloat16")
    works: dict[str, tuple[int, dict[str, Callable[[], object]]]] = {
        "encode, passages": (passages, {"Adducir": partial(encoded, of), **encoding}),
        "closed sets, contexts": (examples, both(partial(ranked, of))),
    }
    for sampled in (shared, own):
        different = len(np.unique(sampled))
        what = f"train, examples ({sampled.size} samples of {different} passages)"
        works[what] = examples, both(partial(step, of, sampled))
    for what, (count, ways) in works.items():
        each = {name: partial(timed, count, way) for name, way in ways.items()}
        figures = in_turn(each, rounds)
        print(what)
        report(figures, "rate", "a second", "Adducir")
        report(figures, "busy", "a second of processor time", "Adducir")
    if isinstance(of.data.retriever_passages, Live):
        arithmetic(of, rounds)


def both(work: Callable[..., object]) -> dict[str, Callable[[], object]]:
    """Ours and the plain loop."""
    return {"Adducir": partial(work, plain=False), "plain loop": partial(work, plain=True)}


if __name__ == "__main__":
    main()
