"""Passages folded to documents, beside plain loops, on every engine and at every door."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adducir as ad
from adducir.cli.app import main
from adducir.core.errors import UsageError
from adducir.corpora.sources import open_corpus
from adducir.indexes.dense_settings import DenseSettings
from adducir.indexes.settings import TokenWeightSettings
from adducir.runs.check import check
from adducir.runs.filtering import filter_run
from adducir.runs.folding import METHODS
from adducir.runs.read import read_run
from adducir.runs.write import read_metadata, write_run

WORDS = ["cat", "dog", "nuclear", "energy", "school", "uniforms", "runs", "fast", "clean"]


def folded(ranking, method, separator="#"):
    """[(document, score)] of [(passage, score)], best first, in plain loops."""
    passages = {}
    for docno, score in ranking:
        document, _, number = docno.rpartition(separator)
        passages.setdefault(document, []).append((int(number), score))
    zero = any(number == 0 for some in passages.values() for number, _ in some)
    values = {}
    for document, some in passages.items():
        scores = [score for _, score in some]
        if method == "firstp":
            scores = [score for number, score in some if number == (0 if zero else 1)]
        if scores:
            total = sum(scores)
            values[document] = {"sump": total, "avgp": total / len(scores)}.get(method, max(scores))
    return sorted(values.items(), key=lambda one: (-one[1], one[0]))


PASSAGES = st.builds("{}#{}".format, st.sampled_from(["a", "b", "a#x", "c-1"]), st.integers(0, 3))


@given(st.dictionaries(PASSAGES, st.floats(-9, 9).map(lambda x: round(x, 3)), min_size=1))
def test_runs_fold_as_plain_loops_do(ranking):
    run = ad.Run.of({"7": ranking, "8": {"z#1": 1.0}}, "t")
    rows = run.frame.filter(qid="7").select("docno", "score").rows()
    for method in METHODS:
        found = run.fold(method).to_dict()
        assert dict(found.get("7", {})) == pytest.approx(dict(folded(rows, method)))
        assert run.fold(method.upper(), 1).lengths.max(initial=0) <= 1
        frame = run.fold(method).frame.filter(qid="7")
        assert frame["score"].to_list() == sorted(frame["score"], reverse=True)


def test_equal_scores_keep_the_runs_order_and_metadata_stay():
    run = ad.Run.of({"1": {"a#1": 2.0, "b#1": 2.0, "b#2": 1.0, "c%p0": 2.0}}, "t")
    assert run.fold("maxp").frame["docno"].to_list() == ["c", "b", "a"]  # trec_eval's
    assert ad.Run.of({"1": {"d_1": 1.0, "d_2": 2.0}}, "t").fold("maxp:_").to_dict() == {
        "1": {"d": 2.0}
    }
    for bad in ("best", "", 3):
        with pytest.raises(UsageError, match="fold"):
            run.fold(bad)
    with pytest.raises(UsageError, match="passage"):
        ad.Run.of({"1": {"d": 1.0}}, "t").fold("maxp")


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Documents d0 to d29 with one to seven passages; many passages are the same."""
    path = tmp_path_factory.mktemp("texts") / "c.jsonl"
    lines = []
    for n in range(30):
        some = [f"{WORDS[(n * m) % 9]} {WORDS[m % 9]} {WORDS[n % 4]}." for m in range(1 + n % 7)]
        lines.append(json.dumps({"docno": f"d{n}", "text": "\n\n".join(some)}))
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module", params=["memory", "lucene", "dense", "weights"])
def index(request, texts, tmp_path_factory, tiny):
    folder = tmp_path_factory.mktemp("index")
    passages = open_corpus(str(texts), passages=3)
    if request.param == "weights":
        rows = []
        for number, one in enumerate(passages):
            own = {word: 1 + (number * len(word)) % 5 for word in one.fields["text"].split()}
            rows.append(json.dumps({"docno": one.docno, "weights": own}))
        (folder / "w.jsonl").write_text("\n".join(rows))
        found = TokenWeightSettings(weights=folder / "w.jsonl")
        return ad.build_index(open_corpus(str(folder / "w.jsonl")), folder / "i", found)
    if request.param == "dense":
        found = DenseSettings(encoder=str(tiny), pooling="mean", similarity="dot")
        return ad.build_index(passages, folder / "i", found)
    return ad.build_index(passages, folder / "i", request.param)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("depth", [1, 3, 29, None])
def test_searches_fold_all_hits_until_the_depth_is_filled(index, method, depth):
    queries = ["cat energy", "school", "fast fast dog", "zebra"]
    asked = queries
    if not index.analysis.kind.is_pretokenized:
        every = index.search(asked, depth=None)
    else:
        asked = [dict.fromkeys(query.split(), 1.0) for query in queries]
        every = index.search(asked, depth=None)
    found = index.search(asked, depth=depth, fold=method)
    rows = every.to_polars(queries)
    for query, count in zip(queries, found.counts.tolist(), strict=True):
        own = rows.filter(qid=query).select("docno", "score").rows()
        wanted = folded(own, method)[:depth]
        have = found.to_polars(queries).filter(qid=query)
        assert count == len(have) == len(wanted)
        assert have["score"].to_list() == pytest.approx([score for _, score in wanted], rel=1e-6)
        if method != "avgp" and index.default_model:
            assert have["docno"].to_list() == [docno for docno, _ in wanted]
    assert [one.rpartition("#")[0] for one in found.passages] == found.docnos.to_list()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=12), st.integers(1, 12))
