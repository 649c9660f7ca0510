"""The steps of a system: vectors, closed sets of each round, phases, and what it answers."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from adducir.core.artifacts import artifact_fingerprint, parts_folder
from adducir.core.chunks import Local
from adducir.core.progress import progress
from adducir.encoders.sources import encoder_source
from adducir.experiments.step import ArtifactStep, Step
from adducir.models.artifacts import model_versions
from adducir.models.machine import choose_device, using_threads
from adducir.models.sources import MINILM
from adducir.studies.grounded_generation.experiment.loading import (
    CANDIDATES,
    CLOSED,
    VECTORS,
    WEIGHTS,
    Loading,
    request_of,
    request_with,
    texts_of_candidates,
    texts_of_network,
)
from adducir.studies.grounded_generation.generators.kinds import GENERATORS
from adducir.studies.grounded_generation.hindsight.recipe import PhaseRecipe

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.studies.grounded_generation.experiment.study import GroundedStudy
    from adducir.studies.grounded_generation.hindsight.closed import ClosedSets
    from adducir.studies.grounded_generation.hindsight.model import Data, Hindsight
    from adducir.studies.grounded_generation.hindsight.token_work import Making


class PartsStep(ArtifactStep):
    """A step that takes long, and goes on where a kill cut it off."""

    version: ClassVar[int] = 1

    def __init__(
        self,
        study: "GroundedStudy",
        path: Path,
        place: tuple[str, ...],
        before: "PhaseStep | None" = None,
        seed: int = 0,
    ) -> None:
        self.study, self.path, self.reads = study, path, [place]
        self.before, self.seed = before, seed
        self.inputs: Sequence[Step] = [*study.vector_steps, *([before] if before else [])]

    @property
    def generator(self) -> dict[str, Any]:
        """The generator's hyperparameters and, of another package's, where it comes from."""
        made = self.study.recipe.generator
        origin = GENERATORS.origin(GENERATORS.name_of(type(made)))
        return {**origin, **made.model_dump(mode="json")}

    def identities(self) -> Mapping[str, str]:
        """The data, what the parts start from, and the weights before."""
        found = {"data": self.study.data.identity, **self.study.identities()}
        if self.before is not None:
            found["before"] = self.before.fingerprint
        return found

    def versions(self) -> Mapping[str, str]:
        return model_versions()

    def make(self, context: "Context") -> None:
        with using_threads(context.threads):
            super().make(context)

    def fill(self, folder: Path, context: "Context") -> Mapping[str, Any]:
        return self.fill_by_parts(folder, parts_folder(self.path, self._key), context)

    @abstractmethod
    def fill_by_parts(self, folder: Path, parts: Path, context: "Context") -> Mapping[str, Any]:
        """Make it in an empty folder; what is done is kept in another."""

    def loaded(self, context: "Context") -> "tuple[Hindsight, Data]":
        """The three parts with the weights before, and what they read."""
        return self.loading.parts(choose_device(context.device), context)

    @property
    def loading(self) -> Loading:
        """How a process loads them."""
        return self.study.loading(self.before, self.seed)

    def making(self, context: "Context") -> "Making":
        """How its shards are made, which are kept until it is there."""
        from adducir.studies.grounded_generation.hindsight.token_work import Making

        chunking = context.chunking(self.path)
        return Making(
            self.fingerprint, chunking, context.device, context.threads, context.batch_tokens
        )

    @property
    def _key(self) -> str:
        return artifact_fingerprint(self.kind, self.recipe(), self.identities(), self.version)


class VectorsStep(PartsStep):
    """The vectors of all texts, of a network that is not trained."""

    kind: ClassVar[str] = "frozen-vectors"
    verb = "encode"

    def recipe(self) -> Mapping[str, Any]:
        recipe = self.study.recipe
        keys = {"vectors", "towers", "query_length", "document_length"}
        return {
            "retriever": recipe.retriever.model_dump(mode="json", include=keys),
            "guide": recipe.guide.model_dump(mode="json", exclude={"add_prior"}),
        }

    def fill_by_parts(self, folder: Path, parts: Path, context: "Context") -> Mapping[str, Any]:
        from adducir.studies.grounded_generation.hindsight.building import save_vectors

        recipe = self.study.recipe
        count = save_vectors(
            folder / VECTORS,
            self.study.data.problem(),
            recipe.retriever,
            recipe.guide,
            self.study.folder,
            partial(texts_of_network, self.study.loading()),
            self.making(context),
        )
        return {"texts": count}


class CandidatesStep(PartsStep):
    """The passages that are scored for each context, where not all are."""

    kind: ClassVar[str] = "closed-candidates"
    verb = "rank"

    def recipe(self) -> Mapping[str, Any]:
        recipe = self.study.recipe
        return {
            "closed": recipe.closed.model_dump(mode="json", exclude={"depth", "precision"}),
            "guide": recipe.guide.model_dump(mode="json", exclude={"add_prior"}),
        }

    def identities(self) -> Mapping[str, str]:
        """The data, and MiniLM where its vectors rank."""
        found = {"data": self.study.data.identity}
        if self.study.recipe.closed.candidates == "vectors":
            found["vectors"] = encoder_source(MINILM, self.study.folder).identity()
        return found

    def fill_by_parts(self, folder: Path, parts: Path, context: "Context") -> Mapping[str, Any]:
        from adducir.studies.grounded_generation.hindsight.candidates import candidates_of

        recipe, problem = self.study.recipe, self.study.data.problem()
        load = partial(texts_of_candidates, self.study.loading())
        found = candidates_of(recipe.closed, problem, recipe.guide, load, self.making(context))
        found.save(folder / CANDIDATES)
        return {"contexts": len(problem.contexts), "passages": len(problem.passages)}


class ClosedStep(PartsStep):
    """Closed sets of the training and validation contexts, or what a system ranks for the tests."""

    kind: ClassVar[str] = "closed-sets"
    verb = "rank"
    is_only_ranked: bool = True
    parts: tuple[str, ...] = ("train", "validation")

    def __init__(
        self,
        study: "GroundedStudy",
        path: Path,
        place: tuple[str, ...],
        before: "PhaseStep | None" = None,
        seed: int = 0,
        *,
        by_model: bool = True,
    ) -> None:
        super().__init__(study, path, place, before, seed)
        self.candidates = study.candidates if by_model else None
        if self.candidates is not None:
            self.inputs = [*self.inputs, self.candidates]

    def identities(self) -> Mapping[str, str]:
        """The same, and the candidates."""
        found = dict(super().identities())
        if self.candidates is not None:
            found["candidates"] = self.candidates.fingerprint
        return found

    def recipe(self) -> Mapping[str, Any]:
        recipe = self.study.recipe
        return {
            "closed": recipe.closed.model_dump(mode="json"),
            "retriever": recipe.retriever.model_dump(mode="json", exclude={"base"}),
            "guide": recipe.guide.model_dump(mode="json"),
            "parts": self.parts,
        }

    def fill_by_parts(self, folder: Path, parts: Path, context: "Context") -> Mapping[str, Any]:
        closed = self.ranked(context)
        closed.save(folder / CLOSED)
        passages = len(self.study.data.problem().passages)
        return {"contexts": len(closed.contexts), "passages": passages}

    def ranked(self, context: "Context") -> "ClosedSets":
        """Both lists of its contexts, by the weights as they are."""
        from adducir.studies.grounded_generation.hindsight.closed_work import closed_sets
        from adducir.studies.grounded_generation.hindsight.token_work import Loader

        candidates = None if self.candidates is None else self.candidates.path
        given = self.loading, self.parts, candidates
        request = request_with(*given, *self.loaded(context))
        every = self.study.data.problem().contexts
        names = tuple(every[number].id for number in request.contexts)
        load = partial(request_of, *given)
        return closed_sets(Loader(load, Local(request)), names, self.making(context))

    def read(self) -> "ClosedSets":
        """What stands in its file."""
        from adducir.studies.grounded_generation.hindsight.closed import ClosedSets

        return ClosedSets.load(self.path / CLOSED)


class PhaseStep(PartsStep):
    """The weights after a phase of a round.

    Args:
        closed: The closed sets that it learns from.
        phase: Its recipe, with the seed of its draws and the number of passages of this training.
    """

    kind: ClassVar[str] = "hindsight-weights"
    version: ClassVar[int] = 2
    verb = "train"

    def __init__(
        self,
        study: "GroundedStudy",
        path: Path,
        place: tuple[str, ...],
        before: "PhaseStep | None",
        seed: int,
        closed: ClosedStep,
        phase: PhaseRecipe,
    ) -> None:
        super().__init__(study, path, place, before, seed)
        self.closed, self.phase = closed, phase
        self.inputs = [*self.inputs, closed]

    def recipe(self) -> Mapping[str, Any]:
        recipe = self.study.recipe
        return {
            "phase": self.phase.model_dump(mode="json", exclude={"rounds"}),
            "retriever": recipe.retriever.model_dump(mode="json", exclude={"base"}),
            "guide": recipe.guide.model_dump(mode="json"),
            "generator": self.generator,
        }

    def identities(self) -> Mapping[str, str]:
        """The same, and the closed sets."""
        return {**super().identities(), "closed": self.closed.fingerprint}

    def fill_by_parts(self, folder: Path, parts: Path, context: "Context") -> Mapping[str, Any]:
        from adducir.models.arrays import save_weights
        from adducir.studies.grounded_generation.hindsight.phase import Phase, train_phase
        from adducir.training.run import record

        problem = self.study.data.problem()
        model, data = self.loaded(context)
        of_training, held_out = self.closed.read().split(len(problem.parts["train"]))
        passages = len(problem.passages)
        phase = Phase(model, data, of_training, held_out, self.phase, passages)
        progress().note(f"{context.shown(self.path)}: {self.phase.loss}")
        history = train_phase(phase, parts / "checkpoints")
        save_weights(folder / WEIGHTS, model)
        return {"examples": len(phase.train), **record(history, folder), **phase.measure()}
