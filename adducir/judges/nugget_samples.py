"""What people say of a random sample of nuggets, and the scores of a model's assignments corrected.

With the nuggets of a topic fixed, each score is a share: a sum of what its assignments count. So
the difference estimator of :mod:`adducir.judges.correction` holds, with an answer's nugget in the
place of a document. Of a ranking the best document counts, which is not a sum.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256

import numpy as np
import polars as pl

from adducir.core.errors import InputError, UsageError
from adducir.corpora.frames import topic_numbers
from adducir.judges.by_hand import FACT
from adducir.judges.correction import Sampled
from adducir.judges.nuggets import ASSIGNMENTS, FAILED, SCORES, VITAL, Assigned, Nugget
from adducir.judges.sheets import Design

_AGAIN = "Draw a sample of these assignments: adducir nuggets sample."


def nugget_pairs(items: Sequence[Assigned]) -> pl.DataFrame:
    """Columns qid, query, docno, system, vital, model, fact and text, by qid.

    ``docno`` stands for an answer's nugget, and does not tell the system. ``model`` is the number
    of the assignment, -1 if it failed. A nugget of an answer that says nothing is not contained,
    which nobody has to be asked.
    """
    rows = [
        (
            item.qid,
            item.query,
            sha256(f"{item.qid}\0{item.system}\0{nugget.text}".encode()).hexdigest()[:16],
            item.system,
            nugget.importance == VITAL,
            -1 if nugget.assignment == FAILED else ASSIGNMENTS.index(nugget.assignment),
            nugget.text,
            item.text,
        )
        for item in items
        if item.text.strip()
        for nugget in item.nuggets
    ]
    if not rows or any(item.docno for item in items):
        raise UsageError(
            "these are not assignments of answers with their texts, of which people can judge.",
            hint="Of a ranking's documents the best counts, so that its scores are not sums, and "
            "cannot be corrected.",
        )
    names = ("qid", "query", "docno", "system", "vital", "model", "fact", "text")
    frame = pl.DataFrame(rows, schema=names, orient="row").sort("qid", "docno")
    for row in frame.filter(frame.select("qid", "docno").is_duplicated()).head(1).rows(named=True):
        raise UsageError("topic {qid} has the nugget {fact!r} twice.".format(**row))
    return frame


def sheet_of_nuggets(pairs: pl.DataFrame) -> pl.DataFrame:
    """What people see; a page shows facts above texts."""
    return pairs.select("qid", FACT, pl.col("query").alias("description"), "docno", "text")


def corrected_scores(
    items: Sequence[Assigned],
    banks: Mapping[str, Sequence[Nugget]],
    design: Design,
    people: pl.DataFrame,
) -> tuple[list[tuple[str, str, str, float]], list[str]]:
    """System, qid, measure and corrected value of each, and the topics without vital nuggets."""
    pairs = nugget_pairs(items)
    keys = ["qid", "docno"]
    if not design.pairs.select(keys).equals(pairs.select(keys)):
        raise InputError("the people's sample was drawn from other assignments.", hint=_AGAIN)
    for row in people.filter(~pl.col("grade").is_between(0, 2)).head(1).rows(named=True):
        raise InputError("a person's grade is {grade}, not 0, 1 or 2.".format(**row))
    grades = pairs.join(people, on=keys, how="left", maintain_order="left")["grade"]
    topic, level = topic_numbers(pairs["qid"]), pairs["model"].to_numpy()
    probability, is_vital = design.pairs["probability"].to_numpy(), pairs["vital"].to_numpy()
    qids, of_pair = pairs["qid"].unique(maintain_order=True).to_list(), pairs["system"].to_numpy()
    vitals = {qid: [one.importance == VITAL for one in bank] for qid, bank in banks.items()}
    left_out = [qid for qid, flags in vitals.items() if not any(flags)]
    values = dict[tuple[str, str, str], float]()
    for measure, (of_vital, credit) in SCORES.items():
        gain = np.array([np.nan if grade is None else credit[grade] for grade in grades])
        sampled = Sampled.of(topic, level, gain, probability)
        sizes = np.array([sum(vitals[qid]) if of_vital else len(vitals[qid]) for qid in qids])
        share = (is_vital if of_vital else 1.0) / np.maximum(1, sizes)[topic]
        for system in set(of_pair):
            of_topic = sampled.values(share * (of_pair == system)).tolist()
            values |= {(system, qid, measure): n for qid, n in zip(qids, of_topic, strict=True)}
    rows = [
        (system, qid, measure, values.get((system, qid, measure), 0.0))
        for system in dict.fromkeys(item.system for item in items)
        for qid in banks
        if qid not in left_out
        for measure in SCORES
    ]
    return rows, left_out
