"""Kinds of work in shards: each made small, and one item spoilt."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rerank_texts import QUERIES, TEXTS
from tiny import tiny_bert
from tiny_t5 import sharpened, tiny_t5

from adducir.core.chunks import Chunking
from adducir.corpora.topics import Topics
from adducir.rerankers import rerank as reranking
from adducir.rerankers.recipe import Joint
from adducir.rerankers.registry import Reranker, open_reranker
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


def cached(models: Models, patch: pytest.MonkeyPatch, folder: Path) -> Kind:
    """Some scores are known before; once shards are being made, what others add is not seen."""
    name, before, cache = (
        str(models.get("classifier", classifier)),
        folder / "before",
        folder / "scores",
    )
    kind = reranked(name, patch, cache=cache)
    rerank(*candidates(), open_reranker(name), depth=2, cache=before)

    def make(chunking: Chunking) -> Any:
        if chunking.output is None or not list(chunking.output.parent.glob(".*.parts-*")):
            shutil.rmtree(cache, ignore_errors=True)
            shutil.copytree(before, cache)
        else:
            rerank(*candidates(), open_reranker(name), cache=cache)
        return kind.make(chunking)

    return Kind(make, kind.spoil, kind.named, kind.shards)


def listwise(models: Models, patch: pytest.MonkeyPatch, folder: Path) -> Kind:
    reranker = open_reranker(f"lit5:{models.get('lit5', tiny_t5)}")
    whole = Reranker.order

    def order(self: Reranker, query: str, texts: Any) -> Any:
        if query.endswith("2"):
            raise ValueError("an odd query")
        return whole(self, query, texts)

    def make(chunking: Chunking) -> Any:
        found = rerank(*candidates(4), reranker, depth=3, chunking=chunking)
        return found.run.frame.rows()

    def spoil(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(Reranker, "order", order)

    return Kind(make, spoil, r"chunk 2 \(q2\): ValueError: an odd query", 4)


def selection(models: Models, patch: pytest.MonkeyPatch, folder: Path) -> Kind:
    """Two questions in a shard."""
    from some_questions import some_questions

    from adducir.models.sources import model_source
    from adducir.studies.complementary_evidence.model import (
        ComplementaryModel,
        EvidenceModel,
        Settings,
    )
    from adducir.studies.complementary_evidence.questions import read_questions, write_questions
    from adducir.studies.complementary_evidence.select import SelectionWork, selected
    from adducir.studies.complementary_evidence.selection import Selection

    def trained(path: Path) -> Path:
        base = model_source(str(tiny_bert(path.with_name("bert"))))
        settings = Settings(selection=Selection(candidates=5, beam=8))
        path.mkdir()
        ComplementaryModel.untrained(base, settings, seed=1).save(path)
        return path

    model = models.get("selector", trained)
    write_questions(some_questions(9), folder / "questions.jsonl")
    asked = list(read_questions(folder / "questions.jsonl"))
    settings = Selection(candidates=5, beam=8)
    work = SelectionWork(model, asked, settings, size=2, threads=1)
    whole = EvidenceModel.pools

    def make(chunking: Chunking) -> Any:
        with selected(work, chunking) as found:
            return list(found)

    def pools(model: Any, questions: Any, *more: Any, **options: Any) -> Any:
        if any(one.id == "q0-5" for one in questions):
            raise ValueError("an odd question")
        return whole(model, questions, *more, **options)

    return Kind(
        make,
        lambda patch: patch.setattr(EvidenceModel, "pools", pools),
        r"chunk 2 \(q0-4, q0-5\): ValueError: an odd question",
        5,
    )


def some_tasks() -> list[Any]:
    from some_spans import some_spans

    from adducir.encoders.ranking import collection_task

    spans = some_spans(20)
    return [collection_task(spans[:9]), collection_task(spans[9:])]


def spans(models: Models, patch: pytest.MonkeyPatch, folder: Path) -> Kind:
    """Texts and contexts of two tasks, seven in a shard."""
    from adducir.encoders.model import DualEncoder
    from adducir.encoders.ranking import run_tasks
    from adducir.encoders.sources import encoder_source
    from adducir.encoders.span_work import SpanWork, scored_by_shards

    model = models.get("encoder", tiny_bert)
    work = SpanWork(encoder_source(str(model)), some_tasks, size=7, threads=1)
    items = [name for name, _ in work.items(check=True)]
    odd = some_tasks()[0].spans[2]

    def make(chunking: Chunking) -> Any:
        with scored_by_shards(work, chunking) as scored:
            return run_tasks(scored, 5, tag="x").frame.rows()

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

    patch.setattr(grids, "SHARD", 2)
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


def request(model: Path, device: Any) -> Any:
    """Closed sets of 23 contexts over 100 passages, by a network that is trained."""
    import numpy as np

    from adducir.studies.grounded_generation.contexts import GroundedContext
    from adducir.studies.grounded_generation.generators.lexical import Lexical
    from adducir.studies.grounded_generation.hindsight.building import Problem, assemble
    from adducir.studies.grounded_generation.hindsight.closed import ClosedRequest
    from adducir.studies.grounded_generation.hindsight.recipe import GuideRecipe, RetrieverRecipe

    words = ["cats", "dogs", "energy", "power", "school", "uniforms", "nuclear", "plants"]
    passages = [f"the {words[n % 8]} and {words[n // 13]} " * (10 + n % 7) for n in range(100)]
    contexts = [GroundedContext(f"c{n}", f"{words[n % 8]} {n}", words[n % 5]) for n in range(23)]
    numbers = np.arange(23)
    parts = {"train": numbers, "validation": numbers[:0], "test": numbers[:0]}
    problem = Problem(contexts, parts, [f"p{n}" for n in range(100)], passages, {})
    recipe = RetrieverRecipe(base=str(model), network="trained", adapter=2, vectors="tokens")
    found, data = assemble(recipe, GuideRecipe(), Path(), problem, Lexical(), None, 0, device)
    return ClosedRequest(found, data, numbers, 5)


def passages_of(model: Path, device: Any) -> Any:
    return request(model, device).passages


def vectors(models: Models, patch: pytest.MonkeyPatch, folder: Path) -> Kind:
    """Blocks of 40 passages: of two batches the first two, of one the last, whose rest is empty."""
    from adducir.encoders.token_work import Loader, Making, Readable, encoded

    load = partial(passages_of, models.get("encoder", tiny_bert))

    def make(chunking: Chunking) -> Any:
        how = Making("x", chunking, "cpu", 1)
        with encoded(Loader(load), {"retriever": 100}, how, 40, shards=6) as (files, _):
            found = files.read("retriever")
            return found.values.tobytes(), found.starts.tolist()

    whole = Readable.block

    def spoilt(self: Readable, first: int, *more: Any) -> Any:
        inputs, batches = whole(self, first, *more)

        def batch(places: Any) -> Any:
            if first == 40 and 0 in places:
                raise ValueError("an odd passage")
            return inputs.batch(places)

        return replace(inputs, batch=batch), batches

    named = r"chunk [23] \(retriever 40 to 79, part [12] of 2\): ValueError: an odd passage"
    return Kind(make, lambda patch: patch.setattr(Readable, "block", spoilt), named, 6)


def closed(models: Models, patch: pytest.MonkeyPatch, folder: Path) -> Kind:
    """Five contexts in a shard, with passages in two parts."""
    from adducir.encoders.token_work import Loader, Making, encoded
    from adducir.studies.grounded_generation.hindsight import closed as ranking
    from adducir.studies.grounded_generation.hindsight.closed import ClosedRequest, ClosedSets
    from adducir.studies.grounded_generation.hindsight.closed_work import ClosedComputing
    from adducir.studies.grounded_generation.hindsight.context_work import ContextWork

    model = models.get("encoder", tiny_bert)
    how = Making("x", Chunking(folder / "passages" / "vectors", keep=True), "cpu")
    with encoded(Loader(partial(passages_of, model)), {"retriever": 100}, how, 40) as (files, _):
        pass
    names = [f"c{number}" for number in range(23)]
    load = partial(ClosedComputing, Loader(partial(request, model)), files, 2)
    work = ContextWork(Loader(load), names, 5, key="x", device="cpu", threads=1)

    def make(chunking: Chunking) -> Any:
        with chunking.made(work) as made:
            found = ClosedSets.joined([ClosedSets.load(path) for path in made.files])
            return [values.tobytes() for values in vars(found).values()]

    whole = ClosedRequest.ranked

    def spoilt(self: ClosedRequest, rows: Any, parts: Any) -> Any:
        if 12 in rows:
            raise ValueError("an odd context")
        return whole(self, rows, parts)

    return Kind(
        make,
        lambda patch: patch.setattr(ranking.ClosedRequest, "ranked", spoilt),
        r"chunk 2 \(c10, c11, c12, c13, c14\): ValueError: an odd context",
        5,
    )


def some_targets(model: Path, device: Any) -> Any:
    """Targets of the contexts of :func:`request` that stand at even places."""
    import numpy as np

    from adducir.studies.grounded_generation.hindsight.closed import ClosedSets
    from adducir.studies.grounded_generation.hindsight.posterior import Targets

    of = request(model, device)
    passages = (np.arange(23 * 5).reshape(23, 5) * 7) % 100
    scores = np.ones((23, 5), dtype=np.float32)
    closed = ClosedSets(np.arange(23), passages, scores, passages, scores)
    return Targets(of.model, of.data, np.arange(0, 23, 2), closed)


def targets(models: Models, patch: pytest.MonkeyPatch, folder: Path) -> Kind:
    """Five targets in a shard."""
    from adducir.encoders.token_work import Loader, Making
    from adducir.studies.grounded_generation.hindsight import posterior

    patch.setattr(posterior, "SHARD", 5)
    names = [f"c{number}" for number in range(0, 23, 2)]
    load = Loader(partial(some_targets, models.get("encoder", tiny_bert)))

    def make(chunking: Chunking) -> Any:
        return posterior.likelihoods(load, names, Making("x", chunking, "cpu", 1)).tobytes()

    whole = posterior.Targets.write

    def write(self: Any, rows: Any, path: Path) -> None:
        if 6 in rows:
            raise ValueError("an odd target")
        whole(self, rows, path)

    return Kind(
        make,
        lambda patch: patch.setattr(posterior.Targets, "write", write),
        r"chunk 1 \(c10, c12, c14, c16, c18\): ValueError: an odd target",
        3,
    )


def late(model: Path) -> Any:
    """Late interaction over two tasks."""
    from adducir.experiments.known_item.late import Late
    from adducir.models.sources import model_source
    from adducir.rerankers.colbert import Reading

    reading = Reading(16, 12, markers=None, special=False, fill=False)
    return Late(model_source(str(model)), reading, "float32", some_tasks)


def token_vectors(models: Models, patch: pytest.MonkeyPatch, folder: Path) -> Kind:
    """Blocks of four candidates of two tasks, of which two make a shard."""
    from adducir.encoders.token_work import Loader, Making, Readable, encoded

    found = late(models.get("encoder", tiny_bert))
    counts = {
        f"candidates of set {place + 1},": len(task.same.firsts)
        for place, task in enumerate(some_tasks())
    }

    def make(chunking: Chunking) -> Any:
        how = Making("x", chunking, "cpu", 1)
        with encoded(Loader(found.candidates), counts, how, 4, least=7) as (files, _):
            each = [files.read(name) for name in counts]
            return [(one.values.tobytes(), one.starts.tolist()) for one in each]

    whole = Readable.block

    def spoilt(self: Readable, first: int, end: int, tokens: int | None) -> Any:
        if first == 8 and end == 11:
            raise ValueError("an odd candidate")
        return whole(self, first, end, tokens)

    return Kind(
        make,
        lambda patch: patch.setattr(Readable, "block", spoilt),
        r"chunk 2 \(candidates of set 2, 4 to 7, candidates of set 2, 8 to 10\): ValueError",
        3,
    )


def ranks_of(found: Any) -> Any:
    return found.qids, found.better.tobytes(), found.tied.tobytes(), found.rouge.tobytes()


def ranking(load: Callable[[], Any], block: int, ranker: type, named: str, shards: int) -> Kind:
    """Ranks of the contexts of two tasks."""
    from adducir.experiments.known_item.ranking import RankingWork, listed_sizes, ranked

    tasks = some_tasks()
    work = RankingWork(load, *listed_sizes(tasks), "x", threads=1, block=block)

    def make(chunking: Chunking) -> Any:
        return ranks_of(ranked(work, tasks, chunking))

    whole = ranker.rank  # type: ignore[attr-defined]

    def rank(self: Any, some: Any) -> Any:
        if some.task == 1 and some.first <= 3 < some.end:
            raise ValueError("an odd context")
        return whole(self, some)

    return Kind(make, lambda patch: patch.setattr(ranker, "rank", rank), named, shards)


def ranks(models: Models, patch: pytest.MonkeyPatch, folder: Path) -> Kind:
    """By late interaction; two contexts, or the last of a task, in a shard."""
    from adducir.encoders.token_work import Loader, Making, encoded
    from adducir.experiments.known_item.late import LateRanker
    from adducir.experiments.known_item.system import ContextRecipe

    found, tasks, files = late(models.get("encoder", tiny_bert)), some_tasks(), []
    of = {"candidates": found.candidates, "contexts": partial(found.contexts, ContextRecipe())}
    for side, load in of.items():
        sizes = [len(one.same.firsts if side == "candidates" else one.spans) for one in tasks]
        counts = {f"{side} of set {place + 1},": size for place, size in enumerate(sizes)}
        how = Making(side, Chunking(folder / side / "vectors", keep=True), "cpu")
        with encoded(Loader(load), counts, how, 5) as (vectors, _):
            files.append(vectors)
    named = r"chunk 6 \(s11 to s12\): ValueError: an odd context"
    return ranking(partial(LateRanker, found, *files), 22, LateRanker, named, 11)


def lexical(models: Models, patch: pytest.MonkeyPatch, folder: Path) -> Kind:
    """By BM25; all contexts of a task in a shard, so that there are two."""
    from adducir.experiments.known_item.bm25 import LexicalPart, LexicalRanker
    from adducir.experiments.known_item.system import ContextRecipe

    load = partial(LexicalRanker.load, some_tasks, LexicalPart(), ContextRecipe(), 1, True)
    named = r"chunk 1 \(s9 to s19\): ValueError: an odd context"
    return ranking(load, 130, LexicalRanker, named, 2)


KINDS: dict[str, Callable[[Models, pytest.MonkeyPatch, Path], Kind]] = {
    "pointwise": pointwise,
    "cached": cached,
    "listwise": listwise,
    "selection": selection,
    "spans": spans,
    "tuning": tuning,
    "vectors": vectors,
    "closed": closed,
    "targets": targets,
    "token vectors": token_vectors,
    "ranks": ranks,
    "lexical": lexical,
}
