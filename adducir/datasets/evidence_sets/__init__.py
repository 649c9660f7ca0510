"""Evidence sets: questions whose evidence is a set of passages, each of which is one part of it.

The passages of a question, its gold sets and the sets to train on have one shape
(:mod:`~adducir.datasets.evidence_sets.record`), whether they come from HotpotQA or from MultiNLI.
"""

from adducir.core.lazy import offering

_HOMES = {
    "EvidenceQuestion": "record",
    "LabelledSet": "record",
    "Passage": "record",
    "read_questions": "record_files",
    "write_questions": "record_files",
    "sample_sets": "sampling",
    "with_sets": "sampling",
    "HotpotQuestion": "hotpotqa",
    "read_hotpotqa": "hotpotqa",
    "paragraphs_of": "hotpotqa",
    "paragraphs_of_corpus": "hotpotqa",
    "own_passages": "hotpotqa",
    "NliPair": "mnli",
    "read_mnli": "mnli",
    "group_premises": "mnli12",
    "split_premises": "mnli12",
    "build_mnli12": "mnli12",
}

__getattr__ = offering(__name__, _HOMES)


def __dir__() -> list[str]:
    """The names that can be imported from here."""
    return sorted(_HOMES)
