"""A small index, built once, and how to build others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from memory_corpus import TEXTS, ListCorpus, build_index

from adducir.indexes.lucene import LuceneIndex
from adducir.indexes.settings import LuceneSettings


@pytest.fixture(scope="session")
def make_index(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., LuceneIndex]:
    """Build an index of texts by docno (or of documents) with the given settings."""

    def make(texts: Any, threads: int = 2, **settings: Any) -> LuceneIndex:
        path: Path = tmp_path_factory.mktemp("indexes") / "index"
        build_index(ListCorpus(texts), path, LuceneSettings(**settings), threads=threads)
        return LuceneIndex(path)

    return make


@pytest.fixture(scope="session")
def pets(make_index: Callable[..., LuceneIndex]) -> LuceneIndex:
    return make_index(TEXTS)
