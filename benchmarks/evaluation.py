"""Evaluation from file to figures: Adducir, ir_measures and pytrec_eval.

Each reads the same run and qrels files with its own reader and computes the
means of nDCG@5 of condensed lists, Bpref, AP and R@{1,3,5,10,50,100}. All work
in this one process, after one round to warm up, in turns and in changing
order; the medians are compared, and the means must agree to 1e-9.

    python benchmarks/evaluation.py [--topics 1000] [--depth 1000] [--judged 300]
"""

import argparse
import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import ir_measures
import numpy as np
import pytrec_eval

from adducir import evaluate
from adducir.corpora.qrels import load_qrels
from adducir.evaluation.measures import parse_measures
from adducir.runs.read import read_run

MEASURES = parse_measures("nDCG(judged_only=True)@5 Bpref AP R@1 R@3 R@5 R@10 R@50 R@100")
CUTOFFS = (1, 3, 5, 10, 50, 100)
TOLERANCE = 1e-9
WANTED = {"ir_measures": 5.0, "pytrec_eval": 2.0}
Figures = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--judged", type=int, default=300, help="judgements of a topic")
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run, qrels = Path(folder, "run.trec"), Path(folder, "qrels.txt")
        make(run, qrels, options.topics, options.depth, options.judged)
        report(run, qrels, options.repeats)


def make(run: Path, qrels: Path, topics: int, depth: int, judged: int) -> None:
    """Write a run with ties, and qrels of which a part is retrieved, with spam (-2)."""
    generator = np.random.default_rng(20201121)
    halves = generator.integers(0, 2**32, (2, 50 * depth))
    docnos = np.unique([f"S{a:08x}-A{b:08x}" for a, b in halves.T])
    with run.open("w") as run_file, qrels.open("w") as qrels_file:
        for qid in range(1, topics + 1):
            listed = generator.choice(docnos, depth, replace=False)
            scores = np.sort(generator.gamma(2.0, 5.0, depth).round(4))[::-1]
            run_file.writelines(
                f"{qid} Q0 {docno} {rank} {score} benchmark\n"
                for rank, (docno, score) in enumerate(zip(listed, scores, strict=True), 1)
            )
            found = listed[np.unique(generator.geometric(0.02, judged // 2) % depth)]
            pool = np.union1d(found, generator.choice(docnos, judged - len(found), replace=False))
            grades = generator.choice([-2, 0, 0, 0, 1, 1, 2], len(pool))
            qrels_file.writelines(
                f"{qid} 0 {docno} {grade}\n" for docno, grade in zip(pool, grades, strict=True)
            )


def by_adducir(run: Path, qrels: Path) -> Figures:
    scores = evaluate(read_run(run), load_qrels(qrels), MEASURES, negative_grades="trec_eval")
    return {str(measure): scores.mean(measure) for measure in MEASURES}


def by_ir_measures(run: Path, qrels: Path) -> Figures:
    found = ir_measures.calc_aggregate(
        MEASURES, ir_measures.read_trec_qrels(str(qrels)), ir_measures.read_trec_run(str(run))
    )
    return {str(measure): value for measure, value in found.items()}


def by_pytrec_eval(run: Path, qrels: Path) -> Figures:
    with qrels.open() as qrels_file, run.open() as run_file:
        judged, ranked = pytrec_eval.parse_qrel(qrels_file), pytrec_eval.parse_run(run_file)
    names = {"bpref": "Bpref", "map": "AP"} | {f"recall_{k}": f"R@{k}" for k in CUTOFFS}
    full = pytrec_eval.RelevanceEvaluator(judged, names).evaluate(ranked)
    condensed = pytrec_eval.RelevanceEvaluator(
        judged, ["ndcg_cut_5"], judged_docs_only_flag=1
    ).evaluate(ranked)
    means = {ours: _mean(full, name, len(judged)) for name, ours in names.items()}
    return means | {str(MEASURES[0]): _mean(condensed, "ndcg_cut_5", len(judged))}


def _mean(results: dict[str, dict[str, float]], name: str, topics: int) -> float:
    return sum(values[name] for values in results.values()) / topics


PEERS: dict[str, Callable[[Path, Path], Figures]] = {
    "Adducir": by_adducir,
    "ir_measures": by_ir_measures,
    "pytrec_eval": by_pytrec_eval,
}


def report(run: Path, qrels: Path, repeats: int) -> None:
    """Print seconds, ratios and whether the figures agree."""
    figures = {name: peer(run, qrels) for name, peer in PEERS.items()}
    seconds: dict[str, list[float]] = {name: [] for name in PEERS}
    for turn in range(repeats):
        for name in np.roll(list(PEERS), turn).tolist():
            gc.collect()
            begin = time.perf_counter()
            PEERS[name](run, qrels)
            seconds[name].append(time.perf_counter() - begin)
    medians = {name: statistics.median(taken) for name, taken in seconds.items()}
    print("| from file to figures | median s | range s | times Adducir | wanted |")
    print("|---|---|---|---|---|")
    for name, taken in seconds.items():
        ratio = f"{medians[name] / medians['Adducir']:.1f}"
        wanted = f"{WANTED[name]:.0f}" if name in WANTED else ""
        span = f"{min(taken):.2f} to {max(taken):.2f}"
        print(f"| {name} | {medians[name]:.3f} | {span} | {ratio} | {wanted} |")
    apart = max(
        abs(figures["Adducir"][measure] - value)
        for peer in WANTED
        for measure, value in figures[peer].items()
    )
    print(f"\nLargest difference of a mean: {apart:.1e} (at most {TOLERANCE:.0e} is wanted).")
    if apart > TOLERANCE:
        raise SystemExit("The figures differ.")


if __name__ == "__main__":
    main()
