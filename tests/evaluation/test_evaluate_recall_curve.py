"""Interpolated precision against trec_eval's, by way of ir_measures."""

import ir_measures
import numpy as np
import polars as pl
import pytest
from ir_measures import IPrec

from adducir.corpora.qrels import Qrels
from adducir.runs.run import Run
from adducir.tables.run_facts import RunFacts


def interpolated_precision(run: Run, qrels: Qrels) -> tuple[float, ...]:
    facts = RunFacts(qrels, (), systems=1)
    facts.add(run, "s")
    return facts.hits().precision["s"]


def test_a_list_by_hand() -> None:
    qrels = Qrels.of({"1": {"a": 1, "b": 1, "c": 0}, "2": {"x": 1}})
    run = Run.of({"1": {"a": 3.0, "c": 2.0, "b": 1.0}}, "t")
    # Topic 1: precision 1 up to half of the recall, then 2/3; topic 2 has no rows and counts 0.
    wanted = [0.5] * 6 + [1 / 3] * 5
    assert interpolated_precision(run, qrels) == pytest.approx(wanted)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_trec_evals(seed: int) -> None:
    draw = np.random.default_rng(seed)
    docnos = [f"d{n}" for n in range(50)]
    qrels = Qrels.of(
        {
            str(q): {d: int(draw.integers(-1, 3)) for d in docnos if draw.random() < 0.7}
            for q in range(9)
        }
    )
    rows = [(str(q), d, draw.random()) for q in range(9) for d in docnos if draw.random() < 0.6]
    frame = pl.DataFrame(rows, schema=["qid", "docno", "score"], orient="row")
    run = Run.ranked(frame, "t")
    measures = [IPrec @ (level / 10) for level in range(11)]
    names = {"qid": "query_id", "docno": "doc_id", "grade": "relevance"}
    judged = qrels.frame.rename(names).to_pandas()
    ranked = run.to_pandas().rename(columns=names)
    other = ir_measures.calc_aggregate(measures, judged, ranked)
    found = interpolated_precision(run, qrels)
    assert found == pytest.approx([other[measure] for measure in measures])
    # The same to the last digit each time: topics are added in the order of the qrels.
    assert {interpolated_precision(run, qrels) for _ in range(5)} == {found}
