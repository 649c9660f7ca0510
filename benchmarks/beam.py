"""Selecting sets of passages: the beam search against all sets, on random vectors.

The paper's sizes (Mou et al., 2020): HotpotQA-50 has 50 passages a question and takes N = 5, M = 4;
MNLI-12 has 12 and takes N = 4, M = 3; vectors have 768 numbers, as BERT's. Pairs, and sets of three
and four, where all sets become many. Before any time is reported: where the beam is as wide as
there are sets, it finds the best of all. Printed as well: how often the paper's beam finds the
best, and how much of its score. Random vectors are alike in all directions, so that share says
nothing of trained ones.

Then the whole of a selection: reading and encoding the 50 passages of 128 tokens of a question by
MiniLM. The paper shows 1,990 ms of encoding and 2 ms of selecting.

    python benchmarks/beam.py [--questions 200] [--rounds 5] [--threads 1] [--encode 3]
"""

import argparse
import statistics
import time
from itertools import combinations

import numpy as np
import torch
from peers import in_turn, report

from adducir.models.sources import model_source
from adducir.studies.complementary_evidence.model import ComplementaryModel, SelectorSettings
from adducir.studies.complementary_evidence.questions import EvidencePassage, EvidenceQuestion
from adducir.studies.complementary_evidence.selection import CandidatePool, Selection

CASES = {
    "HotpotQA-50, pairs": (50, Selection(size=2, beam=4, candidates=5)),
    "MNLI-12, pairs": (12, Selection(size=2, beam=3, candidates=4)),
    "50 passages, sets of 3": (50, Selection(size=3, beam=4, candidates=5)),
    "50 passages, sets of 4": (50, Selection(size=4, beam=4, candidates=5)),
}


def problems(questions: int, passages: int) -> list[tuple[np.ndarray, ...]]:
    """Relevance, vectors and question of each."""
    draw = np.random.default_rng(1)
    shapes = (passages, 768), 768
    return [
        (draw.random(passages), *(draw.standard_normal(one) for one in shapes))
        for _ in range(questions)
    ]


def beam(problem: tuple[np.ndarray, ...], selection: Selection) -> tuple[list[int], float]:
    return CandidatePool.of(*problem, selection.candidates).best(selection)


def all_sets(problem: tuple[np.ndarray, ...], selection: Selection) -> tuple[list[int], float]:
    """The best of all sets, and its score."""
    pool = CandidatePool.of(*problem, len(problem[0]))
    sets = list(combinations(range(len(problem[0])), selection.size))
    scores = pool.scores(sets, selection)
    return pool.numbers[list(sets[scores.argmax()])].tolist(), float(scores.max())


def compare(name: str, passages: int, selection: Selection, questions: int, rounds: int) -> None:
    wide = selection.model_copy(update={"beam": 500, "candidates": 12})
    for problem in problems(20, 12):
        assert sorted(beam(problem, wide)[0]) == sorted(all_sets(problem, wide)[0])
    # All sets of four of 50 are 230,300 a question.
    some = problems(questions if selection.size < 4 else min(questions, 5), passages)
    found = [(beam(one, selection), all_sets(one, selection)) for one in some]
    same = statistics.mean(set(one) == set(best) for (one, _), (best, _) in found)
    share = statistics.mean(score / most for (_, score), (_, most) in found)

    def timed(select) -> dict[str, float]:
        started = time.perf_counter()
        for one in some:
            select(one, selection)
        return {"time": 1000 * (time.perf_counter() - started) / len(some)}

    ways = {"beam": lambda: timed(beam), "all sets": lambda: timed(all_sets)}
    print(f"\n{name}: {len(some)} questions")
    report(in_turn(ways, rounds), "time", "ms a question", "beam")
    print(f"the best of all sets: {same:.0%} of questions; its score: {share:.1%} on average")


def encoding(count: int) -> None:
    """Encoding beside selection, a question at a time."""
    # "word" is one token; question and special tokens are 16 of the 128.
    passages = tuple(EvidencePassage(f"p{n}", "", "word " * 112) for n in range(50))
    selection = Selection(beam=4, candidates=5)
    model = ComplementaryModel.untrained(
        model_source("minilm"), SelectorSettings(selection=selection), 0
    )
    times: dict[str, list[float]] = {"encoding": [], "selecting": []}
    for number in range(count):
        started = time.perf_counter()
        question = EvidenceQuestion(f"q{number}", "word " * 13, passages)
        (pool,) = model.pools([question], selection.candidates)
        between = time.perf_counter()
        pool.best(selection)
        times["encoding"].append(1000 * (between - started))
        times["selecting"].append(1000 * (time.perf_counter() - between))
    details = ", ".join(f"{key} {statistics.median(v):,.2f} ms" for key, v in times.items())
    print(f"\nMiniLM, 50 passages of 128 tokens, {count} questions: {details}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--encode", type=int, default=3, help="questions to encode")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for name, (passages, selection) in CASES.items():
        compare(name, passages, selection, options.questions, options.rounds)
    if options.encode:
        encoding(options.encode)


if __name__ == "__main__":
    main()
