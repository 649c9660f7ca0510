"""Reports of made-up runs, as wide and as long as a test wants them."""

import numpy as np
import polars as pl

from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.runs.run import Run
from adducir.statistics.comparison import compare
from adducir.statistics.settings import Testing
from adducir.studies.complementary_evidence.measures import GoldSets, set_table
from adducir.studies.complementary_evidence.questions import EvidenceQuestion, Passage
from adducir.tables.build import Layout, build_table
from adducir.tables.hits import HitCollector
from adducir.tables.material import Cost, Curve, Material
from adducir.tables.ranks import rank_table
from adducir.tables.table import ResultTable

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
    """A table with everything that a report can show; by default tested against the first.

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
    evaluator = Evaluator(qrels, measures)
    worth = {(qid, docno): grade for qid, docno, grade in rows}
    runs = [
        _run(f"system {n}{odd}", 0.3 + n / systems, qids, docnos, worth, depth, draw)
        for n in range(systems)
    ]
    scores = [evaluator.score(run) for run in runs]
    if not testing and systems > 1 and topics > 1:
        testing = {"baseline": f"system 0{odd}", "equivalence": 0.05}
    queries = {qid: f"what is {qid} & <why>?" for qid in qids}
    hits = HitCollector(qrels, systems, queries)
    for run in runs:
        hits.add(run.tag, run)
    material = Material(
        {"": hits.found()},
        {docno: f"Document {docno} says <b>what</b> q1 is.{odd}" for docno in docnos},
        {run.tag: Cost(2.0 + n, 1000 * n) for n, run in enumerate(runs)},
        {f"a model{odd}": Curve(((10, 0.9), (20, 0.5)), ((10, 1.0), (20, 0.7)), 20)},
        (("index", ()), (f"run A{odd}", ("index",)), (f"run B{odd}", ("index",))),
    )
    layout = Layout(title=f"Made-up <runs> & figures{odd}", material=material)
    return build_table(compare(scores, **testing), layout)


def _run(
    name: str,
    skill: float,
    qids: list[str],
    docnos: np.ndarray,
    worth: dict[tuple[str, str], int],
    depth: int,
    draw: np.random.Generator,
) -> Run:
    frames = []
    for qid in qids:
        known = np.array([worth.get((qid, docno), 0) for docno in docnos])
        found = skill * known + draw.gumbel(size=len(docnos))
        best = np.argsort(-found)[:depth]
        frames.append(
            pl.DataFrame({"qid": [qid] * len(best), "docno": docnos[best], "score": found[best]})
        )
    return Run.ranked(pl.concat(frames), name)


def known_item(queries: int = 30) -> ResultTable:
    """A table of ranks of gold items, with a random ranking's expectation."""
    draw = np.random.default_rng(queries)
    qids = [f"c{number}" for number in range(queries)]
    candidates = np.full(queries, 80)
    systems = {
        name: GoldRanks(
            tuple(qids), draw.integers(0, most, queries), np.ones_like(candidates), candidates
        )
        for name, most in (("BM25", 60), ("EGRET", 25))
    }
    return rank_table({"": systems}, random=True, testing=Testing(baseline="BM25"))


def evidence_sets(questions: int = 20) -> ResultTable:
    """A table of selected sets, with the upper bound of the pools."""
    draw = np.random.default_rng(questions)
    pools = {f"q{n}": [f"p{n}-{m}" for m in range(8)] for n in range(questions)}
    gold = GoldSets(
        EvidenceQuestion(qid, "?", tuple(Passage(one, "", "") for one in pool), ((0, 1),))
        for qid, pool in pools.items()
    )
    chosen = {
        name: {
            qid: tuple(pool[:2] if draw.random() < right else pool[3:5])
            for qid, pool in pools.items()
        }
        for name, right in (("first", 0.4), ("second", 0.8))
    }
    scores = [gold.scores(name, found) for name, found in chosen.items()]
    bound = gold.bound(chosen.values())
    return set_table({"": scores}, {"": bound}, Testing(baseline="first"), Layout())
