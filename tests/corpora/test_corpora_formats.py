"""The documents of files: JSONL, TREC's SGML, TSV, CACM; their docnos, fields and errors."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir import open_corpus
from adducir.core.errors import InputError
from adducir.corpora.documents import Document, text_of


@pytest.fixture
def corpus_of(write):
    return lambda text, name="c.jsonl", **options: open_corpus(write(text, name), **options)


def line(**record):
    return json.dumps(record) + "\n"


NATIVE = {
    "id": "S1-A1",
    "conclusion": "Ban it",
    "premises": [{"text": "One.", "stance": "CON", "annotations": []}, {"text": "Two."}],
    "context": {"discussionTitle": "A ban", "sourceId": "S1"},
}
ARGUMENT = {"conclusion": "Ban it", "premise": "One.\nTwo.", "stance": "CON", "topic": "A ban"}
FLAT = {"docno": "a", "conclusion": "c", "premise": "p", "topic": "t"}
LONG = "c67482ba-2019-04-18T13:32:05Z-00000-000"
VALUES = {
    **{"docno": "d", "title": "T", "year": 2020, "score": 1.5, "tags": ["a", "b"], "none": None},
    **{"nested": {"a": "b"}, "mixed": ["a", {"b": "c"}], "open": False, "empty": []},
}
TEXTS = {"title": "T", "year": "2020", "score": "1.5", "tags": "a\nb"}
TEXTS |= {"nested.a": "b", "mixed": "a", "mixed.b": "c", "open": "false", "empty": ""}


@pytest.mark.parametrize(
    ("record", "options", "expected"),
    [
        *(({name: "d1", "text": "a"}, {}, ("d1", {"text": "a"})) for name in ("docid", "_id")),
        ({"id": "i", "docno": "n", "text": "t"}, {}, ("n", {"id": "i", "text": "t"})),
        ({"id": "i", "key": 7}, {"docno_field": "key"}, ("7", {"id": "i"})),
        # terrier-org/pyterrier#409: docnos cut at 20 characters made every measure 0.
        ({"id": LONG}, {}, (LONG, {})),
        ({"id": "\U0001f600" * 256}, {}, ("\U0001f600" * 256, {})),
        (VALUES, {}, ("d", TEXTS)),
        (NATIVE, {}, ("S1-A1", ARGUMENT)),
        (FLAT | {"stance": True}, {}, ("a", {**FLAT, "stance": "PRO"})),
        (FLAT | {"stance": "CON"}, {}, ("a", {**FLAT, "stance": "CON"})),
    ],
)  # fmt: skip
def test_a_json_object_is_a_document(corpus_of, record, options, expected):
    docno, fields = expected
    fields = {name: text for name, text in fields.items() if name != "docno"}
    (document,) = corpus_of(line(**record), **options)
    assert document == Document(docno, fields)
    assert text_of(document, ["none", *fields]) == "\n".join(filter(None, fields.values()))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("conclusion", "premise", "stance"), ("conclusion", "premise")),
        (("contents", "title"), ("contents",)),
        (("text", "title"), ("title", "text")),
        (("text", "url"), ("text",)),
        (("abstract", "keywords"), ("abstract", "keywords")),
    ],
)
def test_default_fields(corpus_of, names, expected):
    assert corpus_of(line(docno="d", **dict.fromkeys(names, ""))).default_fields == expected


ARRAY = '[\n {"id": "a", "text": "x"},\n\n {"id": "b", "text": "y"}]'
BLANKS = '\ufeff{"id":"a","text":"x"}\r\r\n  \n{"id":"b","text":"y"}'


@pytest.mark.parametrize(
    "text", [ARRAY, f'{{"arguments":{ARRAY}}}', f' {{ "arguments" : {ARRAY} }}\n', BLANKS]
)
@pytest.mark.parametrize("name", ["c.json", "c.jsonl.gz"])
def test_arrays_and_lines(corpus_of, text, name):
    corpus = corpus_of(text, name)
    assert list(corpus) == [Document("a", {"text": "x"}), Document("b", {"text": "y"})]
    assert [number for _, number in corpus.places("b")] == [4]


DISKS = """<DOC>
<DOCNO> FT911-1 </DOCNO>
<!-- a <TEXT> in a comment
over two lines -->
<HEADLINE>FT  Profit &amp; loss</HEADLINE>
<TEXT>
<P>First paragraph &lt;b&gt;.
<P>Second at AT&T &hyph; x&#39;y; a < b, e&f.
</TEXT>
<SUBJECT>a</SUBJECT>
<SUBJECT>b</SUBJECT>
</DOC>

