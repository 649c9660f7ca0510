"""Pools of paragraphs for multi-hop questions: HotpotQA-50 (Mou et al., 2020, appendix B).

For each question the paper takes 50 paragraphs by "bigram BM25" (after Godbole et al., 2019) from
the abstracts of Wikipedia; here from the paragraphs at hand. What the papers leave open is settled
after DrQA, whose bigrams HotpotQA's own retrieval follows (Chen et al., ACL 2017): terms are words
in lower case and pairs of neighbouring words, none of them a stop word (Lucene's 33), unstemmed.
Title and text are searched together, by Lucene's BM25 formula over all paragraphs.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

from adducir.core.errors import UsageError
from adducir.datasets.evidence_sets.hotpotqa import HotpotQuestion, passage_of, with_gold
from adducir.datasets.evidence_sets.record import EvidenceQuestion
from adducir.datasets.evidence_sets.sampling import NEGATIVES, with_sets
from adducir.indexes.candidates import CandidateSet
from adducir.indexes.models import BM25

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


@dataclass(frozen=True)
class Pools:
    """The questions with their pools, and what became of them."""

    questions: list[EvidenceQuestion]
    counts: PoolCounts


def bm25_pools(
    questions: Sequence[HotpotQuestion],
    paragraphs: Mapping[str, str],
    *,
    passages: int = PASSAGES,
    gold: Gold = "always",
    negatives: int = NEGATIVES,
    model: BM25 | None = None,
    seed: int = 0,
) -> Pools:
    """Give each question the paragraphs that BM25 ranks first.

    Args:
        questions: The questions; those without supporting facts get a pool without gold sets.
        paragraphs: Title to text: all that is searched.
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
    if not paragraphs:
        raise UsageError("there is no paragraph to search.")
    titles = list(paragraphs)
    searched = CandidateSet.of_texts([f"{t}\n{paragraphs[t]}" for t in titles], bigram_terms)
    texts = [question.question for question in questions]
    ranking = searched.rank(texts, model or BM25(), depth=passages)
    made: list[EvidenceQuestion] = []
    unknown = found = 0
    for question, numbers in zip(questions, ranking.numbers, strict=True):
        best = [titles[number] for number in numbers]
        lost = any(title not in paragraphs for title in question.gold_titles)
        unknown += lost
        found += bool(question.facts) and set(question.gold_titles) <= set(best)
        if gold == "always":
            if lost:
                continue
            best = _with_all(question.gold_titles, best, passages)
        pool = tuple(passage_of(title, paragraphs[title]) for title in best)
        made.append(with_sets(with_gold(question, pool), negatives=negatives, seed=seed))
    return Pools(made, PoolCounts(len(questions), unknown, found, len(made)))


def _with_all(gold: Sequence[str], best: list[str], passages: int) -> list[str]:
    """``best`` with all of ``gold``: what lacks takes the last places of the others."""
    lacking = [title for title in gold if title not in best]
    if len(gold) > passages:
        raise UsageError(f"{passages} passages have no place for {len(gold)} true ones.")
    others = [title for title in best if title not in gold]
    kept = set(others[: max(0, passages - len(gold))])
    return [title for title in best if title in kept or title in gold] + lacking
