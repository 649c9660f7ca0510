"""Published layouts beside Anserini's own collection classes: the same documents, the same tokens.

Where Anserini reads other text, the test says what, and the line that ``index`` prints names it.
"""

import json
from collections import Counter

import pytest

from adducir.core.errors import AdducirError
from adducir.corpora.documents import text_of
from adducir.corpora.sources import open_corpus
from adducir.indexes.analysis import Analysis
from adducir.indexes.jvm import anserini_jar, java_class


def lines(*records):
    return "\n".join(map(json.dumps, records)) + "\n"


def rows(names, *texts):
    """Records of named fields, whose values are separated by bars; numbers are numbers."""
    values = ([int(v) if v.isdecimal() else v for v in text.split("|")] for text in texts)
    return lines(*(dict(zip(names.split(), row, strict=True)) for row in values))


PARSE = {
    "paper_id": "d1aafb",
    "metadata": {"title": "Clinical features", "authors": [{"first": "Ann", "last": "Bee"}]},
    "abstract": [{"text": "Objective: we study fish.", "cite_spans": [], "section": "Abstract"}],
    "body_text": [
        {"text": "Body paragraph one.", "cite_spans": [{"start": 0, "text": "[1]"}]},
        {"text": "Second paragraph of cats.", "cite_spans": [], "section": "Methods"},
    ],
    "bib_entries": {"BIBREF0": {"title": "Cited title of others", "year": 1999}},
}
METADATA = (
    "cord_uid,sha,source_x,title,doi,pmcid,pubmed_id,license,abstract,publish_time,authors,journal,"
    "mag_id,who_covidence_id,arxiv_id,pdf_json_files,pmc_json_files,url,s2_id\n"
    'ug7v899j,d1aafb,PMC,Clinical features,10.1186/1,PMC35282,11472636,no-cc,"We study ""fish"", '
    'twice.",2001-07-04,"Madani, Tariq A; Other, Ann",BMC Infect Dis,,,,'
    "document_parses/pdf_json/d1aafb.json,,https://x.org/a,\n"
    "02tnwd4m,6b0567,PMC,Nitric oxide,10.1186/2,PMC59543,11667967,no-cc,Diseases of the airways."
    ',2000-08-15,"Vliet, Albert van der",Respir Res,,,,,,https://y.org/b,\n'
)
DISKS = """<DOC>
<DOCNO>FT911-3</DOCNO>
<PROFILE>_AN-BEOA7AAIFT</PROFILE>
<DATE>910514
</DATE>
<HEADLINE>
FT  14 MAY 91 / Contigas plans DM900m project
</HEADLINE>
<BYLINE>
   By DAVID GOODHART
</BYLINE>
<DATELINE>
   BONN
</DATELINE>
<TEXT>
CONTIGAS, the German gas group &amp; others <P>said</P> yesterday.
</TEXT>
<PUB>The Financial Times
</PUB>
<PAGE>
London Page 20
</PAGE>
</DOC>
<DOC>
<DOCNO> FR940104-0-00001 </DOCNO>
<PARENT> FR940104-0-00001 </PARENT>
<TEXT>
<!-- PJG FTAG 4700 -->
<USDEPT>Vol. 59</USDEPT> Federal Register
<TTL>Rules here</TTL>
</TEXT>
</DOC>
"""
WEB = """<DOC>
<DOCNO>GX000-00-0000000</DOCNO>
<DOCHDR>
http://sgra.jpl.nasa.gov
HTTP/1.1 200 OK
Content-type: text/html
</DOCHDR>
<html><head><title>JPL &amp; more</title><script>var hidden = 1;</script>
<style>p {color: red}</style></head>
<body><p>Welcome to the site.</p>
<!-- comment words --> <ul><li>One</li><li>Two</li></ul> <a href="x">link text</a></body></html>
</DOC>
"""
LAYOUTS = {
    "JsonCollection": (
        "a.jsonl",
        lines({"id": "d1", "contents": "Cats.\nMore"}, {"id": "d2", "contents": "Dogs 12-3"}),
    ),
    "JsonCollection, array": ("a.json", json.dumps([{"id": "d1", "contents": "Cats"}], indent=2)),
    "JsonCollection, object": ("a.json", json.dumps({"id": "d1", "contents": "Cats"}, indent=2)),
    "MsMarcoV2PassageCollection": (
        "msmarco_passage_00.jsonl",
        rows(
            "pid passage spans docid",
            "msmarco_passage_00_0|Cats like fish in 1999.|(0,8)|d0",
            "msmarco_passage_00_1|Dogs run.|(0,8)|d0",
        ),
    ),
    "MsMarcoV2DocCollection": (
        "msmarco_doc_00.jsonl",
        rows(
            "url title headings body docid",
            "http://0-60.reviews/a-b/|Acura 0-60|Acura\nTwo|A body of text.|msmarco_doc_00_0",
            "http://x.org|||Body|msmarco_doc_00_4",
        ),
    ),
    "MsMarcoV2DocCollection, TREC RAG": (
        "msmarco_v2.1_doc_segmented_00.jsonl",
        rows(
            "docid url title headings segment start_char end_char",
            "msmarco_v2.1_doc_00_0#0_0|http://0-60.reviews/x|Title of it|Heads|A segment 12.|0|612",
            "msmarco_v2.1_doc_00_0#1_455|http://0-60.reviews/x|Title of it|Heads|Another.|400|1012",
        ),
    ),
    "BeirFlatCollection": (
        "corpus.jsonl",
        lines(
            {"_id": "4983", "title": "A title", "text": "Cerebral matter.", "metadata": {}},
            {"_id": "5836", "title": "", "text": "Syndromes.", "metadata": {"url": "http://x"}},
        ),
    ),
    "NeuClirCollection": (
        "docs.jsonl",
        rows(
            "id cc_file time title text url",
            "48c0-0|crawl-data/x.gz|2018-08-16T21:02:59+00:00|A news|The text.|http://n.org/0",
            "48c0-1|crawl-data/x.gz|2018-08-16T21:02:59+00:00|More news|A text.|http://n.org/1",
        ),
    ),
    "TrecCollection": ("ft001", DISKS),
    "TrecwebCollection": ("GX000.txt", WEB),
    "Cord19AbstractCollection": ("metadata.csv", METADATA),
}


