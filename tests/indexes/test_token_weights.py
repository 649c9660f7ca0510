"""Tokens with weights as an index: of a language, and ready, by dot products."""

import json
import resource

import numpy as np
import polars as pl
import pytest
from memory_corpus import ListCorpus, build_index

from adducir.cli.app import main
from adducir.core.errors import InputError, UsageError
from adducir.corpora.documents import Document
from adducir.corpora.sources import open_corpus
from adducir.corpora.token_weights import read_token_weights
from adducir.corpora.topics import Topics, load_topics
from adducir.indexes.feedback import RM3
from adducir.indexes.memory.index import MemoryIndex
from adducir.indexes.models import BM25, QLD, Impact
from adducir.indexes.search import search_topics
from adducir.indexes.search_settings import SearchSettings
from adducir.indexes.settings import TokenWeightSettings

COUNTS = {
    "d1": {"cats": 3, "Cat": 2, "the": 9, "running": 1},
    "d2": {"dog's": 2, "caf\u00e9": 5, "run": 1},
    "d3": {},
    "d4": {"wi-fi": 2, "dogs": 1, "cat": 1, "runs": 4},
}


def write(path, counts):
    lines = [json.dumps({"docno": d, "weights": w}) for d, w in counts.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("model", [BM25(), BM25(k1=10, b=0.9), QLD()])
@pytest.mark.parametrize("rm3", [None, RM3(fb_terms=5, fb_docs=2)])
def test_pairs_rank_as_repeated_words(tmp_path, model, rm3):
    texts = {d: " ".join(" ".join([w] * n) for w, n in c.items()) for d, c in COUNTS.items()}
    build_index(ListCorpus(texts), tmp_path / "text")
    weights = write(tmp_path / "p.jsonl", COUNTS)
    own = TokenWeightSettings(weights=weights, language="en")
    build_index(open_corpus(str(weights)), tmp_path / "pairs", own)
    queries = ["cat runs", "dog", "wi fi caf\u00e9", "the"]
    found = [
        MemoryIndex(tmp_path / name).search(queries, model, feedback=rm3, depth=10)
        for name in ("text", "pairs")
    ]
    one, other = (hits.to_polars([*"abcd"]) for hits in found)
    assert one.rows() == other.rows()
    assert len(one) > 4


def vectors_of(count, size, seed):
    """Random whole weights of ``size`` tokens."""
    random = np.random.default_rng(seed)
    matrix = np.round(100 * random.gamma(0.5, 1.0, (count, size)))
    matrix[random.random((count, size)) < 0.8] = 0
    names = [f"##tok{n}" if n % 3 else f"[{n}]" for n in range(size)]
    rows = (zip(names, row.tolist(), strict=True) for row in matrix)
    return [{name: weight for name, weight in row if weight} for row in rows]


def write_vectors(path, rows, key="id", vector="vector"):
    lines = [json.dumps({key: f"d{n:04}", vector: row}) for n, row in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def built(folder, rows):
    weights = write_vectors(folder / "w.jsonl", rows)
    settings = TokenWeightSettings(weights=weights)
    build_index(open_corpus(str(weights)), folder / "index", settings)
    return MemoryIndex(folder / "index")


def test_whole_weights_rank_as_lucenes_impacts(tmp_path):
    rows, queries = vectors_of(300, 120, 3), vectors_of(20, 120, 4)
    index = built(tmp_path, rows)
    assert index.default_model == "impact"
    from anserini import lucene_impacts

    for query, theirs in zip(queries, lucene_impacts(tmp_path / "w.jsonl", queries), strict=True):
        hits = index.search([query], Impact(), depth=300)
        ours = dict(zip(hits.docnos, hits.scores, strict=True))
        # Anserini subtracts 0.000001 for each place in a tie.
        assert ours == pytest.approx(theirs, rel=1e-7, abs=1e-4)
        assert all(score == int(score) for score in ours.values())


def test_texts_of_ready_tokens_count_them(tmp_path):
    index = built(tmp_path, [{"a": 2, "##b": 0.5}, {"a": 1, "A": 7}, {}])
    hits = index.search(["a a ##b", "A"], Impact())
    assert hits.docnos.to_list() == ["d0000", "d0001", "d0001"]
    assert hits.scores.tolist() == [4.5, 2.0, 7.0]


def test_topics_with_weights(tmp_path):
    index = built(tmp_path, [{"a": 2, "b": 0.5}, {"b": 1}])
    lines = [
        '{"qid": "1", "vector": {"a": 0.25, "b": 2}}',
        '{"id": 2, "query": {"b": 1}}',
        '{"qid": "3", "weights": {}}',
        '{"qid": "4", "vector": {"zebra": 1}}',
    ]
    (tmp_path / "q.jsonl").write_text("\n".join(lines))
    topics = load_topics(tmp_path / "q.jsonl")
    assert (topics.qids, topics.field) == (["1", "2", "3", "4"], "vector")
    found = search_topics(index, topics, SearchSettings(), tag="x")
    assert found.run.frame.select("qid", "docno", "score").rows() == [
        ("1", "d0001", 2.0),
        ("1", "d0000", 1.5),
        ("2", "d0001", 1.0),
        ("2", "d0000", 0.5),
    ]
    assert found.without_hits == (["3"], ["4"])
    assert Topics.of(topics.to_pandas().to_dict("records")).vectors == topics.vectors
    weights = [{"a": 1.0, "b": None}, {"a": None, "b": 2.0}]  # as polars reads them
    frame = pl.DataFrame({"qid": ["1", "2"], "query": ["a", "b"], "query_toks": weights})
    assert Topics.of(frame.to_arrow()).vectors == [{"a": 1.0}, {"b": 2.0}]
    changed = Topics(topics.qids, topics.queries, "", vectors=[{"a": 1.0}] * 4)
    assert changed.identity() != topics.identity()
    with pytest.raises(UsageError, match=r"topic 1 of .* has token weights but no text"):
        _ = topics.texts


def test_an_index_of_texts_is_searched_by_texts(tmp_path):
    build_index(ListCorpus({"d": "dogs bark", "e": "cats"}), tmp_path / "i")
    index = MemoryIndex(tmp_path / "i")
    (tmp_path / "q.jsonl").write_text('{"qid": "1", "query": "a dog", "vector": {"cat": 1}}')
    topics = load_topics(tmp_path / "q.jsonl")
    found = search_topics(index, topics, SearchSettings(), tag="x")
    assert found.run.frame["docno"].to_list() == ["d"]
    (tmp_path / "q.jsonl").write_text('{"qid": "1", "vector": {"cat": 1}}')
    with pytest.raises(UsageError, match="has token weights but no text"):
        search_topics(index, load_topics(tmp_path / "q.jsonl"), SearchSettings(), tag="x")


def test_documents_without_weights_are_counted_and_texts_kept(tmp_path):
    weights = write_vectors(tmp_path / "w.jsonl", [{"a": 1}, {"b": 0}])
    documents = [Document(f"d{n:04}", {"text": f"text {n}"}) for n in range(3)]
    settings = TokenWeightSettings(weights=weights)
    manifest = build_index(ListCorpus(documents), tmp_path / "i", settings)
    counts = manifest.counts
    assert (counts["documents"], counts["empty"], counts["indexed"]) == (3, 2, 1)
    index = MemoryIndex(tmp_path / "i")
    assert len(index) == 1
    assert index.documents.get("d0002").fields == {"text": "text 2"}
    documents.pop(0)
    with pytest.raises(InputError, match="weights contain document 'd0000', which is not"):
        build_index(ListCorpus(documents), tmp_path / "j", settings)


def test_a_folder_of_files(tmp_path):
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "a.jsonl").write_text('{"id": 7, "contents": "x", "vector": {"a": 1}}\n')
    (tmp_path / "f" / "b.jsonl").write_text('{"docno": "x", "weights": {}}\n')
    assert list(read_token_weights(tmp_path / "f")) == [("7", {"a": 1}), ("x", {})]
    (tmp_path / "f" / "c.jsonl").write_text('{"docno": "x", "weights": {}}\n')
    with pytest.raises(InputError, match=r"duplicate docno 'x'.*b.jsonl:1"):
        list(read_token_weights(tmp_path / "f"))


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "this is not JSON"),
        ("[]", "JSON object"),
        ('{"docno": "a"}', "`vector` is missing"),
        ('{"docno": "a b", "weights": {}}', "contains white space"),
        ('{"docno": "a", "weights": {"x": "1"}}', "not '1'"),
        ('{"docno": "a", "weights": {"x": true}}', "not True"),
        ('{"docno": "a", "weights": {"x": -1}}', "not -1"),
        ('{"docno": "a", "weights": {"x": NaN}}', "this is not JSON"),
        ('{"docno": "a", "weights": {"x\\n": 1}}', "contains a line break"),
        ('{"docno": "a", "vector": [1, 2]}', "`vector`"),
        ('{"docno": "1", "weights": {}}', "duplicate docno '1'"),
        ('{"qid": "2", "vector": {"x": -1}}', "not -1"),
        ('{"qid": "2", "query": {"x": null}}', "not None"),
        ('{"qid": "2", "query": "text"}', "topic '2' lacks token weights, but others have them"),
        ('{"qid": "1", "vector": {}}', "the qid '1' is repeated"),
    ],
)
def test_errors_name_file_and_line(tmp_path, line, what):
    path, key = tmp_path / "p.jsonl", "qid" if "qid" in line else "docno"
    path.write_text(f'{{"{key}": "1", "vector": {{"a": 1}}}}\n{line}\n')
    with pytest.raises(InputError) as caught:
        load_topics(path) if key == "qid" else list(read_token_weights(path))
    assert what in str(caught.value)
    assert str(caught.value).startswith(f"{path}:2: ")


def test_a_disk_that_is_full_at_the_end_of_a_file_is_noticed(tmp_path, capsys):
    """What numpy's tofile() could not write is missing without an error."""
    weights = {f"d{n}": {f"t{n * k % 997}": n + k for k in range(1, 30)} for n in range(3000)}
    source, index = write(tmp_path / "w.jsonl", weights), tmp_path / "index"
    words = ["index", "--weights", str(source), "-o", str(index)]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        for size in range(52_000, 70_000, 2999):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
            assert main(words) == 4
            assert "ulimit -f" in capsys.readouterr().err
            assert not index.exists()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert main(words) == 0
