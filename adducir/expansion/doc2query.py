"""doc2query: documents expanded with queries that a sequence-to-sequence model generates for them.

Each document gets n queries, drawn token by token from the k most probable (docT5query; Nogueira
and Lin, 2019), in the field ``queries``. doc2query-- (Gospodinov et al., ECIR 2023) scores each
query and its document with a reranker and keeps the best share of all, by one threshold for the
collection: most of what a model hallucinates goes.

What is drawn depends on the seed, the docno and the number of the query, not on batches: to the
logits of the k best tokens Gumbel noise is added, whose argmax is a draw from their softmax.

Files of chunks hold ``text``, uint8, the queries of all documents in UTF-8, and ``lengths``, int32,
the bytes of each query; those of scores hold ``scores``, float64, one per query.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import Field

from adducir.core.chunks import FinishedChunks
from adducir.core.errors import ArtifactError
from adducir.core.files import writing_bytes
from adducir.core.fingerprint import fingerprint
from adducir.core.manifests import Manifest, open_artifact
from adducir.core.progress import progress
from adducir.core.recipe import Recipe, Several, as_tuple
from adducir.corpora.documents import Corpus, Document, text_of
from adducir.deepct.expansion import AddedField, DocumentWork
from adducir.encoders.reading import Reader
from adducir.models.artifacts import read_shard
from adducir.models.loading import load_model, load_tokenizer, loading, longest_input
from adducir.models.machine import Precision, seed_of
from adducir.models.running import PLAIN, Running
from adducir.models.sources import ModelSource
from adducir.models.work import Arrays, Numbers, computed, padded
from adducir.rerankers.recipe import Reranker

if TYPE_CHECKING:
    import torch

QUERIES = "queries"
"""The field with the generated queries."""
KIND, SCORES_KIND = "generated-queries", "query-scores"
CHUNK = 100
"""Documents per chunk: the most that a kill can lose."""
_NAMES = "queries-{:06d}.safetensors", "scores-{:06d}.safetensors"
_VERSION = 1
Length = Annotated[int, Field(ge=1)]


class Generation(Recipe):
    """How queries are generated."""

    number: Length = 20
    """Queries per document."""
    read: Several = ()
    """The fields to read; by default those to index."""
    prompt: str = ""
    """A text before each document, if the model was trained with one."""
    length: Length = 512
    """Maximum tokens of a document that are read."""
    query_length: Length = 64
    """Maximum tokens of a query."""
    top_k: Length = 10
    """A token is drawn from so many of the most probable ones."""
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0
    """Another seed draws other queries."""

    def identity(self, corpus: Corpus, model: str, precision: Precision) -> dict[str, Any]:
        """What :func:`adducir.core.artifacts.build` needs to know of a model's queries."""
        return {
            "kind": KIND,
            "recipe": self.model_dump(mode="json") | {"precision": precision},
            "inputs": {"corpus": fingerprint(corpus.identity()), "model": model},
            "builder_version": _VERSION,
        }


def generate_queries(
    source: ModelSource,
    corpus: Corpus,
    output: Path,
    generation: Generation,
    running: Running = PLAIN,
    *,
    rebuild: bool = False,
) -> Manifest:
    """Generate all documents' queries unless ``output`` is up to date; killed work resumes."""
    work = _Generating(
        size=CHUNK, running=running, source=source, corpus=corpus, generation=generation
    )
    about = generation.identity(corpus, source.identity(), running.precision)
    return work.build(output, rebuild=rebuild, **about)


