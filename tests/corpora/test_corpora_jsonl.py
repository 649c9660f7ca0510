"""JSONL documents: docnos, fields, args.me's shapes, errors."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import InputError
from adducir.corpora.documents import Document, refuse_duplicates, text_of
from adducir.corpora.readers.jsonl import DOCNO_FIELDS, read_jsonl
from adducir.corpora.sources import open_corpus


@pytest.fixture
def corpus_of(tmp_path):
    def make(*lines, name="c.jsonl", **options):
        path = tmp_path / name
        data = "".join(f"{line}\n" for line in lines).encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return open_corpus(path, **options)

    return make


def problem(corpus):
    with pytest.raises(InputError) as caught:
        list(corpus)
    return caught.value


@pytest.mark.parametrize("name", DOCNO_FIELDS)
def test_docno_names(corpus_of, name):
    corpus = corpus_of(json.dumps({name: "d1", "text": "a"}))
    assert list(corpus) == [Document("d1", {"text": "a"})]


def test_docno_is_the_first_name_in_the_documented_order(corpus_of):
    corpus = corpus_of('{"id": "i", "docno": "n", "text": "t"}')
    assert list(corpus) == [Document("n", {"id": "i", "text": "t"})]


def test_docno_field_can_be_named(corpus_of):
    corpus = corpus_of('{"id": "i", "key": 7, "text": "t"}', docno_field="key")
    assert list(corpus) == [Document("7", {"id": "i", "text": "t"})]


def test_docno_longer_than_twenty_characters_stays_whole(corpus_of):
    # terrier-org/pyterrier#409: docnos cut at 20 characters made every measure 0.
    docno = "c67482ba-2019-04-18T13:32:05Z-00000-000"
    assert next(iter(corpus_of(json.dumps({"id": docno, "text": "t"})))).docno == docno


def test_values_become_texts(corpus_of):
    record = {
        "docno": "d",
        "title": "T",
        "year": 2020,
        "score": 1.5,
        "tags": ["a", "b"],
        "none": None,
        "nested": {"a": "b"},
        "mixed": ["a", {"b": "c"}],
        "open": False,
        "empty": [],
    }
    fields = next(iter(corpus_of(json.dumps(record)))).fields
    assert fields == {
        "title": "T",
        "year": "2020",
        "score": "1.5",
        "tags": "a\nb",
        "open": "false",
        "empty": "",
    }


NATIVE = {
    "id": "S1-A1",
    "conclusion": "Ban it",
    "premises": [
        {"text": "One.", "stance": "CON", "annotations": []},
        {"text": "Two.", "stance": "CON"},
    ],
    "context": {"discussionTitle": "A ban", "sourceId": "S1"},
}


def test_argument_as_args_me_publishes_it(corpus_of):
    corpus = corpus_of(json.dumps(NATIVE))
    fields = {"conclusion": "Ban it", "premise": "One.\nTwo.", "stance": "CON", "topic": "A ban"}
    assert list(corpus) == [Document("S1-A1", fields)]
    assert corpus.default_fields == ("conclusion", "premise")


def test_flat_argument_with_a_gold_value_as_stance(corpus_of):
    flat = {"docno": "a", "conclusion": "c", "premise": "p", "topic": "t"}
    corpus = corpus_of(
        json.dumps(flat | {"stance": True}),
        json.dumps(flat | {"docno": "b", "stance": False}),
        json.dumps(flat | {"docno": "c", "stance": "PRO"}),
    )
    assert [document.fields["stance"] for document in corpus] == ["PRO", "CON", "PRO"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"contents": "", "title": ""}, ("contents",)),
        ({"text": "", "title": ""}, ("title", "text")),
        ({"text": "", "url": ""}, ("text",)),
        ({"abstract": "", "keywords": ""}, ("abstract", "keywords")),
    ],
)
def test_default_fields(corpus_of, fields, expected):
    assert corpus_of(json.dumps({"docno": "d"} | fields)).default_fields == expected


def test_text_of_joins_and_passes_over_what_is_missing():
    document = Document("d", {"title": "T", "abstract": "", "text": "X"})
    assert text_of(document, ["title", "abstract", "none", "text"]) == "T\nX"


def test_blank_lines_crlf_and_byte_order_mark(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id":"a","text":"x"}\r\n\r\n  \n{"id":"b","text":"y"}')
    assert [(line, doc.docno) for line, doc in read_jsonl(path)] == [(1, "a"), (4, "b")]


def test_gzip(corpus_of):
    corpus = corpus_of('{"id": "a", "text": "x"}', name="c.jsonl.gz")
    assert list(corpus) == [Document("a", {"text": "x"})]
    assert corpus.size_hint() is None


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ('{"id": "b", "text": ', "JSON"),
        ('{"id": "b", "text": NaN}', "JSON"),
        ("{", "not JSON"),
        ('["b"]', "list"),
        ('{"text": "x"}', "no docno"),
        ('{"id": null, "text": "x"}', "no docno"),
        ('{"id": "", "text": "x"}', "empty"),
        ('{"id": "b c", "text": "x"}', "white space"),
        ('{"id": "b\\u00a0c", "text": "x"}', "white space"),
        ('{"id": "b\\u0000c", "text": "x"}', "NUL"),
        ('{"id": true, "text": "x"}', "not text"),
        ('{"id": ["b"], "text": "x"}', "not text"),
    ],
)
def test_malformed_line_is_named(corpus_of, line, word):
    error = problem(corpus_of('{"id": "a", "text": "x"}', "", line))
    assert error.line == 3
    assert error.path.name == "c.jsonl"
    assert word in error.what


ARRAY = '[\n {"id": "a", "text": "x"},\n\n {"id": "b", "text": "y"}]'


@pytest.mark.parametrize(
    "text", [ARRAY, f'{{"arguments":{ARRAY}}}', f' {{ "arguments" : {ARRAY} }}\n']
)
@pytest.mark.parametrize("name", ["c.json", "c.jsonl.gz"])
def test_an_array_is_read_as_its_objects(corpus_of, text, name):
    corpus = corpus_of(text, name=name)
    assert list(corpus) == [Document("a", {"text": "x"}), Document("b", {"text": "y"})]
    assert [place.line for place in corpus.places("b")] == [4]
    assert corpus.size_hint() is None  # its lines are not its documents


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (ARRAY[:-1], 5),
        (ARRAY[:-2], 5),
        (f'{{"arguments":{ARRAY}', 5),
        (f'{{"arguments":{ARRAY}, "more": 1}}', 4),
        (ARRAY.replace('"b"', "1.5"), 4),
        ('["a"]', 1),
        ('{\n"id": "a"}', 1),
    ],
)
def test_what_is_wrong_in_an_array_is_named(corpus_of, text, line):
    assert problem(corpus_of(text, name="c.json")).line == line


def test_other_encoding_is_named_with_its_line(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_bytes('{"id": "a"}\n{"id": "b", "text": "é"}\n'.encode("latin-1"))
    error = problem(open_corpus(path))
    assert error.line == 2
    assert "0xe9" in error.what
    assert "iconv" in error.hint


def test_truncated_gzip(tmp_path):
    path = tmp_path / "c.jsonl.gz"
    data = "".join(json.dumps({"id": str(i), "text": "x" * (i % 89)}) + "\n" for i in range(999))
    path.write_bytes(gzip.compress(data.encode())[:-100])
    assert problem(open_corpus(path)).line is not None


def test_empty_file_is_an_error(corpus_of):
    assert "no documents" in problem(corpus_of("")).what


def test_duplicates_are_refused_with_both_places(corpus_of):
    corpus = corpus_of('{"id": "a", "t": "1"}', '{"id": "b", "t": "2"}', '{"id": "a", "t": "3"}')
    documents = refuse_duplicates(corpus)
    assert [next(documents).docno, next(documents).docno] == ["a", "b"]
    with pytest.raises(InputError) as caught:
        next(documents)
    assert caught.value.line == 3
    assert "c.jsonl:1" in caught.value.what


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1),
        st.dictionaries(
            st.sampled_from(["title", "text", "url", "né"]),
            st.text(st.characters(exclude_categories=["Cs"])),
            min_size=1,
        ),
        min_size=1,
    )
)
def test_round_trip(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("trip") / "c.jsonl"
    lines = (json.dumps({"docno": docno} | fields) for docno, fields in records.items())
    path.write_text("\n".join(lines), encoding="utf-8")
    assert list(open_corpus(path)) == [Document(*item) for item in records.items()]
