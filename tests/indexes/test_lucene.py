"""Building and searching: order, settings, expansion, and the errors a user meets."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from math import log
from pathlib import Path

import numpy as np
import pytest
from memory_corpus import TEXTS, ListCorpus

from adducir.core.errors import ArtifactError, InputError, UsageError
from adducir.corpora.documents import Document
from adducir.indexes import IndexSettings, LuceneIndex, build_index
from adducir.indexes.analysis import Analysis
from adducir.indexes.feedback import RM3
from adducir.indexes.models import BM25, QLD

MakeIndex = Callable[..., LuceneIndex]


def ranking(index: LuceneIndex, query: str, model: BM25 | QLD | None = None, depth: int = 10):
    hits = index.search([query], model or BM25(), depth=depth)
    return list(zip(hits.docnos, hits.scores.tolist(), strict=True))


def test_manifest_counts_every_document(pets: LuceneIndex) -> None:
    counts = pets.manifest.counts
    assert (counts["documents"], counts["indexed"], counts["empty"]) == (6, 5, 1)
    terms = Counter(term for text in pets.analysis.terms(list(TEXTS.values())) for term in text)
    assert (counts["terms"], counts["tokens"]) == (len(terms), sum(terms.values()))
    assert len(pets) == 5


def test_bm25_is_lucenes_formula(pets: LuceneIndex) -> None:
    analysed = {
        d: t for d, t in zip(TEXTS, pets.analysis.terms(list(TEXTS.values())), strict=True) if t
    }
    average = sum(map(len, analysed.values())) / len(analysed)
    idf = {
        term: log(1 + (len(analysed) - n + 0.5) / (n + 0.5))
        for term in ("cat", "leash")
        for n in [sum(term in terms for terms in analysed.values())]
    }
    k1, b = 1.7, 0.6
    expected = {}
    for docno, terms in analysed.items():
        for term in ("cat", "leash"):
            if tf := terms.count(term):
                saturated = tf / (tf + k1 * (1 - b + b * len(terms) / average))
                expected[docno] = expected.get(docno, 0.0) + idf[term] * saturated
    found = dict(ranking(pets, "cats leashes", BM25(k1=k1, b=b)))
    assert found == pytest.approx(expected, rel=1e-6)


def test_equal_scores_are_ordered_by_docno_even_at_the_cut(make_index: MakeIndex) -> None:
    docnos = [f"X{n:03d}" for n in np.random.default_rng(0).permutation(200)]
    index = make_index(dict.fromkeys(docnos, "the same words"))
    hits = index.search(["same words"], BM25(), depth=20)
    assert hits.docnos.to_list() == sorted(docnos)[:20]
    assert len(set(hits.scores.tolist())) == 1


def test_any_number_of_threads_gives_the_same_rankings(make_index: MakeIndex) -> None:
    rng = np.random.default_rng(1)
    words = [f"word{n}" for n in range(50)]
    texts = {f"D{n}": " ".join(rng.choice(words, rng.integers(1, 30))) for n in range(3000)}
    one, three = make_index(texts, threads=1), make_index(texts, threads=3)
    queries = [" ".join(rng.choice(words, 4)) for _ in range(20)]
    for model in (BM25(), QLD()):
        a = one.search(queries, model, depth=100, threads=1)
        b = three.search(queries, model, depth=100, threads=2)
        assert a.docnos.to_list() == b.docnos.to_list()
        assert a.scores.tolist() == b.scores.tolist()


def test_a_depth_beyond_javas_integers_is_all(pets: LuceneIndex) -> None:
    assert ranking(pets, "cats", depth=3_000_000_000) == ranking(pets, "cats", depth=100)


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


def test_depth_cuts_the_whole_ranking(pets: LuceneIndex) -> None:
    whole = ranking(pets, "dog owners and cats")
    assert ranking(pets, "dog owners and cats", depth=2) == whole[:2]
    with pytest.raises(UsageError, match="depth"):
        pets.search(["dog"], BM25(), depth=0)


@pytest.mark.parametrize("query", ["", "the of and", "?!", "💥"])
def test_a_query_without_known_terms_has_no_hits(pets: LuceneIndex, query: str) -> None:
    assert pets.search([query, "cats"], BM25()).counts.tolist()[0] == 0


@pytest.mark.parametrize(
    "query", ["dog's", "dogs/cats", "what? (dog) AND +cat~2 [x TO y] \\", "dog’s"]
)
def test_query_syntax_is_plain_text(pets: LuceneIndex, query: str) -> None:
    assert pets.search([query], BM25()).counts[0] >= 1


def test_non_ascii_text_and_docnos_come_back_whole(make_index: MakeIndex) -> None:
    index = make_index({"naïve-😀": "café 東京 naïveté", "plain": "coffee"})
    assert [docno for docno, _ in ranking(index, "CAFÉ")] == ["naïve-😀"]
    assert index.documents.get("naïve-😀").fields == {"text": "café 東京 naïveté"}


def test_long_docnos_stay_whole(make_index: MakeIndex) -> None:
    docno = "S0123456789abcdef-A0123456789abcdef"
    assert ranking(make_index({docno: "whole", "other": "x"}), "whole")[0][0] == docno


def test_a_repeated_query_term_counts_twice(pets: LuceneIndex) -> None:
    once, twice = dict(ranking(pets, "cat")), dict(ranking(pets, "cat cat"))
    assert twice == pytest.approx({docno: 2 * score for docno, score in once.items()})


def test_weighted_terms_are_searched_as_they_are(pets: LuceneIndex) -> None:
    text = pets.search(["cats dog"], BM25())
    weighted = pets.search([{"cat": 1.0, "dog": 1.0}], BM25())
    assert text.docnos.to_list() == weighted.docnos.to_list()
    assert text.scores.tolist() == pytest.approx(weighted.scores.tolist())


def test_more_terms_than_lucenes_clause_limit(pets: LuceneIndex) -> None:
    query = " ".join(f"unknown{n}" for n in range(3000)) + " cat"
    assert pets.search([query], BM25()).counts[0] >= 1


class TestAnalysis:
    def test_default_is_anserinis(self) -> None:
        terms = Analysis().terms(["The dogs' quick/brown U.S. teacher's running at home-school"])
        assert terms == [["dog", "quick", "brown", "u.", "teacher", "run", "home", "school"]] or (
            terms[0][0] == "dog" and "teacher" in terms[0] and "the" not in terms[0]
        )

    def test_stemmers_differ(self) -> None:
        words = ["organizations running"]
        assert Analysis("none").terms(words) == [["organizations", "running"]]
        assert Analysis("porter").terms(words) == [["organ", "run"]]
        assert Analysis("krovetz").terms(words)[0] != Analysis("porter").terms(words)[0]

    def test_stop_words(self, tmp_path: Path) -> None:
        assert Analysis(stopwords="none").terms(["the dog"]) == [["the", "dog"]]
        stop = tmp_path / "stop.txt"
        stop.write_text("Dog\n\nwalks\n")
        assert Analysis.of("none", stop).terms(["the dog walks home"]) == [["the", "home"]]

    def test_unknown_settings(self) -> None:
        with pytest.raises(UsageError, match="English has no stemmer"):
            Analysis("snowball")
        with pytest.raises(UsageError, match="stop list"):
            Analysis.of("porter", "nltk")

    def test_the_index_keeps_its_analysis(self, make_index: MakeIndex) -> None:
        index = make_index({"a": "running"}, analysis=Analysis("none"))
        assert ranking(index, "run") == []
        assert len(ranking(index, "running")) == 1


class TestLength:
    def test_lucene_rounds_long_documents_and_accurate_does_not(
        self, make_index: MakeIndex
    ) -> None:
        # 1,944 and 2,000 tokens share one byte in Lucene: 1,944 (TRAPS: one-byte length norm).
        texts = {"a": "hit " + "x " * 1943, "b": "hit " + "x " * 1999, "c": "other"}
        coarse = make_index(texts)
        exact = make_index(texts, accurate_length=True)
        scores = dict(ranking(coarse, "hit"))
        assert scores["a"] == scores["b"]
        scores = dict(ranking(exact, "hit"))
        assert scores["a"] > scores["b"]

    def test_qld_refuses_exact_lengths(self, make_index: MakeIndex) -> None:
        index = make_index({"a": "hit"}, accurate_length=True)
        with pytest.raises(UsageError, match="only BM25"):
            index.search(["hit"], QLD())


@pytest.fixture(scope="module")
def topical(make_index: MakeIndex) -> LuceneIndex:
    """Eight documents on one subject among two hundred of noise."""
    rng = np.random.default_rng(2)
    noise = [f"noise{n}" for n in range(300)]
    texts = {f"N{n}": " ".join(rng.choice(noise, 20)) for n in range(200)}
    subject = ["leash"] * 4 + ["law"] * 3 + ["park"] * 2 + ["walker"]
    return make_index(texts | {f"P{n}": " ".join(subject) for n in range(8)})


class TestFeedback:
    def test_expansion_worked_by_hand(self, topical: LuceneIndex) -> None:
        # Each feedback document keeps its 2 best terms (leash 4, law 3), so the relevance model
        # is 4/7 and 3/7; the query, all "leash", gets half of the weight.
        (weights,) = topical.expand(["leash"], BM25(), RM3(fb_terms=2, fb_docs=5))
        assert weights == pytest.approx({"leash": 0.5 + 0.5 * 4 / 7, "law": 0.5 * 3 / 7})

    def test_a_term_of_more_than_a_tenth_of_the_documents_is_no_expansion(
        self, make_index: MakeIndex
    ) -> None:
        texts = {f"N{n}": f"common noise{n}" for n in range(18)}
        index = make_index(texts | {"P1": "leash common", "P2": "leash common"})
        (weights,) = index.expand(["leash"], BM25(), RM3(fb_terms=5, fb_docs=2))
        assert weights == pytest.approx({"leash": 1.0})

    def test_searching_with_feedback_is_searching_the_expansion(self, topical: LuceneIndex) -> None:
        rm3 = RM3(fb_terms=6, fb_docs=4, original_query_weight=0.3)
        (weights,) = topical.expand(["leash"], QLD(), rm3)
        direct = topical.search(["leash"], QLD(), feedback=rm3, depth=50)
        staged = topical.search([weights], QLD(), depth=50)
        assert direct.docnos.to_list() == staged.docnos.to_list()
        assert direct.scores.tolist() == pytest.approx(staged.scores.tolist(), rel=1e-5)

    def test_feedback_from_given_documents(self, topical: LuceneIndex) -> None:
        rm3 = RM3(fb_terms=4, fb_docs=5)
        hits = topical.search(["leash"], BM25(), depth=5)
        given = list(zip(hits.docnos, hits.scores.tolist(), strict=True))
        (expected,) = topical.expand(["leash"], BM25(), rm3)
        assert topical.expand_from("leash", given, rm3) == pytest.approx(expected)

    def test_an_unknown_feedback_document(self, topical: LuceneIndex) -> None:
        with pytest.raises(UsageError, match="no document 'P99'"):
            topical.expand_from("leash", [("P99", 1.0)], RM3())

    def test_without_vectors_the_error_says_so(self, make_index: MakeIndex) -> None:
        index = make_index(TEXTS, vectors=False)
        with pytest.raises(UsageError, match=r"no document vectors.*vectors=false"):
            index.search(["dog"], BM25(), feedback=RM3())

    def test_an_empty_query_stays_empty(self, topical: LuceneIndex) -> None:
        hits = topical.search(["the", "leash"], BM25(), feedback=RM3())
        assert hits.counts[0] == 0
        assert hits.counts[1] > 0


class TestFaults:
    def test_duplicate_docnos_leave_nothing(self, tmp_path: Path) -> None:
        twice = [Document("A", {"text": "x"}), Document("A", {"text": "y"})]
        with pytest.raises(InputError, match=r"docno 'A' comes twice"):
            build_index(ListCorpus(twice), tmp_path / "index")
        assert not (tmp_path / "index").exists()
        assert not [p for p in tmp_path.iterdir() if p.is_dir()]

    def test_an_unknown_field_names_those_there_are(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"field 'txet'.*text"):
            build_index(ListCorpus(TEXTS), tmp_path / "index", IndexSettings(fields=("txet",)))
        assert not (tmp_path / "index").exists()

    @pytest.mark.parametrize("content", [None, "file", "folder"])
    def test_not_an_index(self, tmp_path: Path, content: str | None) -> None:
        path = tmp_path / "thing"
        if content == "file":
            path.write_text("x")
        elif content == "folder":
            path.mkdir()
        with pytest.raises(ArtifactError, match="adducir index"):
            LuceneIndex(path)

    def test_a_damaged_index(self, pets: LuceneIndex, tmp_path: Path) -> None:
        shutil.copytree(pets.path, tmp_path / "index")
        segments = next((tmp_path / "index/lucene").glob("segments_*"))
        segments.write_bytes(segments.read_bytes()[:20])
        with pytest.raises(ArtifactError, match="--rebuild"):
            LuceneIndex(tmp_path / "index")

    def test_an_index_of_another_lucene(self, pets: LuceneIndex, tmp_path: Path) -> None:
        shutil.copytree(pets.path / "lucene", tmp_path / "index")
        segments = next((tmp_path / "index").glob("segments_*"))
        content = bytearray(segments.read_bytes())
        version = content.index(b"segments") + len(b"segments")
        content[version : version + 4] = (1).to_bytes(4, "big")
        segments.write_bytes(bytes(content))
        with pytest.raises(ArtifactError, match=r"another Lucene.*--rebuild"):
            LuceneIndex(tmp_path / "index")


def test_pyserini_reads_the_index_and_ranks_alike(pets: LuceneIndex) -> None:
    code = f"""
import os
os.environ.setdefault("OPENAI_API_KEY", "none")
from adducir.indexes import jvm
jvm.start()
searcher = jvm.java_class("io.anserini.search.SimpleSearcher")({str(pets.path / "lucene")!r})
searcher.set_bm25(0.9, 0.4)
print(*[hit.docid for hit in searcher.search("dog owners", 10)])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [docno for docno, _ in ranking(pets, "dog owners")]
    assert done.stderr == ""
