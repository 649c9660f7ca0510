"""The steps of a system: vectors, closed sets of each round, phases, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.core.recipe import KeyPath
from adducir.evaluation.scores import run_name
from adducir.experiments.step import ArtifactStep
from adducir.models.artifacts import model_versions
from adducir.models.machine import using_threads
from adducir.studies.grounded_generation.generators.kinds import GENERATORS
from adducir.studies.grounded_generation.hindsight.recipe import GroundedSystem, PhaseRecipe

if TYPE_CHECKING:
    from adducir.experiments.step import Context
    from adducir.studies.grounded_generation.experiment.study import GroundedStudy


@dataclass(eq=False)
class PartsStep(ArtifactStep):
    """A step that takes long, and goes on where a kill cut it off.

    ``needs`` are the steps it is made from beside the vectors; ``before``: that of its weights.
    """

    study: "GroundedStudy"
    path: Path
    entry: KeyPath
    needs: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        self.reads = [self.entry]
        self.inputs = [*self.study.vector_steps, *self.needs.values()]

    @property
    def generator(self) -> dict[str, Any]:
        """The generator's hyperparameters and, of another package's, where it comes from."""
        made = self.study.recipe.generator
        origin = GENERATORS.origin(GENERATORS.name_of(type(made)))
        return {**origin, **made.model_dump(mode="json")}

    def settings(self, *named: str, **exclude: set[str]) -> dict[str, Any]:
        recipe = self.study.recipe
        return {
            name: getattr(recipe, name).model_dump(mode="json", exclude=exclude.get(name))
            for name in named
        }

    def identities(self) -> Mapping[str, str]:
        needed = {name: step.fingerprint for name, step in self.needs.items()}
        return {"data": self.study.data.identity, **self.study.identities(), **needed}

    def versions(self) -> Mapping[str, str]:
        return model_versions()

    def make(self, context: "Context") -> None:
        with using_threads(context.threads):
            super().make(context)

    def fill(self, folder: Path, context: "Context") -> Mapping[str, Any]:
        from adducir.studies.grounded_generation.experiment.making import MAKE

        return MAKE[self.kind](self, folder, context)


class VectorsStep(PartsStep):
    kind = "frozen-vectors"
    verb = "encode"

    def recipe(self) -> Mapping[str, Any]:
        others = {"base", "network", "adapter", "scale", "train_scale"}
        return self.settings("retriever", "guide", retriever=others)


class CandidatesStep(PartsStep):
    """The passages that are scored for each context, where not all are: the best of BM25."""

    kind = "closed-candidates"
    verb = "rank"

    def recipe(self) -> Mapping[str, Any]:
        return self.settings("closed", "guide", closed={"depth", "precision"})

    def identities(self) -> Mapping[str, str]:
        return {"data": self.study.data.identity}


class ClosedStep(PartsStep):
    """Closed sets of the training and validation contexts, or what a system ranks for the tests."""

    kind = "closed-sets"
    verb = "rank"
    contexts: tuple[str, ...] = ("train", "validation")

    def recipe(self) -> Mapping[str, Any]:
        found = self.settings("closed", "retriever", "guide", retriever={"base"})
        return {**found, "parts": self.contexts}


@dataclass(eq=False, kw_only=True)
class PhaseStep(PartsStep):
    kind = "hindsight-weights"
    version = 2
    verb = "train"
    phase: PhaseRecipe

    def recipe(self) -> Mapping[str, Any]:
        phase = self.phase.model_dump(mode="json", exclude={"rounds"})
        found = self.settings("retriever", "guide", retriever={"base"})
        return {**found, "phase": phase, "generator": self.generator}


@dataclass(eq=False, kw_only=True)
class AnswerStep(ClosedStep):
    kind = "grounded-answers"
    verb = "answer"
    stage = 2
    contexts = ("test",)
    system: GroundedSystem

    @property
    def run(self) -> str:
        name = str(self.entry[-1])
        return run_name(name, self.seed) if "before" in self.needs else name

    def recipe(self) -> Mapping[str, Any]:
        decode = self.study.recipe.decode
        return {
            **super().recipe(),
            "ranks by": "model" if self.system.by_model else "bm25",
            "decode": decode.model_dump(mode="json", exclude={"best"}) if decode else None,
            "generator": self.generator,
        }


class LikelihoodStep(PartsStep):
    """How probable each test context's target is given each passage that the retriever ranks."""

    kind = "target-likelihoods"
    verb = "score"
    stage = 2

    def recipe(self) -> Mapping[str, Any]:
        return {"generator": self.generator}
