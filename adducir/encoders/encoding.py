"""Encodes a corpus, spans or topics into an artifact, in chunks that any executor can compute.

A dense encoder writes ``docnos.txt``, one docno per line in the order of the vectors, and
``vectors-000000.safetensors``, ...: ``vectors`` (n, D) float32. A learned sparse one (SPLADE;
Formal et al., SIGIR 2021) writes ``weights.jsonl.gz``, the weighted tokens of each text, for
``adducir index --weights`` and ``adducir search --topics``.
"""

import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import orjson

from adducir.core.chunks import FinishedChunks
from adducir.core.errors import InputError
from adducir.core.files import file_digest, read_lines, writing_bytes, writing_text
from adducir.core.fingerprint import fingerprint
from adducir.core.manifests import Manifest, open_artifact
from adducir.core.progress import progress
from adducir.corpora.documents import Corpus, refuse_duplicates, text_of
from adducir.corpora.passages import read_by
from adducir.corpora.spans import MaskedSpan, candidates_of, read_spans
from adducir.corpora.token_weights import WEIGHTS
from adducir.corpora.topics import Topics
from adducir.encoders.kinds import EncoderSource, Floats, described
from adducir.models.artifacts import read_shard
from adducir.models.folders import Side
from adducir.models.machine import choose_device, computing_in
from adducir.models.running import PLAIN, Running
from adducir.models.work import Arrays, ModelWork, tokens_for

if TYPE_CHECKING:
    import torch

KIND, TOKEN_WEIGHTS, CUT = "vectors", "token-weights", "cut"
CHUNK = 2000
"""Texts per chunk: the most that a kill can lose."""
DOCNOS = "docnos.txt"
_NAME = "vectors-{:06d}.safetensors"
_VERSION = 4

Item = tuple[str, str | MaskedSpan]
"""Docno and text, or docno and span for contexts."""


@dataclass(frozen=True)
class Items:
    """The items to encode; ``read`` yields them afresh and refuses duplicate docnos on request."""

    what: dict[str, Any]
    identity: str
    side: Side
    total: int | None
    read: Callable[[bool], Iterator[Item]]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "read": None}  # workers get their own


def items_of_corpus(corpus: Corpus, fields: tuple[str, ...] = ()) -> Items:
    """A corpus's documents, fields joined by newlines; by default those to index."""
    corpus = read_by(corpus, fields)
    chosen = fields or tuple(corpus.default_fields)

    def read(check: bool) -> Iterator[Item]:
        for document in refuse_duplicates(corpus) if check else corpus:
            yield document.docno, text_of(document, chosen)

    settings = {"items": "documents", "fields": list(chosen)}
    return Items(settings, fingerprint(corpus.identity()), "document", corpus.size_hint(), read)


def items_of_spans(path: Path, side: Literal["context", "span"]) -> Items:
    """Contexts by id; or spans by candidate, or else by id."""

    def read(check: bool) -> Iterator[Item]:
        if side == "context":
            return ((span.id, span) for span in read_spans(path))
        return iter(candidates_of(read_spans(path), path).items())

    target: Side = "query" if side == "context" else "document"
    return Items({"items": f"{side}s"}, file_digest(path), target, None, read)


def items_of_topics(topics: Topics) -> Items:
    items, identity = list(zip(topics.qids, topics.texts, strict=True)), topics.identity()
    settings = {"items": "queries"}
    return Items(settings, fingerprint(identity), "query", len(items), lambda _: iter(items))


class TextWork(ModelWork):
    doing: ClassVar[str] = "encoding"
    unit: ClassVar[str] = "texts"

    def describe(self, item: Item) -> tuple[str, bytes]:
        name, content = item
        if isinstance(content, str):
            return name, content.encode("utf-8", "surrogatepass")
        return name, json.dumps(dataclasses.asdict(content), default=dict).encode("ascii")


@dataclass(frozen=True, kw_only=True)
class ItemsWork(TextWork):
    texts: Items

    @property
    def total(self) -> int | None:
        return self.texts.total

    def items(self, *, check: bool) -> Iterator[Item]:
        return self.texts.read(check)


@dataclass(frozen=True, kw_only=True)
class EncodingWork(ItemsWork):
    source: EncoderSource
    encoder: Any = None  # if already loaded

    @property
    def sides(self) -> tuple[Side, ...]:
        """What will be encoded with the same encoder."""
        return (self.texts.side,)

    def check(self) -> None:
        from adducir.models.peers import networks_of

        if self.encoder is None:
            self.source.check(*self.sides)
            progress().note(f"{self.source.name}: {described(self.source)}")
            if self.source.texts is None:
                for model in dict.fromkeys((self.source.query, self.source.document)):
                    networks_of(model)  # what lacks weights is refused before any work

    @cached_property
    def model(self) -> Any:
        """The encoder, which is loaded once in a process."""
        from adducir.encoders.model import load_encoder

        return self.encoder or load_encoder(self.source)

    def load(self, device: "torch.device") -> Callable[[Sequence[Item]], Arrays]:
        encoder = self.model.to(device)

        def arrays(items: Sequence[Item]) -> Arrays:
            contents = [content for _, content in items]
            if isinstance(contents[0], MaskedSpan):
                encode = encoder.encode_contexts
            else:
                is_query = self.texts.side == "query"
                encode = encoder.encode_queries if is_query else encoder.encode_documents
            vectors = encode(contents, self.running)
            inputs = getattr(encoder, "inputs", None)  # another kind of encoder has none
            return {KIND: vectors, CUT: np.array([inputs.counted_cuts() if inputs else 0])}

        return arrays

    def counted(self, folder: Path, chunks: FinishedChunks) -> dict[str, Any]:
        """Write the docnos of all vectors; returns the counts."""
        if not chunks.files:
            raise InputError("the items to encode are missing.")
        with writing_text(folder / DOCNOS) as handle:
            handle.writelines(f"{docno}\n" for names in chunks.names for docno in names)
        counts = {"vectors": chunks.items, "width": read_vectors(chunks.files[0]).shape[1]}
        cut = sum(int(np.sum(read_shard(path).get(CUT, 0))) for path in chunks.files)
        if cut:
            what = "queries" if self.texts.side == "query" else "documents"
            progress().note(f"{cut:,} of {chunks.items:,} {what} were cut at their maximum tokens")
            counts[CUT] = cut
        return {**counts, "shards": len(chunks.files), "shard": self.size}

    def finish(self, folder: Path, chunks: FinishedChunks) -> dict[str, Any]:
        chunks.keep(folder, _NAME)
        return self.counted(folder, chunks)


