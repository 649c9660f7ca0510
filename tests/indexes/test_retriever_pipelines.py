"""Retrievers in PyTerrier's pipelines, beside transformers that know no index."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyterrier as pt
import pytest
from memory_corpus import ListCorpus, build_index
from sklearn.linear_model import LinearRegression

from adducir.core.errors import UsageError
from adducir.indexes.dense_settings import DenseSettings
from adducir.indexes.engines import open_index
from adducir.indexes.retriever import DenseRetriever, LexicalRetriever, QueryExpansion
from adducir.rerankers.retriever import RerankingTransformer

SET = {"pooling": "mean", "similarity": "dot"}
DRAW = np.random.default_rng(11)
TEXTS = {f"d{n:02}": " ".join(f"word{w}" for w in DRAW.zipf(1.6, 12) % 25) for n in range(60)}
WORDS = {docno: Counter(text.split()) for docno, text in TEXTS.items()}
TOPICS = pd.DataFrame({"qid": ["1", "2", "3"], "query": ["word1 word4", "word2 word7", "word3"]})
QRELS = pd.DataFrame(
    [(qid, docno, int(DRAW.integers(0, 2))) for qid in TOPICS["qid"] for docno in TEXTS],
    columns=["qid", "docno", "label"],
)
TOKENS = sum(map(Counter.total, WORDS.values()))


def bm25(word: str, docno: str, k1: float, b: float) -> float:
    tf, length = WORDS[docno][word], WORDS[docno].total()
    df = sum(word in words for words in WORDS.values())
    idf = math.log(1 + (len(TEXTS) - df + 0.5) / (df + 0.5))
    return idf * tf / (tf + k1 * (1 - b + b * length * len(TEXTS) / TOKENS)) if tf else 0.0


def qld(word: str, docno: str, mu: float) -> float:
    tf, length = WORDS[docno][word], WORDS[docno].total()
    share = (sum(words[word] for words in WORDS.values()) + 1) / (TOKENS + 1)
    return max(0.0, math.log(1 + tf / (mu * share)) + math.log(mu / (length + mu))) if tf else 0.0


class Plain(pt.Transformer):
    """A model over the texts above, written for PyTerrier as its own retrievers behave."""

    def __init__(self, of, *settings: float) -> None:
        super().__init__()
        self.of, self.settings = of, settings

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        pt.validate.columns(inp, includes=["qid", "query"])
        rows = []
        for row in inp.to_dict("records"):
            for docno in [row["docno"]] if "docno" in row else TEXTS:
                words = row["query"].split()
                score = sum(self.of(word, docno, *self.settings) for word in words)
                if "docno" in row or any(WORDS[docno][word] for word in words):
                    rows.append({**row, "docno": docno, "score": score})
        frame = pd.DataFrame(rows).drop(columns="rank", errors="ignore")
        frame = frame.sort_values(["qid", "score", "docno"], ascending=[True, False, True])
        return frame.assign(rank=frame.groupby("qid").cumcount()).reset_index(drop=True)


@pytest.fixture(scope="module", params=["memory", "lucene"])
def index(request, tmp_path_factory):
    path = tmp_path_factory.mktemp(request.param) / "index"
    build_index(ListCorpus(TEXTS), path, request.param)
    return open_index(path)


@pytest.fixture(scope="module")
def dense(tmp_path_factory, tiny):
    path = tmp_path_factory.mktemp("dense") / "index"
    build_index(ListCorpus(TEXTS), path, DenseSettings(encoder=str(tiny), **SET))
    return open_index(path)


def pipelines(first: pt.Transformer, second: pt.Transformer, third: pt.Transformer) -> list:
    reset = pt.rewrite.stash_results() >> second >> pt.rewrite.reset_results()
    features = first % 20 >> (second**third)
    return [
        first >> second,
        first % 7 >> second,
        0.7 * first + 3 * second,
        (first % 6 | second % 6) >> third,
        features >> pt.ltr.apply_learned_model(LinearRegression()),
        first % 9 >> reset >> third,
    ]


def test_an_experiment_gives_the_table_of_plain_transformers(index):
    ours = [LexicalRetriever(index, k1=0.9, b=0.4), LexicalRetriever(index, "qld", mu=40)]
    plain = [Plain(bm25, 0.9, 0.4), Plain(qld, 40.0)]
    tables = []
    for models, last in (
        (ours, LexicalRetriever(index, k1=2, b=0)),
        (plain, Plain(bm25, 2.0, 0.0)),
    ):
        made = pipelines(*models, last)
        made[4].fit(TOPICS, QRELS)
        tables.append(pt.Experiment(made, TOPICS, QRELS, ["map", "ndcg_cut_10", "recall_100"]))
    pd.testing.assert_frame_equal(tables[0].iloc[:, 1:], tables[1].iloc[:, 1:], atol=1e-6)
    assert tables[0]["map"].nunique() > 3


def test_candidates_are_scored_exactly_and_keep_their_columns(index):
    frame = pd.DataFrame(
        {
            "docno": ["d05", "d01", "d59", "d00", "d03"],
            "qid": ["2", "1", "2", "1", "3"],
            "query": ["word2 word7", "word1", "word2 word7", "word1", "none such"],
            "kind": list("abcde"),
            "rank": [9, 9, 9, 9, 9],
        }
    )
    found = LexicalRetriever(index, depth=1)(frame)
    alike = LexicalRetriever(index, depth=1)(pl.DataFrame(frame.to_dict("list")))
    assert alike.to_dict(as_series=False) == found.to_dict("list")
    pairs = [sorted(zip(some["docno"], some["kind"], strict=True)) for some in (found, frame)]
    assert pairs[0] == pairs[1]
    for row in found.itertuples():
        wanted = sum(bm25(word, row.docno, 0.9, 0.4) for word in row.query.split())
        assert row.score == pytest.approx(wanted, abs=1e-6)
    for _, ranking in found.groupby("qid"):
        assert ranking["rank"].tolist() == list(range(len(ranking)))
        assert ranking["score"].is_monotonic_decreasing
    whole = LexicalRetriever(index, feedback="rm3", depth=None)(TOPICS)
    again = LexicalRetriever(index, feedback="rm3")(whole.sample(frac=1, random_state=1))
    pd.testing.assert_frame_equal(
        again[["qid", "docno", "score"]].sort_values(["qid", "docno"], ignore_index=True),
        whole[["qid", "docno", "score"]].sort_values(["qid", "docno"], ignore_index=True),
    )
    with pytest.raises(UsageError, match="'d99'"):
        LexicalRetriever(index)(frame.assign(docno="d99"))


@pytest.mark.parametrize("kind", ["Flat", "IVF4,Flat", "HNSW8", "PCA8,Flat"])
def test_a_dense_retriever_scores_candidates(tmp_path, tiny, kind):
    path = tmp_path / "index"
    parameters = "nprobe=4" if "IVF" in kind else ""
    settings = DenseSettings(encoder=str(tiny), kind=kind, parameters=parameters, **SET)
    build_index(ListCorpus(TEXTS), path, settings)
    retriever = DenseRetriever(path, depth=40)
    whole = retriever(TOPICS)
    again = retriever(whole.assign(note="x", query_toks=[{"a": 1.0}] * len(whole)))
    assert len(again) == len(whole)
    assert (again["note"] == "x").all()
    both = whole.merge(again, on=["qid", "docno"])
    np.testing.assert_allclose(
        both["score_x"], both["score_y"], atol=1e-2 if "PCA" in kind else 1e-5
    )


def test_expansion_keeps_columns_and_the_first_query(index):
    topics = TOPICS.assign(kind=["a", "b", "a"], qtype="long")
    best = LexicalRetriever(index, depth=5)
    found = (best >> pt.text.get_text(index) >> QueryExpansion(index, fb_docs=3))(topics)
    assert {*found.columns} == {"qid", "query", "query_0", "query_toks", "kind", "qtype"}
    assert found["query"].tolist() == found["query_0"].tolist() == topics["query"].tolist()
    assert found["kind"].tolist() == ["a", "b", "a"]
    twice = (best >> QueryExpansion(index) >> best >> QueryExpansion(index))(topics)
    assert twice["query_1"].tolist() == twice["query_0"].tolist()
    assert set((best >> QueryExpansion(index) >> best)(topics)["kind"]) == {"a", "b"}
    back = (best >> QueryExpansion(index) >> pt.rewrite.reset())(topics)
    assert back["query"].tolist() == topics["query"].tolist()
    some = LexicalRetriever(index)(TOPICS.assign(query_toks=[{"word5": 1.0}, None, np.nan]))
    plain = LexicalRetriever(index)(TOPICS[1:])
    assert some[some["qid"] != "1"]["docno"].tolist() == plain["docno"].tolist()


def test_empty_frames_have_the_types_of_others(index, dense):
    for retriever in (LexicalRetriever(index), DenseRetriever(dense)):
        full, empty = retriever(TOPICS), retriever(TOPICS[:0])
        candidates = retriever(full[:0])
        assert [*empty.columns] == [*full.columns]
        for name in ("docno", "score", "rank"):
            assert empty[name].dtype == full[name].dtype == candidates[name].dtype, name
    assert QueryExpansion(index)(full[:0]).empty


def test_transformers_can_be_inspected_and_copied(index, dense):
    lexical = LexicalRetriever(index, "qld", feedback="rm3", depth=5, mu=77)
    for made in (lexical, DenseRetriever(dense, depth=9), QueryExpansion(index, fb_docs=4)):
        inputs = pt.inspect.transformer_inputs(made)
        assert {"qid", "query"} <= {*inputs[0]}
        outputs = pt.inspect.transformer_outputs(made, ["qid", "query", "docno", "score", "rank"])
        assert {"qid", "query"} <= {*outputs}
        known = {one.name: one.value for one in pt.inspect.transformer_attributes(made)}
        assert known["index"] is made.index
        assert repr(pt.inspect.transformer_apply_attributes(made)) == repr(made)
    assert "kind" not in known
    assert pt.inspect.transformer_outputs(lexical, ["qid", "query", "x"]) == [
        *("qid", "query", "x", "docno", "score", "rank")
    ]


def test_two_systems_have_two_names(index, dense, tmp_path):
    systems = [
        LexicalRetriever(index),
        LexicalRetriever(index, k1=1.2),
        LexicalRetriever(index, feedback="rm3"),
        LexicalRetriever(index, feedback="rocchio"),
        LexicalRetriever(index, depth=5),
        LexicalRetriever(index, depth=None),
        DenseRetriever(dense),
        DenseRetriever(dense, depth=5),
        QueryExpansion(index),
        QueryExpansion(index, fb_docs=3),
    ]
    assert len(set(map(repr, systems))) == len(systems)
    table = pt.Experiment(systems[:4], TOPICS, QRELS, ["map"])
    assert table["name"].nunique() == 4


@pytest.mark.parametrize("place", ["a/index", "b/index"])
def test_indexes_of_one_name_are_told_apart(tmp_path: Path, place):
    build_index(ListCorpus(TEXTS), tmp_path / place, "memory")
    assert place in repr(LexicalRetriever(tmp_path / place))
    assert RerankingTransformer.__repr__ is not pt.Transformer.__repr__
