"""Runs as other programs write them: read as they are meant, or refused with the true reason."""

import bz2
import gzip
import io
import json
import tarfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from notes import Notes

from adducir.cli.app import main
from adducir.core.errors import InputError
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import load_topics
from adducir.runs.check import check
from adducir.runs.read import read_run


def ranking(path: Path, **options) -> tuple[list[tuple[str, str]], list[str]]:
    """The pairs in their final order, and what was said about the reading."""
    with Notes() as notes:
        run = read_run(path, **options)
    return run.frame.select("qid", "docno").rows(), notes.lines


NAME = "run.tsv"


ABC = [("1", "a"), ("1", "b"), ("1", "c"), ("2", "c")]


@pytest.mark.parametrize(
    ("lines", "read"),
    [
        ("1 a 10\n1 b 5\n1 c 1\n2 c 4\n", "qid,docno,score"),  # integer scores, as Tevatron's
        ("1 a 3\n1 b 2\n1 c 1\n2 c 1\n", "qid,docno,score"),  # n..1: each number once
        ("1 c 1\n1 a 9\n1 b 3\n2 c 1\n", "qid,docno,score"),  # from 1 on, with gaps
        ("1 a 1\n1 b 2\n1 c 3\n2 c 1\n", "qid,docno,rank"),  # MS MARCO's
        ("1 a 1\n2 c 1\n1 b 2\n1 c 3\n", "qid,docno,rank"),  # topics that alternate
        ("1 a 1.0\n1 b 2.0\n1 c 3.0\n2 c 1.0\n", "qid,docno,rank"),
        ("1 a .9\n1 b .5\n1 c -1e-3\n2 c 7.25\n", "qid,docno,score"),
    ],
)
@pytest.mark.parametrize("blank", ["\t", " "])
def test_three_columns_are_ranks_only_if_they_count_from_1(write, lines, read, blank):
    path = write(lines.replace(" ", blank))
    pairs, (note,) = ranking(path)
    assert sorted(pairs) == ABC
    assert [pair for pair in pairs if pair[0] == "1"] == ABC[:3]
    assert f"read as {read}" in note
    assert "columns=" in note
    columns = read.split(",")
    assert ranking(path, columns=columns) == (pairs, [])
    if "-" in lines:
        return  # no rank is negative
    other = ["qid", "docno", "rank" if columns[2] == "score" else "score"]
    backwards = [pair for pair in ranking(path, columns=other)[0] if pair[0] == "1"]
    assert backwards == ABC[2::-1]


def test_ranks_from_0_fit_two_readings_and_are_asked_for(write):
    path = write("1\ta\t0\n1\tb\t1\n2\tc\t0\n")
    with pytest.raises(InputError, match="ranks from 0 on, or scores"):
        read_run(path)
    assert ranking(path, columns=("qid", "docno", "rank"))[0][:2] == ABC[:2]
    (finding,) = check([path])
    assert finding.severity == "error"


def test_colbert_writes_qid_pid_rank_and_score(write):
    path = write("1\t70\t1\t24.5\n1\t71\t2\t24.25\n2\t70\t1\t3\n")
    pairs, (note,) = ranking(path)
    assert pairs == [("1", "70"), ("1", "71"), ("2", "70")]
    assert "qid,docno,rank,score" in note
    with pytest.raises(InputError, match="looks like qrels"):
        read_run(write("1 0 70 1\n1 0 71 0\n2 0 70 1\n"))
    with pytest.raises(InputError, match=r"ColBERT.*qrels"):  # one column 0, one document a topic
        read_run(write("1 0 1 2\n2 0 1 1\n"))


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


# castorini/rank_llm's Result, its data.py; webis-de/lightning-ir's tests/data/runs/run.jsonl;
# tira-io's re-rank files; ir_datasets' field names.
RANK_LLM = [
    {
        "query": {"text": "a query", "qid": qid},
        "candidates": [{"doc": {"contents": "x"}, "docid": d, "score": s} for d, s in hits],
        "invocations_history": [],
    }
    for qid, hits in ((1, [("a", 3.0), ("b", 2.0), ("c", 1.0)]), ("2", [("c", 0.5)]))
]
OLD_RANK_LLM = [
    {
        "query": record["query"]["text"],
        "hits": [
            {
                "content": "x",
                "qid": record["query"]["qid"],
                "docid": c["docid"],
                "score": c["score"],
            }
            for c in record["candidates"]
        ],
    }
    for record in RANK_LLM
]
LIGHTNING = [
    {"query_id": int(q), "query": "what?", "doc_id": d, "text": "It is.", "rank": n, "relevance": 0}
    for q, d, n in (("1", "a", 1), ("1", "b", 2), ("1", "c", 3), ("2", "c", 1))
]
TIRA = [
    {"qid": q, "query": "x", "docno": d, "text": "t", "rank": n, "score": 1 / n}
    for q, d, n in (("1", "c", 3), ("1", "b", 2), ("1", "a", 1), ("2", "c", 1))
]


def test_rank_llm_s_ties_are_in_the_order_of_its_candidates(write):
    def record(*hits):
        rows = [{"docid": docid, "score": score, "doc": "x"} for docid, score in hits]
        return {"query": {"text": "q", "qid": "1"}, "candidates": rows}

    path = write(
        lines(record(("a", 2), ("c", 1.5), ("b", 1.5), ("d", 1.5), ("e", 0.25))), "r.jsonl"
    )
    run = read_run(path)
    assert run.frame["docno"].to_list() == ["a", "c", "b", "d", "e"]
    assert np.float32(run.frame["score"].to_numpy()).tolist() == pytest.approx(
        [2, 1.5, 1.5, 1.5, 0.25]
    )
    # Requests that are not sorted are ranked by their scores.
    path = write(lines(record(("a", 1), ("b", 3), ("c", 2))), "r.jsonl")
    assert read_run(path).frame["docno"].to_list() == ["b", "c", "a"]
    for wrong in (
        {"query": {"qid": 1.5}, "candidates": []},
        {"query": {}, "candidates": [{"docid": "a"}]},
    ):
        with pytest.raises(InputError) as caught:
            read_run(write(lines(record(("a", 1)), wrong), "r.jsonl"))
        assert caught.value.line == 2


