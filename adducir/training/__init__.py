"""Training: one loop, one artifact, one model card and one command for models of every kind.

A kind is a :class:`~adducir.training.plan.TrainingPlan` (what a recipe names, opened: what
determines the weights) that makes a :class:`~adducir.training.task.TrainingTask` (network,
examples, loss, validation). :mod:`adducir.training.kinds` knows them all by the recipe's key
`kind`. The names below are loaded when they are first used, because torch takes seconds.
"""

from typing import TYPE_CHECKING

from adducir.core.lazy import offering

if TYPE_CHECKING:
    from adducir.training.artifacts import train_model
    from adducir.training.kinds import open_training
    from adducir.training.plan import TrainingPlan

__all__ = ["TrainingPlan", "open_training", "train_model"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(__name__)
