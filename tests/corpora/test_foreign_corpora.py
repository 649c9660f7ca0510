"""Corpora, topics and qrels as others publish them: understood as meant, said in a line, settable.

Small files with the keys and layouts of the collections that are named; what Anserini's classes
read of them was taken from its jar.
"""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notes import Notes

from adducir import load_qrels, load_topics, open_corpus
from adducir.core.errors import InputError
from adducir.corpora.documents import text_of
from adducir.corpora.field_choice import choice_of, field_line

NAME = "c.jsonl"


# ---- quotes


def as_csv(rows, quoting=csv.QUOTE_MINIMAL) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter="\t", quoting=quoting, lineterminator="\n").writerows(rows)
    return out.getvalue()


SWALLOW = [["query-id", "corpus-id", "score"], ["q1", '"Heroes', "1"], ["q2", "b", "1"]]
SWALLOW += [["q2", '5"', "1"], ["q3", "c", "2"], ["q3", '"Weird_Al"_Yankovic', "1"]]


def plain(rows) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def test_a_quote_that_would_join_lines_is_text_in_every_kind_of_file(write):
    judged = load_qrels(write(plain(SWALLOW), "q.tsv"))
    assert judged.frame.rows() == [(q, d, int(g)) for q, d, g in SWALLOW[1:]]
    topics = [["qid", "query"], ["1", '"open'], ["2", "b"], ["3", 'closed"']]
    assert load_topics(write(plain(topics), "t.tsv")).queries == ['"open', "b", 'closed"']
    texts = [(one.docno, one.fields["query"]) for one in open_corpus(write(plain(topics), "c.tsv"))]
    assert [text for _, text in texts] == ['"open', "b", 'closed"']


PASSAGES = [
    ["id", "text", "title"],  # psgs_w100.tsv of DPR
    ["1", 'Aaron ( or ; "Ahärôn") is a prophet', "Aaron"],
    ["2", "God at Sinai granted Aaron the priesthood", 'The "Aaron"'],
]


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
def test_quotes_of_a_csv_writer_enclose_cells(write, quoting):
    path = write(as_csv(PASSAGES, quoting), "psgs.tsv")
    with Notes() as notes:
        documents = list(open_corpus(path))
    assert [[one.docno, *one.fields.values()] for one in documents] == PASSAGES[1:]
    assert "quotes='literal'" in notes.lines[0]
    judged = [["query-id", "corpus-id", "score"], ["1", '"Heroes', "1"], ["2", 'a"b"', "0"]]
    assert load_qrels(write(as_csv(judged, quoting), "q.tsv")).frame["docno"].to_list() == [
        '"Heroes',
        'a"b"',
    ]


def test_a_quoted_docno_alone_is_text_and_a_setting_says_otherwise(write):
    rows = [["query-id", "corpus-id", "score"], ["q1", '"Heroes"', "1"], ["q2", "b", "1"]]
    path = write(plain(rows), "q.tsv")
    with Notes() as notes:
        assert load_qrels(path).frame["docno"][0] == '"Heroes"'
    assert "quotes='csv'" in notes.lines[0]
    assert load_qrels(path, quotes="csv").frame["docno"][0] == "Heroes"
    documents = write('a\t"x"\nb\t"y\nz"\n', "c.tsv")
    with pytest.raises(InputError) as caught:
        list(open_corpus(documents))
    assert caught.value.line == 3
    assert [d.fields["text"] for d in open_corpus(documents, quotes="csv")] == ["x", "y\nz"]


CELL = st.text(st.sampled_from('ab"\t, é'), max_size=5)


@given(st.lists(st.lists(CELL, min_size=2, max_size=2), min_size=1, max_size=5))
def test_literal_cells_are_never_joined_or_lost(tmp_path_factory, rows):
    """Whatever quotes are, as many documents are read as the file has lines."""
    rows = [[f"d{n}", a.replace("\t", " ")] for n, (a, _) in enumerate(rows)]
    path = tmp_path_factory.mktemp("q") / "c.tsv"
    path.write_text(plain(rows))
    assert [one.docno for one in open_corpus(path)] == [row[0] for row in rows]
    if not any('""' in row[1] for row in rows) and any('"' in row[1][1:-1] for row in rows):
        assert [one.fields["text"] for one in open_corpus(path)] == [row[1] for row in rows]