@dataclass(frozen=True, kw_only=True)
class SparseWork(EncodingWork):
    def check(self) -> None:
        from adducir.encoders.statement import check_sparse

        check_sparse(self.source.query, self.source.encoding.attention)
        self.source.query.local_tokenizer()

    @cached_property
    def model(self) -> Any:
        from adducir.encoders.sparse import load_sparse_encoder

        attention = self.source.encoding.attention
        return self.encoder or load_sparse_encoder(self.source.query, attention)

    def load(self, device: "torch.device") -> Callable[[Sequence[Item]], Arrays]:
        from adducir.encoders.sparse import pool_early

        encoder = self.model.to(device)
        pool_early(encoder)
        is_query = self.texts.side == "query"
        encode_some = encoder.encode_query if is_query else encoder.encode_document
        # Each token of a text has a logit per vocabulary entry.
        at_once = max(1, (self.running.tokens or tokens_for(device)) // 256)

        def arrays(items: Sequence[Item]) -> Arrays:
            texts = [content for _, content in items]
            with computing_in(self.running.precision, encoder):
                vectors = encode_some(texts, batch_size=at_once, show_progress_bar=False).coalesce()
            rows, ids = vectors.indices().cpu().numpy()
            counts = np.bincount(rows, minlength=len(texts))
            return {"counts": counts, "ids": ids, "weights": vectors.values().float().cpu().numpy()}

        return arrays

    def finish(self, folder: Path, chunks: FinishedChunks) -> dict[str, Any]:
        from adducir.encoders.sparse import dimension_names

        tokens = dimension_names(self.model)
        key, total = "qid" if self.texts.side == "query" else "docno", 0
        with writing_bytes(folder / WEIGHTS) as file:
            for path, names in zip(chunks.files, chunks.names, strict=True):
                for name, vector in zip(names, _named(read_shard(path), tokens), strict=True):
                    file.write(orjson.dumps({key: name, "vector": vector}) + b"\n")
                    total += len(vector)
        return {"texts": chunks.items, "weights": total}


def _named(chunk: Arrays, tokens: Mapping[int, str]) -> Iterator[dict[str, float]]:
    """The weighted tokens of each text of a chunk."""
    ends = np.cumsum(chunk["counts"])[:-1]
    parts = (np.split(chunk[key], ends) for key in ("ids", "weights"))
    for ids, weights in zip(*parts, strict=True):
        # Rows that pad a vocabulary have no token.
        names = (tokens.get(number, f"#{number}") for number in ids.tolist())
        yield dict(zip(names, weights.tolist(), strict=True))


def weighted_topics(
    source: EncoderSource, topics: Topics, running: Running = PLAIN
) -> tuple[Topics, float]:
    """Topics with a learned sparse encoder's token weights, as if they had been encoded before.

    Returns:
        The topics, and the seconds that encoding took once the model was loaded.
    """
    from adducir.encoders.sparse import dimension_names

    texts, vectors = items_of_topics(topics), list[Mapping[str, float]]()
    work = SparseWork(source=source, texts=texts, size=CHUNK, running=running)
    compute, tokens = work.load(choose_device(running.device)), dimension_names(work.model)
    started = time.perf_counter()
    items = [*texts.read(False)]
    for first in range(0, len(items), CHUNK):
        vectors += _named(compute(items[first : first + CHUNK]), tokens)
    return replace(topics, vectors=vectors), time.perf_counter() - started


def encode(
    source: EncoderSource,
    items: Items,
    output: Path,
    running: Running = PLAIN,
    *,
    encoder: Any = None,
    sparse: bool = False,
    rebuild: bool = False,
) -> Manifest:
    """Encode unless ``output`` is up to date; ``encoder``: if already loaded."""
    kind: Any = SparseWork if sparse else EncodingWork
    work = kind(source=source, texts=items, encoder=encoder, size=CHUNK, running=running)
    attention = source.encoding.attention if sparse else None
    return work.build(
        output,
        kind=TOKEN_WEIGHTS if sparse else KIND,
        recipe={
            **items.what,
            "precision": running.precision,
            **({"attention": attention} if attention else {}),
        },
        inputs={"items": items.identity, "model": source.identity(as_read=not sparse)},
        builder_version=_VERSION,
        rebuild=rebuild,
    )


def read_vectors(path: Path) -> Floats:
    """The vectors of a chunk, (n, D)."""
    return read_shard(path)[KIND]


class Vectors:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = open_artifact(folder, KIND)
        self.docnos = [line.rstrip("\n") for _, line in read_lines(folder / DOCNOS)]
        self.width = self.manifest.count("width")

    def __len__(self) -> int:
        return len(self.docnos)

    def all(self) -> Floats:
        """All vectors, (N, D)."""
        shards = range(self.manifest.count("shards"))
        return np.concatenate([read_vectors(self.folder / _NAME.format(n)) for n in shards])