<DOC><DOCNO>FT911-2</DOCNO>On one line</DOC>
"""


def test_documents_of_trecs_disks(corpus_of):
    corpus = corpus_of(DISKS, "c.trec")
    first, second = corpus
    assert first.docno == "FT911-1"
    assert first.fields["headline"] == "FT  Profit & loss"
    assert first.fields["subject"] == "a\nb"
    body = "First paragraph <b>. Second at AT&T &hyph; x'y; a < b, e&f."
    assert first.fields["body"].split() == body.split()
    assert first.fields["text"].split() == f"FT Profit & loss {body} a b".split()
    assert second == Document("FT911-2", {"text": "On one line"})
    assert corpus.default_fields[:2] == ("body", "headline")


@pytest.mark.parametrize(
    ("text", "name", "options", "expected"),
    [
        (
            "<DOC><DOCNO>w</DOCNO><DOCHDR>http://x\nServer: y</DOCHDR><html>Page</html></DOC>",
            *("c.trec", {}, [("w", {"text": "Page", "html": "Page"})]),
        ),
        (
            "<Doc ><DOCNO>w</DOCNO>a <doc> tag</Doc><DOC><DOCNO>v</DOCNO><![CDATA[3 < 4]]></DOC>",
            *("c.trec", {}, [("w", {"text": "a   tag"}), ("v", {"text": "3 < 4"})]),
        ),
        (
            "<doc><header><docno> x1 </docno></header>Text <A>x<B>y</A></doc>",
            *("c.trec", {}, [("x1", {"text": "Text  x y", "header": "", "a": "x y"})]),
        ),
        ("<DOC><DOCID>7</DOCID>A</DOC>", "c.xml", {"docno_field": "docid"}, [("7", {"text": "A"})]),
        ("a\tone\ttwo\r\rb\t\n", "c.tsv", {}, [("a", {"text": "one\ttwo"}), ("b", {"text": ""})]),
        ("title,docno\rT,a\r", "c.csv", {}, [("a", {"title": "T"})]),
        ("docno\ttitle\ttext\na\tT\tX\n", "c.tsv", {}, [("a", {"title": "T", "text": "X"})]),
        (
            "url\tkey\tbody\nhttp://x\tk1\tX\n",
            *("c.tsv", {"docno_field": "key"}, [("k1", {"url": "http://x", "body": "X"})]),
        ),
    ],
)
def test_documents_of_sgml_and_tsv(corpus_of, text, name, options, expected):
    found = corpus_of(text, name, **options)
    assert [(one.docno, one.fields) for one in found] == expected


def test_many_unclosed_tags_take_no_long_time(corpus_of):
    # A search for an end behind each of them would take hours.
    text = "<DOC><DOCNO>a</DOCNO>" + "<P>x " * 200_000 + "</DOC>"
    (document,) = corpus_of(text, "c.trec")
    assert document.fields["text"].split() == ["x"] * 200_000


JSON = '{"id": "a", "text": "x"}\n\n'


@pytest.mark.parametrize(
    ("name", "text", "number", "word"),
    [
        ("c.jsonl", JSON + '{"id": "b", "text": ', 3, "JSON"),
        ("c.jsonl", JSON + '["b"]', 3, "not a JSON object"),
        ("c.jsonl", JSON + '{"text": "x"}', 3, "not have a docno"),
        ("c.jsonl", JSON + '{"id": "b\\u00a0c", "text": "x"}', 3, "white space"),
        ("c.jsonl", JSON + '{"id": true, "text": "x"}', 3, "True"),
        ("c.jsonl", JSON + '{"id": "%s"}' % ("x" * 1025), 3, "1,024 bytes"),
        ("c.jsonl", '{"id": "a"}\n{"id": "é"}\n'.encode("latin-1"), 2, "0xe9"),
        ("c.jsonl", "", None, "no documents"),
        ("c.json", ARRAY[:-1], 4, "missing"),
        ("c.json", f'{{"arguments":{ARRAY}, "more": 1}}', 4, ""),
        ("c.json", ARRAY.replace('"b"', "1.5"), 4, "1.5"),
        ("c.trec", "<DOC>\n<DOCNO>a</DOCNO>\n</DOC>\n<DOC>\nno number\n</DOC>", 4, "lacks <DOCNO>"),
        ("c.trec", "<DOC>\n<DOCNO>a</DOCNO>\n</DOC>\n\n<DOC>\n<DOCNO>b</DOCNO>\n", 5, "not closed"),
        ("c.trec", "<DOC>\n<DOCNO>a</DOCNO>\n<DOC>\n</DOC>\n", 1, "line 3"),
        ("c.trec", "\n</DOC>\n", 2, "no matching"),
        ("c.trec", "1 0 d 1\n", None, "does not contain <DOC>"),
        ("c.trec", "<DOC>\n<DOCNO>a</DOCNO>\ncafé\n</DOC>".encode("latin-1"), 3, "0xe9"),
        ("c.tsv", "a\tx\nb x\n", 2, "the tab between"),
        ("c.tsv", "docno\ttitle\ttext\na\tx\n", 2, "2 columns"),
        ("c.tsv", "a\tx\n\tx\n", 2, "empty"),
        ("c.csv", "id,text\na,x\nb,y,z\n", 3, "3 columns"),
        ("c.csv", 'id,text\na,"x\ny"\nb\n', 4, "1 column"),
        ("c.csv", "id,id\na,b\n", 1, "repeated"),
        ("c.csv", "text,url\na,b\n", 2, "docno"),
        ("c.csv", 'id,text\na,"x"y\n', 2, "not CSV"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(corpus_of, name, text, number, word):
    with pytest.raises(InputError) as caught:
        list(corpus_of(text, name))
    assert caught.value.line == number
    assert caught.value.path.name == name
    assert word in caught.value.what


DOCNO = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"))


@given(st.dictionaries(DOCNO, TEXT, min_size=1))
def test_round_trips(tmp_path_factory, texts):
    texts = {"first": "", **texts}
    for name, text in (
        ("c.tsv", "".join(f"{docno}\t{text}\n" for docno, text in texts.items())),
        ("c.jsonl", "".join(line(docno=docno, text=text) for docno, text in texts.items())),
    ):
        path = tmp_path_factory.mktemp("trip") / name
        path.write_bytes(text.encode())
        assert {one.docno: one.fields["text"] for one in open_corpus(path)} == texts


def test_ten_texts_of_the_real_collection_change(collections):
    source = collections / "cacm/corpus.jsonl"
    plain = {d.docno: d.fields["html_text"] for d in open_corpus(source)}
    whole = {d.docno: d.fields["html_text"] for d in open_corpus(source, format="cacm")}
    changed = {docno for docno in plain if plain[docno] != whole[docno]}
    assert len(plain) == 3204
    numbers = re.findall(r"\d+", "717 1430 1595 1634 2144 2177 2189 2714 2800 3098")
    assert changed == {f"CACM-{int(number):04d}" for number in numbers}
    assert all(whole[docno].startswith(plain[docno].rstrip()) for docno in changed)
    with pytest.raises(InputError, match="html_text"):
        list(open_corpus(collections / "touche/argsme-subset.jsonl", format="cacm"))
