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
A <i>user</i> &amp; more
</description>
<narrative>N1</narrative>
</topic>
<!-- <topic> -->
<topic><number>2</number><title>Q&A: fish & chips &eacute; &lt;b&gt; AT&T; don't/do?</title>
<description>D2 <![CDATA[<x> & y]]></description></topic>
</topics>
"""

TITLES = {"1": "Should teachers get tenure?", "2": "Q&A: fish & chips é <b> AT&T; don't/do?"}
TOPIC = "<topic><number>1</number><title>x</title></topic>"
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
def topics_of(write):
    return lambda text, name="t.txt", **options: load_topics(write(text, name), **options)


@pytest.mark.parametrize(
    ("text", "field", "expected"),
    [
        (TOUCHE, None, TITLES),
        (TOUCHE, "description", {"1": "A user & more", "2": "D2 <x> & y"}),
        (TOUCHE, "narrative", {"1": "N1", "2": ""}),  # a topic that lacks the field is kept
        (TOUCHE, "description + narrative", {"1": "A user & more N1", "2": "D2 <x> & y"}),
        (
            '<topic number="201" type="x"><query>raspberry pi</query><description>d</description>'
            '</topic>\n<topic number="202"><query>uss carl</query></topic>',
            *(None, {"201": "raspberry pi", "202": "uss carl"}),
        ),
        ("<topic><number>1</number><title>&xxe; &#233;</title></topic>", None, {"1": "&xxe; é"}),
        (CLASSIC, None, {"51": "International Organized Crime", "302": "Poliomyelitis"}),
        (CLASSIC, "description", {"51": 'Identify & name. A "Description: of" stays.', "302": ""}),
        ("<DOC>\n<DOCNO> 1 </DOCNO>\n\n What &amp;\n why?\n</DOC>\n", None, {"1": "What & why?"}),
        (
            b"\xef\xbb\xbf1\twhat  is it\r\n\r\n2\t\r\n3\ta\tb\r\n",
            *(None, {"1": "what is it", "2": "", "3": "a b"}),
        ),
        (b"1\twhat\xe2\x80\xa8is it\r2\ta\xc2\x85b\r\n", None, {"1": "what is it", "2": "a b"}),
        ("QID\tQuery\tdescription\r1\tq\td\r", None, {"1": "q"}),
        ('{"qid": 1, "id": "x", "query": null}\n', "query", {"1": ""}),
        ("1\t10 best 2019 movies\n2\t2008\n", None, {"1": "10 best 2019 movies", "2": "2008"}),
        (
            '{"_id": "x", "text": " a  b ", "metadata": {}}\n\n{"id": "y", "text": ""}\n',
            *(None, {"x": "a b", "y": ""}),
        ),
        ('{"qid": "1", "title": "T", "text": "X"}', None, {"1": "T"}),
        (gzip.compress(b"1\tx\n", mtime=0), None, {"1": "x"}),
    ],
)
def test_forms_and_fields(topics_of, text, field, expected):
    topics = topics_of(text, field=field)
    assert dict(zip(topics.qids, topics.queries, strict=True)) == expected
    assert topics.empty == [qid for qid, query in expected.items() if not query]
    assert len(topics) == len(expected)


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("<topics>\n<topic>\n<title>x</title>\n</topic>\n</topics>", 2, "lacks a number"),
        ("<topics>\n<topic><number>1</number><title>x</title>\n</topics>", 2, "not closed"),
        (f"<topics>\n{TOPIC}\n\n{TOPIC}</topics>", 4, "is repeated"),
        ("<topics>\n<topic>\n<number> </number><title>x</title></topic></topics>", 2, "empty"),
        ('<?xml?>\n<!DOCTYPE a [\n<!ENTITY a "aa">\n<!ENTITY b "&a;&a;">\n]>', 3, "entities"),
        ("<top>\n<num> 1\n<title> x\n<top>\n<num> 2\n</top>", 1, "not closed"),
        ("<top>\n<num> 1\n<title> x\n</top>\n</top>", 5, "does not close anything"),
        ("\n<top>\n<title> x\n</top>", 2, "lacks a number"),
        ("1\tx\n\n2 y\n", 3, "the tab between"),
        ("qid\tquery\n1\tx\ty\n", 2, "3 columns"),
        ("1 a\tx\n", 1, "white space"),
        ("1\tcaf\u00e9\n".encode("latin-1"), 1, "0xe9"),
        ('{"qid": "1", "query": "a"}\n{"qid": ', 2, "JSON"),
        ('{"qid": "1", "query": "a"}\n{"query": "b"}', 2, "lacks a qid"),
        ('{"qid": "1", "query": "a"}\n{"qid": "2"}', 2, "not have any text"),
        ("", None, "no topics"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(topics_of, text, line, word):
    with pytest.raises(InputError) as caught:
        topics_of(text)
    assert caught.value.line == line
    assert word in caught.value.what


def test_a_field_that_is_unknown_or_not_plain_is_refused_with_those_there_are(topics_of, tmp_path):
    with pytest.raises(InputError, match="disease, gene"):
        topics_of('{"qid": "1", "disease": "a", "gene": "b"}')
    with pytest.raises(InputError, match="folder"):
        load_topics(tmp_path)


def test_identity_is_that_of_the_queries(topics_of):
    plain = topics_of("1\ta b\n", "a.tsv")
    assert topics_of('{"qid": "1", "query": "a  b"}', "b.jsonl").identity() == plain.identity()
    assert topics_of("1\ta c\n", "c.tsv").identity() != plain.identity()
    assert topics_of("1a\t b\n", "d.tsv").identity() != plain.identity()


def test_cast_as_text_has_a_topic_per_turn(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text(
        "Number: 31\nTitle: cancer\nDescription: types.  \n1\tWhat is it?\n2\tIs it treatable?\n\n"
        "Number: 32\nTitle: sharks\nDescription: kinds\n1\tWhat are sharks?\n"
    )
    topics = load_topics(path)
    assert topics.to_dict() == {
        "31_1": "What is it?",
        "31_2": "Is it treatable?",
        "32_1": "What are sharks?",
    }
    assert load_topics(path, field="conversation_title").queries == ["cancer", "cancer", "sharks"]
    path.write_text("Number: 31\nTitle: cancer\nDescription: types.\nWhat is it?\n")
    with pytest.raises(InputError) as error:
        load_topics(path)
    assert error.value.line == 4


def test_indris_operators_are_not_words(tmp_path):
    path = tmp_path / "t.xml"
    text = "<parameters><query><number>1</number><text>%s</text></query></parameters>"
    for query, words in (("#combine( cats fish )", "cats fish"), ("cats #1", "cats #1")):
        path.write_text(text % query)
        assert load_topics(path).queries == [words]
    for query in ("#weight(2 cats 1 fish)", "#1(white house)", "#combine(cats #uw8(a b))"):
        path.write_text(text % query)
        with pytest.raises(InputError, match="operator"):
            load_topics(path)


def test_dprs_questions_are_unquoted_as_csv(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text('"a """"b"""" c"\t[\'x\']\nplain "q"\t[\'y\']\n')
    assert load_topics(path).queries == ['a ""b"" c', 'plain "q"']