def test_empty_rows_of_a_spreadsheet_are_skipped_and_counted(write):
    path = write("id;title;text\n1;a;b\n;;\n; ;\n2;c;d\n", "c.csv")
    with Notes() as notes:
        assert [one.docno for one in open_corpus(path)] == ["1", "2"]
    assert notes.lines == [f"{path}: 2 empty rows skipped"]
    assert load_qrels(write("qid,docno,label\n1,a,1\n,,\n", "q.csv")).frame.rows() == [
        ("1", "a", 1)
    ]
    assert load_topics(write("qid,query\n1,a\n,\n", "t.csv")).qids == ["1"]


# ---- fields and ids

V2_PASSAGE = [
    {
        "pid": f"msmarco_passage_00_{n}",
        "passage": "The passage itself reads like prose.",
        "spans": "(0,612)",
        "docid": f"msmarco_doc_00_{n // 2}",
    }
    for n in range(4)
]
V2_DOC = [
    {
        "url": "https://x.org/a",
        "title": "A title",
        "headings": "One\nTwo",
        "body": "The body.",
        "docid": d,
    }
    for d in ("msmarco_doc_00_0", "msmarco_doc_00_1")
]
V21_SEGMENT = [
    {
        **{"docid": f"msmarco_v2.1_doc_00_0#{n}", "url": "https://x.org/a", "title": "A title"},
        **{"headings": "One", "segment": "The segment.", "start_char": 612, "end_char": 1000},
    }
    for n in range(2)
]
LONGEVAL = [
    {
        **{
            "id": 12,
            "title": "On something",
            "abstract": "We show that it is so.",
            "doi": "10.1/x",
        },
        **{"authors": ["A. Author"], "createdDate": "2016-08-01T00:00:00", "arxivId": None},
        **{
            "pubmedId": "",
            "oaiIds": ["oai:arXiv.org:1"],
            "links": [{"type": "d", "url": "https://x"}],
        },
        **{"publishedDate": "2015", "year": 2015, "magId": "21"},
    }
]
CORD19 = [
    {
        "cord_uid": "ug7v899j",
        "title": "A title",
        "abstract": [{"text": "First abstract.", "section": "Abstract"}, {"text": "More of it."}],
        "body_text": [{"text": "The body text here.", "cite_spans": [{"start": 1, "text": "[1]"}]}],
        "bib_entries": {"BIBREF0": {"title": "The title of a reference", "year": 2003}},
    }
]
BEIR = [{"_id": "d", "title": "T", "text": "x", "metadata": {"url": "https://x.org", "n": 5}}]


@pytest.mark.parametrize(
    ("records", "docno", "fields", "left"),
    [
        (V2_PASSAGE, "msmarco_passage_00_0", "passage", ["spans", "docid"]),
        (V2_PASSAGE[::2], "msmarco_passage_00_0", "passage", ["spans", "docid"]),
        (V2_PASSAGE[:1], "msmarco_passage_00_0", "passage", ["spans", "docid"]),
        (V2_DOC, "msmarco_doc_00_0", "url,title,headings,body", []),  # as Anserini does
        (
            V21_SEGMENT,
            "msmarco_v2.1_doc_00_0#0",
            "url,title,headings,segment",
            ["start_char (a number)", "end_char (a number)"],
        ),
        (
            LONGEVAL,
            "12",
            "title,abstract",
            ["doi", "createdDate", "publishedDate", "year", "links"],
        ),
        (CORD19, "ug7v899j", "title,abstract.text,body_text.text", ["abstract.section", "bib_ent"]),
        (BEIR, "d", "title,text", ["metadata.url", "metadata.n"]),
        ([{"id": "d", "contents": {"title": "T", "text": "Some more words"}}], "d", "contents", []),
        ([{"id": "d", "contents": "x", "raw": "y"}], "d", "contents", ["raw"]),
        (
            [
                {"id": f"d{n}", "name": "Anna", "page": n, "story": "It was once so."}
                for n in (1, 2)
            ],
            *("d1", "story", ["name (", "page (a number)"]),
        ),
        ([{"id": "d", "story": "這是一個故事", "n": "612"}], "d", "story", ["n (a number)"]),
    ],
)
def test_default_text_is_what_people_mean_by_text(write, records, docno, fields, left):
    corpus = open_corpus(write(records))
    documents = list(corpus)
    assert documents[0].docno == docno
    assert len({one.docno for one in documents}) == len(records)
    chosen = ",".join(corpus.default_fields)
    assert chosen == fields or {n.partition(".")[0] for n in corpus.default_fields} == {fields}
    line = field_line(choice_of([one.fields for one in documents], corpus.default_fields))
    assert line.startswith(f"fields: {', '.join(corpus.default_fields)}")
    assert [text for text in left if text not in line.partition("left out")[2]] == []
    assert "612" not in text_of(documents[0], corpus.default_fields)


