"""Documents on their way into an index."""

import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from adducir.core.errors import InputError, worded
from adducir.core.progress import progress
from adducir.corpora.documents import Corpus, refuse_duplicates, text_of
from adducir.corpora.field_choice import SAMPLE, choice_of, field_line
from adducir.indexes import jvm
from adducir.indexes.documents import DocumentWriter

_WIDTHS = (64, 96, 128, 192, 256, 312, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
_BLOCK_BYTES = 1 << 20
_LENGTH = struct.Struct("<i")
Texts = tuple[str, bytes, *tuple[bytes, ...]]
"""A document's docno, the text of its fields, and those of fields indexed by themselves; UTF-8."""


def new_dense_index(kind: str, parameters: str, width: int) -> Any:
    import faiss

    index: Any = faiss.index_factory(width, kind, faiss.METRIC_INNER_PRODUCT)
    space: Any = faiss.ParameterSpace()
    space.set_index_parameters(index, parameters)
    parts: list[Any] = [index, getattr(index, "pq", None)]
    for part in parts:
        if hasattr(part, "cp"):  # few vectors per centroid are the user's choice: do not warn
            part.cp.min_points_per_centroid = 1
    return index


def refuse_unknown(kind: str) -> None:
    """Refuse a description that FAISS does not understand for any width of vectors."""
    if "IDMap" in kind:
        raise ValueError("vectors are numbered by their documents: leave IDMap out")
    for width in _WIDTHS:
        with suppress(RuntimeError, AssertionError, TypeError):
            new_dense_index(kind, "", width)
            return
    raise ValueError(f"FAISS cannot make an index {kind!r}")


def engine_versions(*, uses_java: bool | None = None) -> dict[str, str]:
    """Anserini's and Java's versions if they are used, by default if Java runs in this process."""
    if not (jvm.is_running() if uses_java is None else uses_java):
        return {}
    return {"anserini": jvm.anserini_version(), "java": str(jvm.find_java().version)}


def stored(
    corpus: Corpus, fields: Sequence[str], store: DocumentWriter, separate: Sequence[str] = ()
) -> Iterator[Texts]:
    """Each document's docno and texts; the document goes to the store.

    At the end, a note says which fields are indexed and which are left out; a field that the user
    named and no document has is an error. A format's own fields, such as those of TREC's disks, may
    be missing.
    """
    names, sample, usual = set[str](), list[dict[str, str]](), corpus.default_fields
    for document in refuse_duplicates(corpus):
        if len(sample) < SAMPLE:
            sample.append(document.fields)
        if not names.issuperset(document.fields):
            names |= document.fields.keys()
        store.add(document)
        more_texts = [document.fields.get(name, "").encode() for name in separate]
        yield document.docno, text_of(document, fields).encode(), *more_texts
    unseen = {*fields, *separate} - names - (set(usual) if len(usual) > 1 else set())
    if unseen and names:
        raise InputError(
            f"the documents lack the field {', '.join(map(repr, sorted(unseen)))}.",
            path=corpus.source,
            hint=f"The fields are {', '.join(sorted(names))}; choose some: {worded('fields')}.",
        )
    indexed = [name for name in fields if name in names]
    more = sorted(names.difference(fields))
    progress().note(field_line(choice_of(sample, indexed), more))


def packed(documents: Iterable[Texts], *, with_docnos: bool) -> Iterator[tuple[list[str], bytes]]:
    """Docnos and texts in blocks of about a megabyte, in the form that Java reads.

    Each text, after its docno if requested, follows its length in bytes (little-endian int).
    """
    docnos: list[str] = []
    parts: list[bytes] = []
    size = 0
    for docno, *texts in documents:
        for part in (docno.encode(), *texts) if with_docnos else texts:
            parts += (_LENGTH.pack(len(part)), part)
            size += len(part)
        docnos.append(docno)
        if size >= _BLOCK_BYTES:
            yield docnos, b"".join(parts)
            docnos, parts, size = [], [], 0
    if docnos:
        yield docnos, b"".join(parts)
