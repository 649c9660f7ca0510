"""Queries of weighted words, beside Lucene's own parser of boosts, and at every door."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

import adducir as ad
from adducir.cli.app import main
from adducir.core.errors import InputError, UsageError
from adducir.corpora.documents import WeightedWords
from adducir.corpora.topics import Topics, weighted_words
from adducir.indexes.dense_settings import DenseSettings
from adducir.indexes.jvm import java_class
from adducir.runs.read import read_run
from adducir.runs.write import read_metadata

VOCABULARY = "school uniforms school's wi-fi running runs runner the cats Cat energy café".split()  # noqa: SIM905
QUERIES = [
    "school^2 uniform",
    "Running^0.3 cats^1.7 energy",
    "school^2 schools^0.25 school's",
    "wi-fi^3 the^9 café^0.125",
    "cat^0 energy^.5",
    "the^2",
    "zebra^4 runner^33.3",
]


@pytest.fixture(scope="module")
def indexes(tmp_path_factory):
    folder, draw = tmp_path_factory.mktemp("words"), random.Random(5)
    rows = [
        {"docno": f"d{n:03}", "text": " ".join(draw.choices(VOCABULARY, k=1 + n % 23))}
        for n in range(200)
    ]
    return {one: ad.build_index(rows, folder / one, one) for one in ("lucene", "memory")}


def by_lucene(index, text):
    """Lucene's hits for the query that its classic parser makes of ``text``."""
    folder = java_class("java.nio.file.Paths").get(str(index.path / "lucene"))
    directory = java_class("org.apache.lucene.store.FSDirectory").open(folder)
    reader = java_class("org.apache.lucene.index.DirectoryReader").open(directory)
    searcher = java_class("org.apache.lucene.search.IndexSearcher")(reader.getContext())
    analyzer = java_class("io.anserini.analysis.DefaultEnglishAnalyzer").newDefaultInstance()
    bm25 = java_class("org.apache.lucene.search.similarities.BM25Similarity")(0.9, 0.4)
    searcher.setSimilarity(bm25)
    parser = java_class("org.apache.lucene.queryparser.classic.QueryParser")("contents", analyzer)
    found = searcher.search(parser.parse(text), 1000).scoreDocs
    return {index.docnos[int(hit.doc)]: np.float32(hit.score) for hit in found}


@pytest.mark.parametrize("query", QUERIES)
def test_scores_are_those_of_lucenes_boosts(indexes, query):
    wanted = by_lucene(indexes["lucene"], query.replace("^.5", "^0.5"))
    for index in indexes.values():
        hits = index.search([weighted_words(query)], depth=None)
        assert dict(zip(hits.docnos, hits.scores, strict=True)) == wanted
    assert wanted or query == "the^2"


@pytest.mark.parametrize("model", ["bm25", "qld"])
@pytest.mark.parametrize("feedback", [None, "rm3", "rocchio"])
def test_whole_weights_are_repetitions_in_every_model_and_feedback(indexes, model, feedback):
    text = "school school cats energy energy energy"
    for index in indexes.values():
        one, other = (
            index.search([query], model, feedback=feedback, depth=50)
            for query in (text, weighted_words("school^2 cats energy^3"))
        )
        assert one.to_polars(["1"]).equals(other.to_polars(["1"]))
    if feedback:
        halves = weighted_words("school cats^.5 energy^1.5")  # the same shares
        found = index.search([halves], model, feedback="rm3").to_polars(["1"])
        assert found.equals(index.search([text], model, feedback="rm3").to_polars(["1"]))


@pytest.mark.parametrize("model", ["dph", "pl2", "bm25+", "bm25l", "jm", "okapi"])
def test_models_of_the_memory_engine_weigh_words(indexes, model):
    memory = indexes["memory"]
    parts = [memory.search([word], model, depth=None) for word in ("school", "energy")]
    sums = {}
    for weight, hits in zip((2.5, 1.0), parts, strict=True):
        for docno, score in zip(hits.docnos, hits.scores.tolist(), strict=True):
            sums[docno] = sums.get(docno, 0.0) + weight * score
    found = memory.search([weighted_words("school^2.5 energy")], model, depth=None)
    assert dict(zip(found.docnos, found.scores.tolist(), strict=True)) == pytest.approx(sums)