def test_rank_llm_s_requests_are_topics_and_a_corpus_too(write, tmp_path):
    rows = [{"docid": 7, "score": 2, "doc": {"title": "T", "contents": "cats run"}}]
    rows.append({"docid": "b", "score": 1, "doc": "dogs"})
    assert load_topics(str(write(json.dumps(OLD_RANK_LLM), "old.json"))).queries == ["a query"] * 2
    documents = open_corpus(str(tmp_path / "old.json"))
    assert [(d.docno, dict(d.fields)) for d in documents] == [(d, {"text": "x"}) for d in "abc"]
    path = write(
        lines(
            *(
                {"query": {"text": f"query {n}", "qid": n}, "candidates": rows[: n + 1]}
                for n in (1, 2)
            )
        ),
        "r.jsonl",
    )
    topics = load_topics(str(path))
    assert dict(zip(topics.qids, topics.queries, strict=True)) == {"1": "query 1", "2": "query 2"}
    documents = {d.docno: dict(d.fields) for d in open_corpus(str(path))}
    assert documents == {"7": {"title": "T", "contents": "cats run"}, "b": {"text": "dogs"}}
    again = tmp_path / "again.jsonl"
    files = ["-t", str(path), "-c", str(path), "-o", str(again)]
    words = ["requests", str(path), *files, "--fields", "contents,text"]
    assert main(words) == 0
    first = json.loads(again.read_text().splitlines()[0])
    assert first["query"] == {"text": "query 1", "qid": "1"}
    docs = [(row["docid"], row["score"], row["doc"]["contents"]) for row in first["candidates"]]
    assert docs == [("7", 2.0, "cats run"), ("b", 1.0, "dogs")]
    assert read_run(again).frame.equals(read_run(path).frame)


@pytest.mark.parametrize("records", [RANK_LLM, OLD_RANK_LLM, LIGHTNING, TIRA])
def test_json_lines_and_arrays_of_other_programs(write, records):
    for text in (lines(*records), json.dumps(records), json.dumps(records, indent=2)):
        for name in ("run.jsonl", "run.json"):
            assert ranking(write(text, name)) == (ABC, [])
    path = write(gzip.compress(lines(*records).encode()), "run.jsonl.gz")
    assert ranking(path)[0] == ABC


def test_frames_of_pyterrier_count_ranks_from_0(tmp_path):
    frame = pl.DataFrame(
        {
            "qid": ["1", "1", "1", "2"],
            "docid": [7, 8, 9, 9],
            "docno": ["c", "b", "a", "c"],
            "rank": [2, 1, 0, 0],
            "score": [1.0, 2.0, 3.0, 1.0],
            "query": ["x", "x", "x", 'y "z"'],
        }
    )
    for columns in (frame, frame.drop("score")):
        columns.write_csv(tmp_path / "run.csv")
        columns.write_parquet(tmp_path / "run.parquet")
        columns.write_csv(tmp_path / "run.tsv", separator="\t")
        for name in ("run.csv", "run.parquet", "run.tsv"):
            assert ranking(tmp_path / name)[0] == ABC


def tar(text: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo("run.trec")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    return out.getvalue()


TREC = b"1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n"


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (b"\x04\x22\x4d\x18" + b"\x64\x40\xa7" + TREC, "run.lz4", "LZ4"),
        (b"\x04\x22\x4d\x18" + b"\x64\x40\xa7" + TREC, "run.trec", "LZ4"),
        (b"\x1f\x9d\x90" + TREC, "run.Z", "compress"),
        (b"7z\xbc\xaf\x27\x1c\x00" + TREC, "run.7z", "7-Zip"),
        (tar(TREC), "runs.tar", "tar archive"),
        (gzip.compress(tar(TREC), mtime=0), "runs.tar.gz", "tar archive"),
        (gzip.compress(tar(TREC), mtime=0), "runs.tgz", "tar archive"),
        (bz2.compress(tar(TREC)), "runs.tar.bz2", "tar archive"),
        (b"1 Q0 a 1 2.0 BM25 (k1 = 0.9)\n", "run.trec", "follows the tag"),
        (TREC + b"1 Q0 c 3 0.5 t and more\n", "run.trec", "follows the tag"),
        (TREC.replace(b" t", b""), "run.trec", "has 5, not 6 columns"),
    ],
)
def test_the_true_reason_is_named(write, content, name, reason):
    with pytest.raises(InputError, match=reason):
        read_run(write(content, name))
    assert next(one.severity for one in check([write(content, name)])) == "error"


@pytest.mark.parametrize(
    ("docs", "message"),
    [(["x", "y"], "document a has another text"), (["x", None], "candidate a has no `doc`")],
)
def test_texts_of_rank_llm_that_are_not_a_corpus_are_refused(tmp_path, docs, message):
    path = tmp_path / "requests.jsonl"
    rows = [
        {"query": {"text": "q", "qid": q}, "candidates": [{"docid": "a", "score": 1, "doc": doc}]}
        for q, doc in enumerate(docs)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=f":2: .*{message}"):
        list(open_corpus(path))
