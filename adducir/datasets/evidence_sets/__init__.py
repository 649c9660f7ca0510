"""Evidence sets: questions whose evidence is a set of passages, each of which is one part of it.

The passages of a question, its gold sets and the sets to train on have one shape
(:mod:`~adducir.datasets.evidence_sets.record`), whether they come from HotpotQA or from MultiNLI.
"""
