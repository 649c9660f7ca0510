"""Positive and negative sets of a question's passages, to train on.

Mou et al. (2020), appendix B: pairs are sampled, one positive and eight negative; a pair that
holds one true and one other passage is a negative one. So negatives are drawn here, all alike,
from all sets of passages that are not made of true passages alone.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import comb

from adducir.core.errors import UsageError
from adducir.studies.complementary_evidence.record import EvidenceQuestion, LabelledSet

NEGATIVES = 8


def drawing(seed: int, purpose: str, name: str) -> random.Random:
    """A source of chance for one thing, so that no other thing's fate changes it."""
    return random.Random(f"{seed}:{purpose}:{name}")  # noqa: S311  (no secret)


def sample_sets(
    passages: int,
    gold: Sequence[frozenset[int]],
    draw: random.Random,
    *,
    size: int = 2,
    negatives: int = NEGATIVES,
) -> tuple[LabelledSet, ...]:
    """The gold sets and sampled false ones, in this order, members ascending.

    Args:
        gold: The gold sets of which no member is missing; each becomes a positive.
        negatives: How many, all different; where there are fewer, all.

    Raises:
        UsageError: A size below 1 or a negative number of negatives.
    """
    if size < 1 or negatives < 0:
        raise UsageError(f"{negatives} negative sets of {size} passages cannot be drawn.")
    positives = tuple(LabelledSet(tuple(sorted(members)), True) for members in gold)
    relevant = frozenset[int]().union(*gold)
    possible = comb(passages, size) - comb(len(relevant), size)
    if possible <= 4 * negatives:
        every = [m for m in combinations(range(passages), size) if not relevant.issuperset(m)]
        drawn = draw.sample(every, min(negatives, possible))
    else:
        found: dict[tuple[int, ...], None] = {}
        while len(found) < negatives:
            members = tuple(sorted(draw.sample(range(passages), size)))
            if not relevant.issuperset(members):
                found[members] = None
        drawn = list(found)
    return positives + tuple(LabelledSet(members, False) for members in drawn)


def with_sets(
    question: EvidenceQuestion, *, negatives: int = NEGATIVES, seed: int = 0
) -> EvidenceQuestion:
    """The question with sets to train on; as it is where no gold set is known.

    False sets have as many members as the first true one, with those that the passages lack.

    Raises:
        UsageError: A negative number of negatives.
    """
    if not question.gold:
        return question
    size = len(question.gold_ids[0])
    draw = drawing(seed, "sets", question.id)
    passages = len(question.passages)
    sets = sample_sets(passages, question.complete, draw, size=size, negatives=negatives)
    return replace(question, sets=sets)
