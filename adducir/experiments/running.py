"""Runs a planned experiment: indexes, runs, evaluation, tests, table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adducir.experiments import provenance
from adducir.experiments.comparison.compare import compare
from adducir.experiments.comparison.results import Comparison
from adducir.experiments.evaluation.scores import Scores
from adducir.experiments.making import make_missing, run_of
from adducir.experiments.opening import TopicSet
from adducir.experiments.steps import Plan
from adducir.experiments.study_files import write_table
from adducir.experiments.tables.build import Layout, build_table
from adducir.experiments.tables.style import Style
from adducir.experiments.tables.table import ResultTable
from adducir.runs.run import Run
from adducir.study.checking import checked
from adducir.study.locks import locked
from adducir.study.progress import SILENT, Progress
from adducir.study.results import publishing_results, refuse_other_folder

MOST_FOLDS_SHOWN = 3
"""The chosen settings of more folds stand in the files only."""


@dataclass(frozen=True)
class Outcome:
    """What an experiment gave.

    Attributes:
        table: The result table.
        files: The table's files, by format; ``per-topic`` is the CSV of all topics.
        runs: The run files that were made, not those that were kept.
    """

    table: ResultTable
    files: dict[str, Path]
    runs: list[Path]


@checked
def run_experiment(
    plan: Plan, *, threads: int | None = None, rebuild: bool = False, progress: Progress = SILENT
) -> Outcome:
    """Do the steps of a plan that are not done, evaluate, test, and write the table.

    One process at a time is at work on an experiment; another waits, and then finds the runs
    there. What is evaluated is what stands in the run files.

    Args:
        plan: From :func:`adducir.experiments.planning.plan_experiment`.
        threads: Java threads; by default one a core. No figure depends on it.
        rebuild: Make everything anew, as for a plan that says so.
        progress: Told of each step.

    Raises:
        AdducirError: A corpus record is malformed, the disk is full, and the like.
    """
    refuse_other_folder(plan.output)
    plan = replace(plan, rebuild=True) if rebuild else plan
    with locked(plan.run_folder, progress):
        plan.fetch(progress)
        made = make_missing(plan, threads, progress)
        scores = _evaluate(plan, progress)
        table = _table(plan, scores)
        return Outcome(table, _write(plan, table, progress), [step.path for step in made])


def _evaluate(plan: Plan, progress: Progress) -> dict[str, list[Scores]]:
    """The scores of all systems by topic set, one run in memory at a time."""
    scores: dict[str, list[Scores]] = {name: [] for name in plan.opened.topic_sets}
    progress.start("evaluating", len(plan.runs), "runs")
    try:
        for system in plan.recipe.systems:
            read: dict[Path, Run] = {}
            for name, topic_set in plan.opened.topic_sets.items():
                step = plan.runs[system, name]
                if step.path not in read:
                    read[step.path] = run_of(plan, step)
                run = _judged(read[step.path], topic_set)
                scores[name].append(topic_set.evaluator.score(run, system=system))
                progress.advance(1)
    finally:
        progress.finish()
    return scores


def _judged(run: Run, topic_set: TopicSet) -> Run:
    """The run; without documents if no topic that has some is judged.

    The evaluator takes the latter for a run and qrels that do not belong together, but the plan
    has seen that they do: the search found documents for other topics only.
    """
    if set(run.qids).isdisjoint(topic_set.qrels.qids):
        return Run(run.frame.clear(), run.tag, run.path)
    return run


def _compare(plan: Plan, scores: Sequence[Scores]) -> Comparison:
    asked = plan.recipe.comparison
    if asked is None:
        return compare(scores)
    return compare(
        scores,
        baseline=asked.baselines or None,
        test=asked.test,
        correction=asked.correction,
        alpha=asked.alpha,
        family=asked.family,
        equivalence=asked.equivalence,
        against=asked.against,
        confidence=asked.confidence,
        interval=asked.interval,
        seed=asked.seed,
        permutations=asked.permutations,
        samples=asked.samples,
    )


def _table(plan: Plan, scores: Mapping[str, Sequence[Scores]]) -> ResultTable:
    recipe = plan.recipe
    layout = Layout(
        title=recipe.table.caption or recipe.description,
        label=recipe.table.label or f"tab:{plan.path.stem}",
        style=Style(
            decimals=recipe.table.decimals,
            leading_zero=recipe.table.leading_zero,
            details=recipe.table.show,
        ),
        measure_names=plan.opened.measure_names,
        system_names=recipe.table.system_names,
        sections={name: system.group for name, system in recipe.systems.items() if system.group},
        notes=[*_depths(plan), *_reranked(plan), *_tuned(plan)],
        provenance=provenance.of_table(plan),
    )
    comparisons = {name: _compare(plan, many) for name, many in scores.items()}
    if len(scores) == 1:
        (name,) = scores
        return build_table(comparisons[name], scores[name], layout=layout)
    return build_table(comparisons, scores, layout=layout)


def _depths(plan: Plan) -> list[str]:
    """Sentences about given runs that are deeper or shorter than the measures and searches."""
    cutoffs = [getattr(one, "params", {}).get("cutoff") or 0 for one in plan.opened.measures]
    deepest, depth = max(cutoffs), plan.recipe.most
    are_searches = any(system.run is None for system in plan.recipe.systems.values())
    notes = []
    for (system, topic_set), run in plan.opened.given_runs.items():
        whose = f"The given run of {plan.recipe.table.system_names.get(system, system)}"
        if len(plan.opened.topic_sets) > 1:
            whose += f" on {topic_set}"
        ranks = f"{whose} has at most {run.depth:,} documents a topic"
        if run.depth < deepest:
            notes.append(f"{ranks}, fewer than the cutoff {deepest:,}.")
        elif are_searches and depth is not None and run.depth > depth:
            notes.append(f"{ranks}, the searches {depth:,}.")
    return notes


def _reranked(plan: Plan) -> list[str]:
    """Sentences about reranked systems: of what, how deep, and by what."""
    names = plan.recipe.table.system_names
    return [
        f"{names.get(name, name)}: {names.get(system.rerank, system.rerank)}, its best "
        f"{system.deepest:,} documents{' at most' if system.tune else ''} reranked by {system.by}."
        for name, system in plan.recipe.systems.items()
        if system.rerank is not None
    ]


def _tuned(plan: Plan) -> list[str]:
    """Sentences about tuned systems: how, and which settings were chosen."""
    alike: dict[str, list[str]] = {}
    for name, settings in provenance.chosen_settings(plan).items():
        tune, folds = plan.recipe.systems[name].tune, plan.opened.folds[name]
        if tune is None:
            continue
        told = f"tuned on {tune.objective} ({folds.rule})"
        if len(settings) <= MOST_FOLDS_SHOWN:
            told += "; " + "; ".join(
                f"fold {fold}: " + ", ".join(f"{key} = {value:g}" for key, value in chosen.items())
                for fold, chosen in settings.items()
            )
        alike.setdefault(told, []).append(plan.recipe.table.system_names.get(name, name))
    everyone = len(plan.recipe.systems)
    return [
        f"{_whose(names, everyone)}: held-out figures, {told}." for told, names in alike.items()
    ]


def _whose(names: Sequence[str], everyone: int) -> str:
    """Systems that a sentence is about."""
    return "All systems" if 1 < len(names) == everyone else ", ".join(names)


def _write(plan: Plan, table: ResultTable, progress: Progress) -> dict[str, Path]:
    """The table in every format, all files at once."""
    with publishing_results(plan.output, progress) as folder:
        files = write_table(folder, table, each="per-topic")
    return {name: plan.output / path.name for name, path in files.items()}