def test_a_choice_of_the_docno_is_said(write):
    with Notes() as notes:
        list(open_corpus(write(V2_PASSAGE)))
    assert notes.lines == [notes.lines[0]]
    assert "the docno is pid, not docid" in notes.lines[0]
    assert "`docno_field`" in notes.lines[0]
    assert [d.docno for d in open_corpus(write(V2_PASSAGE), docno_field="docid")][:2] == [
        "msmarco_doc_00_0"
    ] * 2
    with pytest.raises(InputError, match="several fields may be the docno: paper_id, cord_uid"):
        list(open_corpus(write([{"paper_id": "a", "cord_uid": "b", "text": "x"}])))
    rows = write([{"id": 1, "_id": "x", "text": "t"}, {"id": 2, "_id": "x", "text": "t"}])
    assert [one.docno for one in open_corpus(rows)] == ["1", "2"]
    repeated = write([{"docno": "x", "id": 1, "text": "t"}, {"docno": "x", "id": 2, "text": "t"}])
    assert [one.docno for one in open_corpus(repeated)] == ["x", "x"]  # refused when it is indexed


@pytest.mark.parametrize(
    ("header", "qid"),
    [
        (["q_id", "query"], "q_id"),
        (["topic_id", "title", "description"], "topic_id"),
        (["question_id", "question"], "question_id"),
        (["queryId", "text"], "queryId"),
        (["topic", "query"], "topic"),
        (["nr", "query"], "nr"),
    ],
)
def test_a_header_is_known_by_its_shape(write, header, qid):
    more = ["a longer description"] * (len(header) - 2)
    rows = [header, *([f"{n}", f"query number {n}", *more] for n in (1, 2, 3))]
    topics = load_topics(write(plain(rows), "t.tsv"))
    assert topics.qids == ["1", "2", "3"]
    assert topics.queries[0] == "query number 1"
    assert load_topics(write(plain(rows), "t.tsv"), qid_field=qid).qids == ["1", "2", "3"]
    assert load_topics(write(plain(rows).replace("\t", ","), "t.csv")).qids == ["1", "2", "3"]
    corpus = open_corpus(write(plain(rows), "c.tsv"))
    assert [one.docno for one in corpus] == ["1", "2", "3"]


def test_a_query_is_no_header(write):
    for text in ("cats\tdogs\n", "q1\tcats\nq2\tdogs\nq3\tmice\n", "1\tid number\n2\tx\n"):
        assert len(load_topics(write(text, "t.tsv"))) == text.count("\n")


# ---- TREC's documents

FT = """<DOC>
<DOCNO>FT911-3</DOCNO>
<PROFILE>_AN-BENBQAD8FT</PROFILE>
<DATE>910514
</DATE>
<HEADLINE>
FT  14 MAY 91 / Contigas plans
</HEADLINE>
<BYLINE> By DAVID GOODHART </BYLINE>
<DATELINE> BONN </DATELINE>
<TEXT>
CONTIGAS, the German gas group.
</TEXT>
<PUB>The Financial Times </PUB>
<PAGE> London Page 20 </PAGE>
</DOC>
"""
WEB = """<DOC>
<DOCNO>GX000-00-0000000</DOCNO>
<DOCHDR>
http://x.gov
Content-Type: text/html
</DOCHDR>
<html><head><title>Page</title><STYLE type="text/css">p {hidden: 1}</STYLE>
<script language="javascript">var hidden = "<b>x</b>";</script></head>
<body>Seen <scripture>verse</scripture> <script>hidden()</body>
</DOC>
"""