class QueryGenerator:
    """A sequence-to-sequence model that draws queries of texts."""

    def __init__(self, source: ModelSource, generation: Generation) -> None:
        with loading(f"the model {source.name}"):
            self.network: Any = load_model(source, "AutoModelForSeq2SeqLM")
            self.tokenizer = load_tokenizer(source)
        self.generation = generation
        longest = longest_input(self.network.config, self.tokenizer, generation.length)
        self._reader = Reader(self.tokenizer, longest, generation.prompt)

    def queries(
        self, documents: Sequence[tuple[str, str]], running: Running = PLAIN
    ) -> list[list[str]]:
        """The queries of (docno, text) pairs; none of a text without a word."""
        written = [n for n, (_, text) in enumerate(documents) if text.strip()]
        ids = self._reader.texts([documents[n][1] for n in written])

        def compute(numbers: Numbers) -> list[list[str]]:
            docnos = [documents[written[number]][0] for number in numbers]
            return self._drawn(docnos, [ids[number] for number in numbers])

        # Each query is a sequence of its own, which attends to the text.
        lengths = [len(some) * self.generation.number for some in ids]
        found: list[list[str]] = [[] for _ in documents]
        for n, queries in zip(
            written, computed(self.network, lengths, compute, running), strict=True
        ):
            found[n] = queries
        return found

    def _drawn(self, docnos: Sequence[str], batch: Sequence[Numbers]) -> list[list[str]]:
        from transformers import GenerationConfig, LogitsProcessorList
        from transformers.modeling_outputs import BaseModelOutput

        part, network = self.generation, self.network
        ids, mask = padded(batch, self._reader.padding, network.device)
        states = network.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        states, mask = (values.repeat_interleave(part.number, 0) for values in (states, mask))
        vocabulary = network.config.get_text_config().vocab_size
        noise = [
            np.random.default_rng(seed_of(part.seed, docno, number)).gumbel(
                size=(part.query_length, min(part.top_k, vocabulary))
            )
            for docno in docnos
            for number in range(part.number)
        ]
        config = network.generation_config
        names = ("decoder_start_token_id", "bos_token_id", "eos_token_id", "pad_token_id")
        tokens = {name: getattr(config, name, None) for name in names}
        tokens["pad_token_id"] = self._reader.padding
        decoding: Any = GenerationConfig
        settings = decoding(
            do_sample=False, num_beams=1, max_new_tokens=part.query_length, **tokens
        )
        output = network.generate(
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            attention_mask=mask,
            generation_config=settings,
            logits_processor=LogitsProcessorList([_draw(np.stack(noise), 1)]),
        )
        texts = self.tokenizer.batch_decode(output, skip_special_tokens=True)
        queries = [" ".join(text.split()) for text in texts]
        return [queries[n : n + part.number] for n in range(0, len(queries), part.number)]


