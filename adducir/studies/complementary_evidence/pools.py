"""Pools of paragraphs for multi-hop questions: HotpotQA-50 (Mou et al., 2020, appendix B).

For each question the paper takes 50 paragraphs by "bigram BM25" (after Godbole et al., 2019) from
the abstracts of Wikipedia; here from the paragraphs at hand. What the papers leave open is settled
after DrQA, whose bigrams HotpotQA's own retrieval follows (Chen et al., ACL 2017): terms are words
in lower case and pairs of neighbouring words, none of them a stop word (Lucene's 33), unstemmed.
Title and text are searched together, by Lucene's BM25 formula over all paragraphs.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, get_args, overload

from adducir.core.errors import UsageError
from adducir.core.progress import progress
from adducir.indexes.candidates import Vocabulary, rank_parts
from adducir.indexes.models import BM25
from adducir.studies.complementary_evidence.hotpotqa import HotpotQuestion, passage_of, with_gold
from adducir.studies.complementary_evidence.paragraphs import Paragraphs
from adducir.studies.complementary_evidence.record import EvidenceQuestion
from adducir.studies.complementary_evidence.sampling import NEGATIVES, with_sets

PASSAGES = 50
Gold = Literal["always", "found"]
"""Whether a pool gets the true paragraphs that BM25 did not put into it."""

# fmt: off
STOP_WORDS = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with",
))
# fmt: on
_WORD = re.compile(r"\w+")


def bigram_terms(text: str) -> list[str]:
    """The words and pairs of neighbouring words of a text; a pair is joined by a blank."""
    words = _WORD.findall(text.lower())
    kept = [word for word in words if word not in STOP_WORDS]
    pairs = (
        f"{one} {two}"
        for one, two in pairwise(words)
        if one not in STOP_WORDS and two not in STOP_WORDS
    )
    return [*kept, *pairs]


class PoolCounts(NamedTuple):
    """What became of the questions.

    Attributes:
        questions: Questions given.
        unknown: Of them, those of which a true paragraph is nowhere at hand.
        found: Those whose true paragraphs BM25 all found: the upper bound of exact match.
        made: Questions made. With gold always in, those ``unknown`` are left out.
    """

    questions: int
    unknown: int
    found: int
    made: int


class Pools(Sequence[EvidenceQuestion]):
    """The questions with their pools, each made when it is asked for, and what became of them.

    Args:
        counts: What became of the questions.
        make: Makes the one of a place.
    """

    def __init__(self, counts: PoolCounts, make: Callable[[int], EvidenceQuestion]) -> None:
        self.counts, self._make = counts, make

    def __len__(self) -> int:
        return self.counts.made

    @overload
    def __getitem__(self, place: int) -> EvidenceQuestion: ...

    @overload
    def __getitem__(self, place: slice) -> list[EvidenceQuestion]: ...

    def __getitem__(self, place: int | slice) -> EvidenceQuestion | list[EvidenceQuestion]:
        found = range(len(self))[place]
        return self._make(found) if isinstance(found, int) else [self._make(one) for one in found]


def bm25_pools(
    questions: Sequence[HotpotQuestion],
    paragraphs: Paragraphs,
    *,
    passages: int = PASSAGES,
    gold: Gold = "always",
    negatives: int = NEGATIVES,
    model: BM25 | None = None,
    seed: int = 0,
) -> Pools:
    """Give each question the paragraphs that BM25 ranks first.

    The paragraphs are searched part by part: what is held does not grow with their texts.

    Args:
        questions: The questions; those without supporting facts get a pool without gold sets.
        paragraphs: All that is searched.
        passages: Paragraphs of a pool; where there are fewer, all.
        gold: ``found`` leaves the pool as BM25 makes it, as in the paper, and counts in
            ``missing`` what it lacks. ``always`` puts lacking true paragraphs into the last
            places, and leaves out questions of which one is not at hand.
        negatives: Sets of false passages to train on, as many members as the gold set.
        model: BM25's parameters; Anserini's defaults where not given.
        seed: Decides the negative sets, with the question's id.

    Raises:
        UsageError: No paragraph at all, no place for the true ones, or no such choice.
    """
    if gold not in get_args(Gold):
        raise UsageError(f"gold must be 'always' or 'found', not {gold!r}.")
    if not len(paragraphs):
        raise UsageError("there is no paragraph to search.")
    texts = [question.question for question in questions]
    progress().start("searching", len(paragraphs), "paragraphs")
    best = rank_parts(
        paragraphs.searched,
        texts,
        model or BM25(),
        passages,
        vocabulary=Vocabulary(bigram_terms, texts),
    ).numbers
    progress().finish()
    kept: list[int] = []
    unknown = found = 0
    for place, question in enumerate(questions):
        true = [paragraphs.number(title) for title in question.gold_titles]
        unknown += None in true
        found += bool(question.facts) and {*true} <= {*best[place].tolist()}
        if gold == "always" and len(true) > passages and None not in true:
            raise UsageError(f"{passages} passages have no place for {len(true)} true ones.")
        if gold == "found" or None not in true:
            kept.append(place)

    def make(number: int) -> EvidenceQuestion:
        question, numbers = questions[kept[number]], best[kept[number]].tolist()
        if gold == "always":
            true = [paragraphs.number(title) for title in question.gold_titles]
            numbers = _with_all([one for one in true if one is not None], numbers, passages)
        pool = tuple(passage_of(*paragraphs[one]) for one in numbers)
        return with_sets(with_gold(question, pool), negatives=negatives, seed=seed)

    return Pools(PoolCounts(len(questions), unknown, found, len(kept)), make)


def _with_all(gold: Sequence[int], best: Sequence[int], passages: int) -> list[int]:
    """``best`` with all of ``gold``: what lacks takes the last places of the others."""
    lacking = [number for number in gold if number not in best]
    others = [number for number in best if number not in gold]
    kept = {*others[: max(0, passages - len(gold))]}
    return [number for number in best if number in kept or number in gold] + lacking
