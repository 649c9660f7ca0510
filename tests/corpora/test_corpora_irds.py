"""ir_datasets: a fake data set of each shape, and what happens without a network."""

import json
from typing import NamedTuple

import ir_datasets
import pytest
import tqdm
from ir_datasets.datasets.base import Dataset
from ir_datasets.formats import (
    ArgsMeDocs,
    BaseDocs,
    BaseQrels,
    BaseQueries,
    GenericDoc,
    ToucheQrels,
    TrecQrel,
    TrecQuery,
)
from notes import Notes

from adducir import load_qrels, load_topics, open_corpus
from adducir.core.errors import InputError, MachineError
from adducir.corpora.documents import Document, refuse_duplicates


class Docs(BaseDocs):
    def __init__(self, *documents, cls=GenericDoc):
        self.documents, self.docs_cls = documents, lambda: cls

    def docs_iter(self):
        return iter(self.documents)


class Queries(BaseQueries):
    def __init__(self, *queries):
        self.queries = queries

    def queries_iter(self):
        return iter(self.queries)


class Judgements(BaseQrels):
    def __init__(self, *qrels):
        self.all = qrels

    def qrels_iter(self):
        return iter(self.all)


class Unreachable(BaseDocs, BaseQueries, BaseQrels):
    """As a data set whose download fails: logs, and raises at the first record, or after some."""

    def __init__(self, error, after=0):
        self.error, self.after = error, after

    def docs_iter(self):
        log = ir_datasets.log.easy()
        log.info(f"If you have it, symlink it here:\n{ir_datasets.util.home_path()}/y.zip")
        yield from log.pbar([GenericDoc(str(i), "x") for i in range(self.after)], "docs_iter")
        log.warn("Download failed")
        raise self.error

    queries_iter = qrels_iter = docs_iter


@pytest.fixture
def register():
    names = []

    def add(*parts):
        name = f"fake-{len(names)}"
        ir_datasets.registry.register(name, Dataset(*parts))
        names.append(name)
        return name

    yield add
    for name in names:
        del ir_datasets.registry._registered[name]


class Page(NamedTuple):
    doc_id: str
    title: str
    text: str
    year: int
    raw: bytes
    author: str | None = None

    def default_text(self):
        return f"{self.title} {self.text}"


def test_documents_of_one_field_or_of_many(register):
    name = register(Docs(GenericDoc("a", "x"), GenericDoc("b", "y")))
    corpus = open_corpus(name)
    assert list(corpus) == [Document("a", {"text": "x"}), Document("b", {"text": "y"})]
    assert (corpus.default_fields, corpus.source) == (("text",), name)
    corpus = open_corpus(register(Docs(Page("a", "T", "X", 1999, b"<T>"), cls=Page)))
    fields = {"title": "T", "text": "X", "year": "1999", "default_text": "T X"}
    assert list(corpus) == [Document("a", fields)]
    assert corpus.default_fields == ("default_text",)


class Here:
    """A file, as ir_datasets has what it downloaded."""

    def __init__(self, path, text):
        self.path, self.stream = lambda force=True: path, lambda: path.open("rb")
        path.write_text(text)


def test_arguments_have_the_fields_of_a_local_file(register, tmp_path):
    times = {"acquisitionTime": "2019-04-18T13:32:05Z", "sourceId": "S1"}
    native = {
        "id": "S1-A1",
        "conclusion": "Ban it",
        "premises": [{"text": "One.", "stance": "CON"}, {"text": "Two.", "stance": "CON"}],
        "context": {"sourceTitle": "A ban | Debate", "discussionTitle": "A ban", **times},
    }
    official = Here(tmp_path / "args-me.json", json.dumps({"arguments": [native]}))
    remote, local = open_corpus(register(ArgsMeDocs(official))), open_corpus(official.path())
    assert list(remote) == list(local)
    assert remote.default_fields == local.default_fields == ("conclusion", "premise")
    fields = {"conclusion": "Ban it", "premise": "One.\nTwo.", "stance": "CON", "topic": "A ban"}
    assert next(iter(remote)).fields == fields


