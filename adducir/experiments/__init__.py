"""Measures, significance, comparisons, tables, and the experiment file that makes them.

The names below are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from adducir.study.lazy import offering

if TYPE_CHECKING:
    from adducir.experiments.comparison.compare import compare
    from adducir.experiments.evaluation.evaluate import Evaluator, evaluate
    from adducir.experiments.evaluation.measures import parse_measures
    from adducir.experiments.experiment import plan_experiment, run_experiment
    from adducir.experiments.tables.build import Layout, build_table
    from adducir.experiments.tables.render import render

_HOMES = {
    "Evaluator": "evaluation.evaluate",
    "Layout": "tables.build",
    "build_table": "tables.build",
    "compare": "comparison.compare",
    "evaluate": "evaluation.evaluate",
    "parse_measures": "evaluation.measures",
    "plan_experiment": "experiment",
    "render": "tables.render",
    "run_experiment": "experiment",
}

__all__ = [  # noqa: RUF022  (in the order of use)
    "parse_measures",
    "evaluate",
    "Evaluator",
    "compare",
    "build_table",
    "Layout",
    "render",
    "plan_experiment",
    "run_experiment",
]

__getattr__ = offering(__name__, _HOMES)
