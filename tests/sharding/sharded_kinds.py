"""The kinds of work in shards whose output is no artifact: each made small, and one item spoilt."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rerank_texts import QUERIES, TEXTS
from tiny import tiny_bert
from tiny_t5 import sharpened, tiny_t5

from adducir.core.sharding.gathering import Sharding
from adducir.corpora.topics import Topics
from adducir.rerankers import work as reranking
from adducir.rerankers.asking import AskedScores
from adducir.rerankers.registry import open_reranker
from adducir.rerankers.rerank import rerank
from adducir.rerankers.texts import KnownTexts
from adducir.runs.run import Run


@dataclass
class Kind:
    """A kind of work.

    Attributes:
        make: Gives what comes of it, to be compared; None stands for no shards that are kept.
        spoil: Lets the work of one item fail.
        named: How the error names it.
        shards: How many shards there are.
    """

    make: Callable[[Sharding | None], Any]
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


def candidates() -> tuple[Run, Topics, KnownTexts]:
    """Nine topics with up to eight candidates each."""
    rows = [
        (qid, f"d{(place + number) % len(TEXTS)}", 20.0 - place)
        for number, qid in enumerate(QIDS)
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

    def make(sharding: Sharding | None) -> Any:
        found = rerank(*candidates(), reranker, sharding=sharding, **options)
        return found.run.frame.rows(), found.computed, found.cached

    def spoil(patch: pytest.MonkeyPatch) -> None:
        whole = AskedScores.scores

        def scores(self: AskedScores, pairs: Any) -> Any:
            if any(query.endswith("5") for query, _ in pairs):
                raise ValueError("an odd query")
            return whole(self, pairs)

        patch.setattr(AskedScores, "scores", scores)

    return Kind(make, spoil, r"shard 2 \(q4, q5\): ValueError: an odd query", 5)


def pointwise(models: Models, patch: pytest.MonkeyPatch, folder: Path) -> Kind:
    return reranked(str(models.get("classifier", classifier)), patch)


def cached(models: Models, patch: pytest.MonkeyPatch, folder: Path) -> Kind:
    """Some scores are known before, and all afterwards: each time it starts from the same."""
    name, before, cache = (
        str(models.get("classifier", classifier)),
        folder / "before",
        folder / "scores",
    )
    kind = reranked(name, patch, cache=cache)
    rerank(*candidates(), open_reranker(name), depth=2, cache=before)

    def make(sharding: Sharding | None) -> Any:
        if sharding is None or not list(sharding.output.parent.glob(".*.parts-*")):
            shutil.rmtree(cache, ignore_errors=True)
            shutil.copytree(before, cache)
        return kind.make(sharding)

    return Kind(make, kind.spoil, kind.named, kind.shards)


def listwise(models: Models, patch: pytest.MonkeyPatch, folder: Path) -> Kind:
    from adducir.rerankers.asking import AskedOrders

    kind = reranked(f"lit5:{models.get('t5', tiny_t5)}", patch)
    whole = AskedOrders.order

    def order(self: AskedOrders, query: str, texts: Any) -> Any:
        if query.endswith("5"):
            raise ValueError("an odd query")
        return whole(self, query, texts)

    def spoil(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(AskedOrders, "order", order)

    return Kind(kind.make, spoil, r"shard 5 \(q5\): ValueError: an odd query", 9)


KINDS: dict[str, Callable[[Models, pytest.MonkeyPatch, Path], Kind]] = {
    "pointwise": pointwise,
    "cached": cached,
    "listwise": listwise,
}
