"""The step that selects the sets of a round's test questions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from adducir.core.chunks import Local
from adducir.core.fingerprint import fingerprint, source_digests
from adducir.experiments.step import ArtifactStep, ModelStep
from adducir.experiments.study import Trial
from adducir.models.machine import Precision, choose_device, using_threads
from adducir.studies.complementary_evidence.measures import GoldSets
from adducir.studies.complementary_evidence.questions import (
    read_questions,
    read_selected,
    write_selected,
)
from adducir.studies.complementary_evidence.selectors.selecting import (
    load_evidence_model,
    without_model,
)
from adducir.studies.complementary_evidence.selectors.selector import SELECTORS, Selector
from adducir.studies.complementary_evidence.selectors.work import SelectionWork, selected_by_shards

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.studies.complementary_evidence.experiment.study import EvidenceStudy

SELECTED_FILE = "chosen.jsonl"


class SelectionStep(ArtifactStep):
    """The sets that are selected for the test questions of a round."""

    kind: ClassVar[str] = "chosen-sets"
    version: ClassVar[int] = 2
    verb = "select"
    stage = 2

    def __init__(
        self,
        study: "EvidenceStudy",
        trial: Trial,
        selection: Selector,
        training: Sequence[ModelStep] = (),
    ) -> None:
        self.study, self.trial, self.selection = study, trial, selection
        self.training = self.inputs = training
        self.precision: Precision = study.recipe.precision
        self.path = study.path_of(trial)
        self._model = training[-1].path if training else None

    @property
    def _tests(self) -> tuple[Path, ...]:
        return self.study.tests[self.trial.data, self.trial.part]

    def recipe(self) -> Mapping[str, Any]:
        return {"precision": self.precision} if self.training else self.settings()

    def settings(self) -> Mapping[str, Any]:
        """The selector with its hyperparameters, and the package that it comes from."""
        return SELECTORS.settings(self.selection, "selector")

    def identities(self) -> Mapping[str, str]:
        model = {"model": self.training[-1].fingerprint} if self.training else {}
        return {**model, "questions": fingerprint(source_digests(self._tests))}

    def fill(self, folder: Path, context: "Context") -> Mapping[str, Any]:
        """Select, and write the sets."""
        with using_threads(context.threads):
            model = (
                load_evidence_model(self._model, choose_device(context.device))
                if self._model
                else without_model(self.selection)
            )
            work = SelectionWork(
                self._model,
                list(read_questions(*self._tests)),
                model.settings.selection,
                self.precision,
                Local(model),
                context.device,
                context.threads,
                context.batch_tokens,
            )
            with selected_by_shards(work, context.chunking(self.path)) as chosen:
                return {"questions": write_selected(chosen, folder / SELECTED_FILE)}

    def read(self, gold: GoldSets) -> dict[str, tuple[str, ...]]:
        """The sets that stand in its file, by question."""
        path = self.path / SELECTED_FILE
        return gold.checked(read_selected(path), path)
