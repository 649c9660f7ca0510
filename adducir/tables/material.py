"""What a report shows beyond its table: queries, hits, judgements, texts, costs and trainings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import polars as pl

Snippets = Literal["none", "judged", "all"]
"""Of which documents a report may quote the beginning."""
HITS = 20
"""Documents per topic and system that a report holds."""
MOST_HITS = 200_000
"""So many hits are held at most; of more topics or systems, fewer for each."""
FEWEST_HITS = 3
"""Fewer documents per topic show nothing: there is no section of hits then."""


@dataclass(frozen=True)
class TopicHits:
    """Queries, hits and judgements of one topic set.

    Attributes:
        queries: The text of each topic, by qid.
        runs: By system, a frame as of a run, cut at :func:`hits_held`.
        grades: A frame (qid, docno, grade) of the judgements.
        precision: By system, the mean interpolated precision at recall 0, .1, ..., 1.
        bounds: By measure and system, least mean, mean and greatest mean (:mod:`.unjudged`).
    """

    queries: Mapping[str, str] = field(default_factory=dict)
    grades: "pl.DataFrame | None" = None
    runs: "dict[str, pl.DataFrame]" = field(default_factory=dict)
    precision: dict[str, list[float]] = field(default_factory=dict)
    bounds: dict[str, dict[str, tuple[float, float, float]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Cost:
    """What a system took: wall-clock time per topic, its index, its training."""

    milliseconds: float | None = None
    index_bytes: int | None = None
    training_seconds: float | None = None


@dataclass(frozen=True)
class Curve:
    """Step and loss of one training, in training and validation, and the step that was kept."""

    training: tuple[tuple[float, float], ...] = ()
    validation: tuple[tuple[float, float], ...] = ()
    kept: float | None = None


@dataclass(frozen=True)
class Material:
    """Hits by group of columns, snippets by docno, costs by system, curves by training, plan."""

    topics: Mapping[str, TopicHits] = field(default_factory=dict)
    snippets: Mapping[str, str] = field(default_factory=dict)
    costs: Mapping[str, Cost] = field(default_factory=dict)
    curves: Mapping[str, Curve] = field(default_factory=dict)
    plan: tuple[tuple[str, tuple[str, ...]], ...] = ()


def hits_held(topics: int, systems: int) -> int:
    """Hits of each topic and system that a report holds: 20, or fewer of many; 0 of too many."""
    held = min(HITS, MOST_HITS // max(1, topics * systems))
    return held if held >= FEWEST_HITS else 0
