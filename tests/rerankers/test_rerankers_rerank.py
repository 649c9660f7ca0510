"""Reranking runs: order below the depth, the cache, passages, what the metadata records."""

import multiprocessing
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rerank_texts import QUERIES, TEXTS

from adducir.core.errors import IncompleteError, InputError, UsageError
from adducir.core.progress import Progress
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import Topics, load_topics
from adducir.models.batches import CPU_TOKENS
from adducir.rerankers.cache import ScoreCache, pair_keys
from adducir.rerankers.registry import open_reranker
from adducir.rerankers.rerank import rerank
from adducir.rerankers.scoring import Joint
from adducir.rerankers.texts import KnownTexts, texts_of
from adducir.runs.metadata import read_metadata
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.runs.write import write_run

KNOWN = KnownTexts({f"d{number}": text for number, text in enumerate(TEXTS)}, "texts", ["text"])


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
    original = Joint.scored

    def scored(self, pairs):
        arguments.extend(pairs)
        yield from original(self, pairs)

    monkeypatch.setattr(Joint, "scored", scored)
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
    same = KnownTexts(dict.fromkeys("cabd", "cats run"))
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


def test_another_model_query_or_text_is_another_score(classifier, t5, run, topics, tmp_path):
    cache = tmp_path / "scores"
    rerank(run, topics, KNOWN, open_reranker(str(classifier)), depth=2, cache=cache)
    other = rerank(run, topics, KNOWN, open_reranker(f"monobert:{classifier}"), cache=cache)
    assert other.cached == 0
    arguments = Topics(topics.qids, [f"{query}!" for query in topics.queries], "topics")
    assert rerank(run, arguments, KNOWN, open_reranker(str(classifier)), cache=cache).cached == 0
    changed = KnownTexts({f"d{number}": f"{text}." for number, text in enumerate(TEXTS)})
    assert rerank(run, topics, changed, open_reranker(str(classifier)), cache=cache).cached == 0
    listwise = rerank(run, topics, KNOWN, open_reranker(f"lit5:{t5}"), cache=cache)
    assert (listwise.computed, listwise.cached) == (3, 0)
    again = rerank(run, topics, KNOWN, open_reranker(f"lit5:{t5}"), cache=cache)
    assert (again.computed, again.cached) == (0, 3)
    assert again.run.frame.equals(listwise.run.frame)
    assert rows(again.run)[1] == [1 / rank for rank in range(1, 8)]


def test_scores_of_other_devices_batches_or_versions_are_not_taken(
    classifier, t5, run, topics, tmp_path, monkeypatch
):
    def known(model, tokens=None):
        reranker = open_reranker(model).in_batches(tokens)
        return rerank(run, topics, KNOWN, reranker, cache=tmp_path / "scores").cached

    for model, count in ((str(classifier), 21), (f"lit5:{t5}", 3)):
        assert (known(model), known(model), known(model, 600)) == (0, count, 0)
        for other in ("asking.device_kind", "work.model_versions"):
            with monkeypatch.context() as patch:
                patch.setattr(f"adducir.rerankers.{other}", lambda *_: "other")
                assert (known(model), known(model)) == (0, count)
        assert known(model) == count


def test_a_listwise_order_goes_on_below_the_depth(t5, run, topics):
    found = rerank(run, topics, KNOWN, open_reranker(f"lit5:{t5}"), depth=3)
    docnos, scores = rows(found.run)
    assert docnos[3:] == rows(run)[0][3:]
    assert scores == [1 / rank for rank in range(1, 8)]


def test_keys_tell_where_the_query_ends():
    keys = pair_keys([("a", "bc"), ("ab", "c"), ("a", "bc"), ("", "1:abc"), ("1:a", "bc")], "cpu")
    assert len(np.unique(keys, axis=0)) == 4
    assert pair_keys([], "cpu").shape == (0, 2)


def _put(folder: Path, first: int) -> None:
    keys = pair_keys([("q", f"text {number}") for number in range(first, first + 500)], "cpu")
    cache = ScoreCache(folder, {"model": 1})
    for start in range(0, 500, 10):
        cache.add(keys[start : start + 10], np.arange(first + start, first + start + 10.0))


def test_processes_that_score_at_once_spoil_nothing(tmp_path):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_put, args=(tmp_path, first)) for first in (0, 250, 500)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    for _ in range(2):  # the second time in few files: many are made one
        kept = ScoreCache(tmp_path, {"model": 1})
        cache = kept.load()
        keys = pair_keys([("q", f"text {number}") for number in range(1000)], "cpu")
        assert cache.look_up(keys).tolist() == [*range(1000)]
        assert len(cache) == 1000
        assert np.isnan(cache.look_up(pair_keys([("q", "other")], "cpu"))).all()
    # A worker that began late may have united what the others had written by then.
    assert len(list(kept.folder.glob("*.safetensors"))) <= 64
    assert not len(ScoreCache(tmp_path, {"model": 2}).load())


