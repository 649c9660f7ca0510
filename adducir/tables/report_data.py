"""What a report shows besides its table: queries, hits, judgements, texts, costs and trainings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import polars as pl

Snippets = Literal["none", "judged", "all"]
"""Which documents a report may quote."""
HITS = 20
"""Documents per topic and system in a report."""
MOST_HITS = 200_000
"""The maximum number of hits; with more topics or systems, fewer for each."""
FEWEST_HITS = 3
"""With fewer documents per topic, the section of hits is left out."""


@dataclass(frozen=True)
class TopicHits:
    """Queries, hits and judgements of one topic set.

    Attributes:
        queries: The text of each topic, by qid.
        runs: By system, a run's frame, cut at :func:`hits_held`.
        grades: A frame (qid, docno, grade) of the judgements.
        precision: By system, the mean interpolated precision at recall 0, .1, ..., 1.
        bounds: By measure and system, lowest mean, mean and highest mean.
    """

    queries: Mapping[str, str] = field(default_factory=dict)
    grades: "pl.DataFrame | None" = None
    runs: "dict[str, pl.DataFrame]" = field(default_factory=dict)
    precision: dict[str, list[float]] = field(default_factory=dict)
    bounds: dict[str, dict[str, tuple[float, float, float]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Cost:
    """A system's cost: wall-clock time per topic, its index, training, expanding documents."""

    milliseconds: float | None = None
    index_bytes: int | None = None
    index_tokens: int | None = None
    training_seconds: float | None = None
    expansion_seconds: float | None = None


@dataclass(frozen=True)
class Curve:
    """Steps and losses of one training, in training and validation, and the step kept."""

    training: tuple[tuple[float, float], ...] = ()
    validation: tuple[tuple[float, float], ...] = ()
    kept: float | None = None


@dataclass(frozen=True)
class ReportData:
    """Hits by group of columns, snippets by docno, costs by system, curves by training, plan."""

    topics: Mapping[str, TopicHits] = field(default_factory=dict)
    snippets: Mapping[str, str] = field(default_factory=dict)
    costs: Mapping[str, Cost] = field(default_factory=dict)
    curves: Mapping[str, Curve] = field(default_factory=dict)
    plan: tuple[tuple[str, tuple[str, ...]], ...] = ()


def hits_held(topics: int, systems: int) -> int:
    """A report's hits per topic and system: 20, fewer for many topics, 0 for too many."""
    held = min(HITS, MOST_HITS // max(1, topics * systems))
    return held if held >= FEWEST_HITS else 0
