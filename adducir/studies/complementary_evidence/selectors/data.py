"""The questions that a recipe names, divided into those to learn from and those held out."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from adducir.studies.complementary_evidence.questions import (
    EvidenceQuestion,
    LabelledSet,
    read_questions,
)
from adducir.studies.complementary_evidence.selectors.recipe import EvidenceData
from adducir.training.division import Division


def questions_of(part: EvidenceData, folder: Path) -> Division[EvidenceQuestion]:
    """The questions of a recipe, each with its part.

    A question is left out, or in two parts, if its text is, whatever its id.
    """
    return Division(
        part,
        folder,
        read_questions,
        unit=lambda question: question.id,
        group=lambda question: " ".join(question.question.split()).casefold(),
        groups="questions",
    )


def split_examples(
    part: EvidenceData, found: Division[EvidenceQuestion]
) -> Iterator[tuple[EvidenceQuestion, str]]:
    """Those questions that can be learnt from, since they have a true passage; with their part."""
    for question, name in found:
        if name in ("train", "validation") and question.relevant:
            is_cut = name == "train" and part.passages == "sets"
            yield (in_sets(question) if is_cut else question), name


def in_sets(question: EvidenceQuestion) -> EvidenceQuestion:
    """The question with the passages of its labelled and gold sets only, renumbered."""
    kept = sorted(question.relevant.union(*(one.members for one in question.sets)))
    place = {number: new for new, number in enumerate(kept)}
    return replace(
        question,
        passages=tuple(question.passages[number] for number in kept),
        gold=tuple(tuple(place[number] for number in members) for members in question.gold),
        sets=tuple(
            LabelledSet(tuple(place[number] for number in one.members), one.label)
            for one in question.sets
        ),
    )