def test_ties_at_the_cut_are_by_docno(tmp_path_factory, sizes, depth):
    rows = [
        {"docno": f"d{n}#{m}", "text": "cat"} for n, size in enumerate(sizes) for m in range(size)
    ]
    index = ad.build_index(rows, tmp_path_factory.mktemp("ties") / "i", "memory")
    found = index.search(["cat"], depth=depth, fold="maxp").docnos.to_list()
    assert found == sorted(f"d{n}" for n in range(len(sizes)))[:depth]


def test_a_run_is_folded_as_its_search_would_be(texts, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t.tsv").write_text("1\tcat energy\n2\tschool uniforms\n")
    Path("q.txt").write_text("1 0 d0 1\n1 0 d9 1\n2 0 d3 1\n")
    index = ["index", "--engine", "memory", "--passages", "3", "-o", "indexes/p"]
    assert main([*index, str(texts)]) == 0
    search = ["search", "-i", "indexes/p", "-t", "t.tsv"]
    Path("experiments").mkdir()
    Path("experiments/e.yaml").write_text(f"""
topics: {{t: {{source: t.tsv, qrels: q.txt}}}}
corpora: {{c: {{source: "{texts}", passages: 3}}}}
indexes: {{p: {{corpus: c, engine: memory}}}}
depth: 4
systems:
  Max: {{index: p, fold: maxp}}
  Given: {{run: all.trec, fold: maxp}}
measures: [nDCG@3]
""")
    assert main([*search, "-o", "all.trec", "--depth", "all"]) == 0
    assert main(["experiment", "experiments/e.yaml"]) == 0
    assert main(["filter", "all.trec", "--fold", "maxp", "--depth", "4", "-o", "max.trec"]) == 0
    (stage,) = read_metadata("max.trec")["method"]["filtering"]
    assert stage["fold"] == "maxp"
    assert stage["dropped"]["passages"] > 0
    ours = read_run(Path("runs/e/Max.t.trec.gz")).frame
    assert (
        read_run(Path("max.trec")).frame.select("qid", "docno").equals(ours.select("qid", "docno"))
    )
    capsys.readouterr()
    assert main(["evaluate", "all.trec", "-q", "q.txt", "-m", "nDCG@3"]) == 0
    told = capsys.readouterr().err
    assert "adducir filter" in told and "--fold maxp" in told
    assert main(["check", "all.trec", "-q", "q.txt"]) == 1
    assert "adducir filter all.trec --fold maxp" in capsys.readouterr().out
    assert main(["search", "-i", "indexes/p", "cat", "--fold", "maxp", "--depth", "2"]) == 0
    shown = capsys.readouterr().out
    assert "2 hits" in shown and "#" not in shown and "cat" in shown.splitlines()[2]
    assert main(["search", "-i", "indexes/p", "cat", "--fold", "best"]) == 2
    (finding,) = (
        one
        for one in check([Path("all.trec")], qrels=ad.load_qrels("q.txt"))
        if one.code == "foreign-qrels"
    )
    assert "maxp" in finding.message


def test_filters_see_documents():
    run = ad.Run.of({"1": {"1#1": 3.0, "a#1": 2.0, "a#2": 1.5, "b#1": 1.0}}, "t")
    found = filter_run(run, fold="maxp", own=True, depth=1)
    assert found.run.to_dict() == {"1": {"a": 2.0}}
    assert found.dropped == {"passages": 1, "own": 1, "depth": 1}


@pytest.mark.parametrize("method", METHODS)
def test_rerankers_fold_the_passages_of_the_best_documents(method, texts, tmp_path, tiny):
    index = ad.build_index(open_corpus(str(texts), passages=3), tmp_path / "i", "memory")
    topics = {"1": "cat energy", "2": "school uniforms fast"}
    run = ad.search(index, topics, depth=None)
    scored = ad.rerank(run, topics, index, f"maxsim:{tiny}", depth=10_000)
    found = ad.rerank(run, topics, index, f"maxsim:{tiny}", depth=3, fold=method)
    old = run.fold(method)
    for qid in topics:
        before = old.frame.filter(qid=qid)["docno"].to_list()
        rows = scored.frame.filter(qid=qid).select("docno", "score").rows()
        wanted = [one for one in folded(rows, method) if one[0] in before[:3]]
        have = found.frame.filter(qid=qid)
        assert dict(have.head(3).select("docno", "score").rows()) == pytest.approx(
            dict(wanted), rel=1e-5
        )
        assert have["docno"].to_list()[3:] == before[3:]
    write_run(found, tmp_path / "r.trec")
    assert read_metadata(tmp_path / "r.trec")["method"]["reranking"][-1]["fold"] == method
