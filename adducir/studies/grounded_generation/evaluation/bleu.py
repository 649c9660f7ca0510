"""BLEU-1 to BLEU-4 of a whole collection of answers, as ``ms_marco_eval`` counts them.

Papineni et al. (2002) in the form of the COCO caption evaluation, which MS MARCO uses: n-grams are
clipped at their greatest number in one reference; lengths are compared with the reference of the
nearest length, of two equally near the shorter; precisions are (correct + 1e-15) / (all + 1e-9),
which keeps 0 / 0 from failing. BLEU-n is the geometric mean of the precisions to order n, times
exp(1 - r / c) where the answers' words c are fewer than the references' r.

BLEU is of all answers at once and no mean over them: it is shown without test.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

ORDER = 4
_TINY, _SMALL = 1e-15, 1e-9


class Bleu:
    """Counts of n-grams, summed over answers."""

    def __init__(self) -> None:
        self._correct = [0] * ORDER
        self._guessed = [0] * ORDER
        self._length = 0
        self._wanted = 0

    def add(self, answer: Sequence[str], references: Sequence[Sequence[str]]) -> None:
        """Count one answer's words against those of its references, of which there is one."""
        most: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            most |= _grams(reference)
        for gram, count in _grams(answer).items():
            self._correct[len(gram) - 1] += min(count, most[gram])
        for order in range(ORDER):
            self._guessed[order] += max(0, len(answer) - order)
        self._length += len(answer)
        lengths = (len(reference) for reference in references)
        self._wanted += min(lengths, key=lambda one: (abs(one - len(answer)), one))

    def values(self) -> tuple[float, ...]:
        """BLEU-1 to BLEU-4, 0 to 1."""
        ratio = (self._length + _TINY) / (self._wanted + _SMALL)
        penalty = math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
        product, found = 1.0, []
        for order, (correct, guessed) in enumerate(
            zip(self._correct, self._guessed, strict=True), start=1
        ):
            product *= (correct + _TINY) / (guessed + _SMALL)
            found.append(penalty * product ** (1 / order))
        return tuple(found)


def bleu(pairs: Iterable[tuple[Sequence[str], Sequence[Sequence[str]]]]) -> tuple[float, ...]:
    """BLEU-1 to BLEU-4 of (answer, references) pairs, all as words."""
    counts = Bleu()
    for answer, references in pairs:
        counts.add(answer, references)
    return counts.values()


def _grams(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(
        tuple(words[start : start + order])
        for order in range(1, ORDER + 1)
        for start in range(len(words) - order + 1)
    )
