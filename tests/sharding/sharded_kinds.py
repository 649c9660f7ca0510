"""Kinds of work in shards: each made small, and one item spoilt."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rerank_texts import QUERIES, TEXTS
from tiny import tiny_bert
from tiny_t5 import sharpened

from adducir.core.chunks import Chunking
from adducir.corpora.topics import Topics
from adducir.rerankers import rerank as reranking
from adducir.rerankers.recipe import Joint
from adducir.rerankers.registry import open_reranker
from adducir.rerankers.rerank import rerank
from adducir.rerankers.texts import KnownTexts
from adducir.runs.run import Run


@dataclass
class Kind:
    """A kind of work.

    Attributes:
        make: Gives what comes of it, to be compared; given how chunks are made.
        spoil: Lets the work of one item fail.
        named: How the error names it.
        shards: How many shards there are.
    """

    make: Callable[[Chunking], Any]
    spoil: Callable[[pytest.MonkeyPatch], None]
    named: str
    shards: int


@dataclass
class Models:
    """Tiny models, made once."""

    folder: Path
    _made: dict[str, Path] = field(default_factory=dict)

    def get(self, name: str, maker: Callable[[Path], Path]) -> Path:
        if name not in self._made:
            self._made[name] = maker(self.folder / name)
        return self._made[name]


def classifier(folder: Path) -> Path:
    return sharpened(tiny_bert(folder, kind="BertForSequenceClassification"))


QIDS = [f"q{number}" for number in range(9)]


def candidates(count: int = 9) -> tuple[Run, Topics, KnownTexts]:
    """Topics with up to eight candidates each."""
    rows = [
        (qid, f"d{(place + number) % len(TEXTS)}", 20.0 - place)
        for number, qid in enumerate(QIDS[:count])
        for place in range(3 + number % 6)
    ]
    frame = pl.DataFrame(rows, schema=["qid", "docno", "score"], orient="row")
    topics = Topics(QIDS, [f"{QUERIES[n % 3]} {n}" for n in range(9)], "topics")
    texts = KnownTexts({f"d{number}": text for number, text in enumerate(TEXTS)})
    return Run(frame, "x"), topics, texts


def reranked(name: str, patch: pytest.MonkeyPatch, **options: Any) -> Kind:
    """Two topics in a shard, or one where a list is put in order."""
    patch.setattr(reranking, "PAIRS", 16)
    reranker = open_reranker(name)

    def make(chunking: Chunking) -> Any:
        found = rerank(*candidates(), reranker, chunking=chunking, **options)
        return found.run.frame.rows(), found.computed, found.cached

    def spoil(patch: pytest.MonkeyPatch) -> None:
        whole = Joint.scores

        def scores(self: Joint, pairs: Any) -> Any:
            if any(query.endswith("5") for query, _ in pairs):
                raise ValueError("an odd query")
            return whole(self, pairs)

        patch.setattr(Joint, "scores", scores)

    return Kind(make, spoil, r"chunk 2 \(q4, q5\): ValueError: an odd query", 5)


def pointwise(models: Models, patch: pytest.MonkeyPatch, folder: Path) -> Kind:
    return reranked(str(models.get("classifier", classifier)), patch)


def some_tasks() -> list[Any]:
    from some_spans import some_spans

    from adducir.encoders.ranking import task_among

    spans = some_spans(20)
    return [task_among(some, some) for some in (spans[:9], spans[9:])]


def spans(models: Models, patch: pytest.MonkeyPatch, folder: Path) -> Kind:
    """Texts and contexts of two tasks, seven in a shard."""
    from adducir.encoders.model import DualEncoder
    from adducir.encoders.ranking import run_tasks
    from adducir.encoders.sources import encoder_source
    from adducir.encoders.span_vectors import DualVectors, SpanWork, scored

    model = models.get("encoder", tiny_bert)
    vectors = DualVectors(encoder_source(str(model)), {}, "float32")
    work = SpanWork(vectors=vectors, tasks=some_tasks, size=7, threads=1)
    items = [name for name, _ in work.items(check=True)]
    odd = some_tasks()[0].spans[2]

    def make(chunking: Chunking) -> Any:
        with scored(work, chunking) as each:
            return run_tasks(each, 5, tag="x").frame.rows()

    whole = DualEncoder.encode_contexts

    def encode(self: DualEncoder, contexts: Any, **options: Any) -> Any:
        if odd in contexts:
            raise ValueError("an odd context")
        return whole(self, contexts, **options)

    return Kind(
        make,
        lambda patch: patch.setattr(DualEncoder, "encode_contexts", encode),
        rf"chunk {items.index(odd.id) // 7} .*: ValueError: an odd context",
        -(-len(items) // 7),
    )


def tuning(models: Models, patch: pytest.MonkeyPatch, folder: Path) -> Kind:
    """Eleven settings, two in a shard."""
    from tuning_cases import Toy, pool_of

    from adducir.experiments.tuning import tune as grids
    from adducir.experiments.tuning.folds import k_fold
    from adducir.experiments.tuning.tune import tune

    patch.setattr(grids.TuningWork, "size", 2)
    pool = pool_of()

    def make(chunking: Chunking) -> Any:
        toy = Toy()
        grid = toy.grid({"x": list(range(1, 12)), "y": [0.5]})
        found = tune(toy.open(), grid, pool, k_fold(pool, 3, 42), "nDCG@5", chunking=chunking)
        return found.values.tolist(), found.chosen, found.run.frame.rows()

    whole = Toy.run

    def run(self: Toy, setting: Any, topics: Any) -> Any:
        if setting["x"] == 6:
            raise ValueError("an odd setting")
        return whole(self, setting, topics)

    named = r"chunk 2 \(x=5 y=0.5, x=6 y=0.5\): ValueError: an odd setting"
    return Kind(make, lambda patch: patch.setattr(Toy, "run", run), named, 6)


KINDS: dict[str, Callable[[Models, pytest.MonkeyPatch, Path], Kind]] = {
    "pointwise": pointwise,
    "spans": spans,
    "tuning": tuning,
}
