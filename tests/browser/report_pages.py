"""Reports of made-up runs, as wide and as long as a test wants them."""

import numpy as np
import polars as pl

from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import Evaluator
from adducir.runs.run import Run
from adducir.statistics.comparison import compare
from adducir.tables.build import build_table
from adducir.tables.report_data import Cost, Curve, ReportData
from adducir.tables.run_facts import RunFacts
from adducir.tables.table import Layout, ResultTable

UNJUDGED = -9
GRADES, SHARES = (UNJUDGED, 0, 1, 2), (0.4, 0.4, 0.1, 0.1)


def made_up(
    systems: int = 4,
    topics: int = 25,
    *,
    documents: int = 60,
    measures: str = "nDCG@5 AP R@20 Judged@5",
    depth: int = 40,
    odd: str = "",
    **testing: object,
) -> ResultTable:
    """A table with all that a report can show; by default tested against the first system.

    Every name and text ends with ``odd``.
    """
    draw = np.random.default_rng(systems * 1000 + topics)
    qids = [f"q{number}{odd}" for number in range(topics)]
    docnos = np.array([f"d{number:04d}{odd}" for number in range(documents)])
    rows = [
        (qid, docno, int(grade))
        for qid in qids
        for docno, grade in zip(docnos, draw.choice(GRADES, documents, p=SHARES), strict=True)
        if grade != UNJUDGED
    ]
    schema = {"qid": pl.String, "docno": pl.String, "grade": pl.Int64}
    qrels = Qrels(pl.DataFrame(rows, schema=schema, orient="row"), "made-up")
    worth = {(qid, docno): grade for qid, docno, grade in rows}
    known = np.array([[worth.get((qid, docno), 0) for docno in docnos] for qid in qids])
    evaluator = Evaluator(qrels, measures)
    queries = {qid: f"what is {qid} & <why>?" for qid in qids}
    facts = RunFacts(qrels, evaluator.measures, systems=systems, queries=queries)
    runs = []
    for number in range(systems):
        found = (0.3 + number / systems) * known + draw.gumbel(size=known.shape)
        best = np.argsort(-found, axis=1)[:, :depth]
        frame = pl.DataFrame(
            {
                "qid": np.repeat(qids, best.shape[1]),
                "docno": docnos[best].ravel(),
                "score": np.take_along_axis(found, best, 1).ravel(),
            }
        )
        runs.append(Run.ranked(frame, f"system {number}{odd}"))
        facts.add(runs[-1], runs[-1].tag)
    scores = [evaluator.score(run) for run in runs]
    if not testing and systems > 1 and topics > 1:
        testing = {"baseline": f"system 0{odd}", "equivalence": 0.05, "against": f"system 0{odd}"}
    material = ReportData(
        {"": facts.hits},
        {docno: f"Document {docno} says <b>what</b> q1 is.{odd}" for docno in docnos},
        {run.tag: Cost(2.0 + number, 1000 * number) for number, run in enumerate(runs)},
        {f"a model{odd}": Curve(((10, 0.9), (20, 0.5)), ((10, 1.0), (20, 0.7)), 20)},
        (("index", ()), (f"run A{odd}", ("index",)), (f"run B{odd}", ("index",))),
    )
    layout = Layout(title=f"Made-up <runs> & figures{odd}", material=material)
    return build_table(compare(scores, **testing), layout)  # type: ignore[arg-type]
