"""ir_datasets: a fake data set of each shape, and what happens without a network."""

import json
import os
import subprocess
import sys
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
    GenericQuery,
    ToucheQrels,
    TrecQrel,
    TrecQuery,
)

from adducir.core.errors import InputError, MachineError
from adducir.core.progress import Progress
from adducir.corpora.documents import Corpus, Document, refuse_duplicates
from adducir.corpora.qrels import load_qrels
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import load_topics


class Docs(BaseDocs):
    def __init__(self, documents, cls=GenericDoc):
        self.documents, self.cls = documents, cls

    def docs_iter(self):
        return iter(self.documents)

    def docs_cls(self):
        return self.cls


class Queries(BaseQueries):
    def __init__(self, queries):
        self.queries = queries

    def queries_iter(self):
        return iter(self.queries)


class Judgements(BaseQrels):
    def __init__(self, qrels):
        self.all = qrels

    def qrels_iter(self):
        return iter(self.all)


@pytest.fixture
def register():
    names = []

    def add(name, *parts):
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
    name = register("fake-plain", Docs([GenericDoc("a", "x"), GenericDoc("b", "y")]))
    corpus = open_corpus(name)
    assert isinstance(corpus, Corpus)
    assert list(corpus) == [Document("a", {"text": "x"}), Document("b", {"text": "y"})]
    assert (corpus.default_fields, corpus.source) == (("text",), name)
    corpus = open_corpus(register("fake-pages", Docs([Page("a", "T", "X", 1999, b"<T>")], Page)))
    fields = {"title": "T", "text": "X", "year": "1999", "default_text": "T X"}
    assert list(corpus) == [Document("a", fields)]
    assert corpus.default_fields == ("default_text",)


class Here:
    """A file, as ir_datasets has what it downloaded."""

    def __init__(self, path, text):
        self.file = path
        path.write_text(text)

    def path(self, force=True):
        return self.file

    def stream(self):
        return self.file.open("rb")


def test_arguments_have_the_fields_of_a_local_file(register, tmp_path, monkeypatch):
    native = {
        "id": "S1-A1",
        "conclusion": "Ban it",
        "premises": [{"text": "One.", "stance": "CON"}, {"text": "Two.", "stance": "CON"}],
        "context": {
            "sourceId": "S1",
            "sourceTitle": "A ban | Debate",
            "discussionTitle": "A ban",
            "acquisitionTime": "2019-04-18T13:32:05Z",
        },
    }
    official = Here(tmp_path / "args-me.json", json.dumps({"arguments": [native]}))
    name = register("fake-argsme", Dataset(ArgsMeDocs(official)))
    remote, local = open_corpus(name), open_corpus(official.file)
    assert list(remote) == list(local)
    assert remote.default_fields == local.default_fields == ("conclusion", "premise")
    assert next(iter(remote)).fields["premise"] == "One.\nTwo."
    assert next(iter(remote)).fields["stance"] == "CON"

    def missing():
        raise ImportError("This dataset requires ijson.")

    monkeypatch.setattr(ir_datasets.lazy_libs, "ijson", missing)
    with pytest.raises(MachineError) as caught:
        list(remote)
    assert "ijson" in caught.value.what
    assert "network" not in caught.value.hint


def test_what_ir_datasets_prints_is_not_on_standard_output(register, tmp_path, capfd):
    name = register("fake-touche", ToucheQrels(Here(tmp_path / "qrels", "1 0 a 2\n"), {}))
    assert load_qrels(name).frame.rows() == [("1", "a", 2)]
    assert capfd.readouterr().out == ""


def test_identity_is_shared_with_the_owner_of_the_documents(register):
    docs = Docs([GenericDoc("a", "x")])
    register("fake-owner", docs)
    register("fake-owner/task", docs, Queries([GenericQuery("1", "q")]))
    identity = open_corpus("fake-owner/task").identity()
    assert identity == open_corpus("fake-owner").identity()
    assert identity["id"] == "fake-owner"
    assert identity["version"] == ir_datasets.__version__


def test_identity_and_size_of_a_real_id_need_no_download():
    corpus = open_corpus("argsme/2020-04-01/touche-2020-task-1")
    assert corpus.size_hint() == 387_740
    assert corpus.identity()["id"] == "argsme/2020-04-01"
    assert corpus.identity()["documents"] == 387_740
    assert corpus.default_fields == ("conclusion", "premise")


class GeneQuery(NamedTuple):
    query_id: str
    disease: str
    gene: str

    def default_text(self):
        return f"{self.disease} {self.gene}"


