"""The training of models that select evidence: from a recipe in ``rerankers/`` to a folder."""

from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import torch

from adducir.corpora.references import expanded
from adducir.models.sources import model_source
from adducir.studies.complementary_evidence.selectors.drn import DRNModel
from adducir.studies.complementary_evidence.selectors.examples import (
    KIND,
    VERSION,
    Frozen,
    QuestionExamples,
)
from adducir.studies.complementary_evidence.selectors.model import ComplementaryModel, EvidenceModel
from adducir.studies.complementary_evidence.selectors.recipe import (
    ComplementaryRecipe,
    DRNRecipe,
    first_settings,
)
from adducir.studies.complementary_evidence.selectors.settings import Settings
from adducir.studies.complementary_evidence.selectors.task import ComplementaryTask, DRNTask
from adducir.training.plan import TrainingPlan
from adducir.training.preparation import Preparation

_STATES = 2
"""Raised whenever the states of frozen layers would be computed in other batches."""

R = TypeVar("R", bound=ComplementaryRecipe | DRNRecipe)


class EvidencePlan(TrainingPlan[R]):
    """The training of a model that selects evidence."""

    artifact = "evidence-selector"
    model_type: ClassVar[type[EvidenceModel[Any]]]

    def __init__(self, recipe: R, folder: Path) -> None:
        super().__init__(recipe, folder)
        tokenizer = recipe.tokenizer and expanded(recipe.tokenizer)
        self.base = model_source(expanded(recipe.base), folder, tokenizer)
        self.inputs  # noqa: B018 - every file is read now

    @property
    def model_settings(self) -> Settings:
        """What the model will keep of the recipe, before anything is chosen."""
        return first_settings(self.recipe)

    @property
    def settings(self) -> dict[str, Any]:
        """Those parts of the recipe that decide the model."""
        values = self.recipe.fingerprinted({"data": {"train", "validation", "without"}})
        if self.recipe.layers is not None:
            values["states"] = _STATES
        return values | {"held_out": bool(self.recipe.data.validation)}

    @property
    def preparation(self) -> Preparation:
        """The questions as token ids, with what the frozen layers make of them."""
        recipe, together = self.recipe, self.model_type.reads_together
        settings: dict[str, Any] = {
            "length": recipe.length,
            "together": together,
            "held_out": bool(recipe.data.validation),
            "data": recipe.data.model_dump(exclude={"train", "validation", "without"}),
        }
        frozen, read = None, self.base.reading_identity()
        if recipe.layers is not None:
            how = recipe.training
            frozen, read = Frozen(recipe.layers, how.precision, how.threads), self.base.identity()
            settings |= {"layers": recipe.layers, "precision": how.precision, "states": _STATES}
        work = QuestionExamples(
            recipe.data, self.folder, self.base, recipe.length, together, frozen
        )
        inputs = {"base": read, **recipe.data.identity(self.folder)}
        return Preparation(KIND, settings, inputs, VERSION, work)

    @cached_property
    def inputs(self) -> dict[str, str]:
        """The fingerprints of the base and of the files of questions."""
        return {"base": self.base.identity(), **self.recipe.data.identity(self.folder)}


class ComplementaryPlan(EvidencePlan[ComplementaryRecipe]):
    """The training of a complementary model."""

    recipe_type = ComplementaryRecipe
    model_type = ComplementaryModel

    def task(self, device: torch.device) -> ComplementaryTask:
        """The encoder with a new head."""
        recipe = self.recipe
        model = ComplementaryModel.untrained(self.base, self.model_settings, recipe.training.seed)
        model.to(device)
        model.encoder.freeze(recipe.layers)
        return ComplementaryTask(model, recipe, self.folder, self.preparation)


class DRNPlan(EvidencePlan[DRNRecipe]):
    """The training of DRN."""

    recipe_type = DRNRecipe
    model_type = DRNModel
    networks = 2

    def task(self, device: torch.device) -> DRNTask:
        """Two copies of the encoder with new heads."""
        recipe = self.recipe
        model = DRNModel.untrained(self.base, self.model_settings, recipe.training.seed)
        model.to(device)
        for side in (model.relevance, model.novelty):
            side.encoder.freeze(recipe.layers)
        return DRNTask(model, recipe, self.folder, self.preparation)
