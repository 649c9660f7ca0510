"""Topics in all their forms."""

import gzip

import pytest

from adducir.core.errors import InputError
from adducir.corpora.topics import load_topics

TOUCHE = """<?xml version="1.0" encoding="UTF-8"?>
<topics>
<topic>
<number> 1 </number>
<title>Should teachers
  get tenure?</title>
<description>
A user &amp; more
</description>
<narrative>N1</narrative>
</topic>
<!-- <topic> -->
<topic><number>2</number><title>Q&A: fish & chips &eacute; &lt;b&gt; AT&T; don't/do?</title>
<description>D2</description></topic>
</topics>
"""

CLASSIC = """
<top>
<head> Tipster
<num> Number: 051
<title> Topic:  International
Organized Crime

<desc> Description:
Identify &amp; name. A "Description: of" stays.

<narr> Narrative:
Relevant &c.
</top>
<top>
<num> Number: 302</num>
<title>Poliomyelitis</title>
</top>
"""


@pytest.fixture
def topics_of(tmp_path):
    def make(text, name="t.txt", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_topics(path, **options)

    return make


@pytest.fixture
def problem(topics_of):
    def make(*args, **options):
        with pytest.raises(InputError) as caught:
            topics_of(*args, **options)
        return caught.value

    return make


def test_xml(topics_of):
    topics = topics_of(TOUCHE, "t.xml")
    assert topics.qids == ["1", "2"]
    assert topics.queries == [
        "Should teachers get tenure?",
        "Q&A: fish & chips é <b> AT&T; don't/do?",
    ]
    assert topics.field == "title"
    assert len(topics) == 2


def test_fields_are_chosen_and_joined(topics_of):
    assert topics_of(TOUCHE, field="description").queries == ["A user & more", "D2"]
    joined = topics_of(TOUCHE, field="description + narrative")
    assert joined.queries == ["A user & more N1", "D2"]
    assert joined.field == "description+narrative"


def test_topic_that_lacks_the_field_is_kept(topics_of):
    topics = topics_of(TOUCHE, field="narrative")
    assert topics.queries == ["N1", ""]
    assert topics.empty == ["2"]


def test_unknown_field(problem):
    error = problem(TOUCHE, field="title+summary")
    assert "'summary'" in error.what
    assert "title, description, narrative" in error.hint


def test_xml_with_attributes_and_without_root(topics_of):
    topics = topics_of(
        '<topic number="201" type="x"><query>raspberry pi</query><description>d</description>'
        '</topic>\n<topic number="202"><query>uss carl</query></topic>'
    )
    assert topics.qids == ["201", "202"]
    assert topics.queries == ["raspberry pi", "uss carl"]


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("<topics>\n<topic>\n<title>x</title>\n</topic>\n</topics>", 2, "no number"),
        ("<topics>\n<topic>\n<number>1</number><title>x\n</topic>\n</topics>", 4, "well-formed"),
        ("<topics>\n<topic><number>1</number><title>x</title></topic>\n", 2, "well-formed"),
        (
            "<topics>\n<topic><number>1</number><title>x</title></topic>\n\n"
            "<topic><number>1</number><title>y</title></topic></topics>",
            4,
            "twice, first in line 2",
        ),
        ("<topics><!-- a\nb\n-->\n<topic><title>x</title></topic></topics>", 4, "no number"),
        ("<topics>\n<topic>\n<number> </number><title>x</title></topic></topics>", 2, "empty"),
    ],
)
def test_xml_errors(problem, text, line, word):
    error = problem(text, "t.xml")
    assert error.line == line
    assert word in error.what


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE topics [\n<!ENTITY a "aaaa">\n<!ENTITY b "&a;&a;">\n]>',
        '<!doctype topics SYSTEM "file:///etc/passwd">',
        '<! ENTITY a "x">',
    ],
)
def test_entity_declarations_are_refused(problem, declaration):
    text = (
        f"<?xml version='1.0'?>\n{declaration}\n<topics><topic><number>1</number></topic></topics>"
    )
    error = problem(text, "t.xml")
    assert error.line == 2
    assert "entities are not read" in error.what


def test_unknown_entity_stays_as_it_is(topics_of):
    text = "<topics><topic><number>1</number><title>&xxe; &#233;</title></topic></topics>"
    assert topics_of(text, "t.xml").queries == ["&xxe; é"]


