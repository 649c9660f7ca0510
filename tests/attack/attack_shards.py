"""Commands whose work is in shards, made small: divided into parts, or given to workers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from attack_commands import BY_NAME
from attack_process import Order, Running


@dataclass(frozen=True)
class Sharded:
    """A command whose work is in shards.

    Attributes:
        name: The command of :data:`BY_NAME`.
        more: Words that it needs to be done in parts.
    """

    name: str
    more: str = ""

    def argv(self, *words: str) -> list[str]:
        """Its words, and those that say who makes the shards."""
        return [*BY_NAME[self.name].argv(), *self.more.split(), *words]

    @property
    def output(self) -> str:
        """What it writes."""
        words = self.argv()
        return words[words.index("-o") + 1]

    @property
    def before(self) -> tuple[str, ...]:
        """Command lines that make what it reads."""
        return BY_NAME[self.name].before


FLOAT32 = "--precision float32"
KINDS = [
    Sharded("encode-corpus", FLOAT32),
    Sharded("encode-spans", FLOAT32),
    Sharded("index-dense", FLOAT32),
    Sharded("index-memory"),
    Sharded("index-weights"),
    Sharded("deepct-expand", FLOAT32),
    Sharded("prepare"),
    Sharded("rerank", "--no-cache"),
    Sharded("rerank-monot5", "--no-cache"),
    Sharded("retrieve", FLOAT32),
    Sharded("select"),
    Sharded("tune-memory"),
    Sharded("tune-fusion"),
]


def _always(work: type, size: int) -> None:
    """Let a kind of work have so many items in a shard."""
    whole: Callable[..., None] = work.__init__

    def begin(self: Any, *values: Any, **named: Any) -> None:
        whole(self, *values, **named)
        object.__setattr__(self, "size", size)  # it is frozen

    work.__init__ = begin  # type: ignore[misc]


def obey_in_shards(argv: list[str]) -> int:
    """Run a command whose shards are small, in a child; its exit code."""
    from adducir.cli.app import main
    from adducir.deepct.prepared import PassageWork
    from adducir.deepct.weighting import WeightingWork
    from adducir.encoders.encoding import EncodingWork
    from adducir.encoders.span_work import SpanWork
    from adducir.experiments.tuning import work as tuning
    from adducir.indexes.memory.work import TextWork, WeightWork
    from adducir.rerankers import work as reranking
    from adducir.selectors.work import SelectionWork

    reranking.PAIRS, tuning.SHARD = 20, 1
    for work in (PassageWork, WeightingWork, EncodingWork, SpanWork, TextWork, WeightWork):
        _always(work, 7)
    _always(SelectionWork, 1)
    return main(argv)


def begun(argv: list[str], work: Path, tag: str = "") -> Running:
    """Start such a command in a folder."""
    return Running(Order([], work, tag=tag), obey_in_shards, argv)


def workers_of(running: Running) -> list[psutil.Process]:
    """The workers of a command that runs, as they are now."""
    try:
        return [one for one in psutil.Process(running.process.pid).children() if _is_worker(one)]
    except psutil.Error:
        return []


def _is_worker(process: psutil.Process) -> bool:
    try:
        return "spawn_main" in " ".join(process.cmdline())
    except psutil.Error:
        return False
