"""Made-up documents, queries, runs and judgements for the benchmarks, the same for a given seed."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

_ONSETS = (*"bcdfghlmnprstv", "br", "cl", "dr", "fl", "gr", "pl", "pr", "sh", "st", "th", "tr")
_VOWELS = (*"aeiou", "ai", "ea", "ou")
_ENDINGS = ("", *"nrst", "ed", "er", "ing", "ion", "ly", "ment", "ness")


@cache
def vocabulary(size: int, seed: int = 1) -> np.ndarray:
    """``size`` distinct words that look like English, so that a stemmer has work to do."""
    rng = np.random.default_rng(seed)
    words: dict[str, None] = {}
    while len(words) < size:
        syllables = rng.integers(1, 4)
        word = "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(syllables))
        words[word + rng.choice(_ENDINGS)] = None
    return np.array(list(words))


def zipf_words(words: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """``count`` words drawn with probabilities that fall as 1/(rank + 2.7) (Mandelbrot)."""
    weights = 1.0 / (np.arange(len(words)) + 2.7)
    return words[np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(count))]


def documents(
    count: int, length: int, seed: int = 2, different: int = 100_000
) -> Iterator[tuple[str, str]]:
    """``count`` pairs of docno and text, of ``length`` words on average out of ``different``."""
    rng = np.random.default_rng(seed)
    words = vocabulary(different)
    for start in range(0, count, 10_000):
        size = min(10_000, count - start)
        lengths = np.maximum(1, rng.poisson(length, size))
        drawn = zipf_words(words, int(lengths.sum()), rng)
        for number, part in enumerate(np.split(drawn, np.cumsum(lengths)[:-1]), start):
            yield f"D{number:08d}", " ".join(part)


def write_jsonl(folder: Path, count: int, length: int, files: int) -> int:
    """Write documents as JSON lines (id, contents) into ``files`` files; returns their bytes."""
    folder.mkdir(parents=True)
    handles = [(folder / f"part-{i}.jsonl").open("w", encoding="utf-8") for i in range(files)]
    for number, (docno, text) in enumerate(documents(count, length)):
        line = json.dumps({"id": docno, "contents": text})
        handles[number * files // count].write(line + "\n")
    for handle in handles:
        handle.close()
    return sum(path.stat().st_size for path in folder.iterdir())


def queries(count: int, length: int, seed: int = 3) -> list[str]:
    """``count`` queries of ``length`` words, of middling frequency as in real queries."""
    rng = np.random.default_rng(seed)
    middling = vocabulary(100_000)[50:20_000]
    return [" ".join(zipf_words(middling, length, rng)) for _ in range(count)]