def test_classic(topics_of):
    topics = topics_of(CLASSIC)
    assert topics.qids == ["51", "302"]
    assert topics.queries == ["International Organized Crime", "Poliomyelitis"]
    texts = topics_of(CLASSIC, field="description").queries
    assert texts == ['Identify & name. A "Description: of" stays.', ""]
    assert topics_of(CLASSIC, field="title+narrative").queries[0] == (
        "International Organized Crime Relevant &c."
    )


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("<top>\n<num> 1\n<title> x\n", 1, "not closed"),
        ("<top>\n<num> 1\n<title> x\n<top>\n<num> 2\n</top>", 1, "not closed"),
        ("<top>\n<num> 1\n<title> x\n</top>\n</top>", 5, "closes nothing"),
        ("\n<top>\n<title> x\n</top>", 2, "no <num>"),
    ],
)
def test_classic_errors(problem, text, line, word):
    error = problem(text)
    assert error.line == line
    assert word in error.what


def test_documents_as_topics(topics_of):
    topics = topics_of("<DOC>\n<DOCNO> 1 </DOCNO>\n\n What &amp;\n why?\n</DOC>\n")
    assert (topics.qids, topics.queries) == (["1"], ["What & why?"])


def test_tsv(topics_of):
    topics = topics_of(b"\xef\xbb\xbf1\twhat  is it\r\n\r\n2\t\r\n3\ta\tb\r\n", "t.tsv")
    assert topics.qids == ["1", "2", "3"]
    assert topics.queries == ["what is it", "", "a b"]
    assert topics.empty == ["2"]


def test_tsv_with_header(topics_of):
    text = "qid\tquery\tdescription\n1\tq\td\n"
    assert topics_of(text).queries == ["q"]
    assert topics_of(text, field="description").queries == ["d"]


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("1\tx\n\n2 y\n", 3, "no tab"),
        ("1\tx\n1\ty\n", 2, "twice, first in line 1"),
        ("qid\tquery\n1\tx\ty\n", 2, "3 columns"),
        ("1 a\tx\n", 1, "white space"),
        ("\tx\n", 1, "empty"),
    ],
)
def test_tsv_errors(problem, text, line, word):
    error = problem(text, "t.tsv")
    assert error.line == line
    assert word in error.what


def test_jsonl(topics_of):
    assert topics_of('{"qid": 1, "query": "a"}\n').qids == ["1"]
    topics = topics_of(
        '{"_id": "x", "text": " a  b ", "metadata": {}}\n\n{"id": "y", "text": ""}\n'
    )
    assert (topics.qids, topics.queries) == (["x", "y"], ["a b", ""])
    assert topics_of('{"qid": "1", "title": "T", "text": "X"}').queries == ["T"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"qid": "1", "query": "a"}\n{"qid": ', "JSON"),
        ('{"qid": "1", "query": "a"}\n[]', "not a JSON object"),
        ('{"qid": "1", "query": "a"}\n{"query": "b"}', "no qid"),
        ('{"qid": "1", "query": "a"}\n{"qid": "2"}', "no text"),
    ],
)
def test_jsonl_errors(problem, text, word):
    error = problem(text, "t.jsonl")
    assert error.line == 2
    assert word in error.what


def test_default_field_must_be_plain(problem):
    error = problem('{"qid": "1", "disease": "a", "gene": "b"}')
    assert "disease, gene" in error.hint


@pytest.mark.parametrize("text", ["", "\n\n", "<topics></topics>"])
def test_empty_file(problem, text):
    assert "no topics" in problem(text).what


def test_folder(tmp_path):
    with pytest.raises(InputError, match="folder"):
        load_topics(tmp_path)


def test_gzip_and_latin_1(topics_of, problem):
    assert topics_of(gzip.compress(b"1\tx\n"), "t.tsv.gz").queries == ["x"]
    error = problem("1\tcaf\u00e9\n".encode("latin-1"), "t.tsv")
    assert error.line == 1
    assert "0xe9" in error.what


def test_identity_is_that_of_the_queries(topics_of):
    plain = topics_of("1\ta b\n", "a.tsv")
    assert topics_of('{"qid": "1", "query": "a  b"}', "b.jsonl").identity() == plain.identity()
    assert topics_of("1\ta c\n", "c.tsv").identity() != plain.identity()
    assert topics_of("1a\t b\n", "d.tsv").identity() != plain.identity()


def test_frame(topics_of):
    frame = topics_of("1\ta\n2\tb\n").frame()
    assert list(frame.columns) == ["qid", "query"]
    assert frame.to_dict("list") == {"qid": ["1", "2"], "query": ["a", "b"]}


def test_topics_inside_topics_are_refused(tmp_path):
    path = tmp_path / "topics.xml"
    inner = "<topic><number>2</number><title>b</title></topic>"
    path.write_text(f"<topics>\n<topic><number>1</number>\n{inner}</topic></topics>")
    with pytest.raises(InputError, match="inside another") as caught:
        load_topics(path)
    assert caught.value.line == 3
