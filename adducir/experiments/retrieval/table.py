"""Evaluates the runs of a retrieval experiment, makes its table, and says how it was made."""

import os
import platform
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.core.artifacts import read_manifest
from adducir.core.errors import ArtifactError
from adducir.core.progress import progress
from adducir.evaluation.run_notes import RunNotes
from adducir.evaluation.scores import Scores
from adducir.evaluation.seeds import over_runs
from adducir.experiments.context import Context
from adducir.experiments.retrieval.report import collectors, material
from adducir.experiments.retrieval.runs import Answer, run_facts
from adducir.experiments.study import packages
from adducir.runs.metadata import part_of
from adducir.runs.run import Run
from adducir.statistics.comparison.comparison import compare
from adducir.tables.builder import build_table
from adducir.tables.footer import unmatched
from adducir.tables.hits import HitCollector
from adducir.tables.table import ResultTable, printed_name
from adducir.version import __version__

if TYPE_CHECKING:
    from adducir.experiments.retrieval.indexes import IndexStep
    from adducir.experiments.retrieval.study import RetrievalStudy

_EVALUATORS = ("ir_measures", "pytrec_eval-terrier", "polars", "numpy", "scipy")
MOST_FOLDS_SHOWN = 3
"""The chosen settings of more folds stand in the files only."""


def result_table(study: "RetrievalStudy", context: Context) -> ResultTable:
    """The table of an experiment whose runs are all made."""
    collected, recipe = collectors(study), study.recipe
    further = {
        name: RunNotes(
            one.qrels,
            one.evaluator.measures,
            unjudged=recipe.unjudged,
            model=one.model,
            judge=one.judge,
        )
        for name, one in study.topic_sets.items()
    }
    scores = _evaluate(study, context, collected, further)
    for name, many in scores.items():
        for warning in unmatched(many, recipe.table.system_names):
            progress().note(f"{name}: {warning}" if len(scores) > 1 else warning)
    how: dict[str, Any] = {}
    if recipe.comparison is not None:
        how = recipe.comparison.model_dump(exclude={"baseline"})
        how["baseline"] = recipe.comparison.baselines or None
    comparisons = {name: compare(many, **how) for name, many in scores.items()}
    notes = [
        f"{name}: {note}" if len(scores) > 1 else note
        for name, one in further.items()
        for note in one.notes(comparisons[name], scores[name], recipe.table.system_names)
    ]
    systems = study.written.systems.items()
    remarks = [one.remark(name, recipe.table.system_names) for name, one in systems]
    layout = study.layout(
        provenance(study, context),
        notes=[
            *_depths(study),
            *study.seed_notes(),
            *filter(None, remarks),
            *_tuned(study),
            *notes,
        ],
        measure_names=study.measure_names,
        sections={name: one.group for name, one in systems if one.group},
        material=material(study, collected),
    )
    if len(scores) == 1:
        (name,) = scores
        return build_table(comparisons[name], scores[name], layout=layout)
    return build_table(comparisons, scores, layout=layout)


def _evaluate(
    study: "RetrievalStudy",
    context: Context,
    collected: Mapping[str, HitCollector],
    further: Mapping[str, RunNotes],
) -> dict[str, list[Scores]]:
    """The scores of all systems by topic set, one run in memory at a time."""
    scores: dict[str, list[Scores]] = {name: [] for name in study.topic_sets}
    count = sum(map(len, study.rows.values())) * len(study.topic_sets)
    with progress().doing("evaluating", count, "runs"):
        for row, systems in study.rows.items():
            each: dict[str, list[Scores]] = {name: [] for name in study.topic_sets}
            for system in systems:
                for name, run in _runs(study, system):
                    evaluator = study.topic_sets[name].evaluator
                    each[name].append(evaluator.score(run, system=system))
                    collected[name].add(row, run, further[name].add(run, system))
                    progress().advance(1)
            for name, runs in each.items():
                scores[name].append(over_runs(row, runs))
    return scores


def _runs(study: "RetrievalStudy", system: str) -> Iterator[tuple[str, Run]]:
    """The runs of a system by topic set, each file read once."""
    read: dict[Path, Run] = {}
    for name, topic_set in study.topic_sets.items():
        answer = study.run_of(system, name)
        if answer.path not in read:
            read[answer.path] = answer.read()
        run = read[answer.path]
        if set(run.qids).isdisjoint(topic_set.qrels.qids):
            # The evaluator would take run and qrels for strangers, but the plan has seen that they
            # are not: the search found documents for other topics only.
            run = Run(run.frame.clear(), run.tag, run.path)
        yield name, run


