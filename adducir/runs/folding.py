"""Passages folded to documents (Dai and Callan, "Deeper text understanding for IR", SIGIR 2019).

A document's score is that of its first passage (FirstP), the highest of its passages (MaxP), their
sum (SumP) or their mean (AvgP). Only passages that were ranked count: a passage without a query
term is not one of them. Passages are named ``DOCNO#1``, ``DOCNO#2``, ... as by ``--passages``, or
``DOCNO#0``, ``DOCNO%p0``, ... as by other programs; a docno without a number is a document itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from adducir.core.errors import Keyed, UsageError
from adducir.corpora.frames import Integers
from adducir.runs.docnos import passage_parts
from adducir.runs.kinds import METHODS as METHODS
from adducir.runs.kinds import Fold as Fold
from adducir.runs.kinds import FoldName as FoldName

_MOST_HITS = 1 << 26  # held at once


@dataclass(frozen=True)
class PassageMap:
    """The documents of n passages: ``names`` in order of docnos, and for each passage ..."""

    names: pl.Series
    document: Integers  # (n,) its document's place in ``names``
    is_first: Any  # (n,) whether it is its document's first
    hint: ClassVar[str] = Keyed(
        "Name what is between docno and number, as in {}.", ("fold", "maxp:_")
    )

    @classmethod
    def of(cls, docnos: pl.Series, separator: str = "", *, strict: bool = True) -> "PassageMap":
        """Cut docnos; those of the first passages end in 0 if any does, otherwise in 1.

        Raises:
            UsageError: None of them is a passage's; unless not ``strict``.
        """
        parts = passage_parts(docnos, separator)
        if strict and len(docnos) and not parts["number"].count():
            shown = f"such as {docnos[0]!r}"
            raise UsageError(f"no docno names a passage of a document ({shown}).", hint=cls.hint)
        start = 0 if (parts["number"] == 0).any() else 1
        names = parts["document"].unique().sort()
        places = names.to_frame("document").with_row_index("place")
        document = parts.join(places, on="document", how="left", maintain_order="left")["place"]
        is_first = (parts["number"] == start).fill_null(value=True)
        return cls(names, document.cast(pl.Int64).to_numpy(), is_first.to_numpy())


Ranked = tuple[Any, Any, Any]
"""Hits by passage numbers: (q,) counts, (n,) passages and their scores."""


def folded(
    passages: PassageMap,
    fold: Fold,
    rank: Callable[[Sequence[int], int], Ranked],
    queries: int,
    depth: int | None,
) -> Ranked:
    """The documents of all queries, each by its best passage, with the document's score.

    ``rank`` ranks passages for some queries, ever deeper until ``depth`` documents are found.
    """
    size, documents = len(passages.document), len(passages.names)
    most = documents if depth is None else depth
    read = size if fold.reads_all else most * max(1, -(-size // max(1, documents)))
    work: list[tuple[Sequence[int], int]] = [(range(queries), read)]
    none = np.zeros(0, dtype=np.int64)
    ranked: list[tuple[Any, Any]] = [(none, none.astype(np.float64))] * (queries + 1)
    while work:
        some, read = work.pop()
        read = max(1, min(read, size))
        if len(some) > (at_once := max(1, _MOST_HITS // read)):
            work.append((some[at_once:], read))
            some = some[:at_once]
        counts, numbers, scores = rank(some, read)
        ends, deeper = np.cumsum(counts), list[int]()
        for query, count, end in zip(some, counts.tolist(), ends.tolist(), strict=True):
            hits, values = numbers[end - count : end], scores[end - count : end]
            groups = passages.document[hits]
            rows, totals = fold.scores(groups, values, passages.is_first[hits])
            # Below the last score read, there may be a document of a smaller docno.
            if count == read < size and np.count_nonzero(totals > values[-1]) < most:
                deeper.append(query)
                continue
            order = np.lexsort((groups[rows], -totals))[:most]
            ranked[query] = hits[rows[order]], totals[order]
        if deeper:
            work.append((deeper, 4 * read))
    hits, totals = map(np.concatenate, zip(*ranked, strict=True))
    return np.array([len(docs) for docs, _ in ranked[:-1]], dtype=np.int32), hits, totals
