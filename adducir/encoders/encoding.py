"""Encodes a corpus or spans into an artifact of vectors, in chunks that can be made anywhere.

``docnos.txt``               one docno a line, in the order of the vectors
``vectors-000000.safetensors``, ...   ``vectors`` (n, D) float32
"""

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from adducir.core.artifacts import Manifest, open_artifact
from adducir.core.chunks import Made, build_in_chunks
from adducir.core.errors import InputError
from adducir.core.executors import HERE, Execution
from adducir.core.files import file_digest, read_lines, writing_text
from adducir.core.fingerprint import fingerprint
from adducir.corpora.documents import Corpus, refuse_duplicates, text_of
from adducir.corpora.spans import MaskedSpan, candidates_of, read_spans
from adducir.encoders.kinds import Floats, Side
from adducir.encoders.sources import EncoderSource
from adducir.models.arrays import read_shard
from adducir.models.artifacts import model_versions
from adducir.models.machine import Precision, using_threads
from adducir.models.work import ModelWork

if TYPE_CHECKING:
    import torch

KIND = "vectors"
CHUNK = 2000
"""Texts in a chunk: what a kill can lose."""
DOCNOS = "docnos.txt"
_NAME = "vectors-{:06d}.safetensors"
_VERSION = 3

Item = tuple[str, str | MaskedSpan]
"""Docno and text, or docno and span for contexts."""


@dataclass(frozen=True)
class Items:
    """What is encoded.

    Attributes:
        what: What it is, as plain values: it determines the artifact with ``identity``.
        identity: The fingerprint of the source.
        total: How many there are; None where that is not known.
        read: Gives all items anew at each call; its argument is whether to refuse duplicate docnos,
            which takes memory for all docnos.
    """

    what: dict[str, Any]
    identity: str
    side: Side
    total: int | None
    read: Callable[[bool], Iterator[Item]]


@dataclass(frozen=True)
class _Documents:
    corpus: Corpus
    fields: tuple[str, ...]

    def __call__(self, check: bool) -> Iterator[Item]:
        for document in refuse_duplicates(self.corpus) if check else self.corpus:
            yield document.docno, text_of(document, self.fields)


@dataclass(frozen=True)
class _Spans:
    path: Path
    side: Literal["context", "span"]

    def __call__(self, check: bool) -> Iterator[Item]:
        if self.side == "context":
            return ((span.id, span) for span in read_spans(self.path))
        return iter(candidates_of(read_spans(self.path), self.path).items())


@dataclass(frozen=True)
class _Texts:
    texts: tuple[str, ...]

    def __call__(self, check: bool) -> Iterator[Item]:
        return ((f"{number}", text) for number, text in enumerate(self.texts))


def items_of_corpus(corpus: Corpus, fields: tuple[str, ...] = ()) -> Items:
    """Documents of a corpus, their fields joined by newlines; by default those to be indexed."""
    chosen = fields or tuple(corpus.default_fields)
    what = {"items": "documents", "fields": list(chosen)}
    read = _Documents(corpus, chosen)
    return Items(what, fingerprint(corpus.identity()), "document", corpus.size_hint(), read)


def items_of_spans(path: Path, side: Literal["context", "span"]) -> Items:
    """The contexts of a file of spans, by their ids; or its spans, by their candidates.

    A span that has no candidate is named by its id. Spans of one candidate are encoded once.
    """
    what = {"items": "contexts" if side == "context" else "spans"}
    of: Side = "query" if side == "context" else "document"
    return Items(what, file_digest(path), of, None, _Spans(path, side))


def items_of_texts(texts: Sequence[str], what: str) -> Items:
    """Texts that are there, called by their numbers; ``what`` they are, the artifact is to say."""
    identity = fingerprint(list(texts))
    return Items({"items": what}, identity, "document", len(texts), _Texts(tuple(texts)))


def described(item: Item) -> tuple[str, bytes]:
    """An item's docno, and the bytes of its text or span."""
    name, content = item
    if isinstance(content, str):
        return name, content.encode("utf-8", "surrogatepass")
    return name, json.dumps(dataclasses.asdict(content), default=dict).encode("ascii")


