"""What a process loads to work on a study: the three parts, and what they read."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.core.artifacts import read_manifest
from adducir.core.chunks import NOT_LOADED, Local
from adducir.core.errors import InputError
from adducir.studies.grounded_generation.experiment.data import GroundedData

if TYPE_CHECKING:
    import torch

    from adducir.experiments.context import Context
    from adducir.studies.grounded_generation.hindsight.answering import Answering
    from adducir.studies.grounded_generation.hindsight.building import Frozen, Problem
    from adducir.studies.grounded_generation.hindsight.closed import ClosedRequest
    from adducir.studies.grounded_generation.hindsight.model import Data, Hindsight
    from adducir.studies.grounded_generation.hindsight.work import Encodable

    Parts = tuple[Hindsight, Data]

VECTORS = "vectors.safetensors"
CANDIDATES = "candidates.safetensors"
WEIGHTS = "weights.safetensors"
CLOSED = "closed.safetensors"
TEXTS = "texts.jsonl"
LIKELIHOODS = "likelihoods.safetensors"


@dataclass(frozen=True)
class Loading:
    """How any process loads the three parts and what they read; it can be pickled, and is small."""

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

    def parts(self, device: "torch.device", context: "Context | None" = None) -> "Parts":
        """The three parts and what they read."""
        from adducir.models.arrays import load_weights
        from adducir.studies.grounded_generation.hindsight.building import Frozen, assemble

        problem, recipe, frozen = self.problem(), self.recipe, None
        generator = recipe.generator.load(self.folder)
        if self.vectors is not None:
            load = partial(Frozen.load, self.vectors / VECTORS, problem, generator, device)
            frozen = load() if context is None else self._shared(context, device, load)
        given = self.folder, problem, generator, frozen, self.seed, device
        model, data = assemble(recipe.retriever, recipe.guide, *given)
        if self.before is not None:
            load_weights(self.before / WEIGHTS, model)
        return model, data

    def _shared(self, context: "Context", device: "torch.device", load: Any) -> "Frozen":
        key = self.vectors and read_manifest(self.vectors).fingerprint
        frozen: Frozen = context.shared("frozen vectors", load, (key, str(device)))
        return frozen


def texts_of_network(loading: Loading, name: str, device: "torch.device") -> "Encodable":
    """What a network that is not trained reads."""
    from adducir.studies.grounded_generation.hindsight.building import encodable_texts

    recipe, problem = loading.recipe, loading.problem()
    return encodable_texts(problem, recipe.retriever, recipe.guide, loading.folder, name, device)


def request_of(
    loading: Loading,
    parts: Sequence[str],
    candidates: Path | None,
    device: "torch.device",
    loaded: "Parts | None" = None,
) -> "ClosedRequest":
    """What the closed sets of the contexts of some parts are made of."""
    from adducir.studies.grounded_generation.hindsight.closed import Candidates, ClosedRequest

    model, data = loaded or loading.parts(device)
    problem, closed = loading.problem(), loading.recipe.closed
    some = None
    if candidates is not None and closed.candidate_depth < len(problem.passages):
        some = Candidates.load(candidates / CANDIDATES)
    contexts = problem.contexts_of(parts)
    return ClosedRequest(model, data, contexts, closed.depth, some, closed.precision)


def answering_of(
    loading: Loading,
    answers: Path,
    tokens: int | None,
    device: "torch.device",
    loaded: "Parts | None" = None,
) -> "Answering":
    """What answers the contexts of an artifact's lists."""
    from adducir.studies.grounded_generation.hindsight.answering import Answering
    from adducir.studies.grounded_generation.hindsight.closed import ClosedSets

    model, data = loaded or loading.parts(device)
    model.generator.tokens = tokens
    closed = ClosedSets.load(answers / CLOSED)
    return Answering(model, data, loading.problem(), closed, loading.recipe.decode)
