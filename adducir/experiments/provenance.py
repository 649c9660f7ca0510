"""How figures were made: what is told beside each run and below each table.

Nothing here tells where on a machine files lie: sources are told as the experiment file (or an
override) writes them, and what is made as its path within the study. Nor is the time of the table
itself told, so that the same experiment gives the same files.
"""

import os
import platform
import shlex
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from adducir.experiments.currency import run_facts
from adducir.experiments.steps import IndexStep, Plan, RunStep
from adducir.experiments.tuning.report import facts
from adducir.experiments.tuning.tuning import Tuning
from adducir.indexes.build import engine_versions
from adducir.indexes.search import Search
from adducir.rerankers.rerank import Reranked
from adducir.runs.fusion import FUSION
from adducir.study.errors import ProductError
from adducir.study.products import read_manifest
from adducir.version import __version__

_EVALUATORS = ("ir_measures", "pytrec_eval-terrier", "polars", "numpy", "scipy")


def of_search(plan: Plan, step: RunStep, found: Search) -> dict[str, Any]:
    """The metadata of a run that a search made."""
    index = plan.indexes[str(plan.recipe.systems[step.system].index)]
    corpus = plan.recipe.corpora[index.corpus]
    return {
        "method": {"retrieval": [found.settings]},
        "data": {
            "corpus": {"source": corpus.told, "fields": list(index.settings.fields)},
            **_topics(plan, step),
        },
        "resources": {"runtime": {"wallclock": f"{found.seconds:.3f} s"}},
        **_maker(plan, step),
        "platform": {"software": {"engines": engine_versions()}},
    }


def of_fusion(plan: Plan, step: RunStep, members: list[RunStep]) -> dict[str, Any]:
    """The metadata of a run that was fused from others."""
    system = plan.recipe.systems[step.system]
    runs = [
        {"system": name, "file": plan.shown(member.path), "fingerprint": member.fingerprint}
        for name, member in zip(system.fuse, members, strict=True)
    ]
    settings: dict[str, Any] = {
        "method": system.method,
        **system.fusion.model_dump(),
        **FUSION.origin(system.method),
        "depth": plan.recipe.depth,
    }
    if system.weights:
        settings["weights"] = list(system.weights)
    return {
        "method": {"fusion": settings | {"runs": runs}},
        "data": _topics(plan, step),
        **_maker(plan, step),
    }


def of_reranking(plan: Plan, step: RunStep, found: Reranked) -> dict[str, Any]:
    """The metadata of a run that is another one reranked; how that was found is handed on."""
    base = plan.runs[str(plan.recipe.systems[step.system].rerank), step.topic_set]
    before = {} if base.is_given else _part(run_facts(base.path), "method")
    earlier = before.get("reranking")
    return {
        "method": {
            **{key: before[key] for key in ("retrieval", "fusion") if key in before},
            "reranking": [
                *(earlier if isinstance(earlier, list) else []),
                _settings(plan, base, found),
            ],
        },
        "data": _topics(plan, step),
        "resources": {"runtime": {"wallclock": f"{found.seconds:.3f} s"}},
        **_maker(plan, step),
    }


def _settings(plan: Plan, base: RunStep, found: Reranked) -> dict[str, Any]:
    """How a run was reranked; candidates are told without the machine's paths."""
    file = {} if base.is_given else {"file": plan.shown(base.path)}
    candidates = {"system": base.system, **file, "fingerprint": base.fingerprint}
    return {**found.settings, "candidates": candidates}


def of_tuning(
    plan: Plan, step: RunStep, tuning: Tuning, reranked: Reranked | None = None
) -> dict[str, Any]:
    """The metadata of a run that holds the held-out rankings of a tuned system.

    Args:
        plan: The experiment.
        step: The run.
        tuning: How its settings were chosen.
        reranked: Of a rerank, the candidates reranked to the greatest depth.
    """
    method: dict[str, Any] = {"tuning": facts(tuning)}
    if reranked is not None:
        base = plan.runs[str(plan.recipe.systems[step.system].rerank), step.topic_set]
        method["reranking"] = [_settings(plan, base, reranked)]
    return {
        "method": method,
        "data": _topics(plan, step),
        "resources": {"runtime": {"wallclock": f"{tuning.seconds:.3f} s"}},
        **_maker(plan, step),
        "platform": {"software": {"engines": engine_versions()}},
    }


def chosen_settings(plan: Plan) -> dict[str, dict[str, dict[str, float]]]:
    """For each tuned system, the setting of each fold, as the metadata of its runs tell."""
    found = {}
    first = next(iter(plan.opened.topic_sets))
    for name, system in plan.recipe.systems.items():
        if system.tune is not None:
            about = run_facts(plan.runs[name, first].path) or {}
            folds = about.get("method", {}).get("tuning", {}).get("folds", [])
            found[name] = {fold["fold"]: fold["chosen"] for fold in folds}
    return found