def _depths(study: "RetrievalStudy") -> list[str]:
    """Sentences about given runs that are deeper or shorter than the measures and searches."""
    cutoffs = [getattr(one, "params", {}).get("cutoff") or 0 for one in study.measures]
    deepest, depth, recipe = max(cutoffs), study.recipe.most, study.recipe
    are_searches = any(not system.is_given for system in recipe.systems.values())
    notes = []
    for (system, topic_set), run in study.given.items():
        whose = f"The given run of {recipe.table.system_names.get(system, system)}"
        if len(study.topic_sets) > 1:
            whose += f" on {topic_set}"
        ranks = f"{whose} has at most {run.depth:,} documents per topic"
        if run.depth < deepest:
            notes.append(f"{ranks}, fewer than the cutoff {deepest:,}.")
        elif are_searches and depth is not None and run.depth > depth:
            notes.append(f"{ranks}, the searches {depth:,}.")
    return notes


def _tuned(study: "RetrievalStudy") -> list[str]:
    """Sentences about tuned systems: how, and which settings were chosen."""
    alike: dict[str, list[str]] = {}
    names, systems = study.recipe.table.system_names, study.recipe.systems
    for name, settings in chosen_settings(study).items():
        tune = systems[name].tune  # type: ignore[attr-defined]  # only tuned systems are here
        objective = printed_name(tune.objective)
        how = f"tuned on {objective} ({study.folds[name].rule})"
        if len(settings) <= MOST_FOLDS_SHOWN:
            how += "; " + "; ".join(
                f"fold {fold}: " + ", ".join(f"{key} = {value:g}" for key, value in chosen.items())
                for fold, chosen in settings.items()
            )
        origin = study.origins.get(("systems", name))
        printed = names.get(origin.name if origin else name, origin.name if origin else name)
        alike.setdefault(how, []).append(f"{printed} (seed {origin.seed})" if origin else printed)
    return [
        f"{'All systems' if 1 < len(some) == len(systems) else ', '.join(some)}: "
        f"held-out figures, {how}."
        for how, some in alike.items()
    ]


def chosen_settings(study: "RetrievalStudy") -> dict[str, dict[str, dict[str, float]]]:
    """For each tuned system, the setting of each fold, as the metadata of its runs records it."""
    found = {}
    first = next(iter(study.topic_sets))
    for name, system in study.recipe.systems.items():
        if system.is_tuned:
            about = run_facts(study.run_of(name, first).path) or {}
            folds = about.get("method", {}).get("tuning", {}).get("folds", [])
            found[name] = {fold["fold"]: fold["chosen"] for fold in folds}
    return found


def provenance(study: "RetrievalStudy", context: Context) -> dict[str, Any]:
    """What a table records of itself; its runs must be there.

    Nothing here shows where on a machine files lie: sources are named as the experiment file (or an
    override) writes them, and artifacts as their paths within the study. Nor is the time of the
    table itself reported, so that the same experiment gives the same files.
    """
    settings, planner = chosen_settings(study), study.planner
    path = Path(os.path.normpath(planner.path.absolute()))
    is_inside = path.is_relative_to(planner.folder)
    words = ["adducir", "experiment", context.shown(path) if is_inside else path.name]
    words += [word for override in planner.overrides for word in ("--set", override)]
    software = {"adducir": __version__, "python": platform.python_version()}
    for name in _EVALUATORS:
        with suppress(PackageNotFoundError):
            software[name] = version(name)
    return {
        "command": shlex.join(words),
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
        "software": software,
        **packages(study.recipe.comparison, study.measures),
    }


def _index(study: "RetrievalStudy", step: "IndexStep", context: Context) -> dict[str, Any]:
    recipe = study.recipe.indexes[step.name]
    facts: dict[str, Any] = {
        "folder": context.shown(step.path),
        "corpus": step.source,
        "fingerprint": step.fingerprint,
        "engine": step.engine,
        **step.recipe(),
        **{
            key: context.shown(one) if isinstance(one, Path) else one
            for key, one in study.corpora[recipe.corpus].facts.items()
        },
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


def _topic_set(study: "RetrievalStudy", name: str) -> dict[str, Any]:
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


def _run(study: "RetrievalStudy", answer: Answer, context: Context) -> dict[str, Any]:
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