def test_sections_of_trecs_disks_are_those_that_anserini_indexes(write):
    corpus = open_corpus(write(FT, "ft911_1"))  # a name without a suffix
    (document,) = corpus
    assert document.docno == "FT911-3"
    text = text_of(document, corpus.default_fields).split()
    expected = "CONTIGAS, the German gas group. FT 14 MAY 91 / Contigas plans 910514"
    assert sorted(text) == sorted(expected.split(" "))
    assert "GOODHART" in document.fields["byline"]
    assert [one.docno for one in open_corpus(write(FT, "fr940104.0"))] == ["FT911-3"]


def test_scripts_and_styles_of_web_pages_are_no_text(write):
    corpus = open_corpus(write(WEB, "GX000.txt"))
    (document,) = corpus
    assert corpus.default_fields == ("text",)
    assert document.fields["text"].split() == ["Page", "Seen", "verse"]


def test_a_docno_may_be_an_attribute(write):
    text = '<DOC id="AFP_ENG_1" type="story" >\n<HEADLINE>\nA\n</HEADLINE>\n'
    text += "<TEXT>\nb\n</TEXT>\n</DOC>\n"
    (document,) = open_corpus(write(text, "afp_eng"))
    assert document.docno == "AFP_ENG_1"
    assert document.fields["body"].strip() == "b"


# ---- topics

TURNS = [
    {
        "number": 81,
        "title": "Garage doors",
        "turn": [
            {
                "number": 1,
                "raw_utterance": "Is it broken?",
                "manual_rewritten_utterance": "Is the door?",
            },
            {
                "number": 2,
                "raw_utterance": "Why?",
                "manual_rewritten_utterance": "Why does it stop?",
            },
        ],
    }
]
IKAT = [
    {
        "number": "9-1",
        "title": "A diet",
        "ptkb": {"1": "I don't eat meat"},
        "turns": [{"turn_id": 1, "utterance": "Help me?", "resolved_utterance": "Help me diet?"}],
    }
]
MTEB = [{"_id": "q1", "text": "a query", "language": "en"}]
TIRA = [{"qid": "1", "query": "fox", "original_query": {"query_id": "1", "text": "other"}}]


@pytest.mark.parametrize(
    ("content", "name", "options", "expected"),
    [
        (json.dumps(TURNS), "t.json", {}, {"81_1": "Is it broken?", "81_2": "Why?"}),
        (
            json.dumps(TURNS, indent=2),
            *("t.json", {"field": "manual_rewritten_utterance"}),
            {"81_1": "Is the door?", "81_2": "Why does it stop?"},
        ),
        (json.dumps(IKAT), "t.json", {}, {"9-1_1": "Help me?"}),
        (IKAT, "t.jsonl", {"field": "resolved_utterance"}, {"9-1_1": "Help me diet?"}),
        (MTEB, "queries.jsonl", {}, {"q1": "a query"}),
        (TIRA, "queries.jsonl", {}, {"1": "fox"}),
        (
            '{\n "qid": "1",\n "query": "a"\n}\n{\n "qid": "2",\n "query": "b"\n}\n',
            *("t.json", {}, {"1": "a", "2": "b"}),
        ),
        ('{"1": "a", "2": "b c"}', "t.json", {}, {"1": "a", "2": "b c"}),
        (
            '<topics>\n<topic number="1">\nA 45-year-old &amp; more.\n</topic></topics>',
            *("t.xml", {}, {"1": "A 45-year-old & more."}),
        ),
        (
            "<queries>\n<query>\n<qid>0001</qid>\n<content>ascii</content>\n</query></queries>",
            *("t.txt", {}, {"0001": "ascii"}),
        ),
        (
            "<queries><query><id>101</id><title>x y</title></query></queries>",
            *("t.xml", {}, {"101": "x y"}),
        ),
        (
            "<parameters><query><number>7</number><text>a b</text></query></parameters>",
            *("t.param", {}, {"7": "a b"}),
        ),
        ("1:after school\n2:a: b\n", "t.txt", {}, {"1": "after school", "2": "a: b"}),
        ("20001:1:obama tree\n20002:1:x\n", "t.txt", {}, {"20001": "obama tree", "20002": "x"}),
        ("A/Taste%20of\nA/B\n", "t.txt", {}, {"A/Taste%20of": "A/Taste of", "A/B": "A/B"}),
        (
            'who is it\t[\'a\']\nwhere\t"[\'b\', ""c""]"\n',
            "t.txt",
            {},
            {"0": "who is it", "1": "where"},
        ),
        ([{"question": "who?", "answer": ["a"]}], "t.txt", {}, {"0": "who?"}),
        (
            "<top>\n<num> Number: MB001 </num>\n<title> a </title>\n</top>\n"
            "<top>\n<num> Number: MB012 </num>\n<title> b </title>\n</top>\n",
            *("t.txt", {}, {"1": "a", "12": "b"}),
        ),
        ([{"question_id": "CQ001", "question": "q", "query": "x"}], "t.json", {}, {"CQ001": "x"}),
        ([{"key": "k", "n": "7", "query": "x"}], "t.json", {"qid_field": "n"}, {"7": "x"}),
    ],
)
def test_topics_of_other_tracks(write, content, name, options, expected):
    topics = load_topics(write(content, name), **options)
    assert dict(zip(topics.qids, topics.queries, strict=True)) == expected