def of_anserini(kind, folder):
    paths = java_class("java.nio.file.Paths")
    collection = java_class(f"io.anserini.collection.{kind}")(paths.get(str(folder)))
    found = {}
    for path in collection.getSegmentPaths().toArray():
        documents = collection.createFileSegment(paths.get(path.toString())).iterator()
        while documents.hasNext():
            document = documents.next()
            if document.indexable():
                found[document.id()] = document.contents()
    return found


def of_ours(path, **reading):
    corpus = open_corpus(str(path), **reading)
    return {one.docno: text_of(one, corpus.default_fields) for one in corpus}


def tokens(texts):
    return {docno: Counter(Analysis().terms([text])[0]) for docno, text in texts.items()}


@pytest.fixture(scope="module", autouse=True)
def _with_jar():
    try:
        anserini_jar()
    except AdducirError:
        pytest.skip("Anserini's jar is not installed")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_documents_and_tokens_are_anserinis(layout, tmp_path):
    name, text = LAYOUTS[layout]
    (tmp_path / name).write_text(text)
    (tmp_path / "document_parses").mkdir()
    reading = {"docno_field": "cord_uid"} if name == "metadata.csv" else {}
    theirs = of_anserini(layout.split(",")[0], tmp_path)
    assert tokens(of_ours(tmp_path / name, **reading)) == tokens(theirs)
    assert theirs


def test_beir_with_fields_searches_the_text_alone(tmp_path):
    (tmp_path / "corpus.jsonl").write_text(LAYOUTS["BeirFlatCollection"][1])
    theirs = of_anserini("BeirMultifieldCollection", tmp_path)
    corpus = open_corpus(str(tmp_path / "corpus.jsonl"))
    assert tokens({one.docno: one.fields["text"] for one in corpus}) == tokens(theirs)
    assert corpus.default_fields == ("title", "text")  # which `index` prints


def test_clean_trec_is_read_without_its_tags(tmp_path):
    text = "<DOC>\n<DOCNO>clueweb09-1</DOCNO>\n<TEXT>\nSome clean words.\n</TEXT>\n</DOC>\n"
    (tmp_path / "clean").write_text(text)
    theirs, ours = (
        tokens(one)["clueweb09-1"]
        for one in (of_anserini("CleanTrecCollection", tmp_path), of_ours(tmp_path / "clean"))
    )
    assert theirs - ours == Counter({"text": 2})  # <TEXT> and </TEXT>
    assert not ours - theirs


def test_cord_19_parses_are_named_by_their_papers(tmp_path):
    """Anserini joins metadata.csv: cord_uid is its docno, and ours the file's paper_id."""
    folder = tmp_path / "document_parses" / "pdf_json"
    folder.mkdir(parents=True)
    (tmp_path / "metadata.csv").write_text(METADATA)
    (folder / "d1aafb.json").write_text(json.dumps(PARSE, indent=4))
    ours = tokens(of_ours(folder))["d1aafb"]
    theirs = of_anserini("Cord19FullTextCollection", tmp_path)["ug7v899j"]
    abstract = Counter(Analysis().terms(['We study "fish", twice.'])[0])
    own = Counter(Analysis().terms(["Objective: we study fish."])[0])
    assert ours - own == Counter(Analysis().terms([theirs])[0]) - abstract
    parts = of_anserini("Cord19ParagraphCollection", tmp_path)
    assert set(parts) == {"ug7v899j", "ug7v899j.00001", "ug7v899j.00002", "02tnwd4m"}
