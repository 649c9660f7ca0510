"""Evaluates the runs of a retrieval experiment, and makes its table."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from adducir.evaluation.run_notes import RunNotes
from adducir.evaluation.scores import Scores
from adducir.evaluation.seeds import over_runs
from adducir.experiments.context import Context
from adducir.experiments.retrieval.material import collectors, material
from adducir.experiments.retrieval.opened import TopicSet
from adducir.experiments.retrieval.provenance import chosen_settings, provenance
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.experiments.retrieval.systems.tuned import TunableSystem
from adducir.runs.run import Run
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.comparison.results import Comparison
from adducir.tables.builder import build_table
from adducir.tables.footer import unmatched
from adducir.tables.hits import HitCollector
from adducir.tables.table import ResultTable, printed_name

MOST_FOLDS_SHOWN = 3
"""The chosen settings of more folds stand in the files only."""


def result_table(study: RetrievalStudy, context: Context) -> ResultTable:
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
            context.progress.note(f"{name}: {warning}" if len(scores) > 1 else warning)
    comparisons = {name: _compare(study, many) for name, many in scores.items()}
    notes = [
        f"{name}: {note}" if len(scores) > 1 else note
        for name, one in further.items()
        for note in one.notes(comparisons[name], scores[name], recipe.table.system_names)
    ]
    layout = study.layout(
        provenance(study, context),
        notes=[*_depths(study), *study.seed_notes(), *_remarks(study), *_tuned(study), *notes],
        measure_names=study.opened.measure_names,
        sections={name: one.group for name, one in study.written.systems.items() if one.group},
        material=material(study, collected),
    )
    if len(scores) == 1:
        (name,) = scores
        return build_table(comparisons[name], scores[name], layout=layout)
    return build_table(comparisons, scores, layout=layout)


def _evaluate(
    study: RetrievalStudy,
    context: Context,
    collected: Mapping[str, HitCollector],
    further: Mapping[str, RunNotes],
) -> dict[str, list[Scores]]:
    """The scores of all systems by topic set, one run in memory at a time."""
    scores: dict[str, list[Scores]] = {name: [] for name in study.topic_sets}
    count = sum(map(len, study.rows.values())) * len(study.topic_sets)
    context.progress.start("evaluating", count, "runs")
    try:
        for row, systems in study.rows.items():
            each: dict[str, list[Scores]] = {name: [] for name in study.topic_sets}
            for system in systems:
                for name, run in _runs(study, system):
                    evaluator = study.topic_sets[name].evaluator
                    each[name].append(evaluator.score(run, system=system))
                    collected[name].add(row, run, further[name].add(run, system))
                    context.progress.advance(1)
            for name, runs in each.items():
                scores[name].append(over_runs(row, runs))
    finally:
        context.progress.finish()
    return scores


def _runs(study: RetrievalStudy, system: str) -> Iterator[tuple[str, Run]]:
    """The runs of a system by topic set, each file read once."""
    read: dict[Path, Run] = {}
    for name, topic_set in study.topic_sets.items():
        answer = study.run_of(system, name)
        if answer.path not in read:
            read[answer.path] = answer.read()
        yield name, _judged(read[answer.path], topic_set)


def _judged(run: Run, topic_set: TopicSet) -> Run:
    """The run; without documents if no topic that has some is judged.

    The evaluator takes the latter for a run and qrels that do not belong together, but the plan
    has seen that they do: the search found documents for other topics only.
    """
    if set(run.qids).isdisjoint(topic_set.qrels.qids):
        return Run(run.frame.clear(), run.tag, run.path)
    return run


def _compare(study: RetrievalStudy, scores: Sequence[Scores]) -> Comparison:
    requested = study.recipe.comparison
    if requested is None:
        return compare(scores)
    options = requested.model_dump(exclude={"baseline"})
    return compare(scores, baseline=requested.baselines or None, **options)


def _depths(study: RetrievalStudy) -> list[str]:
    """Sentences about given runs that are deeper or shorter than the measures and searches."""
    cutoffs = [getattr(one, "params", {}).get("cutoff") or 0 for one in study.opened.measures]
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


def _remarks(study: RetrievalStudy) -> list[str]:
    """What systems have to say for themselves."""
    names = study.recipe.table.system_names
    found = [one.remark(name, names) for name, one in study.written.systems.items()]
    return [remark for remark in found if remark is not None]


def _tuned(study: RetrievalStudy) -> list[str]:
    """Sentences about tuned systems: how, and which settings were chosen."""
    alike: dict[str, list[str]] = {}
    for name, settings in chosen_settings(study).items():
        system, folds = study.recipe.systems[name], study.folds[name]
        if not isinstance(system, TunableSystem) or system.tune is None:
            continue
        how = f"tuned on {printed_name(system.tune.objective)} ({folds.rule})"
        if len(settings) <= MOST_FOLDS_SHOWN:
            how += "; " + "; ".join(
                f"fold {fold}: " + ", ".join(f"{key} = {value:g}" for key, value in chosen.items())
                for fold, chosen in settings.items()
            )
        alike.setdefault(how, []).append(_printed(study, name))
    everyone = len(study.recipe.systems)
    return [f"{_whose(names, everyone)}: held-out figures, {how}." for how, names in alike.items()]


def _printed(study: RetrievalStudy, system: str) -> str:
    """A system's printed name, with its seed."""
    names, origin = study.recipe.table.system_names, study.origins.get(("systems", system))
    if origin is None:
        return names.get(system, system)
    return f"{names.get(origin.name, origin.name)} (seed {origin.seed})"


def _whose(names: Sequence[str], everyone: int) -> str:
    """Systems that a sentence is about."""
    return "All systems" if 1 < len(names) == everyone else ", ".join(names)
