"""Reranking a run: order below the depth, scores that are kept, PyTerrier, the command."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rerank_texts import QUERIES, TEXTS

from adducir.cli.app import main
from adducir.core.errors import IncompleteError, InputError, UsageError
from adducir.core.progress import Progress
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import Topics, load_topics
from adducir.rerankers.recipe import Joint
from adducir.rerankers.registry import open_reranker
from adducir.rerankers.rerank import KnownScores, ScoreCache, pair_keys, rerank
from adducir.rerankers.texts import Texts, texts_of
from adducir.runs.metadata import read_metadata
from adducir.runs.read import read_run
from adducir.runs.run import Run

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


@pytest.fixture
def counted(monkeypatch):
    """The pairs that models were asked for."""
    arguments = []
    original = Joint.scores

    def scores(self, pairs):
        arguments.extend(pairs)
        return original(self, pairs)

    monkeypatch.setattr(Joint, "scores", scores)
    return arguments


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
    assert (found.computed, found.cached) == (12, 0)


def test_equal_scores_keep_the_candidates_order(classifier):
    same = Texts(dict.fromkeys("cabd", "cats run").get)
    run = Run(pl.DataFrame({"qid": ["1"] * 4, "docno": [*"cabd"], "score": [4.0, 3, 2, 1]}), "x")
    reranker = open_reranker(str(classifier))
    found = rerank(run, Topics(["1"], ["cats"], "topics"), same, reranker)
    assert rows(found.run)[0] == [*"cabd"]
    # The four are one pair to the model.
    assert found.computed == 1


def test_a_repeated_or_deeper_rerank_computes_what_is_new(
    classifier, run, topics, tmp_path, counted
):
    fresh = rerank(run, topics, KNOWN, open_reranker(str(classifier)), depth=7)
    counted.clear()
    cache = tmp_path / "scores"
    found = []
    for depth, new, known in ((3, 9, 0), (3, 0, 9), (7, 12, 9), (5, 0, 15)):
        reranker = open_reranker(str(classifier))
        found.append(rerank(run, topics, KNOWN, reranker, depth=depth, cache=cache))
        assert (found[-1].computed, found[-1].cached) == (new, known)
        assert len(counted) == new
        # Where all is known, no model is loaded.
        assert ("model" in vars(reranker)) == (new > 0)
        counted.clear()
    assert found[0].run.frame.equals(found[1].run.frame)
    assert rows(found[2].run)[0] == rows(fresh.run)[0]
    assert rows(found[2].run)[1] == pytest.approx(rows(fresh.run)[1], abs=2e-5)


def test_another_model_query_or_text_is_another_score(classifier, run, topics, tmp_path):
    cache = tmp_path / "scores"
    rerank(run, topics, KNOWN, open_reranker(str(classifier)), depth=2, cache=cache)
    other = rerank(run, topics, KNOWN, open_reranker(f"monobert:{classifier}"), cache=cache)
    assert other.cached == 0
    arguments = Topics(topics.qids, [f"{query}!" for query in topics.queries], "topics")
    assert rerank(run, arguments, KNOWN, open_reranker(str(classifier)), cache=cache).cached == 0
    changed = Texts({f"d{number}": f"{text}." for number, text in enumerate(TEXTS)}.get)
    assert rerank(run, topics, changed, open_reranker(str(classifier)), cache=cache).cached == 0


def test_scores_of_other_devices_batches_or_versions_are_not_taken(
    classifier, run, topics, tmp_path, monkeypatch
):
    def known(model, tokens=None):
        reranker = open_reranker(model).in_batches(tokens)
        return rerank(run, topics, KNOWN, reranker, cache=tmp_path / "scores").cached

    model = str(classifier)
    assert (known(model), known(model), known(model, 600)) == (0, 21, 0)
    for other in ("rerankers.rerank.device_kind", "models.work.model_versions"):
        with monkeypatch.context() as patch:
            patch.setattr(f"adducir.{other}", lambda *_: "other")
            assert (known(model), known(model)) == (0, 21)
    assert known(model) == 21


def test_a_listwise_order_goes_on_below_the_depth(t5, run, topics):
    found = rerank(run, topics, KNOWN, open_reranker(f"lit5:{t5}"), depth=3)
    docnos, scores = rows(found.run)
    assert docnos[3:] == rows(run)[0][3:]
    assert scores == [1 / rank for rank in range(1, 8)]


def _put(folder: Path) -> None:
    keys = pair_keys([("q", f"text {number}") for number in range(500)], "cpu")
    cache = ScoreCache(folder, {"model": 1})
    for start in range(0, 500, 10):
        cache.add(KnownScores(keys[start : start + 10], np.arange(start, start + 10.0)))


def test_a_damaged_file_is_reported_and_ignored(tmp_path):
    class Recorded(Progress):
        def __init__(self):
            self.lines = []

        def note(self, message):
            self.lines.append(message)

    _put(tmp_path)
    shard = min(tmp_path.glob("*/*.safetensors"))
    shard.write_bytes(shard.read_bytes()[:50])
    message = Recorded()
    with message:
        assert len(ScoreCache(tmp_path, {"model": 1}).load().values) == 490
    assert "are damaged and are computed anew" in message.lines[0]


def test_what_does_not_fit_together_is_refused(classifier, run, topics, study):
    reranker = open_reranker(str(classifier))
    with pytest.raises(InputError, match="for topic 3, which is not in"):
        rerank(run, Topics(["1", "2"], ["a", "b"], "topics"), KNOWN, reranker)
    with pytest.raises(InputError, match="no document 'd0' in few"):
        rerank(run, topics, Texts({}.get, (), "few"), reranker)
    with pytest.raises(UsageError, match="at least 1"):
        rerank(run, topics, KNOWN, reranker, depth=0)
    corpus = open_corpus(study / "corpus.jsonl")
    texts = texts_of(corpus, ["d1", "gone"], (), study / "texts")
    assert texts.get(["d1"]) == [TEXTS[1]]
    with pytest.raises(InputError, match="no document 'gone'"):
        texts.get(["gone"])


def test_an_empty_run_stays_empty(classifier):
    empty = Run(SOME.frame.clear(), "x")
    found = rerank(empty, Topics([], [], "topics"), KNOWN, open_reranker(str(classifier)))
    assert len(found.run) == 0


def test_a_score_that_is_no_number_is_reported(classifier, run, topics, monkeypatch):
    from adducir.rerankers.cross_encoder import CrossEncoder

    broken = CrossEncoder.values
    monkeypatch.setattr(CrossEncoder, "values", lambda self, batch: broken(self, batch) * np.nan)
    with pytest.raises(IncompleteError, match=r"chunk 0 \(1, 2, 3\): .*finite number"):
        rerank(run, topics, KNOWN, open_reranker(str(classifier)))


def test_the_transformer_of_pyterrier_does_the_same(classifier, t5, run, topics, tmp_path):
    from adducir.rerankers.retriever import RerankingTransformer

    frame = run.to_pandas().merge(topics.frame(), on="qid")
    frame["text"] = KNOWN.get(frame["docno"].to_list())
    for name in (str(classifier), f"lit5:{t5}"):
        expected = rerank(run, topics, KNOWN, open_reranker(name)).run.to_pandas()
        step = RerankingTransformer(name, cache=tmp_path / "scores")
        found = step.transform(frame)
        assert found["docno"].tolist() == expected["docno"].tolist()
        np.testing.assert_allclose(found["score"], expected["score"], atol=2e-5)
        assert found["rank"].tolist() == expected["rank"].tolist()
    assert len(step.transform(frame.iloc[:0])) == 0


@pytest.fixture
def arguments(study, classifier):
    """The words of a command that reranks."""
    return [
        *("rerank", "--run", str(study / "runs" / "bm25.trec")),
        *("--topics", str(study / "topics.tsv"), "--model", str(classifier)),
    ]


def test_the_same_from_corpus_and_from_index(study, arguments, capsys):
    index = study / "indexes" / "small"
    corpus = str(study / "corpus.jsonl")
    assert main(["index", corpus, "--output", str(index), "--engine", "memory"]) == 0
    one, other = study / "runs" / "one.trec", study / "runs" / "other.trec.gz"
    arguments += ["--depth", "4"]
    capsys.readouterr()
    assert main([*arguments, "--corpus", corpus, "--output", str(one)]) == 0
    message = capsys.readouterr().err
    assert "12 pairs computed, 0 known" in message
    assert "score: log-probability of class relevant" in message
    assert main([*arguments, "--index", str(index), "--output", str(other)]) == 0
    assert "0 pairs computed, 12 known" in capsys.readouterr().err
    assert read_run(one).frame.equals(read_run(other).frame)
    assert read_run(one).tag == "one"
    assert read_metadata(one)["method"]["reranking"][0]["depth"] == 4
    assert list((study / "rerankers" / ".scores").glob("*/scores-*.safetensors"))
    assert (
        main([*arguments, "--corpus", corpus, "--set", "no_cache=true", "--output", str(one)]) == 0
    )
    assert "12 pairs computed, 0 known" in capsys.readouterr().err


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
    arguments[arguments.index("--run") + 1] = str(output)
    assert main([*arguments, "--index", str(index), "--depth", "2", "--output", str(again)]) == 0
    stages = read_metadata(again)["method"]["reranking"]
    assert [stage["depth"] for stage in stages] == [facts["method"]["reranking"][0]["depth"], 2]


@pytest.mark.slow
def test_workers_read_queries_and_texts_from_files_that_go(study, arguments, capsys):
    runs = study / "runs"
    words = [*arguments, "--corpus", str(study / "corpus.jsonl"), "--set", "no_cache=true"]
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
