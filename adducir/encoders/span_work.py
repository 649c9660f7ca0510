"""Vectors of tasks' candidates and contexts in shards; see :mod:`adducir.core.chunks`.

What takes long in ranking spans is encoding: texts and contexts, one task after another, are cut
into shards of :data:`SHARD`, each a file of :mod:`.packed_files`. Ranking by them is a product of
matrices, and is done where the shards are put together.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from adducir.core.chunks import NOT_LOADED, TEMPORARY, Chunking, Local, Made
from adducir.core.executors import Place
from adducir.encoders.encoding import SHARD
from adducir.encoders.items import Item, described
from adducir.encoders.model import DualEncoder
from adducir.encoders.packed_files import PackedFiles, PackedPart, PackedRun, write_packed
from adducir.encoders.ranking import Scored, SpanTask, by_vectors
from adducir.encoders.sources import EncoderSource
from adducir.models.artifacts import model_versions
from adducir.models.batches import batch_rule
from adducir.models.machine import Precision, device_kind, device_of_worker, settle_threads

Sides = Literal["both", "candidates", "contexts"]


@dataclass(frozen=True)
class SpanWork:
    """Vectors of tasks' texts; see :mod:`adducir.core.chunks`.

    Attributes:
        source: The encoder.
        tasks: Gives the tasks, anew at each call and in the same order.
        options: How it is loaded; see :meth:`.DualEncoder.load`.
        sides: Whether candidates are encoded, contexts, or of each task both in this order.
        loaded: The encoder, in the process that has it.
        device: See :func:`adducir.models.machine.choose_device`.
        threads: Of each worker that has a process of its own.
        tokens: Padded tokens in a batch.
    """

    source: EncoderSource
    tasks: Callable[[], Iterable[SpanTask]]
    options: Mapping[str, Any] = field(default_factory=dict)
    precision: Precision = "float32"
    sides: Sides = "both"
    loaded: Local = NOT_LOADED
    device: str = "auto"
    threads: int | None = None
    tokens: int | None = None
    size: int = SHARD
    total: int | None = None
    doing: str = "encoding"
    unit: str = "texts"

    def identity(self) -> Mapping[str, Any]:
        """See :class:`.Work`: all that determines the vectors."""
        given = {
            key: one.model_dump(mode="json") if hasattr(one, "model_dump") else one
            for key, one in self.options.items()
        }
        return {
            "model": self.source.identity(),
            "options": given,
            "precision": self.precision,
            "file": "f32",
            "batches": batch_rule(self.tokens),
            "versions": model_versions(),
        }

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "tasks": None}  # a worker is given its own

    def check(self) -> None:
        self.source.check()

    def items(self, *, check: bool) -> Iterator[Item]:
        """See :class:`.Work`: of each task the different candidates, then the contexts."""
        del check
        for task in self.tasks():
            if self.sides != "contexts":
                for first in task.same.firsts.tolist():
                    yield task.docnos[first], task.texts[first]
            if self.sides != "candidates":
                yield from ((span.id, span) for span in task.spans)

    def describe(self, item: Item) -> tuple[str, bytes]:
        return described(item)

    def builder(self, place: Place) -> "_Builder":
        return _Builder(self, place)


class _Builder:
    """An encoder that makes shards of vectors."""

    def __init__(self, work: SpanWork, place: Place) -> None:
        settle_threads(work.threads, place)
        device = device_of_worker(work.device, place)
        self.device = device_kind(device)
        self._work = work
        loaded = work.loaded.value or DualEncoder.load(work.source, **work.options)
        self._encoder: DualEncoder = loaded.to(device)

    def make(self, items: Sequence[Item], path: Path) -> None:
        options: dict[str, Any] = {"tokens": self._work.tokens, "precision": self._work.precision}
        values = []
        # Candidates and contexts are read by other towers: each run of one kind by itself.
        for is_text, some in groupby(items, lambda item: isinstance(item[1], str)):
            contents: list[Any] = [content for _, content in some]
            if is_text:
                values.append(self._encoder.encode_documents(contents, **options))
            else:
                values.append(self._encoder.encode_contexts(contents, **options))
        write_packed(path, enumerate(row[None] for some in values for row in some))


class Rows:
    """The vectors of some work, from first to last."""

    def __init__(self, work: SpanWork, made: Made) -> None:
        blocks = [[PackedPart(path, 0, work.size)] for path in made.files]
        self._all, self._next = PackedFiles(blocks, work.size), 0

    def take(self, count: int) -> PackedRun:
        """The next ones, in their files."""
        self._next += count
        return PackedRun(self._all, self._next - count, count)


@contextmanager
def scored_by_shards(work: SpanWork, chunking: Chunking = TEMPORARY) -> Iterator[Iterator[Scored]]:
    """What ranks the candidates of each task; shards are removed when the block ends well.

    Args:
        sharding: Who encodes, and beside which output shards are kept.

    Raises:
        IncompleteError, MachineError, ArtifactError: See :func:`.make_chunks`.
    """
    with (
        chunking.made(work) as made,
    ):
        rows = Rows(work, made)
        yield (_scored(task, rows) for task in work.tasks())


def _scored(task: SpanTask, rows: Rows) -> Scored:
    same = task.same
    taken = rows.take(len(same.firsts)), rows.take(len(task.spans))
    candidates, contexts = (one.rows(0, len(one)).values for one in taken)
    return task, by_vectors(contexts, candidates), same
