"""Indexes saved by the package bm25s (Lù, 2024), opened read-only.

A folder of ``bm25s.BM25.save`` holds each term's score in each document, a column per term, but not
how texts became terms: that is taken to be the default of ``bm25s.tokenize``.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl

from adducir.core.errors import (
    ArtifactError,
    InputError,
    MachineError,
    UsageError,
    sorted_error,
    worded,
)
from adducir.core.json_lines import json_object
from adducir.core.processes import in_threads
from adducir.core.progress import progress
from adducir.core.texts import STOP_WORDS
from adducir.corpora.formats import read_jsonl
from adducir.indexes.index import Index, Ranked
from adducir.indexes.models import Impact, Model


class Bm25sIndex(Index):
    """An index that bm25s saved; ``stemmer`` names the Snowball stemmer of its texts, if any.

    Hits contain a query term; scores are bm25s's, bit for bit. Docnos are those of
    ``corpus.jsonl``, or row numbers. English stop words leave queries unless "the" is a term.
    """

    default_model = "impact"
    counted = list  # bm25s adds up floats in the order of words

    def __init__(self, path: Path | str, stemmer: str | None = None) -> None:
        super().__init__(Path(path), None)
        self._parameters, self._stemmer = json_object(self.path / "params.index.json"), stemmer
        self._terms: dict[str, int] = json_object(self.path / "vocab.index.json")
        try:
            self._scores, self._rows, self._starts = (
                np.load(self.path / f"{name}.csc.index.npy", mmap_mode="r", allow_pickle=False)
                for name in ("data", "indices", "indptr")
            )
            self._absent = np.zeros(len(self._starts), self._scores.dtype)
            if self._parameters["method"] in ("bm25l", "bm25+"):  # of documents without a term
                self._absent = np.load(self.path / "nonoccurrence_array.index.npy")
            starts, numbers = self._starts, {n for term, n in self._terms.items() if term}
            if not (
                len(self._scores) == len(self._rows) == starts[-1]
                and starts[0] == 0 <= np.diff(starts).min()
                and 0 <= self._rows.min() <= self._rows.max() < self._parameters["num_docs"]
                and 0 <= min(numbers) <= max(numbers) < len(starts) - 1 <= len(self._absent)
            ):
                raise ValueError("sizes differ")  # noqa: TRY301
        except Exception as error:
            message = f"the files of this bm25s index do not match: {error}."
            damage = ArtifactError(message, path=path, hint="Save it again with bm25s.")
            raise sorted_error(error, self.path, damage) from error
        try:
            self._stem = import_module("Stemmer").Stemmer(stemmer).stemWord if stemmer else str
        except (ModuleNotFoundError, KeyError) as error:
            message = f"PyStemmer is not installed, or has no stemmer {stemmer!r}."
            raise MachineError(message, hint="Install it: pip install PyStemmer") from error
        self._stopwords = frozenset(() if "the" in self._terms else STOP_WORDS.split())
        self.analysis: Any = SimpleNamespace(terms=self._words, kind=self.analysis.kind)
        other = worded("stemmer", "english")
        stemmed = f"stemmed ({stemmer})" if stemmer else f"unstemmed (or {other})"
        progress().note(
            f"{path}: bm25s does not save how texts were analysed. Queries are cut into words of "
            f"two or more characters, without {len(self._stopwords)} stop words, {stemmed}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path.absolute(), self._stemmer)  # without a manifest

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        words = (re.findall(r"\b\w\w+\b", text.lower()) for text in texts)
        return [
            [self._stem(word) for word in query_words if word not in self._stopwords]
            for query_words in words
        ]

    @property
    def identity(self) -> dict[str, Any]:
        settings = {"stemmer": self._stemmer or "none", "stop_words": len(self._stopwords)}
        return {**super().identity, "bm25s": self._parameters, **settings}

    @cached_property
    def docnos(self) -> pl.Series:
        path, size = self.path / "corpus.jsonl", int(self._parameters["num_docs"])
        try:
            names = [document.docno for _, document in read_jsonl(path)]
        except InputError as error:  # no such file, or its documents have no docno
            if path.is_file() and error.line != 1:
                raise
            names = list(map(str, range(size)))
            progress().note(f"{self.path}: documents are called by their row numbers, from 0")
        if not len(names) == len(set(names)) == size:
            message = f"this file names {len(set(names)):,} documents, the index has {size:,}."
            raise ArtifactError(message, path=path, hint="Without it, row numbers are docnos.")
        return pl.Series("docno", names, dtype=pl.String)

    def _rank(self, queries: Any, model: Model, depth: int | None, threads: int) -> Ranked:
        if type(model) is not Impact:
            message = (
                f"{self.path} contains scores computed by bm25s, which only `impact` supports."
            )
            raise UsageError(message, hint=f"Leave out {worded('model')}, or build an index.")
        ranked = [(self._rows[:0], self._scores[:0])] * (len(queries) + 1)

        def search(first: int, last: int) -> None:
            for place, query in enumerate(queries[first:last], first):
                pairs = query.items() if isinstance(query, Mapping) else zip(query, repeat(1))
                weights = [
                    (self._terms[term], weight) for term, weight in pairs if term in self._terms
                ]
                sums, rows = np.zeros(len(self), self._scores.dtype), self._rows[:0]
                for number, weight in weights:
                    part = slice(*self._starts[number : number + 2].tolist())
                    sums[self._rows[part]] += weight * self._scores[part]
                    rows = np.union1d(rows, self._rows[part])
                sums += np.array(
                    [weight * self._absent[n] for n, weight in weights], sums.dtype
                ).sum()
                rows = rows[np.lexsort((self._orders[rows], -sums[rows]))[:depth]]
                ranked[place] = rows, sums[rows]

        in_threads(search, len(queries), threads)
        rows, scores = map(np.concatenate, zip(*ranked, strict=True))
        return np.array([len(rows_) for rows_, _ in ranked[:-1]], dtype=np.int32), rows, scores
