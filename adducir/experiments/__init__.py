"""Measures, significance, comparisons, tables, and the experiment file that makes them.

The names below are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from adducir.core.lazy import offering

if TYPE_CHECKING:
    from adducir.experiments.context import Resources
    from adducir.experiments.experiment import plan_experiment, run_experiment

__all__ = [
    "Resources",
    "plan_experiment",
    "run_experiment",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(__name__)
