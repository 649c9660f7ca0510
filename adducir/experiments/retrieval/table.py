"""Evaluates the runs of a retrieval experiment, makes its table, and says how it was made."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.core.artifacts import read_manifest
from adducir.core.errors import ArtifactError
from adducir.core.progress import progress
from adducir.evaluation.scores import Scores
from adducir.experiments.retrieval.indexes import IndexStep
from adducir.experiments.retrieval.report import collectors, material
from adducir.experiments.retrieval.runs import Given, GivenRun, method_of, run_facts
from adducir.experiments.study import Trial
from adducir.runs.metadata import part_of
from adducir.runs.run import Run
from adducir.statistics.comparison import compare
from adducir.tables.build import build_table, merged
from adducir.tables.hits import HitCollector
from adducir.tables.notes import unmatched
from adducir.tables.run_notes import RunNotes
from adducir.tables.table import ResultTable, printed_name

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.experiments.retrieval.study import RetrievalStudy

MOST_FOLDS_SHOWN = 3
"""The chosen settings of more folds stand in the files only."""


def result_table(study: "RetrievalStudy", context: "Context") -> ResultTable:
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
    scores = _evaluate(study, collected, further)
    for warning in unmatched(scores.evaluations, recipe.table.system_names):
        progress().note(warning)
    comparison = compare(scores, recipe.comparison)
    notes = merged(
        {
            name: one.notes(comparison, name * (len(further) > 1), recipe.table.system_names)
            for name, one in further.items()
        }
    )
    systems = recipe.systems.items()
    remarks = [one.remark(name, recipe.table.system_names) for name, one in systems]
    chosen = chosen_settings(study)
    layout = study.layout(
        _provenance(study, chosen, context),
        notes=[
            *_depths(study),
            *study.seed_notes(),
            *filter(None, remarks),
            *_tuned(study, chosen),
            *notes,
        ],
        measure_names=study.measure_names,
        sections={name: one.group for name, one in systems if one.group},
        material=material(study, collected),
    )
    return build_table(comparison, layout)


def _evaluate(
    study: "RetrievalStudy",
    collected: Mapping[str, HitCollector],
    further: Mapping[str, RunNotes],
) -> Scores:
    """The scores of all systems on all topic sets, one run in memory at a time."""
    scores: list[Scores] = []
    several = len(study.topic_sets) > 1
    with progress().doing("evaluating", len(study.steps), "runs"):
        for row in study.recipe.systems:
            for seed in study.seeds(row):
                for trial, run in _runs(study, row, seed):
                    name = trial.data
                    evaluator = study.topic_sets[name].evaluator
                    found = evaluator.score(run, system=trial.run, topic_set=name * several)
                    scores.append(found.renamed(row))
                    collected[name].add(row, run, further[name].add(run, trial.run))
                    progress().advance(1)
    return Scores.concat(scores)


def _runs(study: "RetrievalStudy", system: str, seed: int | None) -> Iterator[tuple[Trial, Run]]:
    """The runs of a system by topic set, each file read once."""
    read: dict[Path, Run] = {}
    for name, topic_set in study.topic_sets.items():
        trial = Trial(system, name, seed)
        step = study.run(trial)
        if step.path not in read:
            read[step.path] = step.read()
        run = read[step.path]
        if set(run.qids).isdisjoint(topic_set.qrels.qids):
            # The evaluator would take run and qrels for strangers, but the plan has seen that they
            # are not: the search found documents for other topics only.
            run = Run(run.frame.clear(), run.tag, run.path)
        yield trial, run


def _depths(study: "RetrievalStudy") -> Iterator[str]:
    """Sentences about given runs that are deeper or shorter than the measures and searches."""
    cutoffs = [getattr(one, "params", {}).get("cutoff") or 0 for one in study.measures]
    deepest, depth, recipe = max(cutoffs), study.recipe.most, study.recipe
    are_searches = any(not isinstance(system, Given) for system in recipe.systems.values())
    for trial, step in study.steps.items():
        if not isinstance(step, GivenRun):
            continue
        whose = f"The given run of {recipe.table.system_names.get(trial.system, trial.system)}"
        if len(study.topic_sets) > 1:
            whose += f" on {trial.data}"
        ranks = f"{whose} has at most {step.run.depth:,} documents per topic"
        if step.run.depth < deepest:
            yield f"{ranks}, fewer than the cutoff {deepest:,}."
        elif are_searches and depth is not None and step.run.depth > depth:
            yield f"{ranks}, the searches {depth:,}."


Chosen = Mapping[str, Mapping[str, Mapping[str, float]]]
"""For each run of a tuned system, the setting of each fold."""


def chosen_settings(study: "RetrievalStudy") -> Chosen:
    """The settings that were chosen, as the metadata of runs record them."""
    found = {}
    for name, system in study.recipe.systems.items():
        for seed in study.seeds(name) if getattr(system, "tune", None) else ():
            trial = Trial(name, next(iter(study.topic_sets)), seed)
            folds = part_of(method_of(study.run(trial)), "tuning").get("folds", [])
            found[trial.run] = {fold["fold"]: fold["chosen"] for fold in folds}
    return found


def _tuned(study: "RetrievalStudy", chosen: Chosen) -> Iterator[str]:
    """Sentences about tuned systems: how, and which settings were chosen."""
    alike: dict[str, list[str]] = {}
    names, first = study.recipe.table.system_names, next(iter(study.topic_sets))
    for trial, step in study.steps.items():
        settings = chosen.get(trial.run)
        if settings is None or trial.data != first:
            continue
        tuned: Any = step
        how = f"tuned on {printed_name(tuned.tuning.objective)} ({tuned.folds.rule})"
        if len(settings) <= MOST_FOLDS_SHOWN:
            how += "; " + "; ".join(
                f"fold {fold}: " + ", ".join(f"{key} = {value:g}" for key, value in values.items())
                for fold, values in settings.items()
            )
        printed = names.get(trial.system, trial.system)
        printed += "" if trial.seed is None else f" (seed {trial.seed})"
        alike.setdefault(how, []).append(printed)
    count = len({trial.run for trial in study.steps})
    for how, some in alike.items():
        whose = "All systems" if 1 < len(some) == count else ", ".join(some)
        yield f"{whose}: held-out figures, {how}."


def _provenance(study: "RetrievalStudy", chosen: Chosen, context: "Context") -> dict[str, Any]:
    """What a table records of its runs, indexes and topics."""
    runs: dict[str, dict[str, Any]] = {name: {} for name in study.topic_sets}
    for row in study.recipe.systems:
        for seed in study.seeds(row):
            for name in study.topic_sets:
                trial = Trial(row, name, seed)
                runs[name][trial.run] = _run(study, trial, context)
    facts = {
        **({"chosen settings, by fold": chosen} if chosen else {}),
        "runs": runs,
        "indexes": {name: _index(step, context) for name, step in study.indexes.items()},
        "topics": {name: _topic_set(study, name) for name in study.topic_sets},
    }
    return study.provenance(facts, study.measures)


def _index(step: IndexStep, context: "Context") -> dict[str, Any]:
    facts: dict[str, Any] = {
        "folder": context.shown(step.path),
        "corpus": step.source,
        "fingerprint": step.fingerprint,
        "engine": getattr(step.entry, "engine", ""),
        **step.recipe(),
        **{
            key: context.shown(one) if isinstance(one, Path) else one
            for key, one in step.facts.items()
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


def _run(study: "RetrievalStudy", trial: Trial, context: "Context") -> dict[str, Any]:
    step = study.run(trial)
    if isinstance(step, GivenRun):
        path = study.recipe.systems[trial.system].path(trial, study)
        return {"given": str(path), "sha256": step.fingerprint}
    facts = run_facts(step.path) or {}
    file, settings = part_of(facts, "run file"), part_of(facts, "method", "fusion")
    settings = settings or part_of(facts, "method", "python")
    settings = settings or part_of(facts, "method", "retrieval", 0)
    settings = part_of(facts, "method", "reranking", -1) or settings
    about = ("sha256", "written", "topics", "documents", "topics without documents")
    return {
        # Those of the recipe leave out what it leaves to the defaults.
        "settings": {key: settings[key] for key in settings if key not in ("index", "runs")},
        "file": context.shown(step.path),
        "fingerprint": step.fingerprint,
        **{key: file[key] for key in about if file.get(key)},
        **part_of(facts, "platform", "software", "engines"),
    }