FORMS = {
    "t.tsv": "1\tschool^2 uniform\n2\tcats^0.5 energy\n",
    "json.tsv": '1\t{"school": 2, "uniform": 1}\n2\t{"cats": 0.5, "energy": 1}\n',
    "t.jsonl": '{"qid": "1", "query": {"school": 2, "uniform": 1}}\n'
    '{"qid": "2", "query": {"cats": 0.5, "energy": 1}}\n',
    "vectors.jsonl": '{"qid": "1", "text": "other", "vector": {"school": 2, "uniform": 1}}\n'
    '{"qid": "2", "text": "other", "vector": {"cats": 0.5, "energy": 1}}\n',
    "t.trec": "<top>\n<num> Number: 1\n<title> school^2 uniform\n</top>\n"
    "<top>\n<num> Number: 2\n<title> cats^0.5 energy\n</top>\n",
}


def test_every_form_and_door_gives_one_run(indexes, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    index, memory = indexes["lucene"], str(indexes["memory"].path)
    weights = [{"school": 2, "uniform": 1}, {"cats": 0.5, "energy": 1}]
    wanted = index.search(list(map(WeightedWords, weights)), depth=9).to_polars(["1", "2"])
    for name, text in FORMS.items():
        Path(name).write_text(text)
        topics = ad.load_topics(name, word_weights=True)
        assert topics.queries == ["school uniform", "cats energy"]
        assert ad.search(index, topics, depth=9).frame.equals(wanted)
    topics = Topics.of({"1": weights[0], "2": "cats^0.5 energy"}, word_weights=True)
    assert ad.search(index, topics, depth=9).frame.equals(wanted)
    retriever = ad.LexicalRetriever(index, "bm25", depth=9)
    for frame in (retriever(topics), retriever.transform(topics.to_pandas())):
        assert list(frame["docno"]) == wanted["docno"].to_list()
    command = ["search", "-i", memory, "-t", "t.tsv", "-o", "r.trec", "--depth", "9"]
    assert main([*command, "--word-weights"]) == 0
    assert (
        read_run(Path("r.trec")).frame.select("qid", "docno").equals(wanted.select("qid", "docno"))
    )
    assert read_metadata("r.trec")["data"]["topics"]["word weights"] is True
    expansion = ["--feedback", "rm3", "--show-expansion", "--word-weights", "--force"]
    assert main([*command, *expansion]) == 0
    assert capsys.readouterr().out.startswith("1\tschool uniform\t")
    assert main([*command, "--force"]) == 0  # never guessed
    assert not read_run(Path("r.trec")).frame.equals(wanted)
    Path("q.txt").write_text("1 0 d001 1\n2 0 d002 1\n")
    Path("c.jsonl").write_text(
        "\n".join(json.dumps({"docno": one, "text": "school energy"}) for one in ("d001", "d002"))
    )
    Path("experiments").mkdir()
    Path("experiments/e.yaml").write_text("""
topics: {t: {source: t.tsv, qrels: q.txt, word_weights: true}}
corpora: {c: {source: c.jsonl}}
indexes: {c: {corpus: c, engine: memory}}
systems:
  A: {index: c}
  B: {index: c, tune: {grid: {k1: [0.5, 0.9]}, folds: {k: 2}}}
measures: [RR]
""")
    assert main(["experiment", "experiments/e.yaml"]) == 0
    own = ad.search("indexes/c", topics)
    made = read_run(Path("runs/e/A.t.trec.gz")).frame["score"]
    assert made[0] == pytest.approx(own.frame["score"][0], rel=1e-6)
    facts = read_metadata("runs/e/A.t.trec.gz")["data"]["topics"]
    assert facts["word weights"] is True


def test_what_cannot_be_read_or_searched_is_refused(indexes, tmp_path, tiny, capsys):
    path = tmp_path / "t.tsv"
    for text in ("school^", "school^x", "school^-1", "^2", '"two words"^2', "a^1e9", '{"a": -1}'):
        path.write_text(f"1\tcats\n2\t{text}\n")
        with pytest.raises(InputError) as error:
            ad.load_topics(path, word_weights=True)
        assert error.value.line == 2
    rows = [{"docno": "a", "text": "cats"}]
    settings = DenseSettings(encoder=str(tiny), pooling="mean", similarity="dot")
    dense = ad.build_index(rows, tmp_path / "dense", settings)
    topics = Topics.of({"1": "cats^2"}, word_weights=True)
    with pytest.raises(UsageError, match="word_weights=True"):
        ad.search(dense, topics)
    path.write_text('{"qid": "1", "query": {"school": 2}}\n')
    with pytest.raises(UsageError) as refused:
        ad.search(indexes["memory"], path)
    assert "word_weights=True" in str(refused.value.hint)
    place = str(indexes["memory"].path)
    assert main(["search", place, "cats", "-t", str(path), "--word-weights"]) == 2
    assert "word" in capsys.readouterr().err
