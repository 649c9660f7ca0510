"""Taking examples and quotations out of text: megabytes a second, and whether time is linear.

Extraction of examples is timed on the novels, books and criticism of the collections and on ELI5's
answers; the finding of quotations on every other work of criticism, then on all, with
all novels, the reading and cutting of books apart from the search. A slope of 1 is linear: the
logarithm of the ratio of times over that of sizes.

Then the fuzzy search of one novel in one work of criticism is held against all pairs: RapidFuzz's
own ``cdist`` (C++, same threads, same cut-off), and the plain loop in Python, extrapolated from the
first sentences of the novel. The matches of both must be the same, or what ours lost is printed. At
last all sought sentences of the novel are planted in that work with letters lost, changed and added
by chance, and it is reported how many of those that are still alike are no candidates.

    ADDUCIR_COLLECTIONS=... python benchmarks/spans.py [--rounds 3]
"""

import argparse
import math
import os
import random
import statistics
import string
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from peers import in_turn, report
from rapidfuzz.fuzz import QRatio
from rapidfuzz.process import cdist

from adducir.studies.exemplification.extraction import Tally, extract_examples
from adducir.studies.exemplification.texts import read_texts
from adducir.studies.literary_evidence.builder import find_quotations
from adducir.studies.literary_evidence.grams import candidate_pairs
from adducir.studies.literary_evidence.matching import Present, Sought, find_matches, present, seek
from adducir.studies.literary_evidence.rules import NAMES, RELIC, rules_of
from adducir.studies.literary_evidence.sources import read_book, read_work, text_files

NOVEL = "158-*.txt"
FEW = 40
NOISE = (0.05, 0.1, 0.15, 0.2, 0.25)


def seconds(call: Callable[[], object], rounds: int) -> float:
    """The median time of a call."""
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def megabytes(paths: Sequence[Path]) -> float:
    return sum(path.stat().st_size for path in paths) / 1e6


def show_times(what: str, sizes: Sequence[float], times: Sequence[float]) -> None:
    """Print rates, and the slope where two sizes were timed."""
    for size, taken in zip(sizes, times, strict=True):
        print(f"{what}: {size:.1f} MB in {taken:.2f} s, {size / taken:.1f} MB/s")
    if len(sizes) > 1:
        slope = math.log(times[-1] / times[0]) / math.log(sizes[-1] / sizes[0])
        print(f"{what}: slope {slope:.2f}")


def examples(folder: Path, rounds: int) -> None:
    books = [
        path
        for part in ("criticism", "nonfiction", "novels")
        for path in text_files([folder / "gutenberg" / part])
    ]
    answers = [folder / "eli5" / "eli5-category-validation-2.jsonl"]
    for what, paths in (("examples of books", books), ("examples of answers", answers)):
        parts = [paths[::2], paths] if len(paths) > 1 else [paths]

        def run(part: Sequence[Path]) -> int:
            return sum(1 for _ in extract_examples(read_texts(part), Tally()))

        times = [seconds(lambda part=part: run(part), rounds) for part in parts]
        show_times(what, [megabytes(part) for part in parts], times)


def quotations(folder: Path, rounds: int) -> None:
    novels = text_files([folder / "gutenberg" / "novels"])
    works = text_files([folder / "gutenberg" / "criticism"])
    reading = seconds(lambda: [read_book(path) for path in novels], rounds)
    show_times("reading novels", [megabytes(novels)], [reading])
    books = [read_book(path) for path in novels]
    parts = [works[::2], works]
    read = [[read_work(path) for path in part] for part in parts]
    sizes = [megabytes(part) for part in parts]
    for name in NAMES:
        rules = rules_of(name, {})
        times = [
            seconds(lambda part=part, rules=rules: find_quotations(books, part, rules), rounds)
            for part in read
        ]
        show_times(f"seeking {len(books)} novels in criticism, {name} rules", sizes, times)


