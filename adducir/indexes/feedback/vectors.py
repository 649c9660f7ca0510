"""Vectors of terms in single precision, as Anserini's class ``FeatureVector`` has them."""

from collections.abc import Mapping

import numpy as np

Vector = dict[str, np.float32]

_COMMON = np.float32(0.1)


def is_common(frequency: int, documents: int) -> bool:
    """Whether a term is in more than a tenth of the documents."""
    return bool(np.float32(frequency) / np.float32(documents) > _COMMON)


def cut(vector: Vector, size: int) -> Vector:
    """The terms of the greatest values; of equal ones those that are alphabetically first."""
    best = sorted(vector.items(), key=lambda one: (-one[1], one[0].encode("utf-16-be")))
    return dict(best[:size])


def l1_norm(vector: Mapping[str, np.float32]) -> float:
    """The sum of the values, which are 0 or more."""
    return float(sum(map(float, vector.values())))


def divided(vector: Vector, norm: float) -> Vector:
    """All values over a number that is not 0."""
    return {term: np.float32(float(value) / norm) for term, value in vector.items()}
