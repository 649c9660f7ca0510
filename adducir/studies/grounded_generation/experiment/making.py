"""Building the artifact of each step, and loading in any process what computes its chunks.

A text is generated from each of the top passages separately, without a sum over passages. With a
uniform prior P(z|x,y) is the softmax of log P(y|x,z) over a closed set (Hindsight, figures 4 and
5); with the retriever as prior it is the softmax of log P(y|x,z) plus the retriever's scores, which
is what the guide should approximate.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import orjson
import torch
from numpy.typing import NDArray

from adducir.core.artifacts import parts_folder
from adducir.core.chunks import make_chunks
from adducir.core.files import writing_text
from adducir.core.fingerprint import fingerprint
from adducir.core.manifests import read_manifest
from adducir.core.progress import progress
from adducir.encoders.ranking import MultiVectors
from adducir.models.artifacts import load_weights, read_shard, save_weights, write_shard
from adducir.models.folders import Side
from adducir.models.machine import choose_device, seed_of
from adducir.models.work import Arrays, ModelWork
from adducir.studies.grounded_generation.experiment.data import GroundedData, Problem
from adducir.studies.grounded_generation.generators.generator import Generator
from adducir.studies.grounded_generation.hindsight.closed import (
    BLOCK,
    Candidates,
    ClosedRequest,
    ClosedSets,
    bm25_ranking,
    closed_sets,
    encoded,
)
from adducir.studies.grounded_generation.hindsight.model import (
    Data,
    Hindsight,
    Kept,
    Live,
    Network,
    Numbers,
    Scorer,
)
from adducir.studies.grounded_generation.hindsight.training import Phase
from adducir.studies.grounded_generation.texts import Generated, read_generated, write_kilt
from adducir.training.run import record

if TYPE_CHECKING:
    from adducir.experiments.step import Context
    from adducir.studies.grounded_generation.experiment.task import (
        AnswerStep,
        ClosedStep,
        PartsStep,
        PhaseStep,
    )

VECTORS = "vectors.safetensors"
CANDIDATES = "candidates.safetensors"
WEIGHTS = "weights.safetensors"
CLOSED = "closed.safetensors"
TEXTS = "texts.jsonl"
KILT = "kilt.jsonl"
LIKELIHOODS = "likelihoods.safetensors"
SIDES: Mapping[str, Side] = {"inputs": "query", "hindsight": "query", "passages": "document"}
"""The texts that a network reads, and the tower that reads them."""
_AT_ONCE = 16  # contexts per batch of generation


@dataclass(frozen=True, kw_only=True)
class NumberedWork(ModelWork):
    """Arrays of the items 0 to ``count`` - 1, in chunks that any process can compute.

    ``compute`` gets what ``source`` loads, some items, and the tokens of a batch.
    """

    unit: ClassVar[str] = "texts"
    name: str
    key: str
    count: int
    source: Callable[[torch.device], Any]
    compute: Callable[[Any, Numbers, int | None], Arrays]

    @property
    def doing(self) -> str:  # type: ignore[override]
        return f"computing {self.name}"

    @property
    def total(self) -> int:
        return self.count

    def identity(self) -> Mapping[str, Any]:
        return {**super().identity(), "key": self.key, "of": self.name, "count": self.count}

    def items(self, *, check: bool) -> Iterator[int]:
        del check
        return iter(range(self.count))

    def describe(self, item: int) -> tuple[str, bytes]:
        return str(item), b""  # the meaning of these numbers is part of the key

    def load(self, device: torch.device) -> Callable[[Sequence[Any]], Arrays]:
        source, tokens = self.source(device), self.running.tokens
        return lambda items: self.compute(source, np.array(items, dtype=np.int64), tokens)


@dataclass(eq=False)
class Parts:
    """How any process loads the three parts and what they read; small enough to pickle."""

    recipe: Any
    data: GroundedData
    vectors: Path | None = None  # a frozen network's vectors of all texts
    before: Path | None = None  # the weights; None: the initial ones
    seed: int = 0
    _loaded: tuple[Hindsight, Data] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_loaded": None}

    def load(self, device: torch.device) -> tuple[Hindsight, Data]:
        if self._loaded is None:
            generator = self.recipe.generator.load(self.data.folder)
            if self.vectors is None:
                self._loaded = self._trained(generator, device)
            else:
                self._loaded = self._frozen(generator, device, self.vectors)
            if self.before is not None:
                load_weights(self.before / WEIGHTS, self._loaded[0])
        return self._loaded

    def _trained(self, generator: Generator, device: torch.device) -> tuple[Hindsight, Data]:
        torch.manual_seed(seed_of(self.seed, "new weights"))
        recipe, texts = self.recipe.retriever, self.data.problem().texts(self.recipe.guide)
        network = Network(recipe, self.data.folder)
        with torch.inference_mode():
            (vectors, _) = network.eval()(network.read(["a"], "document"), "document")
        scorer = Scorer(recipe, vectors.shape[-1], network.projection, network)
        model = Hindsight(scorer, generator).to(device)
        guide_network: Any = model.guide.network
        passages, again = (
            Live(network, texts["passages"], "document"),
            Live(guide_network, [], "document"),
        )
        again.inputs = passages.inputs  # the same tokens, for another network of that kind
        inputs = Live(network, texts["inputs"], "query")
        hindsight = Live(guide_network, texts["hindsight"], "query")
        return model, Data(inputs, hindsight, passages, again, self._read(generator))

    def _frozen(
        self, generator: Generator, device: torch.device, vectors: Path
    ) -> tuple[Hindsight, Data]:
        """With a frozen network's vectors of all texts, which all steps share."""
        key = read_manifest(vectors).fingerprint, device
        if self.data.held[0] != key:
            arrays = read_shard(vectors / VECTORS)
            inputs, hindsight, passages = (Kept(_kept(arrays, name), device) for name in SIDES)
            data = Data(inputs, hindsight, passages, passages, self._read(generator))
            self.data.held = key, (data, arrays.get("projection"))
        data, projection = self.data.held[1]
        first = None if projection is None else torch.from_numpy(projection)
        torch.manual_seed(seed_of(self.seed, "new weights"))
        scorer = Scorer(self.recipe.retriever, data.inputs.of.values.shape[1], first)
        return Hindsight(scorer, generator).to(device), data

    def _read(self, generator: Generator) -> Any:
        problem = self.data.problem()
        inputs, targets = zip(
            *((context.input, context.target) for context in problem.contexts), strict=True
        )
        return generator.read(inputs, targets, problem.passages)


