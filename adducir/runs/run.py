"""A run, one system's ranking for each topic, in an order that all tools agree on.

trec_eval ranks equal scores by docno descending and never reads the rank (``form_res_rels.c``);
Anserini writes them by docno ascending; ir_measures follows each measure's provider. If scores
strictly decrease within each topic, all of them agree. trec_eval up to 9.0.7 and pytrec_eval keep
scores in single precision: scores must strictly decrease there, too, and in other tools' runs,
scores that are equal in single precision are ties.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from adducir.core.errors import UsageError
from adducir.core.texts import MOST_ROWS, html_table, refuse_unless, refuse_unless_count, typed
from adducir.corpora.frames import (
    SCORE,
    Floats,
    FramedByTopic,
    Integers,
    Nested,
    Tabular,
    refuse_unless_rows,
    repeated_rows,
    rows_of,
    topic_numbers,
)

Ties = Literal["trec_eval", "descending", "ascending"]
"""Orders of equal scores: :func:`ordered`."""

_LARGEST = int(np.finfo(np.float32).max.view(np.int32))
_SIGN = -(2**31)
# Topics' keys are 2**33 apart: more than keys (32 bits) and ranks together span.
_TOPIC_STRIDE = 1 << 33


def ordered(frame: pl.DataFrame, *, ties: Ties) -> pl.DataFrame:
    """Rows (qid, docno, score) sorted by topic (first appearance), score (descending), docno.

    ``ties`` orders the docnos of equal scores, by UTF-8 bytes: descending as in ``trec_eval`` up to
    9.0.7, for which scores equal in single precision are equal, and become one number here;
    ``descending`` by double precision, as from 9.0.8 on; ``ascending`` as in Anserini.
    """
    frame = frame.select("qid", "docno", "score")
    topic = topic_numbers(frame["qid"])
    score = frame["score"].to_numpy()
    falls = (score[1:] <= score[:-1]) | (topic[1:] != topic[:-1])
    if not falls.all() or (topic[1:] < topic[:-1]).any():
        rows = np.lexsort((-score, topic))
        frame, topic, score = frame[rows], topic[rows], score[rows]
    same_topic = topic[1:] == topic[:-1]
    if ties == "trec_eval":  # scores that differ only in double precision become equal
        with np.errstate(over="ignore"):
            rounded = score.astype(np.float32)
        same = (rounded[1:] == rounded[:-1]) & same_topic & np.isfinite(rounded[1:])
        apart = same & (score[1:] != score[:-1])
        if apart.any():
            group = np.cumsum(np.concatenate(([True], ~same)))
            merged = np.isin(group, group[1:][apart])
            score = np.where(merged, rounded.astype(np.float64), score)
            frame = frame.with_columns(score=pl.Series(score))
    tied, member = (score[1:] == score[:-1]) & same_topic, np.zeros(len(score), dtype=bool)
    member[1:] = tied
    member[:-1] |= tied
    places = np.flatnonzero(member)
    if not len(places):
        return frame
    begins = np.ones(len(places), dtype=bool)
    begins[1:] = ~tied[places[1:] - 1]
    docnos = frame["docno"]
    groups = {"group": np.cumsum(begins), "docno": docnos.gather(places), "row": places}
    is_falling = [False, ties != "ascending"]
    in_order = pl.DataFrame(groups).sort(
        "group", "docno", descending=is_falling, maintain_order=True
    )
    rows = in_order["row"].to_numpy()
    if np.array_equal(places, rows):
        return frame
    # Tied rows differ only in docno, so it is enough to permute those few docnos.
    return frame.with_columns(docnos.clone().scatter(places, docnos.gather(rows)))


def strictly_decreasing(scores: Floats, topics: Integers | None = None) -> Floats:
    """(n,) scores that strictly decrease in double and single precision, with minimal changes.

    Rounded to single precision, scores become integers ``x``, their index among all floats.
    The nearest strictly decreasing sequence that never exceeds it is
    ``y[i] = min(x[j] + j for j <= i) - i``: the first of a group of ties keeps its score, each
    later one moves down by one float, and pushes down the scores in its way. Scores whose ``x`` is
    unchanged keep their double-precision value; those beyond single precision are clipped.
    ``scores`` must not increase within a topic; ``topics`` numbers each score's topic, None: all
    are one.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if not len(scores):
        return scores.copy()
    starts = np.zeros(len(scores), dtype=bool)
    starts[0] = True
    if topics is not None:
        starts[1:] = topics[1:] != topics[:-1]
    if not np.isfinite(scores).all():
        raise UsageError("a score is not a finite number.")
    if ((scores[1:] > scores[:-1]) & ~starts[1:]).any():
        raise UsageError("scores must be in descending order before their ties are broken.")
    with np.errstate(over="ignore"):
        bits = scores.astype(np.float32).view(np.int32).astype(np.int64)
    keys = np.where(bits >= 0, bits, _SIGN - bits)  # ordered like floats; both zeros are 0
    if ((keys[1:] < keys[:-1]) | starts[1:]).all() and abs(keys).max() <= _LARGEST:
        return scores.copy()
    first = np.flatnonzero(starts)
    lengths = np.diff(first, append=len(scores))
    rank = np.arange(len(scores)) - np.repeat(first, lengths)
    below = np.repeat(lengths, lengths) - 1 - rank
    # Each topic is far below the one before it, so one running minimum serves all.
    depth = np.repeat(np.arange(len(first)), lengths) * _TOPIC_STRIDE
    line = np.minimum(keys, _LARGEST) + rank - depth
    new = np.minimum.accumulate(line) - rank + depth
    new = np.maximum(new, below - _LARGEST)  # room for the rest above the lowest float
    lowered = np.where(new >= 0, new, _SIGN - new).astype(np.int32).view(np.float32)
    return np.where(new == keys, scores, lowered.astype(np.float64))


