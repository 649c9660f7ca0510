"""MNLI-12 (Mou et al., 2020, section 3.1 and appendix B): two halves of an entailment to find.

It is made from MultiNLI (Williams et al., NAACL 2018): JSONL with ``sentence1``, ``sentence2`` and
``gold_label`` (the official files), or with ``premise``, ``hypothesis`` and ``label`` (Hugging Face
and others; labels as words or as 0, 1, 2).

The question is a premise P. Its three hypotheses (one entailment, one neutral, one contradiction)
are cut into two segments each, and so are those of another premise X: twelve passages. The gold set
is the two segments of P's entailment. One positive pair and eight negative ones, out of all other
pairs, are given to train on.

What the paper leaves open is settled so: words are separated by white space; a segment "longer than
5 words" has 6 or more, X's likewise; "near the middle" is at most an eighth of the hypothesis's
words from it; a hypothesis is cut once, wherever it is used; X is drawn among the premises that are
used; the twelve passages stand in random order. Where a premise has several hypotheses of one
label, the first that is long enough counts. A question of which a gold segment is also among its
other passages (contradictions are often the entailment with a word changed) is left out, as its
gold pair would not be the only one.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field
from pydantic.dataclasses import dataclass as pydantic_dataclass

from adducir.core.errors import UsageError
from adducir.corpora.records import read_values
from adducir.studies.complementary_evidence.questions import (
    NEGATIVES,
    EvidenceQuestion,
    Passage,
    drawing,
    sample_sets,
)

LABELS = ("entailment", "neutral", "contradiction")
_UNLABELLED = ("-", "-1", "", "hidden")
_SPREAD = 8  # an eighth of the words on either side of the middle
_TRIES = 20

Segments = tuple[str, str]


def _label(value: str | int) -> str | None:
    label = LABELS[int(value)] if str(value) in ("0", "1", "2") else str(value)
    if label not in (*LABELS, *_UNLABELLED):
        raise ValueError(f"labels are {', '.join(LABELS)}, not {value!r}")
    return label if label in LABELS else None


@pydantic_dataclass(frozen=True, slots=True)
class NliPair:
    """A premise, a hypothesis and its label (None: the annotators did not agree)."""

    premise: Annotated[str, Field(validation_alias=AliasChoices("sentence1", "premise"))]
    hypothesis: Annotated[str, Field(validation_alias=AliasChoices("sentence2", "hypothesis"))]
    label: Annotated[
        str | None,
        BeforeValidator(_label),
        Field(validation_alias=AliasChoices("gold_label", "label")),
    ]


@dataclass
class Premise:
    """A premise with its hypotheses: label to texts, in the order of the file."""

    id: str
    text: str
    hypotheses: dict[str, list[str]] = field(default_factory=dict)


def read_mnli(path: Path) -> Iterator[tuple[int, NliPair]]:
    hint = "It needs sentence1, sentence2, gold_label, or premise, hypothesis, label."
    return read_values(path, NliPair, hint)


def read_premises(paths: Iterable[Path]) -> tuple[list[Premise], Counter[str]]:
    """The premises of files, each named by file and line, and how many pairs are unlabelled."""
    found: dict[str, Premise] = {}
    names: set[str] = set()
    counts = Counter[str]()
    for path in paths:
        name = "_".join(path.name.split(".")[0].split())
        if name in names:
            raise UsageError(f"two files are named {name}, which would name their questions.")
        names.add(name)
        for line, pair in read_mnli(path):
            counts["pairs"] += 1
            counts["unlabelled"] += pair.label is None
            if pair.label is not None:
                text = " ".join(pair.premise.split())
                premise = found.setdefault(text, Premise(f"{name}:{line}", text))
                own = premise.hypotheses.setdefault(pair.label, [])
                own.append(" ".join(pair.hypothesis.split()))
    if not found:
        raise UsageError("no pair of sentences has a label.")
    return list(found.values()), counts


def build_mnli12(
    premises: Sequence[Premise], *, min_words: int = 6, negatives: int = NEGATIVES, seed: int = 0
) -> tuple[list[EvidenceQuestion], Counter[str]]:
    """The questions of MNLI-12, and how many premises were left out, by reason.

    How a premise is cut depends on the seed and its id alone.
    """
    whole = [one for one in premises if all(one.hypotheses.get(label) for label in LABELS)]
    cut = {one.id: segments for one in whole if (segments := _segments(one, min_words, seed))}
    usable = [one for one in whole if one.id in cut]
    questions = []
    for one in usable:
        draw = drawing(seed, "question", one.id)
        passages = _passages(one, usable, cut, draw)
        if passages is None:
            continue
        order = draw.sample(range(len(passages)), len(passages))
        gold = tuple(place for place, number in enumerate(order) if number < 2)
        sets = sample_sets(len(passages), [gold], draw, negatives=negatives)
        shuffled = tuple(passages[number] for number in order)
        questions.append(EvidenceQuestion(one.id, one.text, shuffled, (gold,), sets))
    left_out = {
        "incomplete": len(premises) - len(whole),
        "short": len(whole) - len(usable),
        "repeated": len(usable) - len(questions),
    }
    return questions, Counter(left_out)


def _segments(premise: Premise, min_words: int, seed: int) -> dict[str, Segments] | None:
    """The two segments of the hypothesis of each label; None where one is too short."""
    draw = drawing(seed, "cut", premise.id)
    segments = {}
    for label in LABELS:
        each = (text.split() for text in premise.hypotheses[label])
        words = next((some for some in each if len(some) >= 2 * min_words), None)
        if words is None:
            return None
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
    cut: Mapping[str, Mapping[str, Segments]],
    draw: random.Random,
) -> list[Passage] | None:
    """The twelve passages, the gold ones first; None where a gold one is always repeated."""

    def named(prefix: str, segments: Mapping[str, Segments]) -> list[Passage]:
        return [
            Passage(f"{prefix}{label}-{part}", "", text)
            for label in LABELS
            for part, text in enumerate(segments[label], 1)
        ]

    for other in draw.sample(usable, min(_TRIES, len(usable))):
        if other is premise:
            continue
        passages = named("", cut[premise.id]) + named("other-", cut[other.id])
        texts = [passage.text.casefold() for passage in passages]
        if all(texts.count(text) == 1 for text in texts[:2]):
            return passages
    return None
