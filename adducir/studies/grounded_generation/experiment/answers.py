"""The steps of the test contexts: what a system ranks and writes, and how probable targets are."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.evaluation.scores import run_name
from adducir.studies.grounded_generation.experiment.loading import (
    targets_of,
    targets_with,
    writing_of,
    writing_with,
)
from adducir.studies.grounded_generation.experiment.steps import ClosedStep, PartsStep, PhaseStep
from adducir.studies.grounded_generation.experiment.systems import GROUNDED_SYSTEMS, GroundedSystem

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.studies.grounded_generation.experiment.study import GroundedStudy
    from adducir.studies.grounded_generation.hindsight.closed import ClosedSets

TEXTS = "texts.jsonl"
LIKELIHOODS = "likelihoods.safetensors"


class AnswerStep(ClosedStep):
    """What a system ranks for the test contexts, and what it writes.

    Args:
        system: The system.

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
        by_model = system.ranks_by == "model"
        super().__init__(study, path, place, before, seed, by_model=by_model)
        self.system = system
        self.is_only_ranked = study.recipe.decode is None
        self.run = place[-1] if before is None else run_name(place[-1], seed)

    def recipe(self) -> Mapping[str, Any]:
        recipe, system = self.study.recipe, self.system
        decode = recipe.decode.model_dump(mode="json", exclude={"best"}) if recipe.decode else None
        return {
            **super().recipe(),
            **GROUNDED_SYSTEMS.origin(GROUNDED_SYSTEMS.name_of(type(system))),
            **system.settings(),
            "ranks by": system.ranks_by,
            "decode": decode,
            "generator": self.generator,
        }

    def ranked(self, context: "Context") -> "ClosedSets":
        """See :meth:`ClosedStep.ranked`; or both lists by the system itself."""
        if self.system.ranks_by == "model":
            return super().ranked(context)
        import numpy as np

        from adducir.studies.grounded_generation.hindsight.closed import ClosedSets

        problem, recipe = self.study.data.problem(), self.study.recipe
        contexts = problem.contexts_of(self.parts)

        def ranked(each: Sequence[str]) -> tuple[Any, Any]:
            queries = [each[number] for number in contexts]
            numbers, scores = self.system.rank(
                problem.passages, queries, recipe.closed.depth, context
            )
            return np.asarray(numbers, dtype=np.int64), np.asarray(scores, dtype=np.float32)

        of_guide = problem.hindsight(recipe.guide)
        return ClosedSets(contexts, *ranked(problem.inputs), *ranked(of_guide))

    def fill_by_parts(self, folder: Path, parts: Path, context: "Context") -> Mapping[str, Any]:
        counts = super().fill_by_parts(folder, parts, context)
        if self.study.recipe.decode is None:
            return counts
        from adducir.core.chunks import Local
        from adducir.studies.grounded_generation.hindsight.decoding import write_answers
        from adducir.studies.grounded_generation.hindsight.token_work import Loader

        given = self.loading, folder, context.batch_tokens
        writing = writing_with(*given, *self.loaded(context))
        names = [writing.problem.contexts[number].id for number in writing.closed.contexts]
        load = Loader(partial(writing_of, *given), Local(writing))
        write_answers(load, names, self.making(context), folder / TEXTS)
        return counts


class LikelihoodStep(PartsStep):
    """How probable each test context's target is given each passage that the retriever ranks.

    Args:
        answer: What is ranked.
    """

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

    def fill_by_parts(self, folder: Path, parts: Path, context: "Context") -> Mapping[str, Any]:
        from adducir.core.chunks import Local
        from adducir.models.arrays import write_shard
        from adducir.studies.grounded_generation.hindsight.posterior import likelihoods
        from adducir.studies.grounded_generation.hindsight.token_work import Loader

        given = self.loading, self.answer.path, context.batch_tokens
        targets = targets_with(*given, *self.loaded(context))
        every = self.study.data.problem().contexts
        names = [every[number].id for number in targets.closed.contexts[targets.rows]]
        load = Loader(partial(targets_of, *given), Local(targets))
        found = likelihoods(load, names, self.making(context))
        write_shard(folder / LIKELIHOODS, {"rows": targets.rows, "values": found})
        return {"contexts": len(names)}

    def read(self) -> tuple[Any, Any]:
        """Rows of the answers' lists whose contexts have a target, and (n, r) log P(y|x,z)."""
        from adducir.models.arrays import read_shard

        arrays = read_shard(self.path / LIKELIHOODS)
        return arrays["rows"], arrays["values"]
