"""The store of documents' texts beside an index: found by docno without a list of all docnos."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from adducir.core.errors import ArtifactError, InputError
from adducir.corpora.documents import Document
from adducir.indexes import documents
from adducir.indexes.documents import DOCNOS, DocumentStore, DocumentWriter

SOME = [Document(f"D{n}", {"title": f"t{n}", "text": "x" * n}) for n in range(9)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with DocumentWriter(tmp_path) as writer:
        for one in SOME:
            writer.add(one)
    return tmp_path


def test_documents_are_found(folder):
    store = DocumentStore(folder)
    assert list(store) == SOME
    assert [store.get(one.docno) for one in SOME] == SOME
    assert "D8" in store
    assert "D9" not in store
    assert store.find("D9") is None
    with pytest.raises(InputError, match="no document 'D9'"):
        store.get("D9")
    assert pickle.loads(pickle.dumps(store)).get("D3") == SOME[3]


def test_docnos_of_one_digest_are_distinguished(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "_digest", len)
    with DocumentWriter(tmp_path) as writer:
        for one in SOME:
            writer.add(one)
    store = DocumentStore(tmp_path)
    assert [store.get(one.docno) for one in SOME] == SOME
    assert store.find("D9") is None


@pytest.mark.parametrize("table", [np.zeros((2, 3), np.uint64), np.zeros((2, 9), np.int64)])
def test_a_table_that_does_not_fit_is_damaged(folder, table):
    np.save(folder / DOCNOS, table)
    with pytest.raises(ArtifactError, match=f"{DOCNOS}: the index is damaged"):
        DocumentStore(folder).get("D1")


def test_a_table_that_leads_behind_the_end_is_damaged(folder):
    table = np.load(folder / DOCNOS)
    table[1] = 9
    np.save(folder / DOCNOS, table)
    with pytest.raises(ArtifactError, match=f"{DOCNOS}: the index is damaged"):
        DocumentStore(folder).get("D1")