def fuzzy(folder: Path, rounds: int) -> None:
    """Ours against all pairs, for one novel and the work that quotes it most."""
    rules = rules_of(RELIC, {})
    gutenberg = folder / "gutenberg"
    book = seek(read_book(next((gutenberg / "novels").glob(NOVEL))).sentences, rules.words)
    works = [present(read_work(path).sentences) for path in text_files([gutenberg / "criticism"])]
    work = max(works, key=lambda one: len(find_matches(0, book, one, rules.min_similarity)))
    texts = [book.texts[place] for place in book.places]

    def ours() -> set[tuple[int, int, int]]:
        found = find_matches(0, book, work, rules.min_similarity)
        return {(one.first, one.last, one.sentence) for one in found}

    def all_pairs() -> set[tuple[int, int, int]]:
        scores = cdist(
            texts,
            work.pieces,
            scorer=QRatio,
            score_cutoff=rules.min_similarity,
            dtype=np.float32,
            workers=2,
        )
        return {(*work.spans[piece], book.places[at]) for at, piece in np.argwhere(scores)}

    mine, theirs = ours(), all_pairs()
    print(
        f"\n{len(texts):,} sentences of a novel, {len(work.pieces):,} pieces of criticism: "
        f"{len(theirs)} matches by all pairs, {len(mine)} by ours, {len(theirs - mine)} lost"
    )
    if mine - theirs:
        raise SystemExit(f"ours alone has {mine - theirs}")

    def timed(call: Callable[[], object]) -> dict[str, float]:
        began = time.perf_counter()
        call()
        return {"searches": 1 / (time.perf_counter() - began)}

    def with_preparing() -> None:
        seek(texts, rules.words)
        ours()

    peers = {
        "adducir": lambda: timed(ours),
        "adducir, runs of the novel made anew": lambda: timed(with_preparing),
        "all pairs (RapidFuzz cdist)": lambda: timed(all_pairs),
    }
    report(in_turn(peers, rounds), "searches", "searches a second", "adducir")
    began = time.perf_counter()
    for text in texts[:FEW]:
        for piece in work.pieces:
            QRatio(text, piece, score_cutoff=rules.min_similarity)
    plain = (time.perf_counter() - began) * len(texts) / FEW
    print(f"the plain loop, EXTRAPOLATED from {FEW} of {len(texts):,} sentences: {plain:.0f} s")
    candidates = len(candidate_pairs(book.grams, work.grams, rules.min_similarity)[0])
    print(f"{len(texts) * len(work.pieces):,} pairs, {candidates:,} compared\n")
    for rate in NOISE:
        show_noise(book, work, rate, rules.min_similarity)


def blurred(text: str, rate: float, draw: random.Random) -> str:
    """A text with letters lost, changed and added, each at a third of the rate."""
    made = []
    for letter in text:
        chance = draw.random()
        if chance > rate / 3:
            made.append(draw.choice(string.ascii_lowercase) if chance < 2 * rate / 3 else letter)
        if 2 * rate / 3 < chance < rate:
            made.append(draw.choice(string.ascii_lowercase))
    return "".join(made)


def show_noise(book: Sought, work: Present, rate: float, alike: float) -> None:
    """How many sentences that were disturbed and are still alike would not be compared."""
    draw = random.Random(7)
    texts = [book.texts[place] for place in book.places]
    planted = present([*work.texts, *(blurred(text, rate, draw) for text in texts)])
    first = len(work.texts)
    piece_of = {span: number for number, span in enumerate(planted.spans)}
    pieces = [piece_of[first + at, first + at + 1] for at in range(len(texts))]
    similar = [
        (at, piece)
        for at, piece in enumerate(pieces)
        if QRatio(texts[at], planted.pieces[piece]) >= alike
    ]
    left, right = candidate_pairs(book.grams, planted.grams, alike)
    compared = set(zip(left.tolist(), right.tolist(), strict=True))
    lost = sum(pair not in compared for pair in similar)
    print(f"{rate:.0%} of the letters disturbed: {len(similar):,} pairs alike, {lost} lost")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if "ADDUCIR_COLLECTIONS" not in os.environ:
        print("ADDUCIR_COLLECTIONS is not set: there is no text to work on")
        return
    folder = Path(os.environ["ADDUCIR_COLLECTIONS"])
    print(f"load {os.getloadavg()[0]:.1f}")
    examples(folder, options.rounds)
    quotations(folder, options.rounds)
    fuzzy(folder, options.rounds)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
