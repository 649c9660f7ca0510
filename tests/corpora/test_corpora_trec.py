"""TREC's SGML documents, and TSV."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import InputError
from adducir.corpora.documents import Document
from adducir.corpora.markup import outermost, plain
from adducir.corpora.sources import open_corpus

DISKS = """<DOC>
<DOCNO> FT911-1 </DOCNO>
<!-- a <TEXT> in a comment
over two lines -->
<HEADLINE>FT  Profit &amp; loss</HEADLINE>
<TEXT>
<P>First paragraph &lt;b&gt;.
<P>Second at AT&T &hyph; x&#39;y.
</TEXT>
<SUBJECT>a</SUBJECT>
<SUBJECT>b</SUBJECT>
</DOC>

<DOC><DOCNO>FT911-2</DOCNO>On one line</DOC>
"""


@pytest.fixture
def corpus_of(tmp_path):
    def make(text, name="c.trec", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return open_corpus(path, **options)

    return make


def problem(corpus):
    with pytest.raises(InputError) as caught:
        list(corpus)
    return caught.value


def test_documents_of_the_disks(corpus_of):
    first, second = corpus_of(DISKS)
    assert first.docno == "FT911-1"
    assert first.fields["headline"] == "FT  Profit & loss"
    assert first.fields["subject"] == "a\nb"
    body = "First paragraph <b>. Second at AT&T &hyph; x'y."
    assert first.fields["body"].split() == body.split()
    assert first.fields["text"].split() == f"FT Profit & loss {body} a b".split()
    assert second == Document("FT911-2", {"text": "On one line"})
    assert corpus_of(DISKS).default_fields == ("text",)
    assert corpus_of(DISKS).size_hint() == 2


def test_web_header_is_left_out(corpus_of):
    text = "<DOC><DOCNO>w</DOCNO><DOCHDR>http://x\nServer: y</DOCHDR><html>Page</html></DOC>"
    (document,) = corpus_of(text)
    assert document.fields == {"text": "Page", "html": "Page"}


def test_docno_inside_another_element_and_lower_case(corpus_of):
    (document,) = corpus_of("<doc><header><docno> x1 </docno></header>Text</doc>")
    assert document.docno == "x1"
    assert document.fields["text"] == "Text"


def test_other_docno_element(corpus_of):
    (document,) = corpus_of("<DOC><DOCID>7</DOCID>Text</DOC>", docno_field="docid")
    assert document == Document("7", {"text": "Text"})


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("<DOC>\n<DOCNO>a</DOCNO>\n</DOC>\n<DOC>\nno number\n</DOC>", 4, "no <DOCNO>"),
        ("<DOC>\n<DOCNO>a</DOCNO>\n</DOC>\n\n<DOC>\n<DOCNO>b</DOCNO>\n", 5, "not closed"),
        ("<DOC>\n<DOCNO>a</DOCNO>\n<DOC>\n<DOCNO>b</DOCNO>\n</DOC>\n", 1, "line 3"),
        ("\n</DOC>\n", 2, "closes nothing"),
        ("<DOC>\n<DOCNO>a b</DOCNO>\n</DOC>", 1, "white space"),
        ("<DOC>\n<DOCNO> </DOCNO>\n</DOC>", 1, "empty"),
        ("1 0 d 1\n", None, "no <DOC>"),
    ],
)
def test_errors(corpus_of, text, line, word):
    error = problem(corpus_of(text))
    assert error.line == line
    assert word in error.what


def test_latin_1_is_refused(corpus_of):
    error = problem(corpus_of("<DOC>\n<DOCNO>a</DOCNO>\ncafé\n</DOC>".encode("latin-1")))
    assert error.line == 3
    assert "0xe9" in error.what
    assert "iconv" in error.hint


def test_many_unclosed_tags_take_no_long_time(corpus_of):
    # A search for an end behind each of them would take hours.
    text = "<DOC><DOCNO>a</DOCNO>" + "<P>x " * 200_000 + "</DOC>"
    (document,) = corpus_of(text)
    assert document.fields["text"].split() == ["x"] * 200_000


def test_outermost_elements():
    found = list(outermost("<P>a<B>x<C>y</C></B> b </Z><D e='f'>z</d>"))
    assert [(element.name, element.content) for element in found] == [
        ("b", "x<C>y</C>"),
        ("d", "z"),
    ]


def test_plain_keeps_what_is_no_tag():
    assert plain("a < b &amp; c > d &unknown; e&f") == "a < b & c > d &unknown; e&f"


def test_tsv(corpus_of):
    corpus = corpus_of("a\tone\ttwo\r\n\nb\t\n", name="c.tsv")
    assert list(corpus) == [Document("a", {"text": "one\ttwo"}), Document("b", {"text": ""})]
    assert corpus.default_fields == ("text",)


def test_tsv_with_header(corpus_of):
    corpus = corpus_of("docno\ttitle\ttext\na\tT\tX\n", name="c.tsv")
    assert list(corpus) == [Document("a", {"title": "T", "text": "X"})]
    assert corpus.default_fields == ("title", "text")


def test_tsv_with_another_docno_column(corpus_of):
    corpus = corpus_of("url\tkey\tbody\nhttp://x\tk1\tX\n", name="c.tsv", docno_field="key")
    assert list(corpus) == [Document("k1", {"url": "http://x", "body": "X"})]


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("a\tx\nb x\n", 2, "no tab"),
        ("docno\ttitle\ttext\na\tx\n", 2, "2 columns"),
        ("docno\ttext\ttext\n", 1, "each once"),
        ("a\tx\n\tx\n", 2, "empty"),
    ],
)
def test_tsv_errors(corpus_of, text, line, word):
    error = problem(corpus_of(text, name="c.tsv"))
    assert error.line == line
    assert word in error.what


def test_tsv_without_the_named_column(corpus_of):
    error = problem(corpus_of("a\tx\n", name="c.tsv", docno_field="key"))
    assert error.line == 1
    assert "'key'" in error.what


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"))


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1), TEXT, min_size=1
    )
)
def test_tsv_round_trip(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("trip") / "c.tsv"
    lines = "".join(f"{docno}\t{text}\n" for docno, text in ({"first": ""} | texts).items())
    path.write_bytes(lines.encode())
    found = {document.docno: document.fields["text"] for document in open_corpus(path)}
    assert found == {"first": ""} | texts
