"""Settings of lexical and dense indexes, and documents on their way into an index."""

import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from adducir.core.errors import InputError
from adducir.core.progress import progress
from adducir.core.recipe import Kind
from adducir.core.texts import refuse_text
from adducir.corpora.documents import Corpus, refuse_duplicates, text_of
from adducir.corpora.field_choice import SAMPLE, choice_of, field_line
from adducir.corpora.token_weights import identity_of
from adducir.indexes import jvm
from adducir.indexes.analysis import Analysis
from adducir.indexes.documents import DocumentWriter

EXACT = "Flat"
_WIDTHS = (64, 96, 128, 192, 256, 312, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
_BLOCK_BYTES = 1 << 20
_LENGTH = struct.Struct("<i")


@dataclass(frozen=True)
class IndexSettings:
    """What determines the content of an index."""

    fields: tuple[str, ...] = ()  # indexed as one text; empty for the corpus's own default
    analysis: Analysis = field(default_factory=Analysis)
    positions: bool = True  # of terms, for phrase queries
    vectors: bool = True  # documents' terms, for feedback
    accurate_length: bool = False  # whether BM25 sees exact lengths instead of Lucene's one byte
    weights: Path | None = None  # token weights instead of texts, for the memory engine

    def __post_init__(self) -> None:
        refuse_text(self.fields, "fields")

    def recipe(self) -> dict[str, Any]:
        plain = asdict(self) | {"fields": list(self.fields), "analysis": self.analysis.settings()}
        weights = plain.pop("weights")
        return plain if weights is None else plain | {"weights": identity_of(weights)}

    def of(self, corpus: Corpus) -> "IndexSettings":
        """The settings, with the corpus's default fields if none are named."""
        return self if self.fields else replace(self, fields=tuple(corpus.default_fields))


def new_dense_index(kind: str, parameters: str, width: int) -> Any:
    import faiss

    index: Any = faiss.index_factory(width, kind, faiss.METRIC_INNER_PRODUCT)
    space: Any = faiss.ParameterSpace()
    space.set_index_parameters(index, parameters)
    parts: list[Any] = [index, getattr(index, "pq", None)]
    for one in parts:
        if hasattr(one, "cp"):  # few vectors per centroid are the user's choice: do not warn
            one.cp.min_points_per_centroid = 1
    return index


def _known(kind: str) -> str:
    """Refuse a description that FAISS does not understand for any width of vectors."""
    if "IDMap" in kind:
        raise ValueError("vectors are numbered by their documents: leave IDMap out")
    for width in () if kind == EXACT else _WIDTHS:
        with suppress(RuntimeError, AssertionError):
            new_dense_index(kind, "", width)
            return kind
    if kind != EXACT:
        raise ValueError(f"FAISS cannot make an index {kind!r}")
    return kind


class DenseSettings(Kind):
    """What determines a dense index besides its vectors.

    Attributes:
        kind: FAISS's description of the index (``index_factory``): ``Flat`` compares all vectors,
            exactly; ``HNSW32`` is a graph of neighbours (Malkov and Yashunin, 2020);
            ``IVF1024,PQ48x8`` inverted lists of compressed vectors (Jégou et al., 2011), for
            collections that do not fit in memory.
        parameters: FAISS's build and search parameters: ``efConstruction=200,efSearch=64``
            of HNSW, ``nprobe=16`` of IVF.
        sample: Vectors to measure recall against ``Flat`` with.
        seed: Draws them.
    """

    kind: Annotated[str, AfterValidator(_known)] = EXACT
    parameters: str = ""
    sample: int = Field(default=200, ge=1)
    seed: int = Field(default=0, ge=0, lt=1 << 63)

    def recipe(self) -> dict[str, Any]:
        """The values that affect this kind, for fingerprints and manifests."""
        return {"kind": EXACT} if self.kind == EXACT else self.model_dump(mode="json")


def engine_versions(*, uses_java: bool | None = None) -> dict[str, str]:
    """Anserini's and Java's versions if they are used, by default if Java runs in this process."""
    if not (jvm.is_running() if uses_java is None else uses_java):
        return {}
    return {"anserini": jvm.anserini_version(), "java": str(jvm.find_java().version)}


def stored(
    corpus: Corpus, fields: Sequence[str], store: DocumentWriter
) -> Iterator[tuple[str, bytes]]:
    """Each document's docno and the UTF-8 text of its fields; the document goes to the store.

    At the end, a note says which fields are indexed and which are left out; a field that the user
    named and no document has is an error. A format's own fields, such as those of TREC's disks, may
    be missing.
    """
    found, sample, usual = set[str](), list[dict[str, str]](), corpus.default_fields
    for document in refuse_duplicates(corpus):
        if len(sample) < SAMPLE:
            sample.append(document.fields)
        if not found.issuperset(document.fields):
            found |= document.fields.keys()
        store.add(document)
        yield document.docno, text_of(document, fields).encode()
    unseen = set(fields) - found - (set(usual) if len(usual) > 1 else set())
    if unseen and found:
        raise InputError(
            f"the documents lack the field {', '.join(map(repr, sorted(unseen)))}.",
            path=corpus.source,
            hint=f"The fields are {', '.join(sorted(found))}; choose some with --fields.",
        )
    indexed = [name for name in fields if name in found]
    more = sorted(found.difference(fields))
    progress().note(field_line(choice_of(sample, indexed), more))


def packed(
    documents: Iterable[tuple[str, bytes]], *, with_docnos: bool
) -> Iterator[tuple[list[str], bytes]]:
    """Docnos and texts in blocks of about a megabyte, in the form that Java reads.

    Each text, after its docno if requested, follows its length in bytes (little-endian int).
    """
    docnos: list[str] = []
    parts: list[bytes] = []
    size = 0
    for docno, text in documents:
        for part in (docno.encode(), text) if with_docnos else (text,):
            parts += (_LENGTH.pack(len(part)), part)
            size += len(part)
        docnos.append(docno)
        if size >= _BLOCK_BYTES:
            yield docnos, b"".join(parts)
            docnos, parts, size = [], [], 0
    if docnos:
        yield docnos, b"".join(parts)
