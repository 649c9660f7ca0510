"""The training of a term weighter: from a recipe in ``deepct/`` to a model's folder."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from adducir.core.fingerprint import fingerprint
from adducir.deepct.opened import OpenedRecipe
from adducir.deepct.recipe import DeepCTRecipe
from adducir.deepct.recovery import recovery_lines
from adducir.deepct.settings import Settings
from adducir.deepct.task import DeepCTTask
from adducir.training.plan import TrainingPlan
from adducir.training.preparation import Preparation

_SOURCES = ("kind", "corpus", "topics", "without", "settings", "stopwords")

_TRAINED_BY = ("training", "activation")


class DeepCTPlan(TrainingPlan[DeepCTRecipe]):
    """The training of a term weighter."""

    recipe_type = DeepCTRecipe
    artifact = "term-weighter"

    def __init__(self, recipe: DeepCTRecipe, folder: Path) -> None:
        super().__init__(recipe, folder)
        self.opened = OpenedRecipe.of(recipe, folder)

    @property
    def model_settings(self) -> Settings:
        """What the model will keep of the recipe."""
        return self.opened.settings

    @property
    def settings(self) -> dict[str, Any]:
        """Those parts of the recipe that decide the weights."""
        values = self.recipe.fingerprinted(dict.fromkeys(_SOURCES, True))
        if (
            values["training_length"] is None
        ):  # so that models made before it was a key stay current
            del values["training_length"]
        return values | {"copies": self.recipe.without.copies}

    @property
    def examples_settings(self) -> dict[str, Any]:
        """Those parts of the recipe that decide the examples: not how they are trained on."""
        values = {key: value for key, value in self.settings.items() if key not in _TRAINED_BY}
        # The seed of a training draws which examples are taken, where not all are.
        return values | ({"seed": self.recipe.training.seed} if self.recipe.most else {})

    @cached_property
    def inputs(self) -> dict[str, str]:
        """The fingerprints of what the model is made from."""
        opened = self.opened
        return {
            "corpus": fingerprint(opened.corpus.identity()),
            "supervision": fingerprint(opened.supervision.identity()),
            "without": fingerprint(opened.without.identity()),
            "stop words": fingerprint(opened.stop_words.identity()),
            "base": opened.base.identity(),
        }

    @cached_property
    def preparation(self) -> Preparation:
        """The passages of the corpus."""
        return self.opened.preparation

    def task(self, device: torch.device) -> DeepCTTask:
        """The model with its new head."""
        return DeepCTTask(self.opened.untrained().to(device), self.opened)

    def report(self, counts: Mapping[str, Any]) -> list[str]:
        """How well the model recovers the reference's words in passages held out."""
        measured = counts.get("recovery")
        return recovery_lines(measured["part"], measured["ways"]) if measured else []