SCHEMA = {"qid": pl.String, "docno": pl.String, "score": pl.Float64}


@dataclass(frozen=True, eq=False)
class Run(FramedByTopic):
    """Ranked documents per topic; the constructor takes a frame in its final order.

    Attributes:
        frame: Columns qid (String), docno (String), score (Float64, finite): topics in order of
            first appearance, scores not increasing within a topic. Elsewhere equal scores may
            change places: give :meth:`to_polars` or :meth:`to_dict` to other tools.
        tag: The system's name, the last column of a TREC run.
        path: The file it was read from.
        metadata: How it was made: sections of the metadata that are written beside it.

    Example:
        >>> run = ad.Run.of({"1": {"x": 1.0, "y": 2.0}}, tag="mine")
        >>> run.frame["docno"].to_list(), run.depth
        (['y', 'x'], 2)
    """

    frame: pl.DataFrame
    tag: str
    path: Path | None = None
    metadata: Mapping[str, object] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        refuse_unless(self.tag, "`tag`", str)
        refuse_unless_rows(self.frame, SCHEMA, "a run")
        finite = self.frame["score"].is_finite()
        for qid, docno, score in self.frame.filter(~finite).head(1).rows():
            message = (
                f"the score of document {docno} for topic {qid} is {score}, not a finite number."
            )
            raise UsageError(message)

    @classmethod
    @typed
    def ranked(cls, rows: pl.DataFrame, tag: str, *, ties: Ties = "trec_eval") -> "Run":
        """Make a run from rows (qid, docno, score) in any order.

        Equal scores are ordered as :func:`.read_run` orders them, docno descending, so that a frame
        and a file have the same figures. ``ties="descending"`` keeps scores apart that differ only
        in double precision, ``"ascending"`` is Anserini's order.
        """
        try:
            frame = rows.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
        except pl.exceptions.PolarsError as error:
            raise UsageError(f"these rows are not a run: {str(error).splitlines()[0]}.") from error
        frame = frame.with_columns(pl.col("score").fill_null(np.nan))
        run = cls(ordered(frame, ties=ties), tag)
        for qid, docno in run.duplicates().head(1).rows():
            raise UsageError(f"topic {qid} ranks document {docno} twice.")
        return run

    @classmethod
    @typed
    def of(cls, data: "Tabular | Nested", tag: str, *, ties: Ties = "trec_eval") -> "Run":
        """Make a run from a frame (qid, docno, score) or a dict ``{qid: {docno: score}}``.

        Also from records, such as ir_measures', and a Series with the index (qid, docno). Columns
        may be called query_id and doc_id. As in trec_eval, a rank is ignored and equal scores are
        ordered by docno, descending; ``ties`` as in :meth:`ranked`.
        """
        return cls.ranked(rows_of(data, SCORE, "run"), tag, ties=ties)

    def __len__(self) -> int:
        return self.frame.height

    @property
    def name(self) -> str:
        return str(self.path or self.tag)

    @cached_property
    def qids(self) -> list[str]:
        return self.frame["qid"].unique(maintain_order=True).to_list()

    @cached_property
    def topics(self) -> Integers:
        """(n,) the index of each row's topic in :attr:`qids`."""
        return topic_numbers(self.frame["qid"])

    @cached_property
    def lengths(self) -> Integers:
        """(T,) the number of documents of each topic in :attr:`qids`."""
        return np.bincount(self.topics)

    @property
    def depth(self) -> int:
        return int(self.lengths.max(initial=0))

    @cached_property
    def ranks(self) -> Integers:
        """(n,) ranks within each topic, from 0."""
        starts = np.cumsum(self.lengths) - self.lengths
        return np.arange(len(self)) - np.repeat(starts, self.lengths)

    def top(self, depth: int) -> "Run":
        refuse_unless_count(depth, "`depth`")
        return Run(self.frame.filter(pl.Series(self.ranks < depth)), self.tag, self.path)

    def fold(self, fold: str, depth: int | None = None, *, strict: bool = True) -> "Run":
        """The run of documents that a run of passages stands for, cut to ``depth`` documents.

        Args:
            fold: ``firstp``, ``maxp``, ``sump`` or ``avgp`` (:mod:`adducir.runs.folding`). Equal
                scores keep the order of the documents' best passages.
            depth: Documents per topic at most.
            strict: Refuse a run that does not rank any passage.

        Raises:
            UsageError: No docno names a passage, or ``fold`` is another text.

        Example:
            >>> run = ad.Run.of({"1": {"a#1": 1.0, "b#2": 3.0, "a#2": 2.5}}, tag="passages")
            >>> run.fold("sump").to_dict()
            {'1': {'a': 3.5, 'b': 3.0}}
        """
        from adducir.runs.folding import Fold, PassageMap

        how = Fold.of(fold)
        passages = PassageMap.of(self.frame["docno"], how.separator, strict=strict)
        scores = self.frame["score"]
        groups = self.topics * max(1, len(passages.names)) + passages.document
        rows, values = how.scores(groups, scores.to_numpy(), passages.is_first)
        order = np.lexsort((rows, -values, self.topics[rows]))
        docnos = passages.names.gather(passages.document[rows[order]])
        frame = self.frame[rows[order]].with_columns(docnos.alias("docno"))
        folded = replace(self, frame=frame.with_columns(score=pl.Series(values[order])))
        return folded if depth is None else folded.top(depth)

    def duplicates(self) -> pl.DataFrame:
        """Frame (qid, docno) of the distinct pairs that occur more than once."""
        rows = repeated_rows(self.frame, self.topics)
        return self.frame.select("qid", "docno")[rows].unique(maintain_order=True)

    def to_polars(self) -> pl.DataFrame:
        """Columns qid, docno, score and rank (from 0): in pandas a PyTerrier result frame.

        Scores strictly decrease within a topic, as in a written run: every tool keeps the order.
        """
        scores = strictly_decreasing(self.frame["score"].to_numpy(), self.topics)
        ranks = pl.Series(self.ranks, dtype=pl.Int64)
        return self.frame.with_columns(score=pl.Series(scores, dtype=pl.Float64), rank=ranks)

    def _repr_html_(self) -> str:
        caption = f"{self.tag}: {len(self.qids):,} topics, {len(self):,} documents"
        shown = self.top(MOST_ROWS).to_polars().head(MOST_ROWS)
        return html_table(caption, shown.columns, shown.iter_rows())
