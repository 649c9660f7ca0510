"""Files, folders, sources and identities."""

import gzip
import os
import shutil
import subprocess
import sys

import pytest

import adducir.corpora
from adducir.cli.app import main
from adducir.core.errors import InputError, UsageError
from adducir.corpora.documents import Corpus, refuse_duplicates
from adducir.corpora.qrels import load_qrels
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import load_topics


def write(path, *docnos):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f'{{"id": "{docno}", "text": "x"}}\n' for docno in docnos))
    return path


def docnos(corpus):
    return [document.docno for document in corpus]


def test_folder_is_read_in_order_of_paths(tmp_path):
    write(tmp_path / "b.jsonl", "b")
    write(tmp_path / "a" / "z.json", "z")
    write(tmp_path / "c.ndjson", "c")
    write(tmp_path / ".hidden.jsonl", "h")
    write(tmp_path / ".git" / "d.jsonl", "g")
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress(b'{"id": "e", "text": "x"}\n'))
    (tmp_path / "README.txt").write_text("Read me")
    (tmp_path / "notes.md").write_text("Notes")
    corpus = open_corpus(tmp_path)
    assert isinstance(corpus, Corpus)
    assert docnos(corpus) == ["z", "b", "c", "e"]
    assert docnos(corpus) == ["z", "b", "c", "e"]  # and again
    assert docnos(open_corpus(tmp_path, format="text")) == ["README.txt", "notes.md"]


def test_folder_of_several_formats(tmp_path):
    write(tmp_path / "a.jsonl", "a")
    (tmp_path / "b.tsv").write_text("b\tx\n")
    with pytest.raises(InputError, match="several formats"):
        open_corpus(tmp_path)
    assert docnos(open_corpus(tmp_path, format="tsv")) == ["b"]


def test_folder_of_trec_files_without_suffix(tmp_path):
    (tmp_path / "FT911_1").write_text("<DOC><DOCNO>a</DOCNO>x</DOC>")
    (tmp_path / "FT911_2").write_bytes(gzip.compress(b"<DOC><DOCNO>b</DOCNO>x</DOC>"))
    (tmp_path / "READMEFT").write_text("About these files")
    with pytest.raises(InputError, match="no readable file among the 3"):
        open_corpus(tmp_path)
    assert docnos(open_corpus(tmp_path, format="trec")) == ["a", "b"]


def test_broken_link_in_a_folder_is_not_ignored(tmp_path):
    write(tmp_path / "a.jsonl", "a")
    (tmp_path / "b.jsonl").symlink_to(tmp_path / "gone.jsonl")
    with pytest.raises(InputError) as caught:
        docnos(open_corpus(tmp_path))
    assert caught.value.path.name == "b.jsonl"


def test_linked_folders_are_read_once(tmp_path):
    write(tmp_path / "elsewhere" / "b.jsonl", "b")
    write(tmp_path / "corpus" / "a.jsonl", "a")
    (tmp_path / "corpus" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "corpus" / "linked2").symlink_to(tmp_path / "corpus")
    assert docnos(refuse_duplicates(open_corpus(tmp_path / "corpus"))) == ["a", "b"]


def test_folder_that_cannot_be_read(tmp_path, monkeypatch):
    write(tmp_path / "a.jsonl", "a")

    def forbidden(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", forbidden)
    with pytest.raises(InputError, match="permission denied"):
        open_corpus(tmp_path)


def test_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "p.jsonl")
    with pytest.raises(InputError, match="read twice"):
        open_corpus(tmp_path / "p.jsonl")


def test_name_that_shows_no_format(tmp_path):
    write(tmp_path / "docs.dat", "a")
    with pytest.raises(InputError, match=r"\.jsonl"):
        open_corpus(tmp_path / "docs.dat")
    assert docnos(open_corpus(tmp_path / "docs.dat", format="jsonl")) == ["a"]
    with pytest.raises(UsageError, match="jsonl, trec, tsv"):
        open_corpus(tmp_path / "docs.dat", format="csv")


@pytest.mark.parametrize(
    "source", ["", "  ", "a\0b", "/no/such/file", "missing.jsonl", "./x", "x" * 5000]
)
def test_sources_that_are_nothing(source):
    for read in (open_corpus, load_topics, load_qrels):
        with pytest.raises(InputError):
            read(source)


