"""A round's three parts beside the plain loop: encode, closed sets, a training step.

The plain loop is what people write first: texts are encoded one at a time, each context's scores
are taken passage by passage, and in a step every example's k passages go through retriever and
guide by themselves, though several examples have sampled the same ones. Both ways have the same
weights, texts and samples; vectors must agree to 1e-4, and gradients to 1e-3 of the largest, before
any time is reported. MiniLM is trained (dropout off), the generator is the lexical mixture. The
arguments are those of the bundled collection.

    python benchmarks/hindsight.py [--passages 96] [--examples 8] [--k 8] [--rounds 3]
    python benchmarks/hindsight.py --memory     peak memory of a step with k = 8 and k = 100
"""

import argparse
import json
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from peers import in_turn, report, run_apart

from adducir.corpora.documents import text_of
from adducir.corpora.sources import open_corpus
from adducir.datasets.grounded.contexts import GroundedContext
from adducir.encoders.maxsim import maxsim
from adducir.generators.lexical import Lexical
from adducir.hindsight.building import Problem, assemble
from adducir.hindsight.closed import closed_sets
from adducir.hindsight.losses import Computed, loss_of
from adducir.hindsight.model import Data, Hindsight, Scorer
from adducir.hindsight.recipe import GuideRecipe, RetrieverRecipe
from adducir.hindsight.vectors import kept_vectors

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


def model_of(problem: Problem) -> tuple[Hindsight, Data]:
    """Retriever and guide with a MiniLM each, without dropout."""
    recipe = RetrieverRecipe(network="trained", adapter="full", towers="shared")
    device = torch.device("cpu")
    model, data = assemble(recipe, GuideRecipe(), Path(), problem, Lexical(), None, 0, device)
    return model.eval(), data


def sampled_of(problem: Problem, k: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    """Passages of each example, from the best of a collection: many have the same ones."""
    draw = np.random.default_rng(2)
    most = min(len(problem.passages), max(k, 3 * k))
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


def step(model: Hindsight, data: Data, sampled, *, plain: bool) -> list[torch.Tensor]:
    """The gradients of the evidence lower bound."""
    contexts = np.arange(len(sampled))
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


def encoded(model: Hindsight, data: Data, *, plain: bool) -> np.ndarray:
    """The retriever's vectors of all passages."""
    passages, scorer = data.retriever_passages, model.retriever
    if plain:
        with torch.inference_mode():
            each = [
                scorer.side(passages, np.array([n]), "document")[0][0].numpy()
                for n in range(len(passages))
            ]
        return np.concatenate(each)
    lengths = [len(one) for one in passages.inputs]
    return kept_vectors(lambda some: scorer.side(passages, some, "document"), lengths).values


def ranked(model: Hindsight, data: Data, *, plain: bool) -> np.ndarray:
    """Closed sets of retriever and guide."""
    contexts = np.arange(len(data.inputs))
    if not plain:
        closed = closed_sets(model, data, contexts, DEPTH)
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
    """Items a second."""
    began = time.perf_counter()
    call()
    return {"rate": count / (time.perf_counter() - began)}


def agree(model: Hindsight, data: Data, sampled) -> None:
    """Stop unless both ways give the same."""
    ours, theirs = (encoded(model, data, plain=plain) for plain in (False, True))
    assert np.allclose(ours, theirs, atol=1e-4)
    ours, theirs = (step(model, data, sampled, plain=plain) for plain in (False, True))
    for one, other in zip(ours, theirs, strict=True):
        assert float((one - other).abs().max()) <= 1e-3 * float(other.abs().max()) + 1e-6


def memory(k: int) -> None:
    """Print the peak of this process's memory in a step, in MB."""
    problem = problem_of(120, 3)
    model, data = model_of(problem)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    step(model, data, sampled_of(problem, k), plain=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"peak": peak, "before": before}))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=96)
    parser.add_argument("--examples", type=int, default=8)
    parser.add_argument("--k", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--memory-of", type=int)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.memory_of:
        memory(options.memory_of)
        return
    if options.memory:
        for k in (8, 100):
            found = run_apart(__file__, "--memory-of", str(k))
            print(f"k = {k}: {found['peak']:,.0f} MB, of which {found['before']:,.0f} before it")
        return
    problem = problem_of(options.passages, options.examples)
    model, data = model_of(problem)
    sampled = sampled_of(problem, options.k)
    agree(model, data, sampled)
    works = {
        "encode, passages/s": (options.passages, partial(encoded, model, data)),
        "closed sets, contexts/s": (options.examples, partial(ranked, model, data)),
        "train, examples/s": (options.examples, partial(step, model, data, sampled)),
    }
    for what, (count, work) in works.items():
        ways = {
            "Adducir": lambda count=count, work=work: timed(count, partial(work, plain=False)),
            "plain loop": lambda count=count, work=work: timed(count, partial(work, plain=True)),
        }
        print(what)
        report(in_turn(ways, options.rounds), "rate", "a second", "Adducir")


if __name__ == "__main__":
    main()
