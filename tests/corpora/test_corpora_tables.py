"""Tables that other programs wrote: CSV and Parquet as corpora, topics, qrels and runs."""

import polars as pl
import pytest

from adducir import load_qrels, load_topics, open_corpus
from adducir.core.errors import InputError, UsageError
from adducir.runs.read import read_run

CSV = 'id,title,text,url\na,Cats,"like fish, and\nsleep ""a lot"".",http://x\nb,Dogs,walk,\n'
DOCUMENTS = [
    ("a", {"title": "Cats", "text": 'like fish, and\nsleep "a lot".', "url": "http://x"}),
    ("b", {"title": "Dogs", "text": "walk", "url": ""}),
]


@pytest.mark.parametrize("name", ["corpus.csv", "c[1].parquet", "corpus.csv.gz"])
def test_documents(tmp_path, name):
    path = tmp_path / name
    if name.endswith(".parquet"):
        pl.read_csv(CSV.encode()).write_parquet(path)
        pl.DataFrame({"id": ["x"], "text": ["y"]}).write_parquet(tmp_path / "c1.parquet")
    else:
        import gzip

        path.write_bytes(gzip.compress(CSV.encode()) if name.endswith(".gz") else CSV.encode())
    corpus = open_corpus(path)
    assert [tuple(document) for document in corpus] == DOCUMENTS
    assert corpus.default_fields == ("title", "text")


def test_a_frame_is_a_corpus_and_semicolons_separate_columns(tmp_path):
    (tmp_path / "c.csv").write_text("docno;text;;\nx;one, two;;\n")
    assert [tuple(one) for one in open_corpus(tmp_path / "c.csv")] == [("x", {"text": "one, two"})]
    frame = pl.read_csv(CSV.encode()).with_columns(url=pl.lit("u"))
    corpus, same = open_corpus(frame), open_corpus(frame.to_pandas())
    assert [one.docno for one in corpus] == [one.docno for one in same] == ["a", "b"]
    assert corpus.identity() == same.identity()
    with pytest.raises(UsageError):
        open_corpus(frame.drop("id"))
    for stated in ({"docno_field": "title"}, {"format": "jsonl"}, {"quotes": "csv"}):
        for source in (frame, frame.to_dicts(), "argsme/2020-04-01"):
            with pytest.raises(UsageError, match=next(iter(stated))):
                open_corpus(source, **stated)
    assert next(iter(open_corpus(frame.with_columns(url=float("nan"))))).fields["url"] == ""


@pytest.mark.parametrize("name", ["topics.csv", "topics.parquet", "topics.json"])
def test_topics(tmp_path, name):
    rows = pl.DataFrame({"qid": ["1", "2"], "query": ["cats", "dogs, too"]})
    write = {".csv": rows.write_csv, ".parquet": rows.write_parquet, ".json": rows.write_json}
    write[(tmp_path / name).suffix](tmp_path / name)
    topics = load_topics(tmp_path / name)
    assert (topics.qids, topics.queries) == (["1", "2"], ["cats", "dogs, too"])


@pytest.mark.parametrize(
    "text", ["1 0 a 1\n", "1 Q0 a 1 2.5 t\n", "1\ta\t1\n", "query-id\tcorpus-id\tscore\n1\ta\t1\n"]
)
def test_qrels_and_runs_are_not_topics(tmp_path, text):
    (tmp_path / "x.tsv").write_text(text)
    with pytest.raises(InputError, match="not topics"):
        load_topics(tmp_path / "x.tsv")


def test_parquet_by_another_name_and_an_index_within_a_folder(tmp_path):
    pl.DataFrame({"qid": ["1"], "docno": ["a"], "score": [1.0]}).write_parquet(tmp_path / "r.trec")
    with pytest.raises(InputError, match="Parquet"):
        read_run(tmp_path / "r.trec")
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "a.txt").write_text("text")
    (tmp_path / "books" / "index").mkdir()
    for name in ("manifest.json", "documents.txt"):
        (tmp_path / "books" / "index" / name).write_text("{}")
    assert [one.docno for one in open_corpus(tmp_path / "books")] == ["a.txt"]


@pytest.mark.parametrize(
    ("rows", "line", "match"),
    [
        ("1,a,1\n\n1,b,x\n,c,1\n", 4, "not an integer|not a finite"),
        ('1,"a",1\n"1","b\nc",1\n1,d,2.5\n', 5, "not an integer|not a finite"),
        ("1,a,1\n,,\n1,a,2\n1,b,x\n", 4, "twice|repeated"),
        ("1,a,1\n1,b,\n", 3, "(grade|score) is missing"),
        ("1,a,1\n1,b,2,3\n", 3, "4 columns"),
    ],
)
@pytest.mark.parametrize("read", [load_qrels, read_run])
def test_a_fault_in_a_csv_file_names_its_line(read, rows, line, match, tmp_path):
    path = tmp_path / "t.csv"
    grade = "grade" if read is load_qrels else "score"
    path.write_text(
        f"qid,docno,{grade}\n{rows if read is load_qrels else rows.replace('2.5', 'y')}"
    )
    with pytest.raises(InputError, match=match) as raised:
        read(path)
    assert (raised.value.path, raised.value.line) == (path, line)
    path.write_text(f"qid,dokno,{grade}\n{rows}")
    with pytest.raises(InputError) as raised:
        read(path)
    assert raised.value.line in (1, line)
