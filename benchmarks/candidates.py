"""Candidate sets: passages of a book ranked for long queries, against rank_bm25 and bm25s.

The candidates are the 4,888 runs of three sentences of a made-up book and, where
ADDUCIR_COLLECTIONS is set, of David Copperfield; the queries have 150 words (of criticism of
Dickens). Everyone starts from the queries' texts, cut by lower().split(), and delivers every
candidate's score, or the rank of a gold candidate, or all candidates in order. Scores and ranks
are checked against rank_bm25's and bm25s's before any time is reported; compiling is distinguished.
rank_bm25 ranks a few queries a round. bm25s is timed as its documentation calls it (get_scores;
retrieve with its numba backend) and, for scores, once more with its numba scorer switched on by
hand. rank_bm25 and get_scores know no threads.

Then 66,000 units are ranked for 1,185 contexts of 300 words, for which rank_bm25's time is
extrapolated from two; and by vectors of 384 numbers (made up: what is timed is ranking, not
encoding), against one product and one sort a context in numpy.

    python benchmarks/candidates.py [--queries 400] [--rounds 7] [--threads 2] [--part all]
"""

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import numpy as np
from peers import in_turn, report, run_apart
from synthetic import vocabulary, zipf_words

from adducir.indexes.candidates import CandidateSet
from adducir.indexes.models import BM25, Okapi
from adducir.indexes.vocabulary import Tokenizer, Vocabulary, lower_split

WINDOWS, SENTENCES = 4888, 3
FEW = 5
CONTEXTS, UNITS, WIDTH = 1185, 66_000, 384


def of_tokens(
    lists: list[list[str]], tokenizer: Tokenizer | None = None, *, threads: int | None = None
) -> CandidateSet:
    words = Vocabulary(tokenizer)
    return CandidateSet(words.of_terms(lists, grow=True), words, threads)


def made_up(texts: int, length: int, seed: int, words: int = 20_000) -> list[str]:
    """Texts of ``length`` words on average."""
    rng = np.random.default_rng(seed)
    lengths = np.maximum(1, rng.poisson(length, texts))
    drawn = zipf_words(vocabulary(100_000)[:words], int(lengths.sum()), rng)
    return [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]


def book_of(collections: Path) -> tuple[list[str], list[str]]:
    """David Copperfield's sentences, and criticism of Dickens in pieces of 150 words."""

    def text(pattern: str) -> str:
        path = next((collections / "gutenberg").glob(pattern))
        whole = path.read_text(encoding="utf-8")
        return whole.split("*** START OF", 1)[1].split("*** END OF", 1)[0]

    sentences = re.split(r"(?<=[.!?;:])\s+", text("novels/766-*.txt"))
    words = text("criticism/22362-*.txt").split()
    return sentences, [" ".join(words[i : i + 150]) for i in range(0, len(words) - 150, 150)]


def rate(count: int, call: Callable[[], object]) -> Callable[[], dict[str, float]]:
    """Tells how many of ``count`` queries ``call`` deals with in a second.

    Also in a second of processor time, which depends less on what else the machine does.
    """

    def timed() -> dict[str, float]:
        started, busy = time.perf_counter(), time.process_time()
        call()
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
        return {"rate": count / seconds, "busy": count / busy}

    return timed


def peer_rank(scores: np.ndarray, gold: int) -> int:
    return int((scores >= scores[gold]).sum())


def bm25s_of(passages: list[list[str]], backend: str, dtype: str = "float32"):
    import bm25s

    ranker = bm25s.BM25(k1=0.9, b=0.4, method="lucene", backend=backend, dtype=dtype)
    ranker.index(passages, show_progress=False)
    return ranker


def check(ours: CandidateSet, okapi, passages: list[list[str]], few: list[str]) -> None:
    """Stop unless scores and ranks are those of the peers."""
    cut = [lower_split(query) for query in few]
    theirs = np.array([okapi.get_scores(query) for query in cut])
    scores = ours.scores(few, Okapi())
    apart = np.abs(scores - theirs).max()
    gold = list(range(0, 900 * len(few), 900))
    ranks = [peer_rank(row, one) for row, one in zip(theirs, gold, strict=True)]
    lucene = np.array([bm25s_of(passages, "numpy", "float64").get_scores(query) for query in cut])
    apart_bm25s = np.abs(ours.scores(few, BM25()) - lucene).max()
    print(f"greatest difference: rank_bm25 {apart:.2g}, bm25s (float64) {apart_bm25s:.2g}")
    if (
        max(apart, apart_bm25s) > 1e-9
        or sum(ours.gold_counts(few, gold, Okapi())).tolist() != ranks
    ):
        sys.exit("the scores or ranks disagree: no times")


