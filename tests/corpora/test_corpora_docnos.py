"""Docnos that no document is called are refused where they stand."""

from pathlib import Path

import pytest

from adducir.core.errors import InputError
from adducir.corpora.documents import LONGEST_DOCNO, check_docno
from adducir.corpora.sources import open_corpus

FORMS = {
    "d.jsonl": '{{"docno": "a", "text": "x"}}\n{{"docno": "{}", "text": "y"}}\n',
    "d.tsv": "a\tx\n{}\ty\n",
    "d.trec": "<DOC><DOCNO>a</DOCNO>x</DOC>\n<DOC><DOCNO>{}</DOCNO>y</DOC>\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_a_docno_may_have_a_kilobyte(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(FORMS[name].format("x" * LONGEST_DOCNO))
    assert [len(document.docno) for document in open_corpus(path)] == [1, LONGEST_DOCNO]


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("docno", ["x" * (LONGEST_DOCNO + 1), "x" * 10_000, "é" * 600])
def test_a_longer_docno_is_refused_with_its_place(tmp_path: Path, name: str, docno: str) -> None:
    path = tmp_path / name
    path.write_text(FORMS[name].format(docno), encoding="utf-8")
    with pytest.raises(InputError, match=r":2: the docno .* is longer than 1,024 bytes"):
        list(open_corpus(path))


def test_short_docnos_of_long_characters_are_taken() -> None:
    check_docno("\U0001f600" * 256)
    with pytest.raises(InputError):
        check_docno("\U0001f600" * 257)
