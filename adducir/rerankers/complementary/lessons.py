"""The questions that a recipe names, divided into those to learn from and those held out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adducir.corpora.evidence_sets.record import EvidenceQuestion, LabelledSet
from adducir.corpora.evidence_sets.record_files import read_questions
from adducir.corpora.references import file_path
from adducir.corpora.spans.splitting import part_of
from adducir.rerankers.complementary.recipe import EvidenceData, listed
from adducir.study.errors import InputError


@dataclass(frozen=True)
class Questions:
    """What is learnt from, and what became of the files.

    Attributes:
        training: To learn from; each has a true passage.
        held_out: For the validation loss and the choice of settings.
        read: All questions of the files.
        excluded: Of them, left out because they are in a file of ``without``.
        unused: Of them, those of the test share, and those without a true passage.
    """

    training: list[EvidenceQuestion]
    held_out: list[EvidenceQuestion]
    read: int
    excluded: int
    unused: int

    def record(self) -> dict[str, Any]:
        """Plain values for manifest and card."""
        return {
            "questions_read": self.read,
            "questions_excluded": self.excluded,
            "questions_unused": self.unused,
            "training_questions": len(self.training),
            "training_passages": sum(len(one.passages) for one in self.training),
            "training_sets": sum(len(one.sets) for one in self.training),
            "validation_questions": len(self.held_out),
        }


def files_of(part: EvidenceData, folder: Path) -> dict[str, list[Path]]:
    """The files that a recipe names, by its keys."""
    names = {"train": part.train, "validation": part.validation, "without": part.without}
    return {
        key: [file_path(name, folder) for name in listed(value)] for key, value in names.items()
    }


def read_lesson(part: EvidenceData, folder: Path) -> Questions:
    """Read and divide the questions of a recipe.

    Raises:
        InputError: A file cannot be read, a question is in ``train`` and in ``validation``, an id
            comes twice, or there is nothing to learn from.
    """
    files = files_of(part, folder)
    banned = {_text(question) for question in _all(files["without"])}
    read = list(_all(files["train"]))
    kept = [question for question in read if _text(question) not in banned]
    held_out = list(_all(files["validation"]))
    some = [question for question in held_out if _text(question) not in banned]
    excluded = len(read) - len(kept) + len(held_out) - len(some)
    total = len(read) + len(held_out)
    if part.validation:
        _refuse_shared(kept, some, files["validation"])
    else:
        homes = [part_of(question.id, part.divided, part.seed) for question in kept]
        some = [one for one, home in zip(kept, homes, strict=True) if home == "validation"]
        kept = [one for one, home in zip(kept, homes, strict=True) if home == "train"]
    training, some = _teaching(kept), _teaching(some)
    if not training:
        raise InputError(
            "no question with a true set is left to learn from.",
            path=files["train"][0],
            mend="Look at `data.shares`, `data.without` and the key `gold` of the file.",
        )
    if part.passages == "sets":
        training = [in_sets(question) for question in training]
    unused = total - excluded - len(training) - len(some)
    return Questions(training, some, total, excluded, unused)


def in_sets(question: EvidenceQuestion) -> EvidenceQuestion:
    """The question with the passages of its labelled and true sets only, renumbered."""
    kept = sorted(question.relevant.union(*(one.members for one in question.sets)))
    place = {number: new for new, number in enumerate(kept)}
    return replace(
        question,
        passages=tuple(question.passages[number] for number in kept),
        gold=tuple(frozenset(place[number] for number in members) for members in question.gold),
        sets=tuple(
            LabelledSet(tuple(place[number] for number in one.members), one.label)
            for one in question.sets
        ),
    )


def _teaching(questions: Iterable[EvidenceQuestion]) -> list[EvidenceQuestion]:
    return [question for question in questions if question.relevant]


def _text(question: EvidenceQuestion) -> str:
    return " ".join(question.question.split()).casefold()


def _all(paths: Iterable[Path]) -> Iterable[EvidenceQuestion]:
    seen: dict[str, Path] = {}
    for path in paths:
        for question in read_questions(path):
            if seen.setdefault(question.id, path) is not path:
                raise InputError(
                    f"the id {question.id!r} is in {seen[question.id]}, too.", path=path
                )
            yield question


def _refuse_shared(
    training: Sequence[EvidenceQuestion],
    held_out: Sequence[EvidenceQuestion],
    paths: Sequence[Path],
) -> None:
    shared = {_text(one) for one in training} & {_text(one) for one in held_out}
    if shared:
        raise InputError(
            f"{len(shared)} questions are in the training data as well, such as {min(shared)!r}.",
            path=paths[0],
            mend="A validation loss over what was learned by heart tells nothing: take others.",
        )
