"""Lucene's index: order, settings, fields, and the errors a user meets."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from memory_corpus import TEXTS, ListCorpus, build_index

from adducir.core.errors import ArtifactError, InputError, UsageError
from adducir.corpora.documents import Document
from adducir.indexes import jvm as java
from adducir.indexes.engines import open_index
from adducir.indexes.lucene import LuceneIndex
from adducir.indexes.models import BM25, QLD, Model
from adducir.indexes.settings import LuceneSettings

MakeIndex = Callable[..., LuceneIndex]


def ranking(index: LuceneIndex, query: str, depth: int = 10) -> list[tuple[str, float]]:
    hits = index.search([query], BM25(), depth=depth)
    return list(zip(hits.docnos, hits.scores.tolist(), strict=True))


def test_manifest_counts_every_document(pets: LuceneIndex) -> None:
    counts = pets.manifest.counts
    assert (counts["documents"], counts["indexed"], counts["empty"]) == (6, 5, 1)
    terms = Counter(term for text in pets.analysis.terms(list(TEXTS.values())) for term in text)
    assert (counts["terms"], counts["tokens"]) == (len(terms), sum(terms.values()))
    assert len(pets) == 5


def test_equal_scores_are_ordered_by_docno_even_at_the_cut(make_index: MakeIndex) -> None:
    docnos = [f"X{n:03d}" for n in np.random.default_rng(0).permutation(200)]
    index = make_index(dict.fromkeys(docnos, "the same words"))
    hits = index.search(["same words"], BM25(), depth=20)
    assert hits.docnos.to_list() == sorted(docnos)[:20]
    assert len(set(hits.scores.tolist())) == 1


def test_any_number_of_threads_gives_the_same_rankings(make_index: MakeIndex) -> None:
    draw, words = np.random.default_rng(1), [f"word{n}" for n in range(50)]
    texts = {f"D{n}": " ".join(draw.choice(words, draw.integers(1, 30))) for n in range(3000)}
    one, three = make_index(texts, threads=1), make_index(texts, threads=3)
    queries = [" ".join(draw.choice(words, 4)) for _ in range(20)]
    for model in (BM25(), QLD()):
        a = one.search(queries, model, depth=100, threads=1)
        b = three.search(queries, model, depth=100, threads=2)
        assert a.docnos.to_list() == b.docnos.to_list()
        assert a.scores.tolist() == b.scores.tolist()


@pytest.mark.parametrize("size", [1, 16, 40, 1000])
def test_docnos_may_fill_many_blocks(
    make_index: MakeIndex, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """One block of Java's would end at 2 GB: 89 million documents."""
    draw = np.random.default_rng(2)
    docnos = [f"{'é' * (n % 40)}X{n:03d}" for n in draw.permutation(300)]
    index = make_index({docno: f"the same word{n % 2}" for n, docno in enumerate(docnos)})
    wanted = index.search(["same", "word1"], BM25(), depth=50)
    searcher = java.java_class("adducir.BulkSearcher")
    small = searcher(str((index.path / "lucene").absolute()), size)
    assert small.docnoBlocks() == 300 if size == 1 else 10 < small.docnoBlocks() < 300
    blocked = LuceneIndex(index.path)
    blocked._java.close()
    monkeypatch.setattr(blocked, "_java", small)
    assert blocked.docnos.to_list() == index.docnos.to_list()
    hits = blocked.search(["same", "word1"], BM25(), depth=50)
    assert hits.docnos.to_list() == wanted.docnos.to_list()
    assert hits.docnos.to_list()[:50] == sorted(docnos)[:50]


def test_depths(pets: LuceneIndex) -> None:
    whole = ranking(pets, "dog owners and cats")
    assert ranking(pets, "dog owners and cats", depth=2) == whole[:2]
    assert ranking(pets, "cats", depth=3_000_000_000) == ranking(pets, "cats", depth=100)
    assert pets.search(["dog cats owners trade"], BM25(), depth=None).counts.tolist() == [5]
    for queries in ({"1": "cats"}, iter(["cats"]), {"cats"}):  # neither keys nor once
        with pytest.raises(UsageError, match="`queries` must be a list"):
            pets.search(queries, BM25())


