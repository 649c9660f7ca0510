"""ROUGE-L as KILT computes it, with the PyPI package ``rouge`` (1.0.0 and 1.0.1).

It differs from Lin's measure (:mod:`adducir.evaluation.rouge`) in three ways that move the figures:

* texts are cut into sentences at every full stop (``9.4`` as well) and into words at white space;
  capitals and other punctuation count;
* it is the summary-level measure: of each pair of sentences the longest common subsequence is
  found, and the union over all pairs counts;
* words are counted once, however often they occur: union, reference and answer are sets.

With |U| words in the union, m in the reference and n in the answer, R = |U| / m, P = |U| / n and
F = 2 P R / (P + R + 1e-8). Of several longest subsequences the package takes the one that goes back
in the answer where both ways are as long; so do we.
"""

from collections.abc import Sequence

_TINY = 1e-8


def kilt_rouge_l(answer: str, reference: str) -> float:
    """F, 0 to 1; 0 where either text has no word."""
    said, wanted = _sentences(answer), _sentences(reference)
    said_words = {word for sentence in said for word in sentence}
    wanted_words = {word for sentence in wanted for word in sentence}
    if not said_words or not wanted_words:
        return 0.0
    union = {word for one in wanted for other in said for word in _subsequence(one, other)}
    recall, precision = len(union) / len(wanted_words), len(union) / len(said_words)
    return 2 * (precision * recall) / (precision + recall + _TINY)


def _sentences(text: str) -> list[list[str]]:
    """The words of each sentence; blanks between two full stops are one empty word there."""
    return [sentence.split() or [""] for sentence in text.split(".") if sentence]


def _subsequence(first: Sequence[str], second: Sequence[str]) -> set[str]:
    """The words of a longest common subsequence."""
    lengths = [[0] * (len(second) + 1)]
    for word in first:
        above, row = lengths[-1], [0]
        for place, other in enumerate(second):
            row.append(above[place] + 1 if word == other else max(above[place + 1], row[place]))
        lengths.append(row)
    words: set[str] = set()
    i, j = len(first), len(second)
    while i and j:
        if first[i - 1] == second[j - 1]:
            i, j = i - 1, j - 1
            words.add(first[i])
        elif lengths[i - 1][j] > lengths[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return words
