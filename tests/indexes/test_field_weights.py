"""BM25F: both engines, and the formula written out."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_corpus import ListCorpus

from adducir.core.errors import UsageError
from adducir.corpora.documents import Document
from adducir.indexes import IndexSettings, LuceneIndex, MemoryIndex, build_index, build_memory_index
from adducir.indexes.analysis import Analysis
from adducir.indexes.feedback import RM3
from adducir.indexes.memory.norms import LENGTHS, norms_of
from adducir.indexes.models import BM25, QLD

FIELDS = ("title", "text")


def documents_of(count, seed):
    random = np.random.default_rng(seed)
    words = [f"w{n}" for n in range(60)]
    shares = 1 / np.arange(1, 61)
    documents = []
    for n in range(count):
        sizes = random.integers(0, 5), random.integers(0, 90)
        texts = [" ".join(random.choice(words, size, p=shares / shares.sum())) for size in sizes]
        documents.append(Document(f"d{n:03}", dict(zip(FIELDS, texts, strict=True))))
    return documents


@pytest.fixture(scope="module")
def indexes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fields")
    documents = documents_of(400, 1)
    settings = IndexSettings(FIELDS, Analysis("none", "none"), separate_fields=True)
    build_index(ListCorpus(documents), folder / "lucene", settings)
    build_memory_index(ListCorpus(documents), folder / "memory", settings, threads=2)
    return documents, LuceneIndex(folder / "lucene"), MemoryIndex(folder / "memory")


def formula(documents, query, weights, model):
    """BM25F with Lucene's statistics, written out; docno to score."""
    texts = {name: [d.fields[name].split() for d in documents] for name in weights}
    filled = max(sum(map(bool, texts[name])) for name in weights)
    tokens = sum(int(w * sum(map(len, texts[name]))) for name, w in weights.items())
    scores = Counter()
    for term, count in Counter(query.split()).items():
        frequency = max(sum(term in one for one in texts[name]) for name in weights)
        idf = math.log(1 + (filled - frequency + 0.5) / (frequency + 0.5))
        for place, document in enumerate(documents):
            tf = sum(w * texts[name][place].count(term) for name, w in weights.items())
            length = sum(
                w * LENGTHS[norms_of([len(texts[name][place])])[0]] for name, w in weights.items()
            )
            length = LENGTHS[norms_of([math.floor(length + 0.5)])[0]]
            norm = model.k1 * (1 - model.b + model.b * length / (tokens / filled))
            if tf:
                scores[document.docno] += count * idf * tf / (tf + norm)
    return scores


QUERIES = ["w0 w3", "w7", "w1 w1 w20 w40", "w59 unknown", "unknown"]


@pytest.mark.parametrize(
    "weights", [{"title": 2, "text": 1}, {"text": 1.0}, {"title": 7.5, "text": 1.25}]
)
@pytest.mark.parametrize("model", [BM25(), BM25(k1=1.6, b=0.9), BM25(k1=0.5, b=0.0)])
def test_scores_are_those_of_the_formula_and_equal_in_both_engines(indexes, weights, model):
    documents, *both = indexes
    one, other = (index.search(QUERIES, model, fields=weights, depth=None) for index in both)
    assert one.counts.tolist() == other.counts.tolist()
    assert one.docnos.to_list() == other.docnos.to_list()
    assert one.scores.tobytes() == other.scores.astype(np.float32).tobytes()
    rows = one.frame(list(map(str, range(len(QUERIES)))))
    for number, query in enumerate(QUERIES):
        found = {row[1]: row[2] for row in rows.rows() if row[0] == str(number)}
        assert found == pytest.approx(formula(documents, query, weights, model), rel=1e-5)


@given(
    st.lists(st.integers(0, 59), min_size=1, max_size=6),
    st.floats(1, 30, width=32),
    st.floats(1, 30, width=32),
    st.integers(1, 50),
)
def test_engines_agree(indexes, numbers, title, text, depth):
    _, *both = indexes
    query = " ".join(f"w{n}" for n in numbers)
    weights = {"title": title, "text": text}
    one, other = (index.search([query], BM25(), fields=weights, depth=depth) for index in both)
    assert one.scores.tolist() == pytest.approx(other.scores.tolist(), rel=3e-7)
    assert len(one.docnos) == len(other.docnos)


def test_equal_weights_of_one_field_are_bm25(indexes, tmp_path):
    documents, *_ = indexes
    settings = IndexSettings(("text",), Analysis("none", "none"))
    build_memory_index(ListCorpus(documents), tmp_path / "text", settings)
    plain = MemoryIndex(tmp_path / "text").search(QUERIES, BM25())
    for index in indexes[1:]:
        fielded = index.search(QUERIES, BM25(), fields={"text": 1})
        assert plain.docnos.to_list() == fielded.docnos.to_list()
        assert plain.scores.tolist() == fielded.scores.tolist()