class GeneQuery(NamedTuple):
    query_id: str
    disease: str
    gene: str

    def default_text(self):
        return f"{self.disease} {self.gene}"


def test_topics_and_qrels(register, tmp_path, capfd):
    queries = TrecQuery("1", "T  1", "D1", "N1"), TrecQuery("2", "T2", "D2", "N2")
    qrels = TrecQrel("1", "a", 2, "0"), TrecQrel("1", "b", -2, "0")
    name = register(Queries(*queries), Judgements(*qrels))
    assert load_topics(name).queries == ["T 1", "T2"]
    assert load_topics(name, field="title+narrative").queries == ["T 1 N1", "T2 N2"]
    with pytest.raises(InputError, match="title, description, narrative"):
        load_topics(name, field="summary")
    assert load_qrels(name).frame.rows() == [("1", "a", 2), ("1", "b", -2)]
    with pytest.raises(InputError, match="judged twice"):
        load_qrels(register(Judgements(*qrels, qrels[0])))
    genes = register(Queries(GeneQuery("1", "flu", "X1")))
    assert load_topics(genes).queries == ["flu X1"]
    assert load_topics(genes, field="gene").queries == ["X1"]
    touche = register(ToucheQrels(Here(tmp_path / "qrels", "1 0 a 2\n"), {}))
    assert load_qrels(touche).frame.rows() == [("1", "a", 2)]
    assert capfd.readouterr().out == ""  # where ir_datasets prints a line


def test_unknown_ids_and_ids_without_the_part_name_near_ones():
    with pytest.raises(InputError, match=r"argsme/2020-04-01"):
        open_corpus("argsme/2020-04-1")
    with pytest.raises(InputError, match="qqqqqqqqqqqq"):
        load_topics("qqqqqqqqqqqq")
    with pytest.raises(InputError, match=r"not have topics.*argsme/2020-04-01/touche-2020-task-1"):
        load_topics("argsme/2020-04-01")


@pytest.mark.parametrize(
    ("part", "read", "error", "after"),
    [
        ("documents", lambda name: list(open_corpus(name)), ConnectionError("no route\nto"), 0),
        ("documents", lambda name: list(open_corpus(name)), RuntimeError("All"), 3),
        ("topics", load_topics, KeyError("x"), 0),
        ("judgements", load_qrels, OSError("offline"), 0),
    ],
)
def test_failed_download(register, part, read, error, after, capfd):
    name = register(Unreachable(error, after))
    progress = Notes()
    handlers = list(ir_datasets.log.easy().logger().handlers)
    with pytest.raises(MachineError) as caught, progress:
        read(name)
    assert f"{part} of {name}" in caught.value.what
    assert type(error).__name__ in caught.value.what
    assert "\n" not in str(caught.value)
    assert any("symlink it here" in message for message in progress.lines)
    assert "local file" in caught.value.hint
    assert capfd.readouterr() == ("", "")
    assert any("Download failed" in message for message in progress.lines)
    assert ir_datasets.log.easy().logger().handlers == handlers
    assert ir_datasets.lazy_libs.tqdm() is tqdm


def test_what_data_sets_cannot_be(register):
    empty = register(Docs(), Queries(), Judgements())
    twice = register(Docs(GenericDoc("a", "x"), GenericDoc("a", "y")))
    blank = register(Docs(GenericDoc("a b", "x")))
    for read, name, what in (
        (open_corpus, empty, "not contain any documents"),
        (load_topics, empty, "no topics"),
        (load_qrels, empty, "any judgements"),
        (open_corpus, twice, "duplicate docno 'a'"),
        (open_corpus, blank, "white space"),
    ):
        with pytest.raises(InputError, match=what):
            list(refuse_duplicates(read(name)))