def test_all_hits_of_many_queries_fit_into_a_small_heap(
    make_index: MakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither is room made for hits that a query lacks, nor are all queries' hits kept in Java."""
    texts = {f"D{n:05d}": f"common word{n}" for n in range(20_000)}
    index = make_index(texts)
    queries = [f"word{n}" for n in range(1000)] + ["common word7"] * 3
    wanted = index.search(queries, BM25(), depth=None)
    assert wanted.counts.tolist() == [1] * 1000 + [20_000] * 3
    code = (
        "import sys; import adducir as ad\n"
        "index = ad.open_index(sys.argv[1])\n"
        "queries = [f'word{n}' for n in range(1000)] + ['common word7'] * 3\n"
        "hits = index.search(queries, ad.BM25(), depth=None)\n"
        "print(hits.counts.sum(), hits.docnos[-1])"
    )
    command = [sys.executable, "-c", code, str(index.path)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "ADDUCIR_JAVA_HEAP": "64"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.stdout.split() == ["61000", "D19999"], done.stderr


@pytest.mark.slow
def test_paths_need_no_locale(tmp_path: Path) -> None:
    (tmp_path / "İz.jsonl").write_text('{"id": "a", "text": "cats"}\n')
    words = ["index", str(tmp_path / "İz.jsonl"), "-o", str(tmp_path / "İ" / "index")]
    command = [sys.executable, "-m", "adducir", *words]
    names = {"LANG", "LC_CTYPE", "PYTHONUTF8", "PYTHONIOENCODING"}
    bare = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run(command, env=bare | {"LC_ALL": "C"}, capture_output=True)
    assert done.returncode == 0, done.stderr
    lacking = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([*command, "--rebuild"], env=bare | lacking, capture_output=True)
    assert done.returncode == 4, done.stderr
    assert len(LuceneIndex(tmp_path / "İ" / "index")) == 1


def test_queries_are_plain_text(pets: LuceneIndex) -> None:
    for empty in ("", "the of and", "?!", "💥"):
        assert pets.search([empty, "cats"], BM25()).counts.tolist()[0] == 0
    for query in ("dog's", "dogs/cats", "what? (dog) AND +cat~2 [x TO y] \\", "dog’s"):
        assert pets.search([query], BM25()).counts[0] >= 1
    beyond_the_clause_limit = " ".join(f"unknown{n}" for n in range(3000)) + " cat"
    assert pets.search([beyond_the_clause_limit], BM25()).counts[0] >= 1
    once, twice = dict(ranking(pets, "cat")), dict(ranking(pets, "cat cat"))
    assert twice == pytest.approx({docno: 2 * score for docno, score in once.items()})


def test_non_ascii_text_and_docnos_come_back_whole(make_index: MakeIndex) -> None:
    long = "S0123456789abcdef-A0123456789abcdef"
    index = make_index({"naïve-😀": "café 東京 naïveté", long: "coffee"})
    assert [docno for docno, _ in ranking(index, "CAFÉ")] == ["naïve-😀"]
    assert ranking(index, "coffee")[0][0] == long
    assert index.documents.get("naïve-😀").fields == {"text": "café 東京 naïveté"}


def test_lucene_rounds_long_documents_and_accurate_does_not(make_index: MakeIndex) -> None:
    # 1,944 and 2,000 tokens share one byte in Lucene (TRAPS: one-byte length norm).
    texts = {"a": "hit " + "x " * 1943, "b": "hit " + "x " * 1999, "c": "other"}
    coarse = dict(ranking(make_index(texts), "hit"))
    assert coarse["a"] == coarse["b"]
    exact = dict(ranking(make_index(texts, accurate_length=True), "hit"))
    assert exact["a"] > exact["b"]


class TestFaults:
    def test_faulty_corpora_leave_nothing(self, tmp_path: Path) -> None:
        twice = [Document("A", {"text": "x"}), Document("A", {"text": "y"})]
        for documents, fields, named in ((twice, (), "'A'"), (TEXTS, ("txet",), "'txet'.*text")):
            with pytest.raises(InputError, match=named):
                own = LuceneSettings(fields=fields)
                build_index(ListCorpus(documents), tmp_path / "index", own)
            assert not [path for path in tmp_path.iterdir() if path.is_dir()]

    @pytest.mark.parametrize("content", [None, "file", "folder"])
    def test_not_an_index(self, tmp_path: Path, content: str | None) -> None:
        path = tmp_path / "thing"
        if content == "file":
            path.write_text("x")
        elif content == "folder":
            path.mkdir()
        with pytest.raises(ArtifactError):
            LuceneIndex(path)

    def test_an_index_of_another_lucene(self, pets: LuceneIndex, tmp_path: Path) -> None:
        shutil.copytree(pets.path / "lucene", tmp_path / "index")
        segments = next((tmp_path / "index").glob("segments_*"))
        content = bytearray(segments.read_bytes())
        version = content.index(b"segments") + len(b"segments")
        content[version : version + 4] = (1).to_bytes(4, "big")
        segments.write_bytes(bytes(content))
        with pytest.raises(ArtifactError, match="rebuild=True"):
            LuceneIndex(tmp_path / "index")


def test_pyserini_reads_the_index_and_ranks_alike(pets: LuceneIndex) -> None:
    searcher = java.java_class("io.anserini.search.SimpleSearcher")(str(pets.path / "lucene"))
    searcher.set_bm25(0.9, 0.4)
    found = [hit.docid for hit in searcher.search("dog owners", 10)]
    assert found == [docno for docno, _ in ranking(pets, "dog owners")]


@pytest.mark.parametrize("model", [BM25(), BM25(k1=1.5, b=0.8), QLD(mu=50)])
def test_fields_with_boosts_are_ranked_as_by_anserini(tmp_path: Path, model: Model) -> None:
    draw, words = np.random.default_rng(2), [f"word{n}" for n in range(30)]
    documents = [
        Document(
            f"D{n:03}",
            {
                name: " ".join(draw.choice(words, draw.integers(0, 20)))
                for name in ("title", "text")
            },
        )
        for n in range(300)
    ]
    settings = LuceneSettings(fields=("title", "text"), separate=("title", "text"))
    build_index(ListCorpus(documents), tmp_path / "index", settings)
    index = LuceneIndex(tmp_path / "index")
    searcher = java.java_class("io.anserini.search.SimpleSearcher")(str(index.path / "lucene"))
    values = list(model.model_dump().values())
    (searcher.set_bm25 if isinstance(model, BM25) else searcher.set_qld)(*values)
    for boosts in ({"title": 2.0, "text": 0.5}, {"contents": 1.0, "title": 3.5}, {"text": 1.0}):
        query = " ".join(draw.choice(words, 3))
        weights = java.java_class("java.util.HashMap")()
        for name, weight in boosts.items():
            weights.put(name, java.java_class("java.lang.Float")(weight))
        theirs = {hit.docid: hit.score for hit in searcher.search_fields(query, weights, 50)}
        hits = index.search([query], model.model_copy(update={"boosts": boosts}), depth=50)
        assert hits.scores.tolist() == pytest.approx([*theirs.values()], abs=1e-4)
        assert {*hits.docnos[:40]} <= theirs.keys()
    plain = index.search(["word1 word2"], model)
    boosted = index.search(["word1 word2"], model.model_copy(update={"boosts": {"contents": 1.0}}))
    assert plain.docnos.equals(boosted.docnos)
    assert plain.scores.tolist() == boosted.scores.tolist()


def test_given_documents_are_scored_as_by_a_search(make_index: MakeIndex) -> None:
    draw, words = np.random.default_rng(3), [f"word{n}" for n in range(40)]
    texts = {f"D{n}": " ".join(draw.choice(words, draw.integers(1, 60))) for n in range(2000)}
    index = make_index(texts, threads=3)
    queries = [" ".join(draw.choice(words, size)) for size in (1, 2, 5, 30)] + ["nothing"]
    for model in (BM25(), QLD()):
        hits = index.search(queries, model, depth=None).to_polars([*map(str, range(5))])
        chosen = [draw.choice([*texts], 50).tolist() for _ in queries]  # some twice
        for qid, docnos, scores in zip(
            "01234", chosen, index.score(queries, chosen, model), strict=True
        ):
            mine = hits.filter(qid=qid)
            found = dict(zip(mine["docno"], mine["score"], strict=True))
            assert scores.tolist() == [found.get(docno, 0.0) for docno in docnos]
    assert index.score([], []) == []
    assert [part.tolist() for part in index.score(["word1"], [[]])] == [[]]


def test_boosts_need_separate_fields(pets: LuceneIndex, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'{title}'.*separate"):
        pets.search(["dog"], BM25(boosts={"{title}": 2}))
    memory = build_index(ListCorpus(TEXTS), tmp_path / "memory")
    assert memory.kind == "memory-index"
    with pytest.raises(UsageError, match="boosts"):
        open_index(tmp_path / "memory").search(["dog"], BM25(boosts={"text": 2}))
    with pytest.raises(InputError, match="titel"):
        own = LuceneSettings(separate=("titel",))
        build_index(ListCorpus(TEXTS), tmp_path / "index", own)
    for name in ("id", "contents"):
        with pytest.raises(UsageError, match=name):
            LuceneSettings(separate=(name,))


def test_a_prebuilt_index_is_opened_by_its_name(
    pets: LuceneIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSERINI_CACHE", str(tmp_path))
    name = "lucene-inverted.pets-v1.0.flat.20221004.252b5e.0123456789abcdef"
    shutil.copytree(pets.path / "lucene", tmp_path / "indexes" / name)
    files = sorted((tmp_path / "indexes" / name).iterdir())
    for given in ("pets-v1.0.flat", name):
        assert ranking(open_index(given), "dog owners") == ranking(pets, "dog owners")
    assert sorted((tmp_path / "indexes" / name).iterdir()) == files
    for unknown in ("pets-v1.0", "pets", "flat"):
        with pytest.raises(ArtifactError, match="Pyserini"):
            open_index(unknown)