def test_topics(register):
    queries = [TrecQuery("1", "T  1", "D1", "N1"), TrecQuery("2", "T2", "D2", "N2")]
    name = register("fake-topics", Queries(queries))
    assert load_topics(name).queries == ["T 1", "T2"]
    assert load_topics(name, field="title+narrative").queries == ["T 1 N1", "T2 N2"]
    with pytest.raises(InputError, match="title, description, narrative"):
        load_topics(name, field="summary")
    name = register("fake-genes", Queries([GeneQuery("1", "flu", "X1")]))
    assert load_topics(name).queries == ["flu X1"]
    assert load_topics(name, field="gene").queries == ["X1"]


def test_qrels(register):
    qrels = [TrecQrel("1", "a", 2, "0"), TrecQrel("1", "b", -2, "0")]
    name = register("fake-qrels", Judgements(qrels))
    assert load_qrels(name).frame.rows() == [("1", "a", 2), ("1", "b", -2)]
    twice = register("fake-qrels-twice", Judgements([*qrels, qrels[0]]))
    with pytest.raises(InputError, match="judged twice"):
        load_qrels(twice)


def test_unknown_ids_and_ids_without_the_part_name_near_ones():
    with pytest.raises(InputError, match=r"argsme/2020-04-01"):
        open_corpus("argsme/2020-04-1")
    with pytest.raises(InputError, match="qqqqqqqqqqqq"):
        load_topics("qqqqqqqqqqqq")
    with pytest.raises(InputError, match=r"no topics.*argsme/2020-04-01/touche-2020-task-1"):
        load_topics("argsme/2020-04-01")


class Unreachable(BaseDocs):
    """As a data set whose download fails: logs, and raises at the first document."""

    def __init__(self, error, after=0):
        self.error, self.after = error, after

    def docs_iter(self):
        log = ir_datasets.log.easy()
        home = ir_datasets.util.home_path()
        log.info(f"If you have it, symlink it here:\n{home}/y.zip")
        yield from log.pbar([GenericDoc(str(i), "x") for i in range(self.after)], "docs_iter")
        log.warn("Download failed")
        raise self.error


class Notes(Progress):
    def __init__(self):
        self.message = []

    def note(self, message):
        self.message.append(message)


@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize(
    "error", [ConnectionError("no route\nto host"), RuntimeError("All failed"), KeyError("x")]
)
def test_failed_download(register, error, after, capfd):
    name = register("fake-unreachable", Unreachable(error, after))
    progress = Notes()
    handlers = list(ir_datasets.log.easy().logger().handlers)
    with pytest.raises(MachineError) as caught, progress:
        list(open_corpus(name))
    assert name in caught.value.what
    assert type(error).__name__ in caught.value.what
    assert "\n" not in str(caught.value)
    assert "symlink it here" in caught.value.hint
    assert "local file" in caught.value.hint
    assert capfd.readouterr() == ("", "")
    assert any("Download failed" in message for message in progress.message)
    assert ir_datasets.log.easy().logger().handlers == handlers
    assert ir_datasets.lazy_libs.tqdm() is tqdm


def test_failed_download_of_an_id_that_is_made_on_demand(monkeypatch):
    def offline(name):
        raise OSError("offline")

    monkeypatch.setattr(ir_datasets, "load", offline)
    with pytest.raises(MachineError, match="offline"):
        open_corpus("clirmatrix/en/bi139-base/de/train")


def test_folder_of_ir_datasets_that_cannot_be_made():
    code = (
        "from adducir.corpora import open_corpus\n"
        "from adducir.core.errors import MachineError\n"
        "try: open_corpus('vaswani')\n"
        "except MachineError as error: print(error.hint)"
    )
    home = {**os.environ, "IR_DATASETS_HOME": os.devnull + "/x"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=home, check=True)
    assert "IR_DATASETS_HOME" in done.stdout


def test_failed_download_of_topics_and_qrels(register):
    class Broken(BaseQueries):
        def queries_iter(self):
            raise OSError("offline")

    class BrokenQrels(BaseQrels):
        def qrels_iter(self):
            raise OSError("offline")

    name = register("fake-broken", Broken(), BrokenQrels())
    with pytest.raises(MachineError, match="topics of fake-broken"):
        load_topics(name)
    with pytest.raises(MachineError, match="judgements of fake-broken"):
        load_qrels(name)


def test_empty_dataset(register):
    name = register("fake-empty", Docs([]), Queries([]), Judgements([]))
    for read in (
        lambda: list(open_corpus(name)),
        lambda: load_topics(name),
        lambda: load_qrels(name),
    ):
        with pytest.raises(InputError, match=r"no documents|no topics|no judgements"):
            read()


def test_what_documents_cannot_be(register):
    for docs, what in (
        ([GenericDoc("a", "x"), GenericDoc("a", "y")], "'a' is repeated"),
        ([GenericDoc("a b", "x")], "white space"),
    ):
        name = register(f"fake-{what[-3:]}", Docs(docs))
        with pytest.raises(InputError, match=what):
            list(refuse_duplicates(open_corpus(name)))
