"""Evidence sets: questions whose evidence is a set of passages, each of which is one part of it.

The passages of a question, its gold sets and the sets to train on have one shape
(:mod:`~adducir.datasets.evidence_sets.record`), whether they come from HotpotQA or from MultiNLI.
"""

from typing import TYPE_CHECKING

from adducir.core.lazy import offering

if TYPE_CHECKING:
    from adducir.datasets.evidence_sets.hotpotqa import (
        HotpotQuestion,
        own_passages,
        paragraphs_of,
        paragraphs_of_corpus,
        read_hotpotqa,
    )
    from adducir.datasets.evidence_sets.mnli import NliPair, read_mnli
    from adducir.datasets.evidence_sets.mnli12 import build_mnli12, group_premises, split_premises
    from adducir.datasets.evidence_sets.record import EvidenceQuestion, LabelledSet, Passage
    from adducir.datasets.evidence_sets.record_files import read_questions, write_questions
    from adducir.datasets.evidence_sets.sampling import sample_sets, with_sets

__all__ = [
    "EvidenceQuestion",
    "HotpotQuestion",
    "LabelledSet",
    "NliPair",
    "Passage",
    "build_mnli12",
    "group_premises",
    "own_passages",
    "paragraphs_of",
    "paragraphs_of_corpus",
    "read_hotpotqa",
    "read_mnli",
    "read_questions",
    "sample_sets",
    "split_premises",
    "with_sets",
    "write_questions",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(__name__)