def book(title: str, sentences: list[str], queries: list[str], rounds: int, threads: int) -> None:
    """Time everyone on the windows of a book."""
    import rank_bm25

    sentences = sentences[: WINDOWS + SENTENCES - 1]
    passages = [lower_split(" ".join(sentences[i : i + SENTENCES])) for i in range(WINDOWS)]
    ours = of_tokens(passages, lower_split, threads=threads)
    single = of_tokens(passages, lower_split, threads=1)
    okapi = rank_bm25.BM25Okapi(passages)
    plain, numba = bm25s_of(passages, "numpy"), bm25s_of(passages, "numba")
    by_hand = bm25s_of(passages, "numba")
    by_hand.activate_numba_scorer()
    words = statistics.mean(len(query.split()) for query in queries)
    print(f"\n{title}: {len(ours):,} candidates of {np.mean([*map(len, passages)]):.0f} words, ")
    print(f"{len(queries)} queries of {words:.0f} words, {threads} threads")
    few, count = queries[:FEW], len(queries)
    check(ours, okapi, passages, few)
    gold = list(range(count))

    def retrieve() -> object:
        cut = [lower_split(query) for query in queries]
        return numba.retrieve(cut, k=WINDOWS, show_progress=False, n_threads=threads)

    by_hand.get_scores(passages[0])
    retrieve()
    adducir, one = f"adducir, {threads} threads", "adducir, 1 thread"
    show_times(
        "every score",
        rounds,
        {
            adducir: rate(count, lambda: ours.scores(queries, Okapi())),
            one: rate(count, lambda: single.scores(queries, Okapi())),
            "rank_bm25": rate(FEW, lambda: [okapi.get_scores(lower_split(q)) for q in few]),
            "bm25s": rate(count, lambda: [plain.get_scores(lower_split(q)) for q in queries]),
            "bm25s, numba by hand": rate(
                count, lambda: [by_hand.get_scores(lower_split(q)) for q in queries]
            ),
        },
    )
    show_times(
        "the gold candidate's rank",
        rounds,
        {
            adducir: rate(count, lambda: sum(ours.gold_counts(queries, gold, Okapi()))),
            one: rate(count, lambda: sum(single.gold_counts(queries, gold, Okapi()))),
            "rank_bm25": rate(
                FEW,
                lambda: [
                    peer_rank(okapi.get_scores(lower_split(q)), g)
                    for q, g in zip(few, gold, strict=False)
                ],
            ),
            "bm25s": rate(
                count,
                lambda: [
                    peer_rank(plain.get_scores(lower_split(q)), g)
                    for q, g in zip(queries, gold, strict=True)
                ],
            ),
        },
    )
    show_times(
        "all candidates in order",
        rounds,
        {
            adducir: rate(count, lambda: ours.rank(queries, Okapi())),
            "rank_bm25": rate(
                FEW, lambda: [np.argsort(-okapi.get_scores(lower_split(q))) for q in few]
            ),
            f"bm25s retrieve, {threads} threads": rate(count, retrieve),
        },
    )
    show_times(
        "from sentences to a set of passages (sets a second)",
        rounds,
        {
            "adducir": rate(1, lambda: of_tokens(joined(sentences))),
            "rank_bm25": rate(1, lambda: rank_bm25.BM25Okapi(joined(sentences))),
            "bm25s": rate(1, lambda: bm25s_of(joined(sentences), "numpy")),
        },
    )


def joined(sentences: list[str]) -> list[list[str]]:
    """The windows' terms, each sentence cut once."""
    cut = [lower_split(sentence) for sentence in sentences]
    windows = (cut[i : i + SENTENCES] for i in range(len(cut) - SENTENCES + 1))
    return [list(chain.from_iterable(window)) for window in windows]


def show_times(what: str, rounds: int, peers: dict[str, Callable[[], dict[str, float]]]) -> None:
    """Time peers in turn and print their rates."""
    print(f"\n{what}")
    figures, ours = in_turn(peers, rounds), next(iter(peers))
    report(figures, "rate", "a second", ours=ours)
    report(figures, "busy", "a second of processor time", ours=ours)