@dataclass(frozen=True, kw_only=True)
class EncodingWork(ModelWork):
    """Vectors of some items.

    Attributes:
        encoder: The encoder itself where it is not to be as the source has it.
    """

    source: EncoderSource
    texts: Items
    precision: Precision
    encoder: Any = None
    doing: ClassVar[str] = "encoding"
    unit: ClassVar[str] = "texts"

    @property
    def total(self) -> int | None:
        return self.texts.total

    def check(self) -> None:
        if self.encoder is None:
            self.source.check()

    def items(self, *, check: bool) -> Iterator[Item]:
        return self.texts.read(check)

    def describe(self, item: Item) -> tuple[str, bytes]:
        return described(item)

    def load(self, device: "torch.device") -> Callable[[Sequence[Item]], Mapping[str, Floats]]:
        from adducir.encoders.model import load_encoder

        encoder: Any = (self.encoder or load_encoder(self.source)).to(device)
        options = {"tokens": self.tokens, "precision": self.precision}

        def arrays(items: Sequence[Item]) -> Mapping[str, Floats]:
            contents = [content for _, content in items]
            if isinstance(contents[0], MaskedSpan):
                encode = encoder.encode_contexts
            else:
                is_query = self.texts.side == "query"
                encode = encoder.encode_queries if is_query else encoder.encode_documents
            return {KIND: encode(contents, **options)}

        return arrays

    def counted(self, made: Made, docnos: Sequence[str]) -> dict[str, Any]:
        """The counts of the artifact."""
        if not docnos:
            raise InputError("there is nothing to encode.")
        width = int(read_vectors(made.files[0]).shape[1])
        counts = {"vectors": len(docnos), "width": width}
        return counts | {"shards": len(made.files), "shard": self.size}

    def finish(self, folder: Path, made: Made) -> dict[str, Any]:
        made.keep(folder, _NAME)
        docnos = [name for names in made.names for name in names]
        write_docnos(folder, docnos)
        return self.counted(made, docnos)


def encode(
    source: EncoderSource,
    items: Items,
    output: Path,
    *,
    encoder: Any = None,
    device: str = "auto",
    threads: int | None = None,
    tokens: int | None = None,
    precision: Precision = "float32",
    rebuild: bool = False,
    execution: Execution = HERE,
) -> Manifest:
    """Encode, unless ``output`` holds the vectors already.

    Work that was killed resumes: chunks that were made are not made again.

    Args:
        source: The encoder, from :func:`adducir.encoders.sources.encoder_source`.
        encoder: The encoder itself where it is loaded already.
        tokens: Padded tokens in a batch.
        execution: Who makes the chunks.
    """
    with using_threads(threads):
        return build_in_chunks(
            output,
            EncodingWork(
                source=source,
                texts=items,
                precision=precision,
                encoder=encoder,
                size=CHUNK,
                device=device,
                threads=threads,
                tokens=tokens,
            ),
            kind=KIND,
            recipe={**items.what, "precision": precision},
            inputs={"items": items.identity, "model": source.identity()},
            builder_version=_VERSION,
            versions=model_versions(),
            rebuild=rebuild,
            execution=execution,
        )


def write_docnos(folder: Path, docnos: Sequence[str]) -> None:
    """Write the docnos of an artifact."""
    with writing_text(folder / DOCNOS) as handle:
        handle.writelines(f"{docno}\n" for docno in docnos)


def read_vectors(path: Path) -> Floats:
    """The vectors of a chunk, (n, D)."""
    values: Floats = read_shard(path)[KIND]
    return values


class Vectors:
    """The vectors of an artifact, with their docnos."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = open_artifact(folder, KIND)
        self.docnos = [line.rstrip("\n") for _, line in read_lines(folder / DOCNOS)]
        self.width = int(self.manifest.counts["width"])

    def __len__(self) -> int:
        return len(self.docnos)

    def all(self) -> Floats:
        """All vectors, (N, D)."""
        shards = range(int(self.manifest.counts["shards"]))
        return np.concatenate([read_vectors(self.folder / _NAME.format(n)) for n in shards])
