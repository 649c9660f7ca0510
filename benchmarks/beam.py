"""Selecting sets of passages: the beam search against all sets, on random vectors.

The paper's sizes (Mou et al., 2020): HotpotQA-50 has 50 passages a question and takes N = 5, M = 4;
MNLI-12 has 12 and takes N = 4, M = 3; vectors have 768 numbers, as BERT's. Pairs, and sets of three
and four, where all sets become many.

Three do the same work on the same tensors:

- beam, batch: ``select_sets`` on all questions at once;
- beam, one: ``select_sets`` on one question after another;
- all sets: the score of every set, batched over questions, distances and inner products counted
  once a question as in the beam search; the best is taken.

Before any time is reported: where the beam is as wide as there are sets, it finds the best of all.
Printed as well: how much of the best score the paper's beam reaches, and how often it is the best.
Random vectors are alike in all directions, so that share says nothing of trained ones.

Then the whole of ``adducir complementary-evidence select`` per question: reading and encoding its
50 passages of 128 tokens, and selecting. The paper shows 1,990 ms and 2 ms. The networks are MiniLM
and one of BERT-base's size with random weights, which takes the time that BERT-base takes.

    python benchmarks/beam.py [--questions 200] [--rounds 7] [--threads 1] [--encode 3]
"""

import argparse
import statistics
import time
from itertools import combinations

import torch
from peers import in_turn, report

from adducir.models.loading import load_tokenizer
from adducir.models.sources import model_source
from adducir.studies.complementary_evidence.questions import EvidenceQuestion, Passage
from adducir.studies.complementary_evidence.selectors.beam import BeamSettings, select_sets
from adducir.studies.complementary_evidence.selectors.model import ComplementaryModel, choose
from adducir.studies.complementary_evidence.selectors.network import Vectoriser
from adducir.studies.complementary_evidence.selectors.scoring import Weights, distances
from adducir.studies.complementary_evidence.selectors.settings import Selection, Settings

WEIGHTS = Weights(1.0, 1.0)
D = 768
CASES = {
    "HotpotQA-50, pairs": (50, BeamSettings(2, 4, 5)),
    "MNLI-12, pairs": (12, BeamSettings(2, 3, 4)),
    "50 passages, sets of 3": (50, BeamSettings(3, 4, 5)),
    "50 passages, sets of 4": (50, BeamSettings(4, 4, 5)),
}


def problem(questions: int, passages: int, seed: int = 1):
    generator = torch.Generator().manual_seed(seed)
    relevance = torch.rand(questions, passages, generator=generator)
    vectors = torch.randn(questions, passages, D, generator=generator)
    question = torch.randn(questions, D, generator=generator)
    return relevance, vectors, question, torch.ones(questions, passages, dtype=torch.bool)


def all_sets(relevance, vectors, question, mask, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The best of all sets of each question, and its score."""
    del mask
    every = torch.tensor(list(combinations(range(relevance.shape[1]), size)))
    relevance, vectors, question = relevance.double(), vectors.double(), question.double()
    unit = question / question.norm(dim=-1, keepdim=True)
    towards = (vectors @ unit[..., None]).squeeze(-1)
    artifacts = vectors @ vectors.transpose(1, 2)
    apart = distances(vectors)
    best_scores, best = [], []
    for q in range(len(relevance)):  # all sets of all questions at once would fill the memory
        squared = artifacts[q].diagonal()[every].sum(1)
        diversity = torch.zeros(len(every), dtype=torch.float64)
        for i, j in combinations(range(size), 2):
            squared += 2 * artifacts[q][every[:, i], every[:, j]]
            diversity += apart[q][every[:, i], every[:, j]]
        scores = relevance[q][every].sum(1) + WEIGHTS.diversity * diversity
        scores += WEIGHTS.compactness * towards[q][every].sum(1) / squared.sqrt()
        place = scores.argmax()
        best.append(every[place])
        best_scores.append(scores[place])
    return torch.stack(best), torch.stack(best_scores)


def check(size: int) -> None:
    """A beam as wide as there are sets finds what all sets give."""
    case = problem(20, 12)
    wide = select_sets(*case, WEIGHTS, BeamSettings(size, 500, 12))
    best, scores = all_sets(*case, size)
    assert torch.equal(wide.members[:, 0].sort(1).values, best)
    assert torch.allclose(wide.scores[:, 0], scores)


def timed(questions: int, call) -> dict[str, float]:
    started = time.perf_counter()
    call()
    return {"time": 1000 * (time.perf_counter() - started) / questions}


def compare(name: str, passages: int, settings: BeamSettings, questions: int, rounds: int) -> None:
    size = settings.size
    check(size)
    # All sets of four of 50 are 230,300 a question.
    few = questions if size < 4 else min(questions, 20)
    case = problem(questions, passages)
    part = tuple(one[:few] for one in case)
    singles = [tuple(one[q : q + 1] for one in part) for q in range(few)]

    def one_by_one() -> None:
        for single in singles:
            select_sets(*single, WEIGHTS, settings)

    found = select_sets(*part, WEIGHTS, settings)
    best, scores = all_sets(*part, size)
    same = (found.members[:, 0].sort(1).values == best).all(1).double().mean()
    share = (found.scores[:, 0] / scores).mean()
    figures = in_turn(
        {
            "beam, batch": lambda: timed(questions, lambda: select_sets(*case, WEIGHTS, settings)),
            "beam, one": lambda: timed(few, one_by_one),
            "all sets": lambda: timed(few, lambda: all_sets(*part, size)),
        },
        rounds,
    )
    print(f"\n{name}: {questions} questions, {few} of them one by one and by all sets")
    report(figures, "time", "ms a question", "beam, batch")
    print(f"the best of all sets: {same:.0%} of questions; its score: {share:.1%} on average")


def models() -> dict[str, ComplementaryModel]:
    """MiniLM, and a network of BERT-base's size."""
    from transformers import BertConfig, BertModel

    source = model_source("minilm")
    selection = Selection(beam=4, candidates=5)
    settings = Settings(selection=selection)
    base = Vectoriser(BertModel(BertConfig()).eval(), "first")
    return {
        "MiniLM": ComplementaryModel.untrained(source, settings, 0),
        "BERT-base's size": ComplementaryModel(base, load_tokenizer(source), settings),
    }


def encoding(count: int) -> None:
    """Encoding beside selection, a question at a time."""
    # "word" is one token; question and special tokens are 16 of the 128.
    passages = tuple(Passage(f"p{n}", "", "word " * 112) for n in range(50))
    questions = [EvidenceQuestion(f"q{n}", "word " * 13, passages) for n in range(count)]
    print(f"\nencoding 50 passages of 128 tokens beside selecting: {count} questions, one by one")
    for name, model in models().items():
        figures: dict[str, list[float]] = {"encoding": [], "selecting": []}
        for question in questions:
            started = time.perf_counter()
            encoded = model.read(question)
            assert {len(one) for one in encoded.passages} == {128}
            states = model.states([encoded])
            between = time.perf_counter()
            choose([question], states, model.settings.selection)
            figures["encoding"].append(1000 * (between - started))
            figures["selecting"].append(1000 * (time.perf_counter() - between))
        details = ", ".join(f"{key} {statistics.median(v):,.2f} ms" for key, v in figures.items())
        print(f"{name}: {details}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--encode", type=int, default=3, help="questions to encode")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for name, (passages, settings) in CASES.items():
        compare(name, passages, settings, options.questions, options.rounds)
    if options.encode:
        encoding(options.encode)


if __name__ == "__main__":
    main()