def _draw(
    noise: NDArray[np.float64], start: int
) -> "Callable[[torch.Tensor, torch.Tensor], torch.Tensor]":
    """A logits processor that leaves one of the best tokens, drawn by (rows, steps, k) noise."""
    import torch

    def process(ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        added = torch.from_numpy(noise[:, ids.shape[1] - start]).to(scores)
        best = scores.topk(added.shape[1], dim=1)
        chosen = best.indices.gather(1, (best.values + added).argmax(1, keepdim=True))
        return torch.full_like(scores, -torch.inf).scatter(1, chosen, 0.0)

    return process


@dataclass(frozen=True, kw_only=True)
class _Generating(DocumentWork):
    source: ModelSource
    generation: Generation
    doing: ClassVar[str] = "generating queries"

    def check(self) -> None:
        self.source.local()
        self.source.local_tokenizer()

    def load(self, device: "torch.device") -> Callable[[Sequence[Document]], Arrays]:
        generator = QueryGenerator(self.source, self.generation)
        generator.network.to(device)
        fields = as_tuple(self.generation.read) or tuple(self.corpus.default_fields)

        def arrays(documents: Sequence[Document]) -> Arrays:
            named = [(document.docno, text_of(document, fields)) for document in documents]
            every = generator.queries(named, self.running)
            encoded = [query.encode() for queries in every for query in queries]
            return {
                "text": np.frombuffer(b"".join(encoded), dtype=np.uint8),
                "lengths": np.array([len(query) for query in encoded], dtype=np.int32),
                "counts": np.array([len(queries) for queries in every], dtype=np.int32),
            }

        return arrays

    def finish(self, folder: Path, chunks: FinishedChunks) -> dict[str, Any]:
        chunks.keep(folder, _NAMES[0])
        counts = {"documents": chunks.items, "shards": len(chunks.files)}
        total = sum(len(read_shard(path)["lengths"]) for path in chunks.files)
        return counts | {"queries": total, "seconds": round(chunks.seconds, 1)}


def stored_queries(folder: Path) -> Iterator[list[str]]:
    """The queries of each document, in the corpus's order."""
    for number in range(open_artifact(folder, KIND).count("shards")):
        arrays = read_shard(folder / _NAMES[0].format(number))
        ends = np.cumsum(arrays["lengths"]).tolist()
        data = arrays["text"].tobytes()
        texts = [data[s:e].decode() for s, e in zip([0, *ends], ends, strict=False)]
        places = np.cumsum(arrays["counts"]).tolist()
        yield from (texts[s:e] for s, e in zip([0, *places], places, strict=False))


def scores_identity(queries: str, reranker: Reranker) -> dict[str, Any]:
    """What :func:`adducir.core.artifacts.build` needs to know of the scores of queries."""
    return {
        "kind": SCORES_KIND,
        "recipe": {"fields": list(reranker.fields)},
        "inputs": {"queries": queries, "reranker": fingerprint(reranker.identity)},
        "builder_version": _VERSION,
    }


def score_queries(
    queries: Path,
    corpus: Corpus,
    reranker: Reranker,
    output: Path,
    running: Running = PLAIN,
    *,
    rebuild: bool = False,
) -> Manifest:
    """Score each generated query with its document, unless ``output`` is up to date."""
    manifest = open_artifact(queries, KIND)
    fields = as_tuple(manifest.recipe["read"]) or tuple(corpus.default_fields)
    work = _Scoring(
        size=CHUNK,
        running=running,
        corpus=corpus,
        queries=queries,
        reranker=replace(reranker, running=running),
        fields=reranker.fields or fields,
    )
    return work.build(output, rebuild=rebuild, **scores_identity(manifest.fingerprint, reranker))


@dataclass(frozen=True, kw_only=True)
class _Scoring(DocumentWork):
    queries: Path
    reranker: Reranker
    fields: tuple[str, ...]
    doing: ClassVar[str] = "scoring queries"

    def check(self) -> None:
        self.reranker.check()

    def items(self, *, check: bool) -> Iterator[tuple[Document, list[str]]]:
        return with_queries(super().items(check=check), self.queries)

    def describe(self, item: tuple[Document, list[str]]) -> tuple[str, bytes]:
        name, content = super().describe(item[0])
        return name, content + json.dumps(item[1]).encode("ascii")

    def load(self, device: "torch.device") -> Callable[[Sequence[Any]], Arrays]:
        reranker = self.reranker.on(device)

        def arrays(items: Sequence[tuple[Document, list[str]]]) -> Arrays:
            pairs = [
                (query, text)
                for document, queries in items
                for text in [text_of(document, self.fields)]
                for query in queries
            ]
            return {"scores": reranker.scores(pairs) if pairs else np.zeros(0)}

        return arrays

    def finish(self, folder: Path, chunks: FinishedChunks) -> dict[str, Any]:
        chunks.keep(folder, _NAMES[1])
        counts = {"documents": chunks.items, "shards": len(chunks.files)}
        return counts | {"seconds": round(chunks.seconds, 1)}


def with_queries(documents: Iterator[Document], folder: Path) -> Iterator[tuple[Document, Any]]:
    """Each document with its queries; an ArtifactError if they are of another corpus."""
    stored = stored_queries(folder)
    for document in documents:
        queries = next(stored, None)
        if queries is None:
            message = f"these queries end before the document {document.docno!r}."
            raise ArtifactError(message, path=folder, hint="Generate the corpus's queries again.")
        yield document, queries


@dataclass(frozen=True)
class QueryCorpus(AddedField):
    """A corpus's documents with the field ``queries``; files are opened when it is read.

    Attributes:
        base: The documents.
        queries: The folder of :func:`generate_queries`.
        fingerprints: Of the queries and, if they are filtered, of their scores.
        scores: The folder of :func:`score_queries`; None keeps all queries.
        keep: The share of all queries to keep, by score.
    """

    added: ClassVar[str] = QUERIES

    queries: Path
    fingerprints: tuple[str, ...]
    scores: Path | None = None
    keep: float = 1.0

    @property
    def default_fields(self) -> tuple[str, ...]:
        return (*self.base.default_fields, QUERIES)

    def __iter__(self) -> Iterator[Document]:
        values = None if self.scores is None else self._scores()
        least, start = -np.inf, 0
        if values is not None and len(values):
            kept = max(1, int(np.ceil(self.keep * len(values))))
            least = np.partition(values, len(values) - kept)[len(values) - kept]
        for document, queries in with_queries(iter(self.base), self.queries):
            if values is not None:
                scores = values[start : start + len(queries)]
                start += len(queries)
                queries = [q for q, score in zip(queries, scores, strict=True) if score >= least]
            yield self.with_field(document, " ".join(filter(None, queries)))

    def _scores(self) -> NDArray[np.float64]:
        folder = self.scores or Path()
        shards = range(open_artifact(folder, SCORES_KIND).count("shards"))
        files = [folder / _NAMES[1].format(number) for number in shards]
        return np.concatenate([np.zeros(0), *(read_shard(file)["scores"] for file in files)])

    def identity(self) -> dict[str, Any]:
        return {"source": "doc2query", "of": list(self.fingerprints), "keep": self.keep}

    def write(self, output: Path) -> tuple[int, int]:
        """Write JSON lines; returns the numbers of documents, and of words in their queries."""
        count = words = 0
        doing = progress().doing("writing", self.size_hint(), "documents")
        with doing, writing_bytes(output) as file:
            for document in self:
                file.write(orjson.dumps({"docno": document.docno, **document.fields}) + b"\n")
                count, words = count + 1, words + len(document.fields[QUERIES].split())
                progress().advance(1)
        return count, words
