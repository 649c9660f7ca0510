"""A recipe with all that it names opened: what determines the weights, and what makes them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from adducir.core.artifacts import artifact_fingerprint, is_current
from adducir.training.preparation import Preparation
from adducir.training.recipe import ModelRecipe

if TYPE_CHECKING:
    import torch

    from adducir.training.task import TrainingTask

R = TypeVar("R", bound=ModelRecipe)


class TrainingPlan(ABC, Generic[R]):
    """A kind of model that can be trained, with one recipe of it.

    A kind extends this class: it names its recipe, opens in ``__init__`` what a recipe names, and
    says by :attr:`inputs` and :attr:`settings` what determines the weights. Nothing is read that
    need not be, and no model is loaded, before :meth:`task`.

    Attributes:
        recipe: What the file says.
        folder: The study's, where relative paths start.
        origin: The package and version that the kind comes from; empty for our own.
        before: What trains the base, and the base's folder, where the recipe names another recipe.
        recipe_type: The kind's recipe.
        artifact: What the trained model is called in manifests.
        version: Raised whenever the same recipe would make other weights.
        networks: How many networks of the base's size read each text.
    """

    recipe_type: ClassVar[type[ModelRecipe]]
    artifact: ClassVar[str]
    version: ClassVar[int] = 2
    networks: ClassVar[int] = 1

    def __init__(self, recipe: R, folder: Path) -> None:
        self.recipe, self.folder = recipe, folder
        self.origin: Mapping[str, str] = {}
        self.before: tuple[TrainingPlan[Any], Path] | None = None

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Those parts of the recipe that decide the weights, without the names of sources."""

    @property
    @abstractmethod
    def inputs(self) -> Mapping[str, str]:
        """The fingerprints of what the model is made from, by name."""

    @abstractmethod
    def task(self, device: "torch.device") -> "TrainingTask":
        """Load the network, and say how it learns.

        Raises:
            InputError, MachineError: The base cannot be loaded, or does not fit the recipe.
        """

    def report(self, counts: Mapping[str, Any]) -> Sequence[str]:
        """Lines for whoever has trained a model: what was measured of it."""
        return ()

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the model that it makes."""
        return artifact_fingerprint(self.artifact, self.canonical, self.inputs, self.version)

    @property
    def examples_settings(self) -> Mapping[str, Any]:
        """What determines the examples beside the inputs: all settings, unless a kind knows better.

        Models for which it is equal, and the inputs too, can share their examples.
        """
        return self.canonical

    @cached_property
    def examples_fingerprint(self) -> str:
        """The fingerprint of the examples that it makes."""
        kind = f"examples of {self.artifact}"
        return artifact_fingerprint(kind, self.examples_settings, self.inputs, self.version)

    @property
    def preparation(self) -> Preparation | None:
        """What the examples are made of, by shards, and what other trainings may share."""
        return None

    @property
    def canonical(self) -> dict[str, Any]:
        """All that determines the weights beside the inputs: settings, and whose kind it is."""
        return {**self.settings, **({"kind of": dict(self.origin)} if self.origin else {})}

    def is_current(self, output: Path) -> bool:
        """Whether a folder holds the model that it makes."""
        return is_current(output, self.fingerprint)