def units(rounds: int, threads: int) -> None:
    """Rank 66,000 units for 1,185 contexts."""
    import rank_bm25

    texts = made_up(UNITS, 20, seed=5, words=100_000)
    contexts = made_up(CONTEXTS, 300, seed=6, words=100_000)
    gold = np.random.default_rng(7).integers(0, UNITS, CONTEXTS)
    taken: list[tuple[float, float]] = []
    for _ in range(rounds):
        started = time.perf_counter()
        ours = CandidateSet.of_texts(texts, lower_split, threads=threads)
        built = time.perf_counter()
        ranks = sum(ours.gold_counts(contexts, gold, Okapi()))
        taken.append((built - started, time.perf_counter() - built))
    build, search = (statistics.median(part) for part in zip(*taken, strict=True))
    print(f"\n{UNITS:,} units, {CONTEXTS:,} contexts of 300 words, {threads} threads: ", end="")
    print(f"texts to a set {build:.2f} s, gold ranks {search:.2f} s")
    peer = rank_bm25.BM25Okapi([lower_split(text) for text in texts])
    started = time.perf_counter()
    theirs = [
        peer_rank(peer.get_scores(lower_split(context)), one)
        for context, one in zip(contexts[:2], gold[:2], strict=True)
    ]
    seconds = (time.perf_counter() - started) / 2 * CONTEXTS
    if theirs != ranks[:2].tolist():
        sys.exit("the ranks disagree: no times")
    print(f"rank_bm25, EXTRAPOLATED from two contexts: {seconds:,.0f} s ({seconds / search:.0f} x)")
    dense(gold, rounds)


def dense(gold: np.ndarray, rounds: int) -> None:
    """Rank the units by vectors."""
    from adducir.encoders.ranking import by_vectors, context_ranks

    draw = np.random.default_rng(8)
    candidates, contexts = (
        draw.standard_normal((count, WIDTH), dtype=np.float32) for count in (UNITS, CONTEXTS)
    )
    once = np.ones(UNITS, dtype=np.int64)

    def ours() -> np.ndarray:
        return context_ranks(by_vectors(contexts, candidates), gold, once).ranks

    def plain() -> list[int]:
        ranks = []
        for context, one in zip(contexts, gold, strict=True):
            order = np.argsort(-(candidates @ context), kind="stable")
            ranks.append(int(np.flatnonzero(order == one)[0]) + 1)
        return ranks

    apart = np.abs(ours() - np.array(plain()))
    # A product of matrices rounds otherwise than one of a vector: neighbours may change places.
    if np.count_nonzero(apart) > len(gold) / 100 or apart.max() > 2:
        sys.exit("the ranks disagree: no times")
    print(f"\nby vectors of {WIDTH} numbers; ranks alike but for {np.count_nonzero(apart)}")
    show_times(
        "contexts ranked",
        rounds,
        {"adducir": rate(CONTEXTS, ours), "numpy, a context at a time": rate(CONTEXTS, plain)},
    )


def first_call() -> float:
    """Seconds that a process needs to score a small set for the first time."""
    started = time.perf_counter()
    ours = of_tokens([["a", "b"], ["b"], ["c"]])
    ours.rank([["a"]], Okapi(), depth=2)
    sum(ours.gold_counts([["a"]], [0], Okapi()))
    return time.perf_counter() - started


def first_calls() -> None:
    """Tell the first call with no compiled code on disk, and with it."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        cold, warm = (run_apart(__file__, "--part", "first")["seconds"] for _ in range(2))
        del os.environ["NUMBA_CACHE_DIR"]
    print(f"first call: {cold:.2f} s (compiles, once a machine), later processes {warm:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--part", choices=["all", "first", "books", "units"], default="all")
    options = parser.parse_args()
    if options.part == "first":
        print(json.dumps({"seconds": first_call()}))
        return
    if options.part == "all":
        first_calls()
    if options.part in ("all", "books"):
        sentences = made_up(WINDOWS + SENTENCES - 1, 20, seed=3)
        queries = made_up(options.queries, 150, seed=4)
        book("A made-up book", sentences, queries, options.rounds, options.threads)
        if folder := os.environ.get("ADDUCIR_COLLECTIONS"):
            sentences, pieces = book_of(Path(folder))
            pieces = pieces[: options.queries]
            book("David Copperfield", sentences, pieces, options.rounds, options.threads)
        else:
            print("\nADDUCIR_COLLECTIONS is not set: no real book")
    if options.part in ("all", "units"):
        units(3, options.threads)


if __name__ == "__main__":
    main()
