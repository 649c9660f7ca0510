"""Where the judged documents stand in a run: all that the measures look at.

A run of a million rows has perhaps a tenth of them judged. One join finds
them; every vectorised measure is then a sum over these few rows.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from adducir.core.errors import InputError, UsageError
from adducir.corpora.frames import pair_keys
from adducir.evaluation.judgements import Integers, Judgements, number_topics
from adducir.runs.run import Run


@dataclass(frozen=True, eq=False)
class RankedTopics:
    """A run's rows by topic of the qrels, in the run's own order.

    Attributes:
        topic: (n,) topic number of each row, -1 where the qrels lack the topic.
        docno: (n,) documents.
        begin: (T,) first row of each topic of the qrels, 0 where it has none.
        retrieved: (T,) rows of each topic of the qrels.
        extra: The run's topics that the qrels lack.
    """

    topic: Integers
    docno: pl.Series
    begin: Integers
    retrieved: Integers
    extra: tuple[str, ...]

    @classmethod
    def of(cls, run: Run, judgements: Judgements) -> "RankedTopics":
        """Number the run's topics.

        Raises:
            InputError: The run has rows, but none of its topics is judged.
            UsageError: The rows of a topic are apart.
        """
        blocks = run.frame.select(block=pl.col("qid").rle()).unnest("block")
        if blocks["value"].n_unique() < len(blocks):
            raise UsageError(
                "The rows of a topic of the run are apart.",
                hint="Make the run with Run.ranked, which orders rows.",
            )
        lengths = blocks["len"].cast(pl.Int64).to_numpy()
        number = number_topics(blocks["value"], pl.Series(judgements.qids, dtype=pl.String))
        known = number >= 0
        if len(known) and not known.any():
            raise InputError(
                f"None of the run's topics ({blocks['value'][0]} is the first of {len(known)}) "
                f"is in the qrels ({judgements.qids[0]} is the first of "
                f"{len(judgements.qids)}).",
                path=run.path,
                hint="Give a run and qrels of the same topics.",
            )
        begin, retrieved = np.zeros((2, len(judgements.qids)), dtype=np.int64)
        begin[number[known]] = (np.cumsum(lengths) - lengths)[known]
        retrieved[number[known]] = lengths[known]
        return cls(
            topic=np.repeat(number, lengths),
            docno=run.frame["docno"],
            begin=begin,
            retrieved=retrieved,
            extra=tuple(blocks["value"].filter(pl.Series(~known))),
        )


@dataclass(frozen=True, eq=False)
class RankedJudgements:
    """Judged documents of a run, by topic and rank.

    Attributes:
        judgements: The qrels.
        retrieved: (T,) documents in each topic's list.
        topic: (m,) topic number of each judged document.
        rank: (m,) its rank in the list, from 0, ascending within a topic.
        judgement: (m,) the number of its judgement.
    """

    judgements: Judgements
    retrieved: Integers
    topic: Integers
    rank: Integers
    judgement: Integers

    @classmethod
    def find(cls, run: Run, ranked: RankedTopics, judgements: Judgements) -> "RankedJudgements":
        """Find the judged documents of a run.

        Raises:
            InputError: The run or the qrels hold a judged pair of topic and
                document twice (files are checked when read; frames that come
                from elsewhere are checked here).
        """
        keys = pair_keys(ranked.docno, ranked.topic)
        rows = pl.DataFrame({"key": keys, "row": np.arange(len(keys))})
        found = judgements.keys.join(rows, on="key", how="inner").sort("row")
        row, judgement = found["row"].to_numpy(), found["judgement"].to_numpy()
        same = (ranked.docno.gather(row) == judgements.docno.gather(judgement)).to_numpy()
        same &= ranked.topic[row] == judgements.topic[judgement]
        if not same.all():  # keys that are equal by accident
            row, judgement = row[same], judgement[same]
        judged_twice = row[1:][np.diff(row) == 0]
        ranked_twice = np.flatnonzero(np.bincount(judgement, minlength=1) > 1)
        for again, holder, docno, path in (
            (judged_twice, "qrels hold", ranked.docno, judgements.source),
            (ranked_twice, "run holds", judgements.docno, run.path),
        ):
            if len(again):
                name = docno[int(again[0])]
                raise InputError(f"The {holder} {name} twice for one topic.", path=path)
        topic = ranked.topic[row]
        return cls(judgements, ranked.retrieved, topic, row - ranked.begin[topic], judgement)

    @cached_property
    def grade(self) -> Integers:
        """(m,) grades, negative ones as the judgements treat them."""
        return self.judgements.grade[self.judgement]

    def condensed(self, grade: Integers | None = None) -> "RankedJudgements":
        """The list without what is not judged.

        That is: without unjudged documents, and without those whose grade
        stayed negative.

        Args:
            grade: (m,) other grades to go by.

        Returns:
            The same documents at their ranks in the condensed list, which is
            as long as it has judged documents (trec_eval's ``-J``).
        """
        kept = (self.grade if grade is None else grade) >= 0
        topic = self.topic[kept]
        retrieved = np.bincount(topic, minlength=len(self.retrieved))
        return RankedJudgements(
            self.judgements, retrieved, topic, _positions(topic), self.judgement[kept]
        )

    def relevant(self, rel: int) -> "Relevant":
        """The documents of grade ``rel`` or more."""
        chosen = self.grade >= rel
        topic = self.topic[chosen]
        return Relevant(
            topic=topic,
            rank=self.rank[chosen],
            nth=_positions(topic) + 1,
            total=self.judgements.counts.at_least(rel),
        )


@dataclass(frozen=True, eq=False)
class Relevant:
    """Relevant documents that a run retrieved.

    Attributes:
        topic: (r,) topic number of each.
        rank: (r,) its rank from 0.
        nth: (r,) 1 for a topic's first relevant document, 2 for its second ...
        total: (T,) relevant documents that the qrels hold.
    """

    topic: Integers
    rank: Integers
    nth: Integers
    total: Integers


def _positions(topic: Integers) -> Integers:
    """(n,) how many earlier entries equal each; equal ones must be neighbours."""
    new = np.flatnonzero(np.diff(topic, prepend=-1) != 0) if len(topic) else topic
    lengths = np.diff(new, append=len(topic))
    return np.arange(len(topic)) - np.repeat(new, lengths)
