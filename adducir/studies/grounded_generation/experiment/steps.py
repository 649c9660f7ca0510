"""The steps of a system: vectors, closed sets of each round, phases, and what it answers."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.core.artifacts import parts_folder
from adducir.core.progress import progress
from adducir.evaluation.scores import run_name
from adducir.experiments.step import ArtifactStep, Step
from adducir.models.artifacts import model_versions
from adducir.models.machine import choose_device, using_threads
from adducir.studies.grounded_generation.experiment.loading import (
    CANDIDATES,
    CLOSED,
    LIKELIHOODS,
    TEXTS,
    VECTORS,
    WEIGHTS,
    Loading,
    answering_of,
    request_of,
    texts_of_network,
)
from adducir.studies.grounded_generation.generators.kinds import GENERATORS
from adducir.studies.grounded_generation.hindsight.recipe import GroundedSystem, PhaseRecipe

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.studies.grounded_generation.experiment.study import GroundedStudy
    from adducir.studies.grounded_generation.hindsight.closed import ClosedSets
    from adducir.studies.grounded_generation.hindsight.model import Data, Hindsight
    from adducir.studies.grounded_generation.hindsight.work import Making


class PartsStep(ArtifactStep):
    """A step that takes long, and goes on where a kill cut it off."""

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

    @abstractmethod
    def fill(self, folder: Path, context: "Context") -> Mapping[str, Any]: ...

    def loaded(self, context: "Context") -> "tuple[Hindsight, Data]":
        """The three parts with the weights before, and what they read."""
        return self.loading.parts(choose_device(context.device), context)

    @property
    def loading(self) -> Loading:
        """How a process loads them."""
        return self.study.loading(self.before, self.seed)

    def making(self, context: "Context") -> "Making":
        """How its chunks are made, which are kept until it is there."""
        from adducir.studies.grounded_generation.hindsight.work import Making

        chunking, tokens = context.chunking(self.path), context.batch_tokens
        return Making(self.fingerprint, chunking, context.device, context.threads, tokens)


class VectorsStep(PartsStep):
    """The vectors of all texts, of a network that is not trained."""

    kind = "frozen-vectors"
    verb = "encode"

    def recipe(self) -> Mapping[str, Any]:
        recipe = self.study.recipe
        keys = {"vectors", "towers", "query_length", "document_length"}
        return {
            "retriever": recipe.retriever.model_dump(mode="json", include=keys),
            "guide": recipe.guide.model_dump(mode="json"),
        }

    def fill(self, folder: Path, context: "Context") -> Mapping[str, Any]:
        from adducir.studies.grounded_generation.hindsight.building import save_vectors

        recipe, problem = self.study.recipe, self.study.data.problem()
        given = problem, recipe.retriever, recipe.guide, self.study.folder
        load = partial(texts_of_network, self.loading)
        return {"texts": save_vectors(folder / VECTORS, *given, load, self.making(context))}


class CandidatesStep(PartsStep):
    """The passages that are scored for each context, where not all are: the best of BM25."""

    kind = "closed-candidates"
    verb = "rank"

    def recipe(self) -> Mapping[str, Any]:
        recipe = self.study.recipe
        return {
            "closed": recipe.closed.model_dump(mode="json", exclude={"depth", "precision"}),
            "guide": recipe.guide.model_dump(mode="json"),
        }

    def identities(self) -> Mapping[str, str]:
        return {"data": self.study.data.identity}

    def fill(self, folder: Path, context: "Context") -> Mapping[str, Any]:
        from adducir.studies.grounded_generation.hindsight.closed import Candidates, bm25_ranking

        recipe, problem = self.study.recipe, self.study.data.problem()
        queries = [*problem.inputs, *problem.hindsight(recipe.guide)]
        with progress().doing("ranking", len(problem.passages), "passages"):
            depth = recipe.closed.candidate_depth
            found, _ = bm25_ranking(problem.passages, queries, depth, threads=context.threads)
        count = len(problem.contexts)
        Candidates(found[:count], found[count:]).save(folder / CANDIDATES)
        return {"contexts": count, "passages": len(problem.passages)}


class ClosedStep(PartsStep):
    """Closed sets of the training and validation contexts, or what a system ranks for the tests."""

    kind = "closed-sets"
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

    def fill(self, folder: Path, context: "Context") -> Mapping[str, Any]:
        closed = self.ranked(context)
        closed.save(folder / CLOSED)
        passages = len(self.study.data.problem().passages)
        return {"contexts": len(closed.contexts), "passages": passages}

    def ranked(self, context: "Context") -> "ClosedSets":
        """Both lists of its contexts, by the weights as they are."""
        from adducir.studies.grounded_generation.hindsight.closed import closed_sets

        candidates = None if self.candidates is None else self.candidates.path
        load = partial(request_of, self.loading, self.parts, candidates)
        here = load(choose_device(context.device), self.loaded(context))
        return closed_sets(here, load, self.making(context))

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

    kind = "hindsight-weights"
    version = 2
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

    def fill(self, folder: Path, context: "Context") -> Mapping[str, Any]:
        from adducir.models.arrays import save_weights
        from adducir.studies.grounded_generation.hindsight.training import Phase, train_phase
        from adducir.training.run import record

        model, data = self.loaded(context)
        train = self.study.data.problem().parts["train"]
        of_training, held_out = self.closed.read().split(len(train))
        phase = Phase(model, data, of_training, held_out, self.phase)
        progress().note(f"{context.shown(self.path)}: {self.phase.loss}")
        parts = parts_folder(self.path, self.fingerprint)
        history = train_phase(phase, parts / "checkpoints")
        save_weights(folder / WEIGHTS, model)
        return {"examples": len(phase.train), **record(history, folder), **phase.measure()}


class AnswerStep(ClosedStep):
    """What a system ranks for the test contexts, and what it writes.

    Attributes:
        run: The name of this run of the system: with its seed where it is trained.
    """

    kind = "grounded-answers"
    verb = "answer"
    stage = 2
    parts = ("test",)

    def __init__(
        self,
        study: "GroundedStudy",
        path: Path,
        place: tuple[str, ...],
        before: PhaseStep | None,
        seed: int,
        system: GroundedSystem,
    ) -> None:
        super().__init__(study, path, place, before, seed, by_model=system.by_model)
        self.system = system
        self.is_only_ranked = study.recipe.decode is None
        self.run = place[-1] if before is None else run_name(place[-1], seed)

    def recipe(self) -> Mapping[str, Any]:
        recipe = self.study.recipe
        decode = recipe.decode.model_dump(mode="json", exclude={"best"}) if recipe.decode else None
        return {
            **super().recipe(),
            "ranks by": "model" if self.system.by_model else "bm25",
            "decode": decode,
            "generator": self.generator,
        }

    def ranked(self, context: "Context") -> "ClosedSets":
        """See :meth:`ClosedStep.ranked`; or both lists by BM25."""
        if self.system.by_model:
            return super().ranked(context)
        from adducir.studies.grounded_generation.hindsight.closed import ClosedSets, bm25_ranking

        problem, recipe, lists = self.study.data.problem(), self.study.recipe, list[Any]()
        contexts = problem.contexts_of(self.parts)
        for each in (problem.inputs, problem.hindsight(recipe.guide)):
            queries, depth = [each[number] for number in contexts], recipe.closed.depth
            given = problem.passages, queries, depth
            numbers, scores = bm25_ranking(*given, threads=context.threads)
            lists += [numbers.astype("int64"), scores]
        return ClosedSets(contexts, *lists)

    def fill(self, folder: Path, context: "Context") -> Mapping[str, Any]:
        counts = super().fill(folder, context)
        if self.study.recipe.decode is not None:
            from adducir.studies.grounded_generation.hindsight.answering import write_answers

            load = partial(answering_of, self.loading, folder, context.batch_tokens)
            here = load(choose_device(context.device), self.loaded(context))
            write_answers(here, load, self.making(context), folder / TEXTS)
        return counts


class LikelihoodStep(PartsStep):
    """How probable each test context's target is given each passage that the retriever ranks."""

    kind = "target-likelihoods"
    verb = "score"
    stage = 2

    def __init__(self, study: "GroundedStudy", path: Path, answer: AnswerStep) -> None:
        super().__init__(study, path, ("generator",), answer.before, answer.seed)
        self.answer = answer
        self.inputs = [*self.inputs, answer]

    def recipe(self) -> Mapping[str, Any]:
        return {"generator": self.generator}

    def identities(self) -> Mapping[str, str]:
        """The same, and what is ranked."""
        return {**super().identities(), "answers": self.answer.fingerprint}

    def fill(self, folder: Path, context: "Context") -> Mapping[str, Any]:
        from adducir.models.arrays import write_shard
        from adducir.studies.grounded_generation.hindsight.answering import likelihoods

        load = partial(answering_of, self.loading, self.answer.path, context.batch_tokens)
        here = load(choose_device(context.device), self.loaded(context))
        found = likelihoods(here, load, self.making(context))
        write_shard(folder / LIKELIHOODS, {"rows": here.with_target, "values": found})
        return {"contexts": len(found)}

    def read(self) -> tuple[Any, Any]:
        """Rows of the answers' lists whose contexts have a target, and (n, r) log P(y|x,z)."""
        from adducir.models.arrays import read_shard

        arrays = read_shard(self.path / LIKELIHOODS)
        return arrays["rows"], arrays["values"]