def _kept(arrays: Mapping[str, NDArray[Any]], name: str) -> MultiVectors:
    values, starts = arrays[f"{name}.values"], arrays[f"{name}.starts"]
    places = arrays[f"{name}.places"]
    if len(values) == len(starts) - 1:
        return MultiVectors(values[places], np.arange(len(places) + 1))
    whole = MultiVectors(values, starts)
    parts = [whole.rows(place, place + 1).values for place in places]
    return MultiVectors.of(parts)


def different_texts(parts: Parts, name: str, device: torch.device) -> Live:
    """The texts of one of :data:`SIDES`, each once, for a frozen network."""
    texts = parts.data.problem().texts(parts.recipe.guide)[name]
    network = Network(parts.recipe.retriever, parts.data.folder).eval().to(device)
    return Live(network, list(dict.fromkeys(texts)), SIDES[name])


def request_of(
    parts: Parts, named: Sequence[str], candidates: Path | None, device: torch.device
) -> ClosedRequest:
    problem, closed, some = parts.data.problem(), parts.recipe.closed, None
    if candidates is not None and closed.candidate_depth < len(problem.passages):
        some = Candidates.load(candidates / CANDIDATES)
    return ClosedRequest(*parts.load(device), problem.contexts_of(named), closed, some)


class AnsweringModel(NamedTuple):
    """The three parts that answer contexts, and the rankings for these."""

    parts: Parts
    model: Hindsight
    data: Data
    closed: ClosedSets

    @classmethod
    def of(cls, parts: Parts, answers: Path, device: torch.device) -> "AnsweringModel":
        return cls(parts, *parts.load(device), ClosedSets.load(answers / CLOSED))

    @property
    def with_target(self) -> Numbers:
        """The rows of the closed sets whose contexts are measured and have a target."""
        problem = self.parts.data.problem()
        rows = [
            row
            for row, number in enumerate(problem.parts["test"])
            if problem.contexts[number].target
        ]
        return np.array(rows, dtype=np.int64)

    def write(self, rows: Numbers, tokens: int | None) -> Arrays:
        problem, decoding = self.parts.data.problem(), self.parts.recipe.decode
        generator, lines = self.model.eval().generator, list[bytes]()
        for first in range(0, len(rows), _AT_ONCE):
            some = rows[first : first + _AT_ONCE]
            contexts = self.closed.contexts[some]
            passages = self.closed.retriever[some, : decoding.passages]
            pairs = np.column_stack((np.repeat(contexts, passages.shape[1]), passages.ravel()))
            written = iter(generator.write(self.data.texts, pairs, decoding, tokens))
            for number, numbers in zip(contexts, passages, strict=True):
                outputs = [
                    {"text": next(written), "docno": problem.docnos[number_]} for number_ in numbers
                ]
                record = {"id": problem.contexts[number].id, "outputs": outputs}
                lines.append(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
        return {"lines": np.frombuffer(b"".join(lines), dtype=np.uint8)}

    def likelihoods(self, places: Numbers, tokens: int | None) -> Arrays:
        """(n, r) log P(y|x,z) of whole targets, for some of the contexts that have one."""
        rows, generator = self.with_target[places], self.model.eval().generator
        arguments = self.data.texts, self.closed.contexts[rows], self.closed.retriever[rows]
        return {"values": generator.likelihoods(*arguments, tokens=tokens).float().cpu().numpy()}


def _chunks(
    step: "PartsStep",
    context: "Context",
    name: str,
    count: int,
    size: int,
    source: Callable[[torch.device], Any],
    compute: Callable[[Any, Numbers, int | None], Arrays],
) -> list[Path]:
    work = NumberedWork(
        name=name,
        key=step.fingerprint,
        count=count,
        size=size,
        running=context.running(),
        source=source,
        compute=compute,
    )
    folder = parts_folder(step.path, fingerprint([work.identity(), size]))
    return make_chunks(work, folder, context.execution).files


def _parts(step: "PartsStep") -> Parts:
    study, before = step.study, step.needs.get("before")
    vectors = study.vector_steps[0].path if study.vector_steps else None
    return Parts(study.recipe, study.data, vectors, before and before.path, step.seed)


def _vectors(step: "PartsStep", folder: Path, context: "Context") -> dict[str, Any]:
    recipe, parts, arrays = step.study.recipe, _parts(step), dict[str, Any]()
    named = step.study.data.problem().texts(recipe.guide)
    for name, texts in named.items():
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        source = partial(different_texts, parts, name)
        files = _chunks(step, context, name, len(places), BLOCK, source, encoded)
        shards = [MultiVectors(**read_shard(file)) for file in files]
        counts = np.concatenate([np.diff(shard.starts) for shard in shards])
        arrays[f"{name}.values"] = np.concatenate([shard.values for shard in shards])
        arrays[f"{name}.starts"] = np.append(0, np.cumsum(counts))
        arrays[f"{name}.places"] = np.array([places[text] for text in texts])
    if recipe.retriever.vectors == "colbert":
        projection = Network(recipe.retriever, step.study.folder).projection
        arrays |= {} if projection is None else {"projection": projection.numpy()}
    write_shard(folder / VECTORS, arrays)
    return {"texts": sum(map(len, named.values()))}


def _candidates(step: "PartsStep", folder: Path, context: "Context") -> dict[str, Any]:
    recipe, problem = step.study.recipe, step.study.data.problem()
    texts, depth = problem.texts(recipe.guide), recipe.closed.candidate_depth
    queries = [*texts["inputs"], *texts["hindsight"]]
    with progress().doing("ranking", len(problem.passages), "passages"):
        ranking, _ = bm25_ranking(problem.passages, queries, depth, threads=context.threads)
    count = len(problem.contexts)
    Candidates(ranking[:count], ranking[count:]).save(folder / CANDIDATES)
    return {"contexts": count, "passages": len(problem.passages)}


def _closed(
    step: "ClosedStep", folder: Path, context: "Context", parts: Parts | None = None
) -> dict[str, Any]:
    candidates = step.needs.get("candidates")
    load = partial(request_of, parts or _parts(step), step.contexts, candidates and candidates.path)
    closed = closed_sets(load, choose_device(context.device), partial(_chunks, step, context))
    return _saved(step, folder, closed)


def _saved(step: "PartsStep", folder: Path, closed: ClosedSets) -> dict[str, Any]:
    closed.save(folder / CLOSED)
    passages = len(step.study.data.problem().passages)
    return {"contexts": len(closed.contexts), "passages": passages}


def _weights(step: "PhaseStep", folder: Path, context: "Context") -> dict[str, Any]:
    model, data = _parts(step).load(choose_device(context.device))
    count = len(step.study.data.problem().parts["train"])
    training, held_out = ClosedSets.load(step.needs["closed"].path / CLOSED).split(count)
    phase = Phase(model, data, training, held_out, step.phase)
    progress().note(f"{context.shown(step.path)}: {step.phase.loss}")
    history = phase.fit(parts_folder(step.path, step.fingerprint) / "checkpoints")
    save_weights(folder / WEIGHTS, model)
    return {"examples": len(phase.train), **record(history, folder), **phase.measure()}


def _answers(step: "AnswerStep", folder: Path, context: "Context") -> dict[str, Any]:
    """Both lists of the test contexts, by the weights or BM25, and texts from the top ones."""
    parts, recipe, problem = _parts(step), step.study.recipe, step.study.data.problem()
    if step.system.by_model:
        counts = _closed(step, folder, context, parts)
    else:
        contexts, texts = problem.contexts_of(step.contexts), problem.texts(recipe.guide)
        lists = list[Any]()
        for name in ("inputs", "hindsight"):
            queries = [texts[name][number] for number in contexts]
            arguments = problem.passages, queries, recipe.closed.depth
            numbers, scores = bm25_ranking(*arguments, threads=context.threads)
            lists += [numbers.astype(np.int64), scores]
        counts = _saved(step, folder, ClosedSets(contexts, *lists))
    if recipe.decode is not None:
        load, count = partial(AnsweringModel.of, parts, folder), counts["contexts"]
        files = _chunks(step, context, "texts", count, 64, load, AnsweringModel.write)
        with writing_text(folder / TEXTS) as handle:
            handle.writelines(read_shard(file)["lines"].tobytes().decode() for file in files)
        if len(problem.parts["hidden"]):
            written = with_pages(folder, problem)
            hidden = (problem.contexts[number].id for number in problem.parts["hidden"])
            write_kilt([written[name] for name in hidden], folder / KILT)
    return counts


def with_pages(answers: Path, problem: Problem) -> dict[str, Generated]:
    """The texts of a system's answers, with the pages of all passages that it ranks."""
    texts = read_generated(answers / TEXTS)
    if problem.pages:
        closed = ClosedSets.load(answers / CLOSED)
        for number, row in zip(closed.contexts, closed.retriever, strict=True):
            name = problem.contexts[number].id
            pages = problem.pages_of(problem.docnos[passage] for passage in row)
            texts[name] = replace(texts[name], pages=pages)
    return texts


def _likelihoods(step: "PartsStep", folder: Path, context: "Context") -> dict[str, Any]:
    load = partial(AnsweringModel.of, _parts(step), step.needs["answers"].path)
    answering = load(choose_device(context.device))
    rows, depth = answering.with_target, answering.closed.retriever.shape[1]
    arguments = len(rows), 256, load, AnsweringModel.likelihoods
    files = _chunks(step, context, "likelihoods", *arguments)
    none = np.zeros((0, depth), dtype=np.float32)
    values = np.concatenate([none, *(read_shard(file)["values"] for file in files)])
    write_shard(folder / LIKELIHOODS, {"rows": rows, "values": values})
    return {"contexts": len(rows)}


MAKE: dict[str, Callable[[Any, Path, "Context"], dict[str, Any]]] = {
    "frozen-vectors": _vectors,
    "closed-candidates": _candidates,
    "closed-sets": _closed,
    "hindsight-weights": _weights,
    "grounded-answers": _answers,
    "target-likelihoods": _likelihoods,
}
"""Builds the artifact of each kind of step in an empty folder, and returns its counts."""
