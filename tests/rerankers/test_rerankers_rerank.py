"""Reranking a run: order below the depth, texts, metadata, PyTerrier, the command."""

import numpy as np
import polars as pl
import pytest
from rerank_texts import QUERIES, TEXTS

from adducir.cli.app import main
from adducir.core.errors import IncompleteError, InputError, UsageError
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import Topics, load_topics
from adducir.rerankers.recipe import open_reranker
from adducir.rerankers.rerank import Texts, rerank, texts_of
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.runs.write import read_metadata

KNOWN = Texts({f"d{number}": text for number, text in enumerate(TEXTS)}.get, ["text"])


SOME = Run(pl.DataFrame({"qid": ["1", "1"], "docno": ["a", "b"], "score": [2.0, 1.0]}), "x")


def rows(run, qid="1"):
    frame = run.frame.filter(pl.col("qid") == qid)
    return frame["docno"].to_list(), frame["score"].to_list()


@pytest.fixture
def run(study):
    return read_run(study / "runs" / "bm25.trec")


@pytest.fixture
def topics(study):
    return load_topics(study / "topics.tsv")


def test_the_head_is_ordered_by_score_and_the_rest_stays_below(classifier, run, topics):
    reranker = open_reranker(str(classifier))
    found = rerank(run, topics, KNOWN, reranker, depth=4)
    before, _ = rows(run, "2")
    after, scores = rows(found.run, "2")
    expected = reranker.score(QUERIES[1], [TEXTS[int(docno[1:])] for docno in before[:4]])
    assert after[:4] == [before[number] for number in np.argsort(-expected, kind="stable")]
    assert scores[:4] == pytest.approx(sorted(expected, reverse=True))
    assert after[4:] == before[4:]
    assert scores[4:] == pytest.approx([scores[3] - 1, scores[3] - 2, scores[3] - 3])
    assert found.run.qids == run.qids
    assert len(found.run) == len(run)
    assert found.pairs == 12


def test_equal_scores_keep_the_candidates_order(classifier):
    same = Texts(dict.fromkeys("cabd", "cats run").get)
    run = Run(pl.DataFrame({"qid": ["1"] * 4, "docno": [*"cabd"], "score": [4.0, 3, 2, 1]}), "x")
    reranker = open_reranker(str(classifier))
    found = rerank(run, Topics(["1"], ["cats"], "topics"), same, reranker)
    assert rows(found.run)[0] == [*"cabd"]


def test_a_listwise_order_goes_on_below_the_depth(t5, run, topics):
    found = rerank(run, topics, KNOWN, open_reranker(f"lit5:{t5}"), depth=3)
    docnos, scores = rows(found.run)
    assert docnos[3:] == rows(run)[0][3:]
    assert scores == [1 / rank for rank in range(1, 8)]


def test_what_does_not_fit_together_is_refused(classifier, run, topics, study):
    reranker = open_reranker(str(classifier))
    with pytest.raises(InputError, match="for topic 3, which is not in"):
        rerank(run, Topics(["1", "2"], ["a", "b"], "topics"), KNOWN, reranker)
    with pytest.raises(InputError, match="document 'd0' is not in few"):
        rerank(run, topics, Texts({}.get, (), "few"), reranker)
    with pytest.raises(UsageError, match="at least 1"):
        rerank(run, topics, KNOWN, reranker, depth=0)
    corpus = open_corpus(study / "corpus.jsonl")
    texts = texts_of(corpus, ["d1", "gone"], (), study / "texts")
    assert texts.get(["d1"]) == [TEXTS[1]]
    with pytest.raises(InputError, match="document 'gone' is not in"):
        texts.get(["gone"])


def test_an_empty_run_stays_empty(classifier):
    empty = Run(SOME.frame.clear(), "x")
    found = rerank(empty, Topics([], [], "topics"), KNOWN, open_reranker(str(classifier)))
    assert len(found.run) == 0


def test_a_score_that_is_no_number_is_reported(classifier, run, topics, monkeypatch):
    from adducir.rerankers.cross_encoder import CrossEncoder

    broken = CrossEncoder.values
    monkeypatch.setattr(CrossEncoder, "values", lambda self, batch: broken(self, batch) * np.nan)
    with pytest.raises(IncompleteError, match=r"1 of 1 chunks failed.\s+chunk 0 \(1, .*finite"):
        rerank(run, topics, KNOWN, open_reranker(str(classifier)))


