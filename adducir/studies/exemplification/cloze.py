"""Sentences masked in their own text: what an encoder of contexts can be pretrained on.

The inverse cloze task (Lee, Chang and Toutanova, ACL 2019) with the roles of these studies: the
context is the query, the sentence is sought. It needs no labels, so any text of the kind that is
studied will do. Here the sentence is always masked, as examples and quotations are.
"""

from collections.abc import Iterable, Iterator

from adducir.core.errors import UsageError
from adducir.corpora.spans import MaskedSpan
from adducir.studies.exemplification.masking import CONTEXT_WORDS, masked
from adducir.studies.exemplification.sentences import Sentences
from adducir.studies.exemplification.texts import Text

EVERY = 10


def mask_sentences(
    texts: Iterable[Text],
    *,
    every: int = EVERY,
    longest: int = 1,
    words: int | None = CONTEXT_WORDS,
    min_words: int = 8,
    max_words: int = 60,
) -> Iterator[MaskedSpan]:
    """Yield masked runs of sentences, evenly over each text.

    The first is about ``every`` / 2 sentences behind the beginning, or in the middle of a shorter
    text, the next ones follow ``every`` sentences apart; their lengths go from 1 to ``longest``
    and begin anew. One that has too few or too many words is left out. A text of fewer than three
    sentences has no context on both sides and gives nothing.

    Args:
        words: Whole sentences are kept on each side until they have so many words; None: all.
        max_words: Words that it may have, for each of its sentences.

    Raises:
        UsageError: Masks would meet, or no number of words is allowed.
    """
    if every <= longest:
        raise UsageError(
            f"masks of up to {longest} sentences would meet, {every} sentences apart.",
            hint=f"Let `every` be more than {longest}.",
        )
    if min_words > max_words * longest:
        raise UsageError(
            f"no mask can have {min_words} words: it has {longest} sentences at most, of "
            f"{max_words} words."
        )
    for text in texts:
        yield from _masks(text, every, longest, words, (min_words, max_words))


def _masks(
    text: Text, every: int, longest: int, words: int | None, allowed: tuple[int, int]
) -> Iterator[MaskedSpan]:
    sentences = Sentences(text.content)
    bounds = [
        bound
        for number in range(len(sentences.paragraphs))
        for bound in sentences.of_paragraph(number)
    ]
    last = len(bounds) - 1
    for number, first in enumerate(range(max(1, min(every // 2, last // 2)), last, every)):
        past = min(first + 1 + number % longest, last)
        start, end = bounds[first][0], bounds[past - 1][1]
        count = len(text.content[start:end].split())
        if allowed[0] <= count <= allowed[1] * (past - first):
            yield masked(text, sentences, start, end, words, kind="cloze")
