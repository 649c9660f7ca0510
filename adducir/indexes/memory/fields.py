"""BM25F over a memory index that keeps its fields by themselves; see :mod:`..field_weights`.

Each field has the arrays of an index of its own, in the folder ``fields/N``, N being its place in
the index's settings. Scores are Lucene's, bit for bit where weights are whole numbers; else sums of
weighted frequencies may differ in the last bit, since Lucene adds them up in an order of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from adducir.indexes.arrays import Array
from adducir.indexes.field_weights import FieldWeights
from adducir.indexes.memory.files import Arrays, Totals
from adducir.indexes.memory.norms import LENGTHS, norms_of
from adducir.indexes.memory.searching import Ranked, ranked_by
from adducir.indexes.models import BM25

FIELDS = "fields"


def field_folders(fields: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """Where in an index's folder each separate field lies, and its name."""
    for number, name in enumerate(fields):
        yield Path(FIELDS) / str(number), name


class _Field:
    """A field: its arrays, and (n,) the index's number of each of its documents.

    Args:
        folder: Of the arrays.
        whole: The folder of the field in the whole index, where the arrays are of a part.
    """

    def __init__(self, folder: Path, docnos: pl.Series, whole: Path | None) -> None:
        self.arrays = Arrays.open(folder)
        self.totals: Totals = self.arrays if whole is None else Totals.open(whole)
        self.docs = docnos.search_sorted(self.arrays.docnos).to_numpy().astype(np.int64)

    def frequency(self, term: str) -> int:
        """How many documents of the whole index hold the term in this field."""
        number, offsets = self.totals.numbers.get(term), self.totals.offsets
        return 0 if number is None else int(offsets[number + 1] - offsets[number])

    def lengths(self, documents: int) -> Array:
        """(N,) float32: the length of the field in each document of the index, from its byte."""
        found: Array = np.zeros(documents, dtype=np.float32)
        found[self.docs] = LENGTHS[self.arrays.norms]
        return found

    def postings(self, term: str) -> tuple[Array, Array]:
        """The index's documents that hold the term in this field, and its frequencies there."""
        number = self.arrays.numbers.get(term)
        if number is None:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        part = slice(self.arrays.offsets[number], self.arrays.offsets[number + 1])
        return self.docs[self.arrays.docs[part]], self.arrays.tfs[part].astype(np.float32)


class FieldSearcher:
    """Ranks by weighted fields.

    Args:
        folder: Of the index, or of a part of it.
        fields: Its fields, in the order of its settings.
        docnos: (N,) its docnos, ascending.
        whole: The folder of the whole index, where ``folder`` is of a part.
    """

    def __init__(
        self, folder: Path, fields: Sequence[str], docnos: pl.Series, whole: Path | None = None
    ) -> None:
        self._documents = len(docnos)
        self._fields = {
            name: _Field(folder / place, docnos, whole / place if whole else None)
            for place, name in field_folders(fields)
        }

    def rank(
        self,
        queries: Sequence[Mapping[str, float]],
        weights: FieldWeights,
        model: BM25,
        *,
        depth: int | None,
        threads: int,
    ) -> Ranked:
        """Rank the documents that hold a term of the query in a field.

        Args:
            queries: Terms with their weights.
            weights: The weight of each field that is searched.
            model: BM25.
            depth: Hits a query, at most; None for all.
        """
        chosen = [(np.float32(weights[name]), self._fields[name]) for name in sorted(weights)]
        documents = max(field.totals.documents for _, field in chosen)
        saturation = self._saturation(chosen, documents, model)

        def sums_of(query: int) -> tuple[Array, Array]:
            sums, seen = np.zeros(self._documents), np.zeros(self._documents, dtype=bool)
            for term, boost in queries[query].items():
                frequencies = self._frequencies(chosen, term)
                most_documents = max(field.frequency(term) for _, field in chosen)
                docs = np.flatnonzero(frequencies)
                weight = np.float32(boost) * _idf(most_documents, documents)
                tfs = frequencies[docs]
                sums[docs] += weight - weight / (np.float32(1) + tfs * saturation[docs])
                seen[docs] = True
            return sums.astype(np.float32), seen

        most = self._documents if depth is None else depth
        return ranked_by(sums_of, len(queries), most, threads)

    def _saturation(
        self, chosen: Sequence[tuple[np.float32, _Field]], documents: int, model: BM25
    ) -> Array:
        """(N,) float32: 1 / (k1 (1 - b + b dl / avgdl)) of each document."""
        tokens = 0
        lengths: Array = np.zeros(self._documents, dtype=np.float32)
        for weight, field in chosen:
            tokens = int(tokens + float(weight) * int(field.totals.tokens))
            lengths += weight * field.lengths(self._documents)
        rounded = LENGTHS[norms_of(np.floor(lengths + np.float32(0.5)))].astype(np.float32)
        one, k1, b = np.float32(1), np.float32(model.k1), np.float32(model.b)
        average = np.float32(tokens / max(1, documents))
        with np.errstate(divide="ignore", invalid="ignore"):  # k1 may be 0
            found: Array = one / (k1 * ((one - b) + b * rounded / average))
        return found

    def _frequencies(self, chosen: Sequence[tuple[np.float32, _Field]], term: str) -> Array:
        """(N,) float32: the weighted sums of the term's frequencies in the fields."""
        sums: Array = np.zeros(self._documents, dtype=np.float32)
        for weight, field in chosen:
            docs, tfs = field.postings(term)
            sums[docs] += weight * tfs
        return sums


def _idf(frequency: int, documents: int) -> np.float32:
    """Lucene's inverse document frequency."""
    return np.float32(np.log(1 + (documents - frequency + 0.5) / (frequency + 0.5)))
