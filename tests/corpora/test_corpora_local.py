"""Files, folders, sources and identities."""

import gzip
import os
import shutil
import sys
import time

import polars as pl
import pytest

from adducir import load_qrels, load_topics, open_corpus
from adducir.core.errors import InputError, UsageError
from adducir.corpora.documents import refuse_duplicates


def write(folder, files):
    """Files of a folder: of documents with these docnos, or with this content."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list):
            content = "".join(f'{{"id": "{docno}", "text": "x"}}\n' for docno in content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def docnos(corpus):
    return [document.docno for document in corpus]


def doc(docno):
    return f"<DOC><DOCNO>{docno}</DOCNO>x</DOC>"


MIXED = {
    **{"b.jsonl": ["b"], "a/z.json": ["z"], "c.ndjson": ["c"]},
    **{".hidden.jsonl": ["h"], ".git/d.jsonl": ["g"]},
    "e.jsonl.gz": gzip.compress(b'{"id": "e", "text": "x"}\n', mtime=0),
    **{"README.txt": "Read me", "notes.md": "Notes"},
}


DISKS = {"FT1": doc("a"), "FT2": gzip.compress(doc("b").encode(), mtime=0), "READ": "x"}


@pytest.mark.parametrize(
    ("files", "wanted", "expected"),
    [
        (MIXED, None, ["z", "b", "c", "e"]),
        (MIXED, "text", ["README.txt", "notes.md"]),
        ({"a.jsonl": ["a"], "b.tsv": "b\tx\n"}, None, "several formats"),
        ({"a.jsonl": ["a"], "b.tsv": "b\tx\n"}, "tsv", ["b"]),
        ({"corpus.jsonl": ["a"], "queries.jsonl": ["q"]}, None, "Name the corpus: .*corpus.jsonl"),
        (DISKS, None, ["a", "b"]),
        (DISKS, "trec", ["a", "b"]),
        ({"wiki_00": ["a"], "b.txt": "[1] not JSON"}, None, ["a"]),
        ({"x.csv": "id,text\n", "a.txt": "a", "b.md": "b"}, None, r"text \(a.txt\), table"),
        ({".x": "x"}, None, "can be read"),
        ({"a b.txt": "x", "a_b.txt": "y"}, None, r"a_b\.txt"),
        ({"a.jsonl": ["x", "y"], "b.jsonl": ["y"]}, None, r"b\.jsonl:1.*a\.jsonl:2"),
    ],
)
def test_which_files_of_a_folder_are_read(tmp_path, files, wanted, expected):
    write(tmp_path, files)
    if isinstance(expected, list):
        corpus = open_corpus(tmp_path, format=wanted)
        assert docnos(corpus) == expected
        assert docnos(refuse_duplicates(corpus)) == expected  # and again
    else:
        with pytest.raises(InputError, match=expected):
            docnos(refuse_duplicates(open_corpus(tmp_path, format=wanted)))


def test_a_format_can_be_named(tmp_path):
    path = write(tmp_path, {"docs.dat": ["a"]})
    with pytest.raises(InputError, match=r"\.jsonl"):
        open_corpus(path)
    assert docnos(open_corpus(path, format="jsonl")) == ["a"]
    with pytest.raises(UsageError, match="jsonl, trec, tsv"):
        open_corpus(path, format="odt")
    path = write(tmp_path, {"a.txt": "first"})
    assert docnos(open_corpus(path, format="text")) == ["a.txt"]
    with pytest.raises(InputError):
        open_corpus(path)
    with pytest.raises(UsageError, match="docno_field"):
        open_corpus(path, format="text", docno_field="id")


@pytest.mark.parametrize(
    "source", ["", "  ", "a\0b", "/no/such/file", "missing.jsonl", "./x", "x" * 5000, "bundled:x"]
)
def test_sources_that_are_nothing(source):
    for read in (open_corpus, load_topics, load_qrels):
        with pytest.raises(InputError):
            read(source)


def test_identity_follows_the_content_only(tmp_path):
    path = write(tmp_path, {"one/a.jsonl": ["a", "b"]})
    before = open_corpus(path).identity()
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    assert open_corpus(tmp_path / "two").identity() == before
    assert open_corpus(path, docno_field="id").identity() != before
    os.utime(path, (1, 1))
    assert open_corpus(path).identity() == before
    write(tmp_path, {"one/a.jsonl": ["a", "c"]})  # as long as before
    assert open_corpus(path).identity() != before


def test_folder_of_plain_texts_has_a_document_a_file(tmp_path):
    packed = gzip.compress(b"packed")
    files = {"letters/to a friend.txt": "Dear\nfriend", "b.txt.gz": packed}
    write(tmp_path, files | {"a.txt": "first", "notes.md": "Notes", "scan.docx": "PK"})
    corpus = open_corpus(tmp_path)
    assert corpus.format == "text"
    assert {one.docno: one.fields["text"] for one in corpus} == {
        "a.txt": "first",
        "b.txt.gz": "packed",
        "letters/to_a_friend.txt": "Dear\nfriend",
        "notes.md": "Notes",
    }
    before = corpus.identity()
    assert (corpus.default_fields, corpus.size_hint()) == (("text",), 4)
    assert corpus.places("a.txt") == [(tmp_path / "a.txt", 1)]
    (tmp_path / "a.txt").rename(tmp_path / "c.txt")  # its name is its docno
    assert open_corpus(tmp_path).identity() != before


SENTENCES = ['Dr. Ito said: "Go, friends."', "We all went, e.g. home.", "A heading\n\n日本語。"]


def test_passages_are_whole_sentences(tmp_path):
    write(tmp_path, {"a.txt": " ".join(SENTENCES) + "W " * 9, "b.txt": "Short.", "c.md": ""})
    corpus = open_corpus(tmp_path, passages=5)
    found = {one.docno: one.fields["text"] for one in corpus}
    assert list(found.values()) == [*SENTENCES, "W W W W W", "W W W W", "Short.", ""]
    assert list(found)[-3:] == ["a.txt#5", "b.txt#1", "c.md#1"]
    assert corpus.identity() == open_corpus(tmp_path).identity() | {"words": 5}
    assert (corpus.size_hint(), corpus.places("a.txt#5")) == (None, [(tmp_path / "a.txt", 1)])
    frame = pl.DataFrame(
        {"docno": ["a"], "title": ["T"], "text": ["One. Two."], "body": ["B b c."]}
    )
    assert [tuple(one.fields.values()) for one in open_corpus(frame, passages=1)] == [
        ("T", "One.", "B"),
        ("T", "Two.", "b\nc."),  # which is not searched
    ]


HTML = """<title>Wombats</title><style>p {}</style><script>"<p>zebra"</script><h1>The
<b>wom</b>bat</h1><li>digs<li>café</li></html>it <br>sleeps"""
PDF = """%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj
4 0 obj<</Length 62>>stream
BT /F 9 Tf 12 TL 9 99 Td (A bur-) Tj T* (row is a home.) Tj ET    \nendstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R>>
startxref
0
%%EOF"""


@pytest.mark.parametrize("tag", ["div", "b", "ul><li", "p", "table"])
def test_pages_are_read_in_linear_time_however_deep(tmp_path, tag):
    pytest.importorskip("selectolax")
    ends = "".join(f"</{one}>" for one in reversed(tag.split("><")))
    texts, times = [], []
    for depth in (3, 50_000):
        page = "<title>a</title>" + f"<{tag}>" * (depth + 1)
        write(tmp_path, {"a.html": f"{page}deep <p>one<p>two{ends * (depth + 1)}<p>end"})
        began = time.process_time()
        texts += [one.fields for one in open_corpus(tmp_path)]
        times.append(time.process_time() - began)
    assert texts[0] == texts[1]
    assert times[1] < 4  # 15 s and more, if parsing takes depth squared


def test_csv_is_a_format(tmp_path):
    path = write(tmp_path, {"x.dat": "id,text\nd1,cats purr\n"})
    corpus = open_corpus(path, format="csv")
    assert [one.fields for one in corpus] == [{"text": "cats purr"}]
    assert corpus.identity() == open_corpus(path, format="table").identity()


def test_pages_and_pdf_are_texts(tmp_path, monkeypatch):
    pytest.importorskip("selectolax")
    pytest.importorskip("pypdf")
    files = {"a.html": HTML, "b.htm": HTML.encode("cp1252"), "c.pdf": PDF}
    write(tmp_path, {"0.txt": "plain"} | files)
    corpus = open_corpus(tmp_path)
    page = {"title": "Wombats", "text": "The wombat\n\ndigs\n\ncafé\n\nit sleeps"}
    assert [one.fields for one in corpus] == [
        *({"text": "plain"}, page, page, {"text": "A burrow is a home."})
    ]
    assert corpus.default_fields == ("title", "text")
    assert docnos(open_corpus(tmp_path / "c.pdf")) == ["c.pdf"]
    broken = write(tmp_path, {"d.pdf": PDF[:40]})
    with pytest.raises(InputError) as caught:
        list(open_corpus(tmp_path))
    assert caught.value.path == broken
    monkeypatch.setitem(sys.modules, "pypdf", None)
    assert docnos(open_corpus(tmp_path)) == ["0.txt", "a.html", "b.htm"]
