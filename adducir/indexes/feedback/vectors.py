"""Vectors of terms in single precision, as Anserini's class ``FeatureVector`` has them."""

import math
import re
from collections.abc import Mapping

import numpy as np

Vector = dict[str, np.float32]

_COMMON = np.float32(0.1)


def tenth(documents: int) -> int:
    """The most documents that are not more than a tenth of all, in single precision."""
    most = documents // 10 + 1
    while np.float32(most) / np.float32(max(1, documents)) > _COMMON:
        most -= 1
    return most


def cut(vector: Vector, size: int) -> Vector:
    """The terms of the greatest values; of equal ones those that are alphabetically first."""
    best = sorted(vector.items(), key=lambda one: (-one[1], one[0].encode("utf-16-be")))
    return dict(best[:size])


def l1_norm(vector: Mapping[str, np.float32]) -> float:
    """The sum of the values, which are 0 or more."""
    return float(sum(map(float, vector.values())))


def l2_norm(vector: Mapping[str, np.float32]) -> float:
    """The Euclidean norm."""
    return math.sqrt(sum(float(value) ** 2 for value in vector.values()))


def is_short_word(term: str, pattern: re.Pattern[str] | None = None) -> bool:
    """Whether a term has 2 to 20 characters, in Java's units of UTF-16, and matches a pattern."""
    length = len(term) if term.isascii() else len(term.encode("utf-16-be")) // 2
    return 2 <= length <= 20 and (pattern is None or pattern.fullmatch(term) is not None)


def divided(vector: Vector, norm: float) -> Vector:
    """All values over a number that is not 0."""
    return {term: np.float32(float(value) / norm) for term, value in vector.items()}