def test_topics_that_are_documents_are_named_as_such(write):
    text = "<top>\n<num> Number: 321 </num>\n<docid>9171deb</docid>\n<url>https://x<url>\n</top>\n"
    with pytest.raises(InputError, match="named by docid, not queries"):
        load_topics(write(text, "t.txt"))
    assert load_topics(write(text, "t.txt"), field="docid").queries == ["9171deb"]


# ---- qrels

JUDGED = [("q1", "d1", 1), ("q1", "d2", 0), ("q2", "d1", 2)]
LINES = [{"query-id": q, "corpus-id": d, "score": g} for q, d, g in JUDGED]


@pytest.mark.parametrize(
    ("content", "name", "options"),
    [
        ("# a comment\nq1 0 d1 1\n#q9 0 d9 1\nq1 0 d2 0\nq2 0 d1 2\n", "q.txt", {}),
        (
            "q1 d1 1 0 0.5\nq1 d2 0 1 1\nq2 d1 2 2 0.25\n",
            *("prels.txt", {"columns": ("qid", "docno", "grade", "-", "-")}),
        ),
        ("q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\nq1 0 d1 0\n", "q.txt", {"duplicates": "first"}),
        ("q1 0 d1 0\nq1 0 d2 0\nq2 0 d1 2\nq1 0 d1 1\n", "q.txt", {"duplicates": "max"}),
        ([*LINES, LINES[0]], "q.jsonl", {"duplicates": "max"}),
    ],
)
def test_qrels_of_others_are_the_same_judgements(write, content, name, options):
    assert load_qrels(write(content, name), **options).frame.rows() == JUDGED


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("10 GX253-98 0 1 0.165904710473544\n10 GX244-34 0 2 1\n", "prels"),
        ("1 2 0 clueweb09-en0003 1\n", "subtopic qrels"),
        ("1.EC.AB F:Ret,C:Not F:Rnkd FR940303-1-00022 1\n", "trec_eval's preferences"),
        ("1 0 clueweb09-en0003 3 1\n", "prels|subtopic"),
        ("1 0 a 1\n1 0 a 0\n", "duplicates="),
        ('{"query-id": "q", "corpus-id": "d"}\n', "score"),
        ('{"query-id": "q", "corpus-id": "d", "score": "high"}\n', "not an integer"),
    ],
)
def test_other_qrels_are_named(write, content, reason):
    with pytest.raises(InputError, match=reason):
        load_qrels(write(content, "q.txt"))


def test_qids_may_begin_with_a_number_sign(write):
    assert load_qrels(write("#1 0 d 1\n#2 0 d 0\n", "q.txt")).qids == ["#1", "#2"]
