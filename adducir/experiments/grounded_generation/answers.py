"""The steps of the test contexts: what a system ranks and writes, and how probable targets are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import orjson

from adducir.core.artifacts import read_manifest
from adducir.core.files import writing_text
from adducir.evaluation.seeds import run_name
from adducir.experiments.grounded_generation.amounts import ranked_by_words
from adducir.experiments.grounded_generation.opened import Opened
from adducir.experiments.grounded_generation.steps import (
    CLOSED,
    ClosedStep,
    PartsStep,
    PhaseStep,
)
from adducir.experiments.grounded_generation.systems import GROUNDED_SYSTEMS, GroundedSystem
from adducir.experiments.work import Work, together
from adducir.models.machine import using_threads

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.hindsight.closed import ClosedSets

TEXTS = "texts.jsonl"
LIKELIHOODS = "likelihoods.safetensors"


class AnswerStep(ClosedStep):
    """What a system ranks for the test contexts, and what it writes.

    Args:
        system: The system.

    Attributes:
        run: The name of this run of the system: with its seed where it is trained.
    """

    kind: ClassVar[str] = "grounded-answers"
    verb = "answer"
    stage = 2
    parts = ("test",)

    def __init__(
        self,
        study: Opened,
        path: Path,
        place: tuple[str, ...],
        before: PhaseStep | None,
        seed: int,
        system: GroundedSystem,
    ) -> None:
        by_model = system.ranks_by == "model"
        super().__init__(study, path, place, before, seed, by_model=by_model)
        self.system = system
        self.run = place[-1] if before is None else run_name(place[-1], seed)

    def recipe(self) -> Mapping[str, Any]:
        """See :meth:`ArtifactStep.recipe`."""
        recipe, system = self.study.recipe, self.system
        decode = recipe.decode.model_dump(mode="json") if recipe.decode else None
        return {
            **super().recipe(),
            **GROUNDED_SYSTEMS.origin(GROUNDED_SYSTEMS.name_of(type(system))),
            **system.settings(),
            "ranks by": system.ranks_by,
            "decode": decode,
            "generator": self.generator,
        }

    def work(self) -> Work | None:
        """See :meth:`Step.work`; None where another package's system ranks."""
        counts, amounts = self.study.data.counts, self.amounts
        ranked = super().work()
        if self.system.ranks_by == "bm25" and counts is not None:
            ranked = ranked_by_words(counts, 2 * counts.contexts["test"])
        elif self.system.ranks_by != "model":
            return None
        if self.study.recipe.decode is None:
            return ranked
        return together(ranked, amounts.texts() if amounts else None)

    def ranked(self, context: "Context") -> "ClosedSets":
        """See :meth:`ClosedStep.ranked`; or both lists by the system itself."""
        if self.system.ranks_by == "model":
            return super().ranked(context)
        import numpy as np

        from adducir.hindsight.closed import ClosedSets

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
        """See :meth:`PartsStep.fill_by_parts`."""
        counts = super().fill_by_parts(folder, parts, context)
        decode = self.study.recipe.decode
        if decode is None:
            return counts
        from adducir.hindsight.closed import ClosedSets
        from adducir.hindsight.decoding import answers

        model, data = self.loaded(context)
        model.generator.tokens = context.batch_tokens
        closed = ClosedSets.load(folder / CLOSED)
        problem = self.study.data.problem()
        with using_threads(context.threads), writing_text(folder / TEXTS) as handle:
            for number, outputs in answers(
                model, data, problem, closed, decode, progress=context.progress
            ):
                written = [{"text": text, "docno": docno} for text, docno in outputs]
                record = {"id": problem.contexts[number].id, "outputs": written}
                handle.write(orjson.dumps(record).decode() + "\n")
        return counts


class LikelihoodStep(PartsStep):
    """How probable each test context's target is given each passage that the retriever ranks.

    Args:
        answer: What is ranked.
    """

    kind: ClassVar[str] = "target-likelihoods"
    verb = "score"
    stage = 2

    def __init__(self, study: Opened, path: Path, answer: AnswerStep) -> None:
        super().__init__(study, path, ("generator",), answer.before, answer.seed)
        self.answer = answer
        self.inputs = [*self.inputs, answer]

    def recipe(self) -> Mapping[str, Any]:
        """See :meth:`ArtifactStep.recipe`."""
        return {"generator": self.generator}

    def identities(self) -> Mapping[str, str]:
        """The same, and what is ranked."""
        return {**super().identities(), "answers": read_manifest(self.answer.path).fingerprint}

    def work(self) -> Work | None:
        """See :meth:`Step.work`."""
        amounts = self.amounts
        return None if amounts is None else amounts.likelihoods()

    def fill_by_parts(self, folder: Path, parts: Path, context: "Context") -> Mapping[str, Any]:
        """See :meth:`PartsStep.fill_by_parts`."""
        import numpy as np

        from adducir.hindsight.posterior import likelihoods
        from adducir.models.shards import write_shard

        contexts = self.study.data.problem().contexts
        closed = self.answer.read()
        rows = [row for row, n in enumerate(closed.contexts) if contexts[n].target]
        model, data = self.loaded(context)
        found = likelihoods(
            model,
            data,
            closed.contexts[rows],
            closed.retriever[rows],
            parts=parts,
            progress=context.progress,
        )
        numbers = np.array(rows, dtype=np.int64)
        write_shard(folder / LIKELIHOODS, {"rows": numbers, "values": found})
        return {"contexts": len(rows)}

    def read(self) -> tuple[Any, Any]:
        """Rows of the answers' lists whose contexts have a target, and (n, r) log P(y|x,z)."""
        from adducir.models.shards import read_shard

        arrays = read_shard(self.path / LIKELIHOODS)
        return arrays["rows"], arrays["values"]
