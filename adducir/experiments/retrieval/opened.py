"""What is known of corpora and topics when they are opened."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from adducir.core.recipe import KeyPath
from adducir.corpora.documents import Corpus
from adducir.corpora.qrels import Qrels
from adducir.corpora.topics import Topics
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.measures import Measure
from adducir.experiments.step import Step
from adducir.experiments.tuning.folds import JudgedTopics, Pool


@dataclass(frozen=True)
class OpenedCorpus:
    """A corpus, and what has to be there before its documents can be read.

    Attributes:
        corpus: The documents; they need not be readable yet.
        steps: What has to be made first.
        reads: The entries of the file that name what is read with its documents.
        facts: What shows how it is made, for the provenance of a table.
    """

    corpus: Corpus
    steps: Sequence[Step] = ()
    reads: Sequence[KeyPath] = ()
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TopicSet:
    """Topics, their judgements, and what evaluates runs of them: one group of columns.

    ``model`` evaluates by the judgements of a model, called ``judge``, if there are some.
    """

    name: str
    topics: Topics
    qrels: Qrels
    evaluator: Evaluator
    sources: tuple[str, str]
    model: Evaluator | None = None
    judge: str = ""

    def identity(self) -> dict[str, str]:
        """The fingerprints of topics and judgements."""
        return {**self.topics.identity(), **self.qrels.identity()}


@dataclass
class OpenedTopics:
    """What runs are scored by.

    Attributes:
        topic_sets: By name.
        measures: In the file's order, each once.
        measure_names: Printed names, by the measures' exact names.
    """

    topic_sets: dict[str, TopicSet] = field(default_factory=dict)
    measures: tuple[Measure, ...] = ()
    measure_names: dict[str, str] = field(default_factory=dict)

    @cached_property
    def pool(self) -> Pool:
        """All judged topics; sources are named as the file writes them."""
        sets = []
        for name, one in self.topic_sets.items():
            topics, qrels = one.sources
            sets.append(
                JudgedTopics(
                    name, replace(one.topics, source=topics), replace(one.qrels, source=qrels)
                )
            )
        return Pool.of(sets)