def _topics(plan: Plan, step: RunStep) -> dict[str, Any]:
    topics = plan.opened.topic_sets[step.topic_set].topics
    source = plan.recipe.topics[step.topic_set].source
    told = {"name": step.topic_set, "source": source, "field": topics.field, "topics": len(topics)}
    return {"topics": told | {"sha256": topics.identity()["topics"]}}


def _maker(plan: Plan, step: RunStep) -> dict[str, Any]:
    """What tells a later call whether the run is current."""
    return {"adducir": {"experiment": plan.path.name, "fingerprint": step.fingerprint}}


def of_table(plan: Plan) -> dict[str, Any]:
    """What a table tells of itself; its runs must be there."""
    settings = chosen_settings(plan)
    return {
        "command": _command(plan),
        "recipe": plan.recipe.model_dump(mode="json", exclude_unset=True),
        **({"chosen settings, by fold": settings} if settings else {}),
        "runs": {
            topic_set: {
                system: _run(plan, plan.runs[system, topic_set]) for system in plan.recipe.systems
            }
            for topic_set in plan.opened.topic_sets
        },
        "indexes": {name: _index(plan, step) for name, step in plan.indexes.items()},
        "topics": {name: _topic_set(plan, name) for name in plan.opened.topic_sets},
        "software": {"adducir": __version__, "python": platform.python_version()} | _evaluators(),
    }


def _command(plan: Plan) -> str:
    path = Path(os.path.normpath(plan.path.absolute()))
    is_inside = path.is_relative_to(plan.folder)
    words = ["adducir", "experiment", plan.shown(path) if is_inside else path.name]
    for override in plan.overrides:
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


def _index(plan: Plan, step: IndexStep) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "folder": plan.shown(step.path),
        "corpus": plan.recipe.corpora[step.corpus].told,
        "fingerprint": step.fingerprint,
        "engine": step.engine,
        **step.settings.recipe(),
        **_expansion(plan, step),
    }
    try:
        manifest = read_manifest(step.path)
    except ProductError:
        return facts  # not there, because no run needed it
    if manifest.fingerprint == step.fingerprint:
        facts |= {
            "corpus fingerprint": manifest.inputs.get("corpus"),
            "counts": dict(manifest.counts),
            "built": manifest.started,
            "built with": dict(manifest.versions),
        }
    return facts


def _expansion(plan: Plan, step: IndexStep) -> dict[str, Any]:
    """The model that weighted the words of an index's documents, and how."""
    expansion = plan.opened.expansions.get(step.corpus)
    if expansion is None:
        return {}
    return {
        "model": plan.shown(expansion.model),
        "model fingerprint": expansion.model_fingerprint,
        "weights fingerprint": expansion.corpus.weights_fingerprint,
        "rendering": expansion.corpus.rendering.model_dump(mode="json"),
        "precision": expansion.said.precision,
    }


def _topic_set(plan: Plan, name: str) -> dict[str, Any]:
    topic_set, recipe = plan.opened.topic_sets[name], plan.recipe.topics[name]
    return {
        "topics": recipe.source,
        "field": topic_set.topics.field,
        "number of topics": len(topic_set.topics),
        "topics sha256": topic_set.topics.identity()["topics"],
        "qrels": recipe.qrels,
        "number of judged topics": len(topic_set.qrels.qids),
        "number of judgements": len(topic_set.qrels),
        "qrels sha256": topic_set.qrels.identity()["qrels"],
    }


def _run(plan: Plan, step: RunStep) -> dict[str, Any]:
    if step.is_given:
        run = plan.recipe.systems[step.system].run
        source = run[step.topic_set] if isinstance(run, dict) else run
        return {"given": source, "sha256": step.fingerprint}
    facts = run_facts(step.path) or {}
    file, settings = _part(facts, "run file"), _part(facts, "method", "fusion")
    settings = settings or _part(facts, "method", "retrieval", 0)
    settings = _part(facts, "method", "reranking", -1) or settings
    told = ("sha256", "written", "topics", "documents", "topics without documents")
    return {
        # Those of the recipe leave out what it leaves to the defaults.
        "settings": {key: settings[key] for key in settings if key not in ("index", "runs")},
        "file": plan.shown(step.path),
        "fingerprint": step.fingerprint,
        **{key: file[key] for key in told if file.get(key)},
        **_part(facts, "platform", "software", "engines"),
    }


def _part(facts: Any, *path: str | int) -> dict[str, Any]:
    """What metadata hold at a path; nothing where a user has made something else of it."""
    for key in path:
        try:
            facts = facts[key]
        except (LookupError, TypeError):
            return {}
    return facts if isinstance(facts, dict) else {}
