"""Parity with rank_bm25 on real candidate sets: RELiC, novels cut into windows, HotpotQA."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from adducir.indexes.candidates.batch import RankingTask, gold_ranks_of_sets, score_sets
from adducir.indexes.candidates.sets import CandidateSet
from adducir.indexes.candidates.vocabulary import lower_split
from adducir.indexes.models import BM25L, BM25Plus, Okapi

rank_bm25 = pytest.importorskip("rank_bm25", reason="rank_bm25 is not installed")


def json_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def peer_scores(texts: list[str], queries: list[str], peer=rank_bm25.BM25Okapi, **settings):
    ranker = peer([lower_split(text) for text in texts], **settings)
    return np.array([ranker.get_scores(lower_split(query)) for query in queries])


def peer_ranks(scores: np.ndarray, gold: list[int]) -> list[int]:
    return (scores >= scores[np.arange(len(gold)), gold][:, None]).sum(axis=1).tolist()


@pytest.fixture(scope="module")
def relic(collections: Path) -> list[RankingTask]:
    """Each of the 100 queries with its pool of about fifty sentences."""
    texts = {one["docid"]: one["text"] for one in json_lines(collections / "relic/corpus.jsonl")}
    queries = {one["qid"]: one["text"] for one in json_lines(collections / "relic/queries.jsonl")}
    pools: dict[str, list[str]] = {qid: [] for qid in queries}
    gold: dict[str, int] = {}
    for line in (collections / "relic/qrels.txt").read_text().splitlines():
        qid, _, docno, grade = line.split()
        if grade == "1":
            gold[qid] = len(pools[qid])
        pools[qid].append(docno)
    return [
        RankingTask([texts[docno] for docno in pool], [queries[qid]], [gold[qid]])
        for qid, pool in pools.items()
    ]


def test_relics_pools(relic: list[RankingTask]) -> None:
    found = gold_ranks_of_sets(relic, Okapi(k1=0.5, b=0.9), analysis=lower_split)
    scores = score_sets(relic, Okapi(k1=0.5, b=0.9), analysis=lower_split)
    for task, ours, ranks in zip(relic, scores, found, strict=True):
        theirs = peer_scores(task.texts, task.queries, k1=0.5, b=0.9)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
        assert ranks.tolist() == peer_ranks(theirs, task.gold)


def test_all_of_relics_sentences(relic: list[RankingTask]) -> None:
    texts = list(dict.fromkeys(text for task in relic for text in task.texts))
    some = relic[::20]
    queries = [task.queries[0] for task in some]
    gold = [texts.index(task.texts[task.gold[0]]) for task in some]
    ours = CandidateSet.of_texts(texts, lower_split)
    theirs = peer_scores(texts, queries)
    assert len(texts) > 4900
    np.testing.assert_allclose(ours.scores(queries, Okapi()), theirs, rtol=0, atol=1e-9)
    assert ours.gold_ranks(queries, gold, Okapi()).tolist() == peer_ranks(theirs, gold)


@pytest.mark.parametrize(
    ("model", "peer"),
    [(Okapi(), "BM25Okapi"), (BM25L(), "BM25L"), (BM25Plus(), "BM25Plus")],
)
def test_windows_of_a_novel(collections: Path, model, peer: str) -> None:
    text = (collections / "gutenberg/novels/105-persuasion.txt").read_text(encoding="utf-8")
    sentences = re.split(r"(?<=[.!?])\s+", text)[:1500]
    passages = [" ".join(sentences[i : i + 3]) for i in range(len(sentences) - 2)]
    queries = [" ".join(sentences[i : i + 8]) for i in (200, 900)]
    ours = CandidateSet.of_texts(sentences, lower_split).windows(3)
    theirs = peer_scores(passages, queries, getattr(rank_bm25, peer))
    np.testing.assert_allclose(ours.scores(queries, model), theirs, rtol=0, atol=1e-9)
    gold = [203, 903]
    assert ours.gold_ranks(queries, gold, model).tolist() == peer_ranks(theirs, gold)


def test_hotpotqas_paragraphs(collections: Path) -> None:
    questions = json_lines(collections / "hotpotqa/hotpotqa.subset.jsonl")[::6]
    tasks = [
        RankingTask([title + " " + "".join(text) for title, text in one["context"]], [])
        for one in questions
    ]
    tasks = [
        task._replace(queries=[one["question"]])
        for task, one in zip(tasks, questions, strict=True)
        if task.texts
    ]
    assert len(tasks) > 100
    for task, ours in zip(tasks, score_sets(tasks, Okapi(), analysis=lower_split), strict=True):
        theirs = peer_scores(task.texts, task.queries)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
