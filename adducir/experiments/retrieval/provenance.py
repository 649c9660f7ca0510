"""What the table of a retrieval experiment shows of how it was made.

Nothing here shows where on a machine files lie: sources are named as the experiment file (or an
override) writes them, and artifacts as their paths within the study. Nor is the time of the table
itself reported, so that the same experiment gives the same files.
"""

import os
import platform
import shlex
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from adducir.core.artifacts import read_manifest
from adducir.core.errors import ArtifactError
from adducir.experiments.context import Context
from adducir.experiments.retrieval.answers import Answer, part_of, run_facts
from adducir.experiments.retrieval.index_step import IndexStep
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.experiments.study import packages
from adducir.version import __version__

_EVALUATORS = ("ir_measures", "pytrec_eval-terrier", "polars", "numpy", "scipy")


def chosen_settings(study: RetrievalStudy) -> dict[str, dict[str, dict[str, float]]]:
    """For each tuned system, the setting of each fold, as the metadata of its runs records it."""
    found = {}
    first = next(iter(study.topic_sets))
    for name, system in study.recipe.systems.items():
        if system.is_tuned:
            about = run_facts(study.run_of(name, first).path) or {}
            folds = about.get("method", {}).get("tuning", {}).get("folds", [])
            found[name] = {fold["fold"]: fold["chosen"] for fold in folds}
    return found


def provenance(study: RetrievalStudy, context: Context) -> dict[str, Any]:
    """What a table records of itself; its runs must be there."""
    settings = chosen_settings(study)
    return {
        "command": _command(study, context),
        "recipe": study.written.model_dump(mode="json", exclude_unset=True),
        **({"chosen settings, by fold": settings} if settings else {}),
        "runs": {
            topic_set: {
                system: _run(study, study.run_of(system, topic_set), context)
                for system in study.recipe.systems
            }
            for topic_set in study.topic_sets
        },
        "indexes": {name: _index(study, step, context) for name, step in study.indexes.items()},
        "topics": {name: _topic_set(study, name) for name in study.topic_sets},
        "software": {"adducir": __version__, "python": platform.python_version()} | _evaluators(),
        **packages(study.recipe.comparison, study.opened.measures),
    }


def _command(study: RetrievalStudy, context: Context) -> str:
    planner = study.planner
    path = Path(os.path.normpath(planner.path.absolute()))
    is_inside = path.is_relative_to(planner.folder)
    words = ["adducir", "experiment", context.shown(path) if is_inside else path.name]
    for override in planner.overrides:
        words += ["--set", override]
    return shlex.join(words)


def _evaluators() -> dict[str, str]:
    found = {}
    for name in _EVALUATORS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _index(study: RetrievalStudy, step: IndexStep, context: Context) -> dict[str, Any]:
    recipe = study.recipe.indexes[step.name]
    facts: dict[str, Any] = {
        "folder": context.shown(step.path),
        "corpus": step.source,
        "fingerprint": step.fingerprint,
        "engine": step.engine,
        **step.settings,
        **_shown(study.corpora[recipe.corpus].facts, context.shown),
    }
    try:
        manifest = read_manifest(step.path)
    except ArtifactError:
        return facts  # not there, because no run needed it
    if manifest.fingerprint == step.fingerprint:
        facts |= {
            "corpus fingerprint": manifest.inputs.get("corpus"),
            "counts": dict(manifest.counts),
            "built": manifest.started,
            "built with": dict(manifest.versions),
        }
    return facts


def _topic_set(study: RetrievalStudy, name: str) -> dict[str, Any]:
    topic_set, recipe = study.topic_sets[name], study.recipe.topics[name]
    return {
        "topics": recipe.source,
        "field": topic_set.topics.field,
        "number of topics": len(topic_set.topics),
        "topics sha256": topic_set.topics.identity()["topics"],
        "qrels": recipe.qrels,
        **({"model's qrels": recipe.model_qrels, "judge": recipe.judge} if recipe.judge else {}),
        "number of judged topics": len(topic_set.qrels.qids),
        "number of judgements": len(topic_set.qrels),
        "qrels sha256": topic_set.qrels.identity()["qrels"],
    }


def _run(study: RetrievalStudy, answer: Answer, context: Context) -> dict[str, Any]:
    if answer.is_given:
        path = study.recipe.systems[answer.system].given_path(answer.topic_set)
        return {"given": str(path), "sha256": answer.fingerprint}
    facts = run_facts(answer.path) or {}
    file, settings = part_of(facts, "run file"), part_of(facts, "method", "fusion")
    settings = settings or part_of(facts, "method", "python")
    settings = settings or part_of(facts, "method", "retrieval", 0)
    settings = part_of(facts, "method", "reranking", -1) or settings
    about = ("sha256", "written", "topics", "documents", "topics without documents")
    return {
        # Those of the recipe leave out what it leaves to the defaults.
        "settings": {key: settings[key] for key in settings if key not in ("index", "runs")},
        "file": context.shown(answer.path),
        "fingerprint": answer.fingerprint,
        **{key: file[key] for key in about if file.get(key)},
        **part_of(facts, "platform", "software", "engines"),
    }


def _shown(facts: Mapping[str, Any], shown: Callable[[Path], str]) -> dict[str, Any]:
    """Facts with paths as the study's own."""
    return {key: shown(one) if isinstance(one, Path) else one for key, one in facts.items()}