def test_bundled_sources():
    corpus = open_corpus("bundled:arguments")
    known = set(docnos(refuse_duplicates(corpus)))
    assert corpus.default_fields == ("conclusion", "premise")
    topics, qrels = load_topics("bundled:topics"), load_qrels("bundled:qrels")
    assert set(qrels.qids) == set(topics.qids)
    assert set(qrels.frame["docno"]) <= known
    with pytest.raises(InputError, match="bundled:arguments"):
        open_corpus("bundled:argument")


def test_identity_follows_the_content_only(tmp_path):
    first = write(tmp_path / "one" / "a.jsonl", "a", "b")
    before = open_corpus(first).identity()
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    assert open_corpus(tmp_path / "two").identity() == before
    assert open_corpus(first, docno_field="id").identity() != before
    os.utime(first, (1, 1))
    old = open_corpus(first).identity()
    assert old == before
    stamp = first.stat().st_mtime_ns
    write(first, "a", "c")  # as long as before
    assert open_corpus(first).identity() != before
    write(first, "a", "b")
    os.utime(first, ns=(stamp, stamp))
    assert open_corpus(first).identity() == before


@pytest.mark.parametrize("tail", ["", "\n"])
def test_size_hint_counts_lines(tmp_path, tail):
    path = tmp_path / "a.tsv"
    path.write_text("a\tx\nb\ty" + tail)
    assert open_corpus(path).size_hint() == 2


def test_the_package_exports_lazily():
    code = (
        "import sys, adducir.corpora as c;"
        "print([m for m in ('polars', 'orjson', 'adducir.corpora.topics') if m in sys.modules]);"
        "c.load_topics; print('adducir.corpora.topics' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "True"]
    with pytest.raises(AttributeError):
        adducir.corpora.nothing  # noqa: B018
    assert {"open_corpus", "load_topics", "load_qrels"} <= set(dir(adducir.corpora))
    for name in dir(adducir.corpora):
        assert callable(getattr(adducir.corpora, name))


def test_folder_of_plain_texts_has_a_document_a_file(tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to a friend.txt").write_text("Dear\nfriend")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"packed"))
    (tmp_path / "a.txt").write_text("first")
    (tmp_path / "notes.md").write_text("Notes")
    (tmp_path / "scan.pdf").write_text("%PDF")
    corpus = open_corpus(tmp_path)
    assert corpus.format == "text"
    assert {one.docno: one.fields for one in corpus} == {
        "a.txt": {"text": "first"},
        "b.txt.gz": {"text": "packed"},
        "letters/to_a_friend.txt": {"text": "Dear\nfriend"},
        "notes.md": {"text": "Notes"},
    }
    before = corpus.identity()
    assert corpus.default_fields == ("text",)
    assert corpus.size_hint() == 4
    assert corpus.places("a.txt") == [(tmp_path / "a.txt", 1)]
    (tmp_path / "a.txt").rename(tmp_path / "c.txt")  # its name is its docno
    assert open_corpus(tmp_path).identity() != before


def test_files_of_a_folder_that_are_not_read_are_reported(tmp_path, capsys):
    folder = tmp_path / "corpus"
    write(folder / "a.jsonl", "a")
    for name in ("README.md", "b.tsv", *(f"scans/{n}.pdf" for n in range(40)), "page.xml"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("a\tx\n")
    words = ["index", str(folder), "-o", str(tmp_path / "index"), "--engine", "memory"]
    assert main([*words, "--format", "jsonl"]) == 0
    (note,) = [line for line in capsys.readouterr().err.splitlines() if "not read" in line]
    assert "43 files" in note
    assert "README.md" in note


def test_a_single_plain_text_is_a_document_where_it_is_asked_for(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("first")
    assert docnos(open_corpus(path, format="text")) == ["a.txt"]
    with pytest.raises(InputError, match="Name the format"):
        docnos(open_corpus(path))
    with pytest.raises(UsageError, match="docno_field"):
        open_corpus(path, format="text", docno_field="id")


def test_plain_texts_of_one_docno_are_refused(tmp_path):
    (tmp_path / "a b.txt").write_text("x")
    (tmp_path / "a_b.txt").write_text("y")
    with pytest.raises(InputError, match=r"a_b\.txt"):
        docnos(refuse_duplicates(open_corpus(tmp_path)))
