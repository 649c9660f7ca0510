"""Exact ranks of gold items from vectors of spans and contexts, in blocks, with tie counts.

Equal texts must tie, although vectors from different batches, or products at different positions of
a matrix, may differ in the last bit. So each distinct text is encoded and scored once, and counts
as often as it occurs.

A text has one vector, or one per token: in late interaction (ColBERT, Khattab and Zaharia, SIGIR
2020), a score is the sum over query vectors of the maximum inner product with the document's
vectors. Memory holds the vectors of one task's candidates at a time.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.chunks import Chunking
from adducir.core.errors import UsageError
from adducir.core.recipe import Kind
from adducir.core.registry import Family
from adducir.corpora.spans import MaskedSpan, candidates_of
from adducir.encoders.encoding import CHUNK, Item, TextWork
from adducir.encoders.kinds import EncoderSource
from adducir.encoders.reading import ContextPart
from adducir.models.artifacts import read_shard
from adducir.models.running import Running
from adducir.models.work import Arrays
from adducir.runs.run import Run

if TYPE_CHECKING:
    import torch

    from adducir.encoders.model import DualEncoder

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
Scores = Callable[[int, int], Floats]
"""Returns (n, U) scores of queries ``first`` to ``last`` - 1 with all distinct candidates."""
SCORES = PRODUCTS = 1 << 24  # scores or inner products held at a time: 64 MB


@dataclass(frozen=True)
class SpanTask:
    """Q contexts that share their N candidates, such as a collection's or one book's."""

    spans: Sequence[MaskedSpan]
    texts: Sequence[str]
    docnos: Sequence[str]
    gold: Integers  # (Q,) the number of each gold item; -1 if hidden
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)  # (Q,) to break figures down

    @cached_property
    def same(self) -> "Distinct":
        return Distinct(self.texts)


@dataclass(frozen=True, eq=False)
class ContextRanks:
    """How many candidates score higher than each context's gold item, or tie with it: (Q,)."""

    better: Integers
    tied: Integers  # including itself
    candidates: Integers
    first: Integers | None = None  # the number of the first candidate

    @property
    def ranks(self) -> Integers:
        """(Q,) ranks from 1, pessimistic on ties."""
        return self.better + self.tied


class ContextReader(Kind):
    """Reads contexts with their own candidates, such as a book's passages."""

    has_groups: ClassVar[bool] = True
    submitted: ClassVar[int] = 0
    """Candidates per context in a submission to its leaderboard; 0: there is none."""

    def files(self, path: Path) -> list[Path]:
        """The identity of what is read from a path."""
        return [path]

    def tasks(self, path: Path) -> Iterator[SpanTask]:
        """All contexts, by their sets of candidates."""
        raise NotImplementedError

    def hidden_tasks(self, path: Path) -> Iterator[SpanTask]:
        """The same, and contexts whose gold item is hidden."""
        return self.tasks(path)

    def submit(self, ranked: "Iterable[BestOf]", path: Path, output: Path) -> int:
        """Write a submission of :meth:`hidden_tasks`' best candidates; returns how many it has."""
        raise NotImplementedError


CONTEXTS = Family("contexts", ContextReader, {}, what="kind of contexts")


def task_among(spans: Sequence[MaskedSpan], candidates: Iterable[MaskedSpan]) -> SpanTask:
    """Contexts with candidates that include their own; spans with one docno are one candidate."""
    texts = candidates_of(candidates)
    numbers = {docno: number for number, docno in enumerate(texts)}
    gold = np.array([numbers[span.docno] for span in spans], dtype=np.int64)
    return SpanTask(spans, list(texts.values()), list(texts), gold)


class Distinct:
    """The U distinct of N values: first positions, numbers (N,), counts (U,)."""

    def __init__(self, values: Sequence[Hashable]) -> None:
        numbers: dict[Hashable, int] = {}
        numbers_of = [numbers.setdefault(value, len(numbers)) for value in values]
        self.of = np.array(numbers_of, dtype=np.int64)
        _, self.firsts = np.unique(self.of, return_index=True)
        self.counts = np.bincount(self.of, minlength=len(self.firsts))

    def picked(self, texts: Sequence[str]) -> list[str]:
        return [texts[number] for number in self.firsts.tolist()]


def by_vectors(contexts: Floats, candidates: Floats) -> Scores:
    """Inner products of (Q, D) contexts' and (U, D) candidates' vectors."""
    held = np.ascontiguousarray(candidates.T)
    return lambda first, last: contexts[first:last] @ held


