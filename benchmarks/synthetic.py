"""Documents and queries for the benchmarks, the same for a given seed: made up, or of real text.

Made-up words are independent of one another, which suits some ways to skip documents and hurts
others; real text is recombined from the collections in the folder ``ADDUCIR_COLLECTIONS``. Made-up
passages have about the lengths and the vocabulary of MS MARCO's: 56 words on average, drawn from
2.66 million, the number of different terms that Anserini counts there.
"""

import json
import os
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

_ONSETS = (*"bcdfghlmnprstv", "br", "cl", "dr", "fl", "gr", "pl", "pr", "sh", "st", "th", "tr")
_VOWELS = (*"aeiou", "ai", "ea", "ou")
_ENDINGS = ("", *"nrst", "ed", "er", "ing", "ion", "ly", "ment", "ness")


TEXTS = ("made-up", "passages", "real")
_PASSAGE_LENGTH, _PASSAGE_DEVIATION, _PASSAGE_WORDS = 56.0, 24.0, 2_660_000


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


def passages(count: int, seed: int = 2) -> Iterator[tuple[str, str]]:
    """``count`` pairs of docno and text; lengths follow a gamma distribution."""
    rng = np.random.default_rng(seed)
    common = vocabulary(100_000)
    rare = np.array([f"x{number:x}" for number in range(_PASSAGE_WORDS - len(common))])
    words = np.concatenate((common, rare)).astype(object)
    chances = np.cumsum(1.0 / (np.arange(len(words)) + 2.7))
    shape = (_PASSAGE_LENGTH / _PASSAGE_DEVIATION) ** 2
    for start in range(0, count, 10_000):
        size = min(10_000, count - start)
        lengths = rng.gamma(shape, _PASSAGE_LENGTH / shape, size)
        ends = np.cumsum(np.maximum(4, lengths.astype(int)))
        drawn = words[np.searchsorted(chances, rng.random(ends[-1]) * chances[-1])]
        for number, part in enumerate(np.split(drawn, ends[:-1]), start):
            yield f"D{number:08d}", " ".join(part)


def real_documents(count: int, seed: int = 2) -> Iterator[tuple[str, str]]:
    """``count`` pairs of docno and text: two windows of 15 to 45 words each out of one source.

    A source is a book, an argument or an answer, drawn in proportion to its length.
    """
    folder = Path(os.environ["ADDUCIR_COLLECTIONS"])
    sources = []
    for path in sorted((folder / "gutenberg").glob("*/*.txt")):
        book = path.read_text(encoding="utf-8", errors="replace")
        sources.append(book.partition("*** START OF")[2].partition("*** END OF")[0].split())
    arguments = _json_lines(folder / "touche/argsme-subset.jsonl")
    sources += [argument["premise"].split() for argument in arguments]
    questions = _json_lines(folder / "eli5/eli5-category-validation-2.jsonl")
    sources += [answer.split() for each in questions for answer in each["answers"]["text"]]
    sources = [words for words in sources if len(words) >= 100]
    ends = np.cumsum([len(words) for words in sources])
    rng = np.random.default_rng(seed)
    for number in range(count):
        words = sources[int(np.searchsorted(ends, rng.integers(ends[-1]), side="right"))]
        sizes = rng.integers(15, 46, 2)
        starts = rng.integers(0, len(words) - sizes + 1)
        pair = zip(starts.tolist(), sizes.tolist(), strict=True)
        text = " ".join(" ".join(words[start : start + size]) for start, size in pair)
        yield f"D{number:08d}", text


def real_queries(count: int, seed: int = 3) -> list[str]:
    """``count`` questions of ELI5 and HotpotQA, at most those that there are."""
    folder = Path(os.environ["ADDUCIR_COLLECTIONS"])
    eli5 = _json_lines(folder / "eli5/eli5-category-validation-2.jsonl")
    hotpotqa = _json_lines(folder / "hotpotqa/hotpotqa.subset.jsonl")
    questions = [each["title"] for each in eli5] + [each["question"] for each in hotpotqa]
    chosen = np.random.default_rng(seed).permutation(len(questions))[:count]
    return [questions[place] for place in chosen]


def _json_lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write_jsonl(folder: Path, count: int, length: int, files: int, text: str = "made-up") -> int:
    """Write documents as JSON lines (id, contents) into ``files`` files; returns their bytes."""
    folder.mkdir(parents=True)
    handles = [(folder / f"part-{i}.jsonl").open("w", encoding="utf-8") for i in range(files)]
    made_up = partial(documents, length=length)
    makers = {"made-up": made_up, "passages": passages, "real": real_documents}
    pairs = makers[text](count)
    for number, (docno, text) in enumerate(pairs):
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