def test_the_joined_text_is_searched_as_ever(indexes, tmp_path):
    documents, *both = indexes
    build_memory_index(
        ListCorpus(documents), tmp_path / "i", IndexSettings(FIELDS, Analysis("none", "none"))
    )
    plain = MemoryIndex(tmp_path / "i").search(QUERIES, BM25())
    for index in both:
        found = index.search(QUERIES, BM25())
        assert plain.docnos.to_list() == found.docnos.to_list()
        assert plain.scores.tolist() == found.scores.tolist()
    assert "separate_fields" not in IndexSettings().recipe()


def test_pyserini_reads_the_fields(indexes):
    from adducir.indexes import jvm

    _, lucene, _ = indexes
    searcher = jvm.java_class("io.anserini.search.SimpleSearcher")(str(lucene.path / "lucene"))
    fields = jvm.java_class("java.util.HashMap")()
    for name in FIELDS:
        fields.put(name, jvm.java_class("java.lang.Float")(2.0))
    assert len(searcher.search_fields("w3", fields, 10)) == 10


@pytest.mark.parametrize(
    ("weights", "more", "what"),
    [
        ({"titel": 2}, {}, "holds no field 'titel'; did you mean `title`"),
        ({"title": 0.5}, {}, "the weight of the field 'title' must be 1 or more, not 0.5"),
        ({"title": math.nan}, {}, "must be 1 or more, not nan"),
        ({}, {}, "no field has a weight"),
        ({"title": 1}, {"feedback": RM3()}, "feedback knows no fields"),
        ({"title": 1}, {"model": QLD()}, "field weights are for the model bm25"),
    ],
)
def test_what_cannot_be_weighted(indexes, weights, more, what):
    for index in indexes[1:]:
        with pytest.raises(UsageError, match=what.replace("?", r"\?")):
            index.search(
                ["w1"], more.get("model", BM25()), feedback=more.get("feedback"), fields=weights
            )


def test_terms_of_one_field_only(tmp_path):
    documents = [
        Document("a", {"title": "cat law", "text": "dog dog tax"}),
        Document("b", {"title": "", "text": "tax"}),
        Document("c", {"title": "cat", "text": ""}),
    ]
    settings = IndexSettings(("title", "text"), separate_fields=True)
    build_index(ListCorpus(documents), tmp_path / "lucene", settings)
    build_memory_index(ListCorpus(documents), tmp_path / "memory", settings)
    lucene, memory = (
        index.search(["cat dog tax"], BM25(), fields={"title": 2, "text": 1})
        for index in (LuceneIndex(tmp_path / "lucene"), MemoryIndex(tmp_path / "memory"))
    )
    assert memory.docnos.to_list() == lucene.docnos.to_list() == ["a", "c", "b"]
    assert memory.scores.tolist() == lucene.scores.tolist()


def test_an_index_of_joined_fields(tmp_path):
    build_memory_index(ListCorpus({"d": "x"}), tmp_path / "i")
    with pytest.raises(UsageError, match="holds its fields joined"):
        MemoryIndex(tmp_path / "i").search(["x"], BM25(), fields={"text": 1})


@pytest.mark.parametrize("engine", ["lucene", "memory"])
def test_on_the_command_line(tmp_path, monkeypatch, capsys, engine):
    from adducir.cli.app import main
    from adducir.runs.metadata import read_metadata
    from adducir.runs.read import read_run

    monkeypatch.chdir(tmp_path)
    lines = [
        {"docno": "d1", "title": "cats", "text": "dogs dogs"},
        {"docno": "d2", "title": "dogs", "text": "cats cats"},
    ]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "t.tsv").write_text("1\tcats\n")
    index = ["index", "c.jsonl", "-o", "i", "--fields", "title,text", "--engine", engine]
    assert main([*index, "--set", "separate_fields=true"]) == 0
    search = ["search", "-i", "i", "-t", "t.tsv", "-o", "x.trec", "--field-weights"]
    for weights, best in (("title=5,text=1", "d1"), ("title=1,text=5", "d2")):
        assert main([*search, weights]) == 0
        assert read_run("x.trec").frame["docno"].to_list()[0] == best
    facts = read_metadata("x.trec")["method"]["retrieval"][0]
    assert facts["fields"] == {"title": 1.0, "text": 5.0}
    assert main([*search, "title"]) == 2
    assert "'title' is no weight of a field" in capsys.readouterr().err
