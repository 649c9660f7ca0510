"""How far may one trust a model's judgements: coverage and width of 95 % intervals.

    python benchmarks/judged.py                  # every cell, 4,000 draws each
    python benchmarks/judged.py --draws 400      # a quick look
    python benchmarks/judged.py --collection touche

The difference of P@10 between two real runs of Robust03, of Touche 2021, or of BM25 and query
likelihood on CACM (their real qrels are the people), with topics drawn with replacement, and judges
from a coin to good and biased ones:

- model: the judge's grades alone;
- hybrid: the judge's grades with people's pasted in for the sample;
- people: the sample alone, by Horvitz and Thompson;
- corrected: ``adducir.judges``;
- topics: as many whole topics as the documents pay for, prediction-powered.

For each: how often the paired t-interval covers the difference over all topics by people, its mean
width, and how often it excludes 0 on the wrong side.
"""

import argparse
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.stats import t as student

import adducir as ad
from adducir.corpora.qrels import Qrels, load_qrels
from adducir.judges.correction import Sampled
from adducir.judges.sampling import draw, inclusion_probabilities
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.statistics.prediction_powered import powered_mean

K = 10
JUDGES = {  # recall, false positives; of documents in the favoured run's top 10
    "coin": ((0.5, 0.5), (0.5, 0.5)),
    "weak": ((0.55, 0.4), (0.55, 0.4)),
    "good": ((0.9, 0.05), (0.9, 0.05)),
    "biased": ((0.75, 0.1), (0.95, 0.45)),
    "inverted": ((0.2, 0.7), (0.2, 0.7)),
}


class Pool:
    """The union of some runs' top 10, its gains by people, and who retrieved what."""

    def __init__(self, qrels: Qrels, runs: list[Run]) -> None:
        relevant = {(q, d) for q, d, grade in qrels.frame.rows() if grade > 0}
        tops = [set(run.top(K).frame.select("qid", "docno").rows()) for run in runs]
        pairs = sorted(pair for pair in set().union(*tops) if pair[0] in set(qrels.qids))
        self.qids = sorted({q for q, _ in pairs})
        number = {q: n for n, q in enumerate(self.qids)}
        self.topic = np.array([number[q] for q, _ in pairs])
        self.gain = np.array([float(pair in relevant) for pair in pairs])
        self.held = np.array([[pair in top for pair in pairs] for top in tops])
        self.starts = np.searchsorted(self.topic, np.arange(len(self.qids) + 1))


def opened(collection: str, folder: Path) -> tuple[list[str], Pool]:
    """The systems' names, the two that are compared first, and their pool."""
    if collection == "robust03":
        names = ["uic0301", "aplrob03a", "SABIR03BASE", "pircRBa1"]
        runs = [read_run(folder / "robust03" / f"input.{name}.gz") for name in names]
        return names, Pool(load_qrels(folder / "robust03" / "qrels.txt.gz"), runs)
    if collection == "touche":
        paths = sorted((folder / "touche" / "runs" / "2021").iterdir())[:4]
        qrels = load_qrels(folder / "touche" / "qrels" / "touche-task1-51-100-relevance.qrels")
        return [path.name for path in paths], Pool(qrels, [read_run(path) for path in paths])
    with TemporaryDirectory() as scratch:
        index = ad.build_index(folder / "cacm" / "corpus.jsonl", Path(scratch) / "cacm")
        topics = ad.load_topics(folder / "cacm" / "topics.tsv")
        names = ["bm25", "qld"]
        runs = [ad.search(index, topics, name, depth=K) for name in names]
    return names, Pool(load_qrels(folder / "cacm" / "qrels.cacm.txt"), runs)


def sums(topic: np.ndarray, values: np.ndarray, topics: int) -> np.ndarray:
    return np.bincount(topic, values, minlength=topics) / K


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--collection", choices=["robust03", "touche", "cacm"], default="robust03")
    parser.add_argument("--judges", default=",".join(JUDGES))
    parser.add_argument("--topics", default="20,50")
    parser.add_argument("--documents", default="80,200,400,800")
    options = parser.parse_args()
    folder = os.environ.get("ADDUCIR_COLLECTIONS")
    if not folder:
        raise SystemExit("set ADDUCIR_COLLECTIONS to the folder of test collections")
    names, pool = opened(options.collection, Path(folder))
    gap = pool.gain * (pool.held[0] - 1.0 * pool.held[1])
    true = sums(pool.topic, gap, len(pool.qids)).mean()
    print(
        f"{len(pool.topic):,} pairs, {len(pool.qids)} topics; {names[0]} - {names[1]}: {true:+.3f}"
    )
    print("judge      topics  documents  method      covers   width  wrong sign")
    for judge in options.judges.split(","):
        for topics in map(int, options.topics.split(",")):
            for documents in map(int, options.documents.split(",")):
                cell(pool, judge, topics, documents, true, options.draws)


def cell(pool: Pool, judge: str, topics: int, documents: int, true: float, draws: int) -> None:
    rng = np.random.default_rng([7, topics, documents, list(JUDGES).index(judge)])
    intervals: dict[str, list[tuple[float, float]]] = {}
    factor = student.ppf(0.975, topics - 1) / np.sqrt(topics)
    plain, favoured = JUDGES[judge]
    for _ in range(draws):
        chosen = rng.integers(len(pool.qids), size=topics)
        rows = np.concatenate([np.arange(pool.starts[q], pool.starts[q + 1]) for q in chosen])
        topic = np.repeat(np.arange(topics), (pool.starts[1:] - pool.starts[:-1])[chosen])
        gain, held = pool.gain[rows], pool.held[:2, rows]
        yes = np.where(held[0], np.array(favoured)[:, None], np.array(plain)[:, None])
        level = (rng.random(len(rows)) < np.where(gain > 0, yes[0], yes[1])).astype(np.int64)
        probability = inclusion_probabilities(topic, min(documents, len(rows)))
        drawn = draw(topic, probability, rng)
        seen = np.where(drawn, gain, np.nan)
        weight = held[0] - 1.0 * held[1]
        for method, gains in {
            "model": level.astype(float),
            "hybrid": np.where(drawn, gain, level),
            "people": np.where(np.isnan(seen), 0.0, seen) / probability,
            "corrected": Sampled.of(topic, level, seen, probability).corrected,
        }.items():
            values = sums(topic, weight * gains, topics)
            reach = factor * values.std(ddof=1)
            intervals.setdefault(method, []).append((values.mean() - reach, values.mean() + reach))
        size = round(documents * topics / len(rows))
        if 3 <= size <= topics - 2:
            order = rng.permutation(topics)
            few, others = order[:size], order[size:]
            human, model = sums(topic, weight * gain, topics), sums(topic, weight * level, topics)
            powered = powered_mean(human[few], model[few], model[others])
            intervals.setdefault("topics", []).append((powered.low, powered.high))
    for method, found in intervals.items():
        low, high = np.array(found).T
        covers = np.mean((low <= true) & (true <= high))
        wrong = np.mean(low > 0) if true < 0 else np.mean(high < 0)
        print(
            f"{judge:10} {topics:6} {documents:10}  {method:10} {covers:7.3f} "
            f"{(high - low).mean():7.3f} {wrong:11.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