def context_ranks(
    scores: Scores, gold: Integers, counts: Integers, *, block: int = SCORES
) -> ContextRanks:
    """The standings of (Q,) gold items among U distinct ones that occur (U,) ``counts`` times."""
    queries, size = len(gold), len(counts)
    if queries and not (gold.min() >= 0 and gold.max() < size):
        raise UsageError(f"a gold item's number is not below {size:,}, the number of candidates.")
    better, tied, tops = (np.zeros(queries, dtype=np.int64) for _ in range(3))
    step = max(1, block // max(size, 1))
    for first in range(0, queries, step):
        last = min(first + step, queries)
        some = scores(first, last)
        gold_scores = some[np.arange(last - first), gold[first:last]][:, None]
        if np.isnan(some).any():
            raise UsageError("a score is not a number.")
        better[first:last] = (some > gold_scores) @ counts
        tied[first:last] = (some == gold_scores) @ counts
        tops[first:last] = some.argmax(axis=1)
    return ContextRanks(better, tied, np.full(queries, counts.sum(), dtype=np.int64), tops)


SpanSide = Literal["both", "candidates", "contexts"]
Encode = Callable[[Sequence[Any]], Iterable[Floats]]
"""Returns (T, D) vectors for each text, or each span's context."""
Scored = tuple[SpanTask, Scores, Distinct]
"""A task with a scorer of its contexts against its distinct candidates."""
BestOf = tuple[SpanTask, Integers, Floats]
"""A task with the (Q, depth) numbers and scores of its contexts' best candidates."""


def best(
    scores: Scores, queries: int, same: Distinct, depth: int, *, block: int = SCORES
) -> tuple[Integers, Floats]:
    """(Q, depth) numbers and scores of the best candidates, ties in order of number."""
    size = len(same.of)
    depth = min(depth, size)
    numbers = np.empty((queries, depth), dtype=np.int64)
    best_scores = np.empty((queries, depth), dtype=np.float32)
    step = max(1, block // max(size, 1))
    for first in range(0, queries, step):
        last = min(first + step, queries)
        some = scores(first, last)[:, same.of]
        order = np.argsort(-some, axis=1, kind="stable")[:, :depth]
        numbers[first:last] = order
        best_scores[first:last] = np.take_along_axis(some, order, axis=1)
    return numbers, best_scores


def best_of(scored: Iterable[Scored], depth: int) -> Iterator[BestOf]:
    for task, scores, same in scored:
        yield task, *best(scores, len(task.spans), same, depth)


def run_tasks(ranked: Iterable[BestOf], *, tag: str) -> Run:
    """A run with the best candidates of each context of tasks, whose context ids are distinct."""
    frames = []
    for task, numbers, best_scores in ranked:
        rows = {
            "qid": np.repeat([span.id for span in task.spans], numbers.shape[1]),
            "docno": [task.docnos[number] for number in numbers.ravel().tolist()],
            "score": best_scores.ravel().astype(np.float64),
        }
        frames.append(pl.DataFrame(rows))
    return Run.ranked(pl.concat(frames), tag, ties="ascending")


class VectorSource(Protocol):
    """What computes vectors; ``identity`` determines them, besides texts, batches and precision."""

    def identity(self, side: SpanSide) -> Mapping[str, Any]: ...
    def load(self, device: "torch.device", running: Running) -> tuple[Encode, Encode]: ...


@dataclass(frozen=True)
class DualVectors:
    """A dual encoder's vectors; ``options`` are those of :meth:`.DualEncoder.load`."""

    source: EncoderSource
    options: Mapping[str, Any]

    def __reduce__(self) -> tuple[Any, ...]:  # workers load the encoder themselves
        return DualVectors, (self.source, self.options)

    @cached_property
    def encoder(self) -> "DualEncoder":
        from adducir.encoders.model import DualEncoder

        return DualEncoder.load(self.source, **self.options)

    def identity(self, side: SpanSide) -> Mapping[str, Any]:
        options = {
            key: option.model_dump(mode="json") if hasattr(option, "model_dump") else option
            for key, option in self.options.items()
            if not (key == "context" and side == "candidates")
        }
        return {"model": self.source.identity(), "options": options}

    def load(self, device: "torch.device", running: Running) -> tuple[Encode, Encode]:
        if (texts := self.source.texts) is not None:
            part: ContextPart = self.options.get("context") or ContextPart()
            if self.options.get("lengths"):
                message = f"lengths cannot be set for the encoder {self.source.name}."
                raise UsageError(message)
            return (
                lambda some: iter(texts.encode_documents(some)[:, None]),
                lambda spans: iter(texts.encode_queries(list(map(part.text, spans)))[:, None]),
            )
        encoder = self.encoder.to(device)
        return (
            lambda texts: iter(encoder.encode_documents(texts, running)[:, None]),
            lambda spans: iter(encoder.encode_contexts(spans, running)[:, None]),
        )


@dataclass(frozen=True, kw_only=True)
class SpanWork(TextWork):
    """Concatenated vectors of tasks' distinct candidates, contexts, or both."""

    vectors: VectorSource
    tasks: Callable[[], Iterable[SpanTask]]
    side: SpanSide = "both"
    size: int = CHUNK

    def identity(self) -> Mapping[str, Any]:
        how = {"vectors": self.vectors.identity(self.side), "precision": self.running.precision}
        return {**super().identity(), **how}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "tasks": None}  # a worker is given its own

    def items(self, *, check: bool) -> Iterator[Item]:
        for task in self.tasks():
            if self.side != "contexts":
                firsts = task.same.firsts.tolist()
                yield from ((task.docnos[first], task.texts[first]) for first in firsts)
            if self.side != "candidates":
                yield from ((span.id, span) for span in task.spans)

    def load(self, device: "torch.device") -> Callable[[Sequence[Item]], Arrays]:
        of_texts, of_spans = self.vectors.load(device, self.running)

        def arrays(items: Sequence[Item]) -> Arrays:
            vectors_of = list[Floats]()
            for is_text, some in groupby(items, lambda item: isinstance(item[1], str)):
                vectors_of += (of_texts if is_text else of_spans)([content for _, content in some])
            counts = np.array([len(vectors) for vectors in vectors_of], dtype=np.int64)
            return {"values": np.concatenate(vectors_of).astype(np.float32), "counts": counts}

        return arrays


@dataclass(frozen=True, eq=False)
class MultiVectors:
    """The (T, D) unpadded vectors of N texts, and (N + 1,) where each text's begin."""

    values: Floats
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def rows(self, first: int, last: int) -> "MultiVectors":
        begin, end = self.starts[first], self.starts[last]
        return MultiVectors(self.values[begin:end], self.starts[first : last + 1] - begin)

    @classmethod
    def of(cls, parts: "list[Floats]") -> "MultiVectors":
        """From the (T_i, D) vectors of each text; D is 0 without texts."""
        starts = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum([len(part) for part in parts], out=starts[1:])
        none = np.zeros((0, parts[0].shape[1] if parts else 0), dtype=np.float32)
        return cls(np.concatenate([none, *parts]).astype(np.float32, copy=False), starts)


def maxsim_packed(queries: MultiVectors, documents: MultiVectors) -> Floats:
    """(Q, N) float32 scores; minus infinity for documents without vectors, 0 for such queries."""
    starts, first = documents.starts, 0
    scores = np.full((len(queries), len(starts) - 1), -np.inf, dtype=np.float32)
    filled_queries = np.flatnonzero(np.diff(queries.starts))
    most = max(1, PRODUCTS // max(1, len(queries.values)))
    while first < len(starts) - 1:
        last = int(np.searchsorted(starts, starts[first] + most, side="right")) - 1
        last = max(last, first + 1)  # one text may have more vectors
        some = documents.rows(first, last)
        filled = np.flatnonzero(np.diff(some.starts))
        if len(filled):
            best = np.zeros((len(queries), len(filled)), dtype=np.float32)
            if len(filled_queries):
                products = queries.values @ some.values.T
                products = np.maximum.reduceat(products, some.starts[filled], axis=1)
                best[filled_queries] = np.add.reduceat(
                    products, queries.starts[filled_queries], axis=0
                )
            scores[:, first + filled] = best
        first = last
    return scores


@contextmanager
def scored(
    work: SpanWork, chunking: Chunking, kept: Chunking | None = None
) -> Iterator[Iterator[Scored]]:
    """Scorers for each task; ``kept``: where their chunks are, if elsewhere."""
    with ExitStack() as stack:

        def vectors_of(side: SpanSide, place: Chunking) -> Iterator[Floats]:
            shards = stack.enter_context(place.made(replace(work, side=side)))
            chunks = map(read_shard, shards.files)
            parts = (np.split(shard["values"], np.cumsum(shard["counts"])[:-1]) for shard in chunks)
            return chain.from_iterable(parts)

        if kept is None:
            candidates = contexts = vectors_of("both", chunking)
        else:
            candidates, contexts = vectors_of("candidates", kept), vectors_of("contexts", chunking)

        def each() -> Iterator[Scored]:
            for task in work.tasks():
                among = MultiVectors.of(list(islice(candidates, len(task.same.firsts))))
                queries = MultiVectors.of(list(islice(contexts, len(task.spans))))
                yield task, _scores(queries, among), task.same

        yield each()


def _scores(contexts: MultiVectors, candidates: MultiVectors) -> Scores:
    if len(contexts.values) != len(contexts) or len(candidates.values) != len(candidates):
        return lambda first, last: maxsim_packed(contexts.rows(first, last), candidates)
    return by_vectors(contexts.values, candidates.values)
