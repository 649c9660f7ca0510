"""How much text there is, by the sizes of files: nothing is opened.

A compressed file counts three times its bytes, and a document whose size nobody states 1,500.
"""

from collections.abc import Iterable
from pathlib import Path

from adducir.core.streams import COMPRESSED
from adducir.corpora.documents import Corpus
from adducir.corpora.local import LocalCorpus

BYTES_PER_DOCUMENT = 1500
UNPACKED = 3


def bytes_of_files(paths: Iterable[Path]) -> float | None:
    """Bytes of text in files; None where one is not there, or there is none."""
    total = 0.0
    for path in paths:
        try:
            size = path.stat().st_size
        except OSError:
            return None
        total += size * (UNPACKED if path.name.lower().endswith(COMPRESSED) else 1)
    return total or None


def bytes_of_corpus(corpus: Corpus) -> float | None:
    """Bytes of a corpus's text; None where nothing is known of its size."""
    corpus = getattr(corpus, "base", corpus)  # one that is expanded is as large as it was
    if isinstance(corpus, LocalCorpus):
        return bytes_of_files(corpus.paths)
    count = corpus.size_hint()
    return None if count is None else float(count * BYTES_PER_DOCUMENT)


def documents_of(corpus: Corpus) -> float | None:
    """How many documents a corpus has, as stated or by its size; None where nothing is known."""
    count = corpus.size_hint()
    if count is not None:
        return count
    size = bytes_of_corpus(corpus)
    return None if size is None else max(1.0, size / BYTES_PER_DOCUMENT)
