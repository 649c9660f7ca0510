"""Lucene's scores as arrays: models in the form that the kernels use.

A document's score is the sum over query terms of one float per posting, added in doubles and
rounded to a float at the end, as in Lucene 9.9, so scores are bitwise equal. With w the term's
weight (the query's times the inverse document frequency), tf its frequency in the document and dl
the document's length, one posting adds

- BM25 (``BM25Similarity``): ``w - w / (1 + tf * s[dl])``, where ``s[dl]`` is
  ``1 / (k1 * ((1 - b) + b * dl / avgdl))`` and dl is the length encoded in Lucene's byte;
- BM25 with exact lengths (Anserini's ``AccurateBM25Similarity``):
  ``w * tf / (tf + k1 * (1 - b) + k1 * b / avgdl * dl)``;
- Dirichlet smoothing (``LMDirichletSimilarity``): ``q * (ln(1 + tf / (mu * p)) + ln(mu / (dl +
  mu)))``, or 0 if that is negative; q is the query's weight and p = (the term's frequency in the
  collection + 1) / (tokens + 1); dl again from the byte. This is computed in doubles, rounded once.

Everything else is in single precision in the order written here. The inverse document frequency is
``ln(1 + (N - n + .5) / (n + .5))``; N counts documents with at least one term. Other models are
scored by :mod:`.exhaustive`.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.memory.segment import LENGTHS, Saved
from adducir.indexes.models import BM25, QLD

BM25_BYTE, BM25_EXACT, DIRICHLET = 0, 1, 2
WINDOW = 1 << 15
"""Documents scored at a time, a power of two.

Arrays indexed by document number are padded by this many, and numbers are clipped to the window:
file contents cannot make compiled code read or write out of bounds.
"""


class Postings(NamedTuple):
    """An index's arrays for the kernels; ``norms`` are followed by ``WINDOW`` zeros."""

    documents: int
    offsets: Array
    docs: Array
    tfs: Array
    codes: Array
    pairs: Array
    norms: Array
    bits: Array
    before: Array
    greatest_tfs: Array
    least_norms: Array

    @classmethod
    def of(cls, segment: Saved) -> "Postings":
        arrays = [segment.arrays[name] for name in cls._fields[1:]]
        norms = frozen(_padded(segment.arrays["norms"]))
        return cls(len(segment), *arrays)._replace(norms=norms)


class Formula(NamedTuple):
    """A model over one index."""

    kind: int  # BM25_BYTE, BM25_EXACT or DIRICHLET
    factors: Array  # (256,) float64 by length byte: for BM25 s, a float; else ln(mu / (dl + mu))
    parts: Array  # (N + WINDOW,) float32: the length's part of exact BM25's denominator
    slope: np.float32  # that part for each token
    constant: np.float32  # the rest of that denominator

    @classmethod
    def of(cls, model: BM25 | QLD, segment: Saved, *, accurate: bool) -> "Formula":
        zero, one = np.float32(0), np.float32(1)
        if isinstance(model, QLD):
            mu = np.float64(np.float32(model.mu))
            with np.errstate(divide="ignore", invalid="ignore"):  # mu may be 0
                logs = np.log(mu / (LENGTHS.astype(np.float32).astype(np.float64) + mu))
            return cls(DIRICHLET, frozen(logs), _NO_PARTS, zero, zero)
        k1, b = np.float32(model.k1), np.float32(model.b)
        average = np.float32(segment.tokens / max(1, len(segment)))
        if accurate:
            slope = k1 * b / max(np.float32(1e-10), average)
            parts = _padded(slope * segment.lengths.astype(np.float32))
            return cls(BM25_EXACT, _NO_FACTORS, frozen(parts), slope, k1 * (one - b))
        by_byte = LENGTHS.astype(np.float32)
        with np.errstate(all="ignore"):  # k1 may be 0 or close to it
            saturation = one / (k1 * ((one - b) + b * by_byte / average))
        return cls(BM25_BYTE, frozen(saturation.astype(np.float64)), _NO_PARTS, zero, zero)

    def added(self, queries: "Queries", norms: Array, place: int, docs: Array, tfs: Array) -> Array:
        weight, one = queries.weights[place], np.float32(1)
        if self.kind == DIRICHLET:
            mass = queries.masses[place]
            each, which = np.unique(tfs, return_inverse=True)
            with np.errstate(divide="ignore", invalid="ignore"):
                # The C library's logarithm, as in compiled code; NumPy's may differ.
                ratios = (1.0 + each / mass).tolist()
                logs = np.array([math.log(one) if one > 0 else math.nan for one in ratios])
                scores = np.float64(weight) * (logs[which] + self.factors[norms[docs]])
                return np.where(scores > 0, scores, 0).astype(np.float32)
        tfs = tfs.astype(np.float32)
        with np.errstate(all="ignore"):
            if self.kind == BM25_EXACT:
                found: Array = weight * tfs / ((tfs + self.constant) + self.parts[docs])
            else:
                found = weight - weight / (one + tfs * self.factors.astype(np.float32)[norms[docs]])
        return found


class Queries(NamedTuple):
    """q queries with t terms in total; for indexes, terms are unique within a query."""

    starts: Array  # (q + 1,) int64: where each query's terms begin
    terms: Array  # (t,) term numbers; in candidate sets -1 for terms missing from all candidates
    weights: Array  # (t,) query weights; for the kernels, w for BM25
    masses: Array = np.empty(0)  # (t,) float64: mu * p for Dirichlet smoothing by the kernels

    @classmethod
    def of(cls, queries: Sequence[Mapping[str, float]], segment: Saved) -> "Queries":
        """Queries from terms and weights, without terms missing from the segment."""
        starts = np.concatenate(([0], np.cumsum([*map(len, queries)], dtype=np.int64)))
        numbers = segment.numbers([*chain.from_iterable(queries)])
        values = chain.from_iterable([query.values() for query in queries])
        weights = np.fromiter(values, dtype=np.float32, count=len(numbers))
        is_held = numbers >= 0
        before = np.concatenate(([0], np.cumsum(is_held)))
        return cls(before[starts], numbers[is_held], weights[is_held])

    @property
    def size(self) -> int:
        return len(self.starts) - 1

    def for_kernels(self, model: BM25 | QLD, segment: Saved) -> "Queries":
        terms = self.terms
        if isinstance(model, QLD):
            share = (segment.occurrences[terms] + 1.0) / (segment.tokens + 1.0)
            return self._replace(masses=np.float64(np.float32(model.mu)) * share)
        frequency = (segment.offsets[terms + 1] - segment.offsets[terms]).astype(np.float64)
        rest = len(segment) - frequency
        idf = np.log(1 + (rest + 0.5) / (frequency + 0.5)).astype(np.float32)
        return self._replace(weights=self.weights * idf, masses=np.ones(len(terms)))


def _padded(array: Array) -> Array:
    padded: Array = np.zeros(len(array) + WINDOW, dtype=array.dtype)
    padded[: len(array)] = array
    return padded


def frozen(array: Array) -> Array:
    # Code is compiled per argument type, and read-only arrays, as all of an index are, have a
    # different type from writable ones.
    array.flags.writeable = False
    return array


_NO_PARTS = frozen(np.zeros(1, dtype=np.float32))
_NO_FACTORS = frozen(np.zeros(256, dtype=np.float64))