def test_many_files_are_made_one(tmp_path):
    writer = ScoreCache(tmp_path, {"model": 1})
    for first in range(0, 700, 10):
        keys = pair_keys([("q", f"text {number}") for number in range(first, first + 10)], "cpu")
        writer.add(keys, np.arange(first, first + 10.0))
    assert len(list(writer.folder.glob("*.safetensors"))) == 70
    assert len(writer.load()) == 700
    assert len(list(writer.folder.glob("*.safetensors"))) == 1


def test_a_damaged_file_is_reported_and_ignored(tmp_path):
    class Recorded(Progress):
        def __init__(self):
            self.lines = []

        def note(self, message):
            self.lines.append(message)

    _put(tmp_path, 0)
    shard = min(tmp_path.glob("*/*.safetensors"))
    shard.write_bytes(shard.read_bytes()[:50])
    message = Recorded()
    with message:
        assert len(ScoreCache(tmp_path, {"model": 1}).load()) == 490
    assert "are damaged and are computed anew" in message.lines[0]


@pytest.mark.parametrize("take", ["best", "mean", "first"])
def test_long_documents_by_passages(classifier, tmp_path, take):
    words = [f"{word}{number}" for number, word in enumerate(["cats", "run", "energy"] * 7)]
    stride = "" if take == "first" else ", stride: 4"
    path = tmp_path / "passages.yaml"
    path.write_text(
        f"model: cross-encoder\nbase: {classifier}\npassages: {{take: {take}, length: 8{stride}}}\n"
    )
    reranker = open_reranker(path)
    starts = [0] if take == "first" else [0, 4, 8, 12, 16]
    parts = [" ".join(words[start : start + 8]) for start in starts]
    assert reranker.parts(" ".join(words)) == parts
    alone = reranker.model.scores([("cats", part) for part in parts])
    expected = {"best": alone.max(), "mean": alone.mean(), "first": alone[0]}[take]
    run = SOME
    texts = KnownTexts({"a": " ".join(words), "b": ""})
    topics = Topics(["1"], ["cats"], "topics")
    found = rerank(run, topics, texts, reranker, cache=tmp_path / "scores")
    by_docno = dict(zip(*rows(found.run), strict=True))
    assert by_docno["a"] == pytest.approx(expected, abs=2e-5)
    assert by_docno["b"] == pytest.approx(reranker.score("cats", [""])[0], abs=2e-5)
    assert found.computed == len(parts) + 1
    assert rerank(run, topics, texts, reranker, cache=tmp_path / "scores").computed == 0


def test_progress_counts_topics(classifier, run, topics, tmp_path):
    class Recorded(Progress):
        def __init__(self):
            self.parts = []

        def start(self, what, total, unit):
            self.parts.append([what, total, unit, 0])

        def advance(self, count):
            self.parts[-1][-1] += count

    message = Recorded()
    with message:
        rerank(run, topics, KNOWN, open_reranker(str(classifier)), depth=2)
    assert message.parts == [["reranking", 3, "topics", 3]]


def test_the_metadata_shows_how_it_was_made(classifier, run, topics, tmp_path):
    found = rerank(run, topics, KNOWN, open_reranker(str(classifier)), depth=4, tag="mono")
    path = tmp_path / "out.trec.gz"
    write_run(found.run, path, {"method": {"reranking": [found.settings]}}, topics=topics.qids)
    (message,) = read_metadata(path)["method"]["reranking"]
    assert message["score scale"] == "log-probability of class relevant"
    assert message["batch"] == {"padded tokens": CPU_TOKENS}
    assert (message["precision"], message["depth"], message["model"]) == (
        "float32",
        4,
        "cross-encoder",
    )
    assert message["weights"].startswith("files:")
    assert message["candidates"] == {"tag": "bm25", "run": "bm25.trec"}
    again = read_run(path)
    assert again.frame["docno"].to_list() == found.run.frame["docno"].to_list()


def test_what_does_not_fit_together_is_refused(classifier, run, topics, study):
    reranker = open_reranker(str(classifier))
    with pytest.raises(InputError, match="for topic 3, which is not in"):
        rerank(run, Topics(["1", "2"], ["a", "b"], "topics"), KNOWN, reranker)
    with pytest.raises(InputError, match="no document 'd0' in few"):
        rerank(run, topics, KnownTexts({}, "few"), reranker)
    with pytest.raises(UsageError, match="at least 1"):
        rerank(run, topics, KNOWN, reranker, depth=0)
    corpus = open_corpus(study / "corpus.jsonl")
    assert texts_of(corpus, ["d1", "gone"]).get(["d1"]) == [TEXTS[1]]
    with pytest.raises(InputError, match="no document 'gone'"):
        texts_of(corpus, ["d1", "gone"]).get(["gone"])


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
