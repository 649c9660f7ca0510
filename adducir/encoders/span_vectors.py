"""Vectors of spans and of their contexts in chunks, one for each text or one for each token."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np

from adducir.core.chunks import NOT_LOADED, Chunking, Local
from adducir.encoders.encoding import CHUNK, Item, described
from adducir.encoders.maxsim import MultiVectors, maxsim_packed
from adducir.encoders.ranking import Floats, Integers, Scored, Scores, SpanTask
from adducir.encoders.sources import EncoderSource
from adducir.models.machine import Precision
from adducir.models.work import ModelWork

if TYPE_CHECKING:
    import torch

PART = 1 << 15
"""Candidates whose vectors are held at a time: 96 MB of 768 numbers each, twice."""

SpanSide = Literal["both", "candidates", "contexts"]
Encode = Callable[[Sequence[Any]], Iterable[Floats]]
"""Gives (T, D) vectors of each of some texts, or of each of some spans' contexts."""


class VectorSource(Protocol):
    """What makes vectors; it can be pickled, and is small.

    ``identity`` is all that determines the vectors of a side beside texts and batches; ``load``
    gives what encodes texts and spans, in batches of so many padded tokens.
    """

    def identity(self, side: SpanSide) -> Mapping[str, Any]: ...

    def load(self, device: "torch.device", tokens: int | None) -> tuple[Encode, Encode]: ...


@dataclass(frozen=True)
class DualVectors:
    """Vectors of a dual encoder; ``options`` are those of :meth:`.DualEncoder.load`."""

    source: EncoderSource
    options: Mapping[str, Any]
    precision: Precision
    loaded: Local = NOT_LOADED

    def identity(self, side: SpanSide) -> Mapping[str, Any]:
        given = {
            key: one.model_dump(mode="json") if hasattr(one, "model_dump") else one
            for key, one in self.options.items()
            if not (key == "context" and side == "candidates")
        }
        return {"model": self.source.identity(), "options": given, "precision": self.precision}

    def load(self, device: "torch.device", tokens: int | None) -> tuple[Encode, Encode]:
        from adducir.encoders.model import DualEncoder

        encoder: DualEncoder = self.loaded.value or DualEncoder.load(self.source, **self.options)
        encoder.to(device)
        options: Any = {"tokens": tokens, "precision": self.precision}
        return (
            lambda texts: iter(encoder.encode_documents(texts, **options)[:, None]),
            lambda spans: iter(encoder.encode_contexts(spans, **options)[:, None]),
        )


@dataclass(frozen=True, kw_only=True)
class SpanWork(ModelWork):
    """Vectors of tasks, one after another: of different candidates, of contexts, or both."""

    vectors: VectorSource
    tasks: Callable[[], Iterable[SpanTask]]
    side: SpanSide = "both"
    size: int = CHUNK
    doing: ClassVar[str] = "encoding"
    unit: ClassVar[str] = "texts"

    def identity(self) -> Mapping[str, Any]:
        return {**super().identity(), "vectors": self.vectors.identity(self.side)}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "tasks": None}  # a worker is given its own

    def items(self, *, check: bool) -> Iterator[Item]:
        for task in self.tasks():
            if self.side != "contexts":
                firsts = task.same.firsts.tolist()
                yield from ((task.docnos[first], task.texts[first]) for first in firsts)
            if self.side != "candidates":
                yield from ((span.id, span) for span in task.spans)

    def describe(self, item: Item) -> tuple[str, bytes]:
        return described(item)

    def load(self, device: "torch.device") -> Callable[[Sequence[Item]], Mapping[str, Any]]:
        of_texts, of_spans = self.vectors.load(device, self.tokens)

        def arrays(items: Sequence[Item]) -> Mapping[str, Any]:
            found = list[Floats]()
            for is_text, some in groupby(items, lambda item: isinstance(item[1], str)):
                found += (of_texts if is_text else of_spans)([content for _, content in some])
            counts = np.array([len(vectors) for vectors in found], dtype=np.int64)
            return {"values": np.concatenate(found).astype(np.float32), "counts": counts}

        return arrays


class PackedFiles:
    """The vectors of N texts in the files of chunks; those of each begin at ``starts``."""

    def __init__(self, paths: Sequence[Path]) -> None:
        from safetensors import safe_open

        self._paths, counts, self._width = paths, [np.zeros(0, dtype=np.int64)], 0
        for path in paths:
            with safe_open(path, "np") as file:
                counts.append(file.get_tensor("counts"))
                self._width = file.get_slice("values").get_shape()[1]
        self._firsts = np.cumsum([len(some) for some in counts])
        self._all: Integers = np.append(0, np.cumsum(np.concatenate(counts)))
        self.starts, self._first, self._taken = self._all, 0, 0

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, count: int) -> "PackedFiles":
        """The texts behind those that were taken before, in their files."""
        found = copy(self)
        found._first = self._taken
        self._taken += count
        found.starts = self._all[found._first : self._taken + 1] - self._all[found._first]
        return found

    def rows(self, first: int, last: int) -> MultiVectors:
        """The vectors of the texts ``first`` to ``last`` - 1 of these."""
        from safetensors import safe_open

        parts = [np.zeros((0, self._width), dtype=np.float32)]
        first, last = self._first + first, self._first + last
        for path, (begin, end) in zip(self._paths, pairwise(self._firsts.tolist()), strict=True):
            low, high = max(first, begin), min(last, end)
            if low < high:
                places = self._all[[low, high]] - self._all[begin]
                with safe_open(path, "np") as file:
                    parts.append(file.get_slice("values")[places[0] : places[1]])
        starts = self._all[first : last + 1] - self._all[first]
        return MultiVectors(np.concatenate(parts), starts)


@contextmanager
def scored(
    work: SpanWork, chunking: Chunking, kept: Chunking | None = None
) -> Iterator[Iterator[Scored]]:
    """What ranks the candidates of each task; ``kept``: where their chunks lie, if apart."""
    with ExitStack() as stack:

        def rows(side: SpanSide, place: Chunking) -> PackedFiles:
            return PackedFiles(stack.enter_context(place.made(replace(work, side=side))).files)

        if kept is None:
            candidates = contexts = rows("both", chunking)
        else:
            candidates, contexts = rows("candidates", kept), rows("contexts", chunking)

        def each() -> Iterator[Scored]:
            for task in work.tasks():
                among = candidates.take(len(task.same.firsts))
                yield task, _scores(contexts.take(len(task.spans)), among), task.same

        yield each()


def _scores(contexts: PackedFiles, candidates: PackedFiles) -> Scores:
    texts = len(candidates)
    if contexts.starts[-1] != len(contexts) or candidates.starts[-1] != texts:
        return lambda first, last: maxsim_packed(contexts.rows(first, last), candidates)
    # Parts are of one size: a product with few candidates is computed otherwise, so that equal
    # vectors in different parts would differ in the last digit, and not tie.
    size = -(-texts // max(1, -(-texts // PART)))
    if texts <= PART:
        held = np.ascontiguousarray(candidates.rows(0, texts).values.T)
        return lambda first, last: contexts.rows(first, last).values @ held

    def streamed(first: int, last: int) -> Floats:
        own = contexts.rows(first, last).values
        parts = (candidates.rows(n, min(n + size, texts)).values for n in range(0, texts, size))
        return np.concatenate([own @ np.ascontiguousarray(part.T) for part in parts], axis=1)

    return streamed
