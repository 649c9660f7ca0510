"""F1 of the words of two texts, and of their novel words (Novel-F1).

``F1`` is the harmonic mean of precision and recall of the words of one text among those of the
other, each as often as it occurs (KILT, SQuAD); 0 where either text has no word. It is symmetric.

``Novel-F1`` (Paranjape et al., ICLR 2022, section 4.4 and appendix A.2) is the same after the words
that are common in the training targets, and those of the input x, were removed from both texts, all
their occurrences. A copy of x therefore scores 0, as does what is made of common words alone. Two
texts without a novel word between them score 0; the paper does not say so.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from adducir.studies.grounded_generation.evaluation.words import words_of


def f1(first: str, second: str) -> float:
    """F1 of the words of two texts: 0 to 1."""
    return f1_of_words(words_of(first), words_of(second))


def novel_f1(first: str, second: str, context: str, common: Collection[str]) -> float:
    """Novel-F1 of two texts.

    Args:
        first: A text.
        second: Another.
        context: The input x, whose words are not novel.
        common: The common words.
    """
    known = {*common, *words_of(context)}
    return f1_of_words(novel_words(first, known), novel_words(second, known))


def novel_words(text: str, known: Collection[str]) -> list[str]:
    """The words of a text that are not known, each as often as it occurs."""
    return [word for word in words_of(text) if word not in known]


def f1_of_words(first: Sequence[str], second: Sequence[str]) -> float:
    """F1 of two bags of words; 0 where either is empty."""
    same = (Counter(first) & Counter(second)).total()
    if not same:
        return 0.0
    precision, recall = same / len(first), same / len(second)
    return 2 * precision * recall / (precision + recall)


def best_f1(text: str, others: Iterable[str]) -> float:
    """The greatest F1 with one of several texts; 0 where there is none."""
    return max((f1(text, other) for other in others), default=0.0)
