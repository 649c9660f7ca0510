"""MNLI-12 (Mou et al., 2020, section 3.1 and appendix B): two halves of an entailment to find.

The question is a premise P of MultiNLI. Its three hypotheses (one entailment, one neutral, one
contradiction) are cut into two segments each, and so are those of another premise X: twelve
passages. The gold set is the two segments of P's entailment. One positive pair and eight negative
ones, out of all other pairs, are given to train on.

What the paper leaves open is settled so: words are what white space parts; a segment "longer than
5 words" has 6 or more, X's likewise; "near the middle" is at most an eighth of the hypothesis's
words from it; a hypothesis is cut once, wherever it is used; X is drawn among the premises that
are used; the twelve passages stand in random order. Where a premise has several hypotheses of one
label, the first that is long enough counts. A question of which a true segment comes again among
its other passages (contradictions are often the entailment with a word changed) is left out, as
its true pair would not be the only one.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from adducir.core.errors import UsageError
from adducir.corpora.splitting import split
from adducir.studies.complementary_evidence.mnli import ENTAILMENT, LABELS, NliPair
from adducir.studies.complementary_evidence.record import EvidenceQuestion, Passage
from adducir.studies.complementary_evidence.sampling import NEGATIVES, drawing, sample_sets

MIN_WORDS = 6
_SPREAD = 8  # an eighth of the words on either side of the middle
_TRIES = 20


@dataclass
class Premise:
    """A premise with its hypotheses: label to texts, in the order of the file."""

    id: str
    text: str
    hypotheses: dict[str, list[str]] = field(default_factory=dict)


class Dropped(NamedTuple):
    """What was left out, and why; and how much there is.

    Attributes:
        pairs: Pairs that were read.
        unlabelled: Pairs without an agreed label, ignored.
        premises: Different premises of the others.
        incomplete: Premises without one hypothesis of each label.
        short: Premises of which a hypothesis is too short to be cut.
        repeated: Premises of which a true segment equals another of the question's passages, and
            those without another premise beside them.
        questions: The questions made.
    """

    pairs: int
    unlabelled: int
    premises: int
    incomplete: int
    short: int
    repeated: int
    questions: int


@dataclass(frozen=True)
class Mnli12:
    """The questions, and what was left out."""

    questions: list[EvidenceQuestion]
    dropped: Dropped


class Premises(NamedTuple):
    """The premises of files, in order, with the pairs read and those without a label."""

    premises: list[Premise]
    pairs: int
    unlabelled: int


def group_premises(sources: Iterable[tuple[Path, Iterable[tuple[int, NliPair]]]]) -> Premises:
    """Bring the pairs of each premise together.

    Args:
        sources: Each file with its numbered pairs. A premise is named by the file's name and the
            line of its first pair.

    Raises:
        UsageError: Two files have the same name, up to its first dot.
    """
    found: dict[str, Premise] = {}
    names: set[str] = set()
    pairs = unlabelled = 0
    for path, numbered in sources:
        name = "_".join(path.name.split(".")[0].split())
        if name in names:
            raise UsageError(f"two files are named {name}, which would name their questions.")
        names.add(name)
        for line, pair in numbered:
            pairs += 1
            if pair.label is None:
                unlabelled += 1
                continue
            text = " ".join(pair.premise.split())
            premise = found.setdefault(text, Premise(f"{name}:{line}", text))
            texts = premise.hypotheses.setdefault(pair.label, [])
            texts.append(" ".join(pair.hypothesis.split()))
    return Premises(list(found.values()), pairs, unlabelled)


def split_premises(
    premises: Premises, shares: Mapping[str, float] | None = None, seed: int = 0
) -> dict[str, Premises]:
    """Divide premises before questions are made, so that parts share no segment.

    The counts of pairs stay with the whole. See ``split``.

    Raises:
        UsageError: The shares do not fit.
    """
    parts = split(premises.premises, lambda premise: premise.text, shares, seed)
    return {
        name: Premises(part, premises.pairs, premises.unlabelled) for name, part in parts.items()
    }


def build_mnli12(
    premises: Premises,
    *,
    min_words: int = MIN_WORDS,
    negatives: int = NEGATIVES,
    seed: int = 0,
) -> Mnli12:
    """Make the questions of MNLI-12.

    Args:
        seed: Decides cuts, other premises, order and negative pairs. How a premise is cut depends
            on it and the premise's id alone.

    Raises:
        UsageError: ``min_words`` below 1.
    """
    if min_words < 1:
        raise UsageError(f"a segment must have 1 word or more, not {min_words}.")
    whole = [one for one in premises.premises if all(one.hypotheses.get(k) for k in LABELS)]
    cut = {one.id: _segments(one, min_words, seed) for one in whole}
    usable = [one for one in whole if cut[one.id]]
    questions = []
    for one in usable:
        draw = drawing(seed, "question", one.id)
        passages = _passages(one, usable, cut, draw)
        if passages is not None:
            questions.append(_question(one, passages, draw, negatives))
    dropped = Dropped(
        pairs=premises.pairs,
        unlabelled=premises.unlabelled,
        premises=len(premises.premises),
        incomplete=len(premises.premises) - len(whole),
        short=len(whole) - len(usable),
        repeated=len(usable) - len(questions),
        questions=len(questions),
    )
    return Mnli12(questions, dropped)


def _segments(premise: Premise, min_words: int, seed: int) -> dict[str, tuple[str, str]]:
    """The two segments of the hypothesis of each label; empty where one is too short."""
    draw = drawing(seed, "cut", premise.id)
    segments = {}
    for label in LABELS:
        words = next(
            (w for text in premise.hypotheses[label] if len(w := text.split()) >= 2 * min_words),
            None,
        )
        if words is None:
            return {}
        place = draw.choice(cuts(len(words), min_words))
        segments[label] = " ".join(words[:place]), " ".join(words[place:])
    return segments


def cuts(words: int, min_words: int) -> list[int]:
    """The lengths that the first of two segments may have, near the middle of ``words`` words."""
    return [
        place
        for place in range(min_words, words - min_words + 1)
        if abs(2 * place - words) <= max(2 * words / _SPREAD, 1)
    ]


def _passages(
    premise: Premise,
    usable: Sequence[Premise],
    cut: Mapping[str, Mapping[str, tuple[str, str]]],
    draw: random.Random,
) -> list[Passage] | None:
    """The twelve passages, the true ones first; None where a true one always comes again."""
    own = _named("", cut[premise.id])
    for other in draw.sample(usable, min(_TRIES, len(usable))):
        if other is premise:
            continue
        passages = own + _named("other-", cut[other.id])
        texts = [passage.text.casefold() for passage in passages]
        if all(texts.count(text) == 1 for text in texts[:2]):
            return passages
    return None


def _named(prefix: str, segments: Mapping[str, tuple[str, str]]) -> list[Passage]:
    return [
        Passage(f"{prefix}{label}-{part}", "", text)
        for label in (ENTAILMENT, *(k for k in LABELS if k != ENTAILMENT))
        for part, text in enumerate(segments[label], 1)
    ]


def _question(
    premise: Premise, passages: list[Passage], draw: random.Random, negatives: int
) -> EvidenceQuestion:
    order = draw.sample(range(len(passages)), len(passages))
    gold = frozenset(place for place, number in enumerate(order) if number < 2)
    return EvidenceQuestion(
        premise.id,
        premise.text,
        tuple(passages[number] for number in order),
        (gold,),
        sample_sets(len(passages), [gold], draw, negatives=negatives),
    )
