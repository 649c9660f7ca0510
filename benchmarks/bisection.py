"""Documents in an order that puts alike ones together: recursive graph bisection.

Dhulipala et al. (KDD 2016), with the settings of Lucene's BPIndexReorderer: terms in at least 4,096
documents, parts of at least 32 documents, at most 20 rounds of swaps for each part.
"""

import json
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numba import njit

_LEAST_FREQUENCY, _LEAST_PART, _ROUNDS = 4096, 32, 20


def write_reordered(source: Path, target: Path) -> None:
    """Write the lines of the files in ``source`` to one file in ``target``, reordered."""
    files = [np.memmap(path, mode="r") for path in sorted(source.iterdir())]
    counts: Counter[str] = Counter()
    for _, _, _, words in _lines(files):
        counts.update(words)
    common = [word for word, count in counts.items() if count >= _LEAST_FREQUENCY]
    numbers = {word: number for number, word in enumerate(common)}
    places, starts, terms = array("q"), array("q", [0]), array("i")
    for file, start, end, words in _lines(files):
        places.extend((file, start, end))
        terms.extend(numbers[word] for word in words if word in numbers)
        starts.append(len(terms))
    order = bisected(np.array(starts), np.array(terms), len(common))
    target.mkdir()
    with (target / "documents.jsonl").open("wb") as out:
        for file, start, end in np.array(places).reshape(-1, 3)[order]:
            out.write(files[file][start:end])


def _lines(files: Sequence[np.ndarray]) -> Iterator[tuple[int, int, int, set[str]]]:
    """The file, start, end and words of each line."""
    for number, file in enumerate(files):
        with Path(file.filename).open("rb") as handle:
            end = 0
            for line in handle:
                start, end = end, end + len(line)
                yield number, start, end, set(json.loads(line)["contents"].lower().split())


def bisected(starts: np.ndarray, terms: np.ndarray, vocabulary: int) -> np.ndarray:
    """The new order of documents whose ``terms`` begin at ``starts``, (D + 1,)."""
    order = np.arange(len(starts) - 1, dtype=np.int64)
    logs = np.log2(np.arange(len(order) + 2, dtype=np.float32) + 1e-9).astype(np.float32)
    parts = [(0, len(order))]
    left, right = np.zeros(vocabulary, dtype=np.int32), np.zeros(vocabulary, dtype=np.int32)
    while parts:
        first, last = parts.pop()
        if last - first >= 2 * _LEAST_PART:
            _bisect(order[first:last], starts, terms, logs, left, right)
            middle = (first + last) // 2
            parts += [(first, middle), (middle, last)]
    return order


@njit
def _gain(a, b, here, there, logs):
    """What one posting gains that moves from ``a`` in ``here`` documents to ``b`` in ``there``."""
    if a == 0:  # of another side's document: not asked for
        return np.float32(0)
    before = a * (logs[here] - logs[a + 1]) + b * (logs[there] - logs[b + 1])
    after = (a - 1) * (logs[here] - logs[a]) + (b + 1) * (logs[there] - logs[b + 2])
    return np.float32(before - after)


@njit
def _bisect(order, starts, terms, logs, left, right):
    """Swap documents between the halves of ``order`` while that shortens the gaps of postings."""
    size, middle = len(order), len(order) // 2
    gains, vocabulary, postings = np.empty(size, dtype=np.float32), len(left), 0
    moved = np.empty((2, vocabulary), dtype=np.float32)  # what moving a term from either side gains
    for side, begin, end in ((left, 0, middle), (right, middle, size)):
        for n in range(begin, end):
            for i in range(starts[order[n]], starts[order[n] + 1]):
                side[terms[i]] += 1
                postings += 1
    many = postings > 2 * vocabulary  # a gain of each term is cheaper than one of each posting
    for _ in range(_ROUNDS):
        for t in range(vocabulary if many else 0):
            moved[0, t] = _gain(left[t], right[t], middle, size - middle, logs)
            moved[1, t] = _gain(right[t], left[t], size - middle, middle, logs)
        for n in range(size):
            own, other, side = (left, right, 0) if n < middle else (right, left, 1)
            here, there = (middle, size - middle) if n < middle else (size - middle, middle)
            gain = np.float32(0)
            for i in range(starts[order[n]], starts[order[n] + 1]):
                t = terms[i]
                gain += moved[side, t] if many else _gain(own[t], other[t], here, there, logs)
            gains[n] = gain
        lefts = np.argsort(-gains[:middle], kind="mergesort")
        rights = np.argsort(-gains[middle:], kind="mergesort") + middle
        swapped = 0
        for n in range(middle):
            one, two = lefts[n], rights[n]
            if gains[one] + gains[two] <= 0:
                break
            for document, own, other in ((order[one], left, right), (order[two], right, left)):
                for i in range(starts[document], starts[document + 1]):
                    own[terms[i]] -= 1
                    other[terms[i]] += 1
            order[one], order[two] = order[two], order[one]
            swapped += 1
        if not swapped:
            break
    for n in range(size):
        for i in range(starts[order[n]], starts[order[n] + 1]):
            left[terms[i]] = right[terms[i]] = 0
