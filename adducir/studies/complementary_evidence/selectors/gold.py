"""What is true of questions, as tensors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adducir.studies.complementary_evidence.questions import LabelledSet
from adducir.training.store import Array

_PADDING = -1


class Labelled(Protocol):
    """The gold sets of a question, such as an ``EvidenceQuestion``."""

    @property
    def relevant(self) -> frozenset[int]:
        """The true passages."""

    @property
    def sets(self) -> tuple[LabelledSet, ...]:
        """The labelled sets."""


@dataclass(frozen=True)
class Labels:
    """A question's gold labels without the question."""

    relevant: frozenset[int]
    sets: tuple[LabelledSet, ...]

    @classmethod
    def of(cls, arrays: dict[str, Array]) -> "Labels":
        """The labels of :func:`packed_labels`."""
        ends = np.cumsum(arrays["sizes"])
        members = np.split(arrays["members"], ends[:-1]) if len(ends) else []
        sets = zip(members, arrays["labels"].tolist(), strict=True)
        return cls(
            frozenset(arrays["relevant"].tolist()),
            tuple(LabelledSet(tuple(some.tolist()), label) for some, label in sets),
        )


def packed_labels(question: Labelled) -> dict[str, NDArray[np.int32] | NDArray[np.bool_]]:
    """A question's gold labels as arrays that a store can hold."""
    members = [number for one in question.sets for number in one.members]
    return {
        "relevant": np.array(sorted(question.relevant), dtype=np.int32),
        "members": np.array(members, dtype=np.int32),
        "sizes": np.array([len(one.members) for one in question.sets], dtype=np.int32),
        "labels": np.array([one.label for one in question.sets], dtype=bool),
    }


@dataclass(frozen=True)
class GoldLabels:
    """What is true of a batch of questions; see :func:`.losses.complementary_loss`.

    Attributes:
        relevant: (Q, K) bool.
        sets: (Q, S, L) int64, padded with -1.
        labels: (Q, S) bool.
    """

    relevant: Tensor
    sets: Tensor
    labels: Tensor

    @classmethod
    def of(cls, questions: Sequence[Labelled], passages: int, device: torch.device) -> "GoldLabels":
        """The gold labels of questions, padded to ``passages`` passages."""
        sets = [question.sets for question in questions]
        most = max((len(some) for some in sets), default=0)
        largest = max((len(one.members) for some in sets for one in some), default=1)
        relevant = np.zeros((len(questions), passages), dtype=bool)
        members = np.full((len(questions), most, largest), _PADDING, dtype=np.int64)
        labels = np.zeros((len(questions), most), dtype=bool)
        for row, question in enumerate(questions):
            relevant[row, sorted(question.relevant)] = True
            for place, one in enumerate(question.sets):
                members[row, place, : len(one.members)] = one.members
                labels[row, place] = one.label
        found = (torch.from_numpy(one).to(device) for one in (relevant, members, labels))
        return cls(*found)
