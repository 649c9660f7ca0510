"""Scores for tests: of arrays, and drawn ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from adducir.evaluation.scores import Scores
from adducir.statistics.comparison import Comparison, compare
from adducir.statistics.settings import CORRECTIONS


def scores_of(values: Any, measures: str = "AP P@5", names: Sequence[str] = ()) -> list[Scores]:
    """Systems s0, s1, ... of (S, T, M) or (S, T) values."""
    values = np.asarray(values, dtype=float)
    values = values[:, :, None] if values.ndim == 2 else values
    systems, topics, count = values.shape
    qids = tuple(map(str, range(topics)))
    names = names or [f"s{k}" for k in range(systems)]
    return [
        Scores.of(name, qids, measures.split()[:count], one)
        for name, one in zip(names, values, strict=True)
    ]


def compared(values: Any, measures: str = "AP P@5", **settings: Any) -> Comparison:
    return compare(scores_of(values, measures), **settings)


def similar(systems: int, topics: int, spread: float = 0.15, seed: int = 1) -> np.ndarray:
    """(S, T) scores of systems that share topics' difficulty; the last is the best."""
    rng = np.random.default_rng(seed)
    shift = np.linspace(0, spread, systems)[:, None]
    return rng.beta(2, 3, topics) + shift + rng.normal(0, 0.1, (systems, topics))


def of_runs(runs: Sequence[np.ndarray], measures: str = "AP") -> list[Scores]:
    """Systems s0, s1, ... of several runs, (R, T) each."""
    qids = tuple(map(str, range(runs[0].shape[1])))
    return [
        Scores.of(f"s{k}", qids, measures.split(), run[:, None], run=f"s{k}.seed{n}")
        for k, each in enumerate(runs)
        for n, run in enumerate(each)
    ]


def holm(p: Any) -> np.ndarray:
    return CORRECTIONS.make("holm").adjusted(np.array(p, dtype=float))
