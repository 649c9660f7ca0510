"""The three parts and what they read, loaded in any process."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adducir.core.artifacts import read_manifest
from adducir.core.chunks import NOT_LOADED, Local
from adducir.core.errors import InputError
from adducir.studies.grounded_generation.experiment.data import GroundedData

if TYPE_CHECKING:
    import torch

    from adducir.experiments.context import Context
    from adducir.studies.grounded_generation.hindsight.building import Frozen, Problem
    from adducir.studies.grounded_generation.hindsight.closed import ClosedRequest
    from adducir.studies.grounded_generation.hindsight.decoding import Writing
    from adducir.studies.grounded_generation.hindsight.model import Data, Hindsight
    from adducir.studies.grounded_generation.hindsight.posterior import Targets
    from adducir.studies.grounded_generation.hindsight.token_work import Readable

VECTORS = "vectors.safetensors"
CANDIDATES = "candidates.safetensors"
WEIGHTS = "weights.safetensors"
CLOSED = "closed.safetensors"


@dataclass(frozen=True)
class Loading:
    """What a process needs to know; it can be pickled, and is small."""

    recipe: Any
    folder: Path
    identity: str
    data: Local = NOT_LOADED
    vectors: Path | None = None
    before: Path | None = None
    seed: int = 0

    def problem(self) -> "Problem":
        """Contexts and passages."""
        data = self.data.value or GroundedData(self.recipe.data, self.folder)
        if data.identity != self.identity:
            raise InputError(
                "the data were changed meanwhile.", path=self.folder, hint="Run this again."
            )
        problem: Problem = data.problem()
        return problem

    def parts(
        self, device: "torch.device", context: "Context | None" = None
    ) -> "tuple[Hindsight, Data]":
        """The three parts and what they read."""
        from adducir.models.arrays import load_weights
        from adducir.studies.grounded_generation.hindsight.building import Frozen, assemble

        problem, recipe = self.problem(), self.recipe
        generator = recipe.generator.load(self.folder)
        frozen = None
        if self.vectors is not None:
            load = partial(Frozen.load, self.vectors / VECTORS, problem, generator, device)
            frozen = load() if context is None else self._shared(context, device, load)
        model, data = assemble(
            recipe.retriever,
            recipe.guide,
            self.folder,
            problem,
            generator,
            frozen,
            self.seed,
            device,
        )
        if self.before is not None:
            load_weights(self.before / WEIGHTS, model)
        return model, data

    def _shared(self, context: "Context", device: "torch.device", load: Any) -> "Frozen":
        key = None if self.vectors is None else read_manifest(self.vectors).fingerprint
        frozen: Frozen = context.shared("frozen vectors", load, (key, str(device)))
        return frozen


def texts_of_network(loading: Loading, device: "torch.device") -> "Mapping[str, Readable]":
    """What a network that is not trained reads."""
    from adducir.studies.grounded_generation.hindsight.building import readable_texts

    recipe = loading.recipe
    return readable_texts(loading.problem(), recipe.retriever, recipe.guide, loading.folder, device)


def texts_of_candidates(loading: Loading, device: "torch.device") -> "Mapping[str, Readable]":
    """What MiniLM reads where its vectors rank candidates."""
    from adducir.models.sources import MINILM
    from adducir.studies.grounded_generation.hindsight.candidates import texts_of
    from adducir.studies.grounded_generation.hindsight.recipe import RetrieverRecipe
    from adducir.studies.grounded_generation.hindsight.vectors import Network

    problem = loading.problem()
    network = Network(RetrieverRecipe(base=MINILM), loading.folder).eval().to(device)
    return texts_of(network, problem.passages, problem.queries(loading.recipe.guide))


def request_of(
    loading: Loading, parts: tuple[str, ...], candidates: Path | None, device: "torch.device"
) -> "ClosedRequest":
    """What the closed sets of the contexts of some parts are made of."""
    return request_with(loading, parts, candidates, *loading.parts(device))


def request_with(
    loading: Loading,
    parts: tuple[str, ...],
    candidates: Path | None,
    model: "Hindsight",
    data: "Data",
) -> "ClosedRequest":
    """The same, with what is loaded already."""
    from adducir.studies.grounded_generation.hindsight.candidates import Candidates
    from adducir.studies.grounded_generation.hindsight.closed import ClosedRequest

    problem, closed = loading.problem(), loading.recipe.closed
    contexts = problem.contexts_of(parts)
    some = None
    if candidates is not None and closed.candidate_depth < len(problem.passages):
        some = Candidates.load(candidates / CANDIDATES).of(contexts)
    return ClosedRequest(model, data, contexts, closed.depth, some, closed.precision)


def targets_of(
    loading: Loading, answers: Path, tokens: int | None, device: "torch.device"
) -> "Targets":
    """The targets of the contexts that were answered, as far as they have one."""
    return targets_with(loading, answers, tokens, *loading.parts(device))


def targets_with(
    loading: Loading, answers: Path, tokens: int | None, model: "Hindsight", data: "Data"
) -> "Targets":
    """The same, with what is loaded already."""
    from adducir.studies.grounded_generation.hindsight.closed import ClosedSets
    from adducir.studies.grounded_generation.hindsight.posterior import Targets

    closed, contexts = ClosedSets.load(answers / CLOSED), loading.problem().contexts
    rows = [row for row, number in enumerate(closed.contexts) if contexts[number].target]
    model.generator.tokens = tokens
    return Targets(model, data, np.array(rows, dtype=np.int64), closed)


def writing_of(
    loading: Loading, answers: Path, tokens: int | None, device: "torch.device"
) -> "Writing":
    """What writes texts for the contexts of an artifact's lists; see :func:`targets_of`."""
    return writing_with(loading, answers, tokens, *loading.parts(device))


def writing_with(
    loading: Loading, answers: Path, tokens: int | None, model: "Hindsight", data: "Data"
) -> "Writing":
    """The same, with what is loaded already."""
    from adducir.studies.grounded_generation.hindsight.closed import ClosedSets
    from adducir.studies.grounded_generation.hindsight.decoding import Writing

    model.generator.tokens = tokens
    closed = ClosedSets.load(answers / CLOSED)
    return Writing(model, data, loading.problem(), closed, loading.recipe.decode)