def test_the_transformer_of_pyterrier_does_the_same(classifier, t5, run, topics):
    from adducir.rerankers.retriever import RerankingTransformer

    frame = run.to_pandas().merge(topics.to_pandas(), on="qid")
    frame["text"] = KNOWN.get(frame["docno"].to_list())
    for name in (str(classifier), f"lit5:{t5}"):
        expected = rerank(run, topics, KNOWN, open_reranker(name)).run.to_pandas()
        step = RerankingTransformer(name)
        found = step.transform(frame)
        assert found["docno"].tolist() == expected["docno"].tolist()
        np.testing.assert_allclose(found["score"], expected["score"], atol=2e-5)
        assert found["rank"].tolist() == expected["rank"].tolist()
    assert len(step.transform(frame.iloc[:0])) == 0


@pytest.fixture
def arguments(study, classifier):
    return [
        *("rerank", "--run", str(study / "runs" / "bm25.trec")),
        *("--topics", str(study / "topics.tsv"), "--reranker", str(classifier)),
    ]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_model_that_cannot_be_had_is_one_error_before_anything_starts(
    study, arguments, monkeypatch, capsys, workers
):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    arguments[-1] = "cross-encoder:adducir/there-is-no-such-model"
    output = study / "runs" / "none.trec"
    words = ["--corpus", str(study / "absent.jsonl"), "--workers", workers]
    assert main([*arguments, *words, "--output", str(output)]) == 4
    told = capsys.readouterr().err
    assert told.count("error:") == 1
    assert "there-is-no-such-model" in told
    assert not list(output.parent.glob(".none*"))


def test_how_the_candidates_were_found_is_handed_on(study, arguments):
    index, run = study / "indexes" / "small", study / "runs" / "bm25.trec"
    topics = str(study / "topics.tsv")
    main(["index", str(study / "corpus.jsonl"), "--output", str(index), "--engine", "memory"])
    assert main(["search", "-i", str(index), "-t", topics, "-o", str(run), "--force"]) == 0
    output = study / "runs" / "two.trec"
    assert main([*arguments, "--index", str(index), "--output", str(output)]) == 0
    facts = read_metadata(output)
    assert facts["method"]["retrieval"] == read_metadata(run)["method"]["retrieval"]
    assert facts["data"]["topics"]["source"].endswith("topics.tsv")
    again = study / "runs" / "three.trec"
    for words in (["--index", str(index)], ["--corpus", str(study / "corpus.jsonl")]):
        assert main([*arguments, *words, "--fields", "text,foo", "--output", str(again)]) == 3
    wrong = [f"maxsim:{arguments[-1]}", "--index", str(index), "--output", str(again)]
    assert (main([*arguments[:-1], *wrong]), [*again.parent.glob(".*.parts-*")]) == (3, [])
    arguments[arguments.index("--run") + 1] = str(output)
    assert main([*arguments, "--index", str(index), "--depth", "2", "--output", str(again)]) == 0
    stages = read_metadata(again)["method"]["reranking"]
    assert [stage["depth"] for stage in stages] == [facts["method"]["reranking"][0]["depth"], 2]


@pytest.mark.slow
def test_workers_read_queries_and_texts_from_files_that_go(study, arguments, capsys):
    runs = study / "runs"
    words = [*arguments, "--corpus", str(study / "corpus.jsonl")]
    assert main([*words, "--output", str(runs / "a.trec")]) == 0
    assert main([*words, "--workers", "2", "--output", str(runs / "b.trec")]) == 0
    one, other = (read_run(runs / name).frame for name in ("a.trec", "b.trec"))
    assert one.equals(other)
    assert not list(runs.glob(".*.parts-*"))
    (study / "topics.tsv").write_text("1\tother\n")
    capsys.readouterr()
    assert main([*words, "--output", str(runs / "c.trec")]) == 3
    assert "topic 2, which is not in" in capsys.readouterr().err
    assert not list(runs.glob(".*.parts-*"))


def test_late_interaction_encodes_each_text_once_a_run(tiny, run, topics, monkeypatch):
    from adducir.rerankers.colbert import LateInteraction

    read, whole = list[str](), LateInteraction.documents
    reranker = open_reranker(f"maxsim:{tiny}")
    monkeypatch.setattr("adducir.rerankers.rerank.PAIRS", 2)  # many chunks of pairs
    monkeypatch.setattr("adducir.rerankers.once.CHUNK", 3)
    monkeypatch.setattr(
        LateInteraction, "documents", lambda model, texts: read.extend(texts) or whole(model, texts)
    )
    found = rerank(run, topics, KNOWN, reranker, depth=5)
    assert len(read) == len(set(read)) == len({*run.top(5).frame["docno"]})
    monkeypatch.undo()
    for number, qid in enumerate(run.qids):
        docnos, scores = rows(found.run, qid)
        wanted = reranker.score(QUERIES[number], KNOWN.get(docnos[:5]))
        assert scores[:5] == pytest.approx(wanted.tolist(), abs=1e-5)
    assert found.pairs == 15
