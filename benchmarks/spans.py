"""Taking examples and quotations out of text: megabytes a second, and whether time is linear.

Extraction of examples is timed on the novels, books and criticism of the collections and on ELI5's
answers; the finding of quotations on every other work of criticism, then on all, with
all novels, the reading and cutting of books apart from the search. A slope of 1 is linear: the
logarithm of the ratio of times over that of sizes.

    ADDUCIR_COLLECTIONS=... python benchmarks/spans.py [--rounds 3]
"""

import argparse
import math
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from adducir.studies.exemplification.extraction import Tally, extract_examples
from adducir.studies.exemplification.texts import read_texts
from adducir.studies.literary_evidence.finding import Rules
from adducir.studies.literary_evidence.quotations import find_quotations
from adducir.studies.literary_evidence.sources import read_source, text_files

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
    reading = seconds(lambda: [read_source(path) for path in novels], rounds)
    show_times("reading novels", [megabytes(novels)], [reading])
    books = [read_source(path) for path in novels]
    parts = [works[::2], works]
    read = [[read_source(path, is_work=True) for path in part] for part in parts]
    sizes = [megabytes(part) for part in parts]
    for name in ("strict", "relic"):
        rules = Rules(rules=name)
        times = [
            seconds(lambda part=part, rules=rules: find_quotations(books, part, rules), rounds)
            for part in read
        ]
        show_times(f"seeking {len(books)} novels in criticism, {name} rules", sizes, times)


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
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
