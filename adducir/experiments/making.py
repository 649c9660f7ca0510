"""Makes the indexes and runs that a planned experiment lacks."""

from dataclasses import replace

from adducir.corpora.topics import Topics
from adducir.experiments import provenance, tuned
from adducir.experiments.currency import MISSING, why_run
from adducir.experiments.planning import feedback_of, model_of
from adducir.experiments.recipe import file_name
from adducir.experiments.steps import IndexStep, Plan, RunStep
from adducir.experiments.tuning.combining import of_topics
from adducir.experiments.tuning.report import write_report
from adducir.experiments.tuning.tuning import Tuning
from adducir.indexes.building import builder
from adducir.indexes.engine import Index, open_index, remark_on
from adducir.indexes.search import Search, search_topics
from adducir.rerankers.rerank import Reranked
from adducir.runs.fuse import fuse
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.runs.write import write_run
from adducir.study.errors import ProductError
from adducir.study.products import read_manifest
from adducir.study.progress import Progress

_SHOWN = 10


def make_missing(plan: Plan, threads: int | None, progress: Progress) -> list[RunStep]:
    """Build what indexes and make what runs are not current by now.

    To be called under the experiment's lock: another process may have made some since the plan
    was made.

    Returns:
        The runs that were made.

    Raises:
        AdducirError: A corpus record is malformed, the disk is full, and the like.
    """
    steps = [step for step in plan.distinct_runs() if not step.is_given]
    made = [step for step in steps if plan.rebuild or why_run(step.path, step.fingerprint)]
    needed = plan.needed_indexes(made)
    kept = len(steps) - len(made)
    if kept:
        share = f"all {kept}" if not made else f"{kept} of {len(steps)}"
        progress.note(f"{share} runs are there and kept")
    for expansion in plan.needed_expansions(needed):
        expansion.make(threads, progress)
    for reranking in plan.needed_rerankings(made):
        reranking.make(progress)
    for index in needed:
        _build(plan, index, threads, progress)
    opened: dict[str, Index] = {}
    try:
        for index in needed:
            opened[index.name] = _open(index)
        for remark in sorted({remark_on(index) or "" for index in opened.values()} - {""}):
            progress.note(remark)
        tunings: dict[str, tuple[Tuning, dict[str, Reranked]]] = {}
        for run in made:
            if plan.recipe.systems[run.system].tune:
                _make_tuned(plan, run, opened, tunings, threads, progress)
            else:
                _make(plan, run, opened, threads, progress)
    finally:
        for one in opened.values():
            one.close()
    return made


def run_of(plan: Plan, step: RunStep) -> Run:
    """The run of a step that is done: what stands in its file, no matter who wrote that."""
    if step.is_given:
        return plan.opened.given_runs[step.system, step.topic_set]
    return read_run(step.path, allow_empty=True)


def _build(plan: Plan, step: IndexStep, threads: int | None, progress: Progress) -> None:
    name = f"index {plan.shown(step.path)}"
    if step.why not in (None, MISSING):
        progress.note(f"{name}: {step.why}")
    manifest = builder(step.engine)(
        plan.opened.corpora[step.corpus],
        step.path,
        step.settings,
        threads=threads,
        rebuild=plan.rebuild,
        progress=progress,
    )
    if step.why is not None:
        counts = manifest.counts
        empty = f", {counts['empty']:,} of them without text" if counts["empty"] else ""
        progress.note(f"{name}: {counts['documents']:,} documents{empty}")


def _open(step: IndexStep) -> Index:
    """The index, if it is still the one that was planned.

    Raises:
        ProductError: It is not.
    """
    index = open_index(step.path)
    if read_manifest(step.path).fingerprint == index.identity["fingerprint"] == step.fingerprint:
        return index
    index.close()
    raise ProductError(
        "this is not the index that was planned: its corpus has changed since, or another "
        "experiment has built its own here.",
        path=step.path,
        mend="Run this again; give indexes of two experiments that differ different names.",
    )


def _make(
    plan: Plan,
    step: RunStep,
    indexes: dict[str, Index],
    threads: int | None,
    progress: Progress,
) -> None:
    system = plan.recipe.systems[step.system]
    topics = plan.opened.topic_sets[step.topic_set].topics
    name = f"run {plan.shown(step.path)}"
    if system.rerank:
        reranked = _reranked(plan, step, indexes, threads, progress)
        run, metadata = reranked.run, provenance.of_reranking(plan, step, reranked)
        progress.note(f"{name}: {_counted(run, topics)}, {_scored(reranked)}")
    elif system.fuse:
        members = [plan.runs[member, step.topic_set] for member in system.fuse]
        run = _fused(plan, step, members)
        metadata = provenance.of_fusion(plan, step, members)
        progress.note(f"{name}: {_counted(run, topics)}, fused of {len(members)} runs")
    else:
        found = search_topics(
            indexes[str(system.index)],
            topics,
            model_of(system),
            tag=file_name(step.system),
            feedback=feedback_of(system),
            depth=plan.recipe.most,
            threads=threads,
        )
        run, metadata = found.run, provenance.of_search(plan, step, found)
        progress.note(f"{name}: {_counted(run, topics)} in {found.seconds:.1f} s{_silent(found)}")
    step.path.parent.mkdir(parents=True, exist_ok=True)
    write_run(run, step.path, metadata, topics=topics.qids)


def _make_tuned(
    plan: Plan,
    step: RunStep,
    indexes: dict[str, Index],
    tunings: dict[str, tuple[Tuning, dict[str, Reranked]]],
    threads: int | None,
    progress: Progress,
) -> None:
    """Write the held-out rankings of one topic set; the tuning is done once for all of them."""
    system = plan.recipe.systems[step.system]
    if step.system not in tunings:
        sets = plan.opened.topic_sets
        members = {
            member: [run_of(plan, plan.runs[member, name]) for name in sets]
            for member in system.members
        }
        reranked: list[Reranked] = []
        if system.rerank:
            steps = [replace(step, topic_set=name) for name in sets]
            reranked = [_reranked(plan, one, indexes, threads, progress) for one in steps]
            members[step.system] = [one.run for one in reranked]
        index = indexes.get(str(system.index))
        found = tuned.tune_system(plan, step.system, index, members, threads, progress)
        folder = plan.output / "tuning" / file_name(step.system)
        write_report(found, folder, with_runs=False, progress=progress)
        told = f"tuning of {step.system}, {plan.shown(folder)}"
        progress.note(f"{told}: {len(found.grid)} settings in {found.seconds:.1f} s")
        for warning in found.warnings():
            progress.note(f"tuning of {step.system}: {warning}")
        tunings[step.system] = found, dict(zip(sets, reranked, strict=False))
    tuning, by_set = tunings[step.system]
    run = tuning.pool.of_set(tuning.run, step.topic_set)
    judged = plan.opened.topic_sets[step.topic_set].qrels.qids
    progress.note(f"run {plan.shown(step.path)}: {len(run):,} documents, each topic held out")
    step.path.parent.mkdir(parents=True, exist_ok=True)
    metadata = provenance.of_tuning(plan, step, tuning, by_set.get(step.topic_set))
    write_run(run, step.path, metadata, topics=judged)


def _reranked(
    plan: Plan,
    step: RunStep,
    indexes: dict[str, Index],
    threads: int | None,
    progress: Progress,
) -> Reranked:
    """The candidates of a step's topics, reranked."""
    topics = plan.opened.topic_sets[step.topic_set].topics
    base = plan.recipe.systems[step.system].rerank
    candidates = of_topics(run_of(plan, plan.runs[str(base), step.topic_set]), topics)
    index = indexes[str(plan.index_of(step.system))]
    reranking = plan.opened.rerankings[step.system]
    return reranking.run(candidates, topics, index, step.system, threads, progress)


def _fused(plan: Plan, step: RunStep, members: list[RunStep]) -> Run:
    system = plan.recipe.systems[step.system]
    return fuse(
        [run_of(plan, member) for member in members],
        system.method,
        weights=system.weights or None,
        depth=plan.recipe.most,
        tag=file_name(step.system),
        **system.fusion.model_dump(),
    )


def _counted(run: Run, topics: Topics) -> str:
    return f"{len(run):,} documents for {len(run.qids):,} of {len(topics):,} topics"


def _scored(found: Reranked) -> str:
    """What was computed."""
    return (
        f"the best {found.settings['depth']:,} reranked in {found.seconds:.1f} s "
        f"({found.computed:,} computed, {found.cached:,} known)"
    )


def _silent(found: Search) -> str:
    """Which topics have no documents, and why."""
    told = ""
    for what, qids in (
        ("no term is left of the query of", found.empty),
        ("no document has a term of the query of", found.unanswered),
        ("all documents have one score, so that docnos order them, of", found.tied),
    ):
        if qids:
            more = f" and {len(qids) - _SHOWN} more" if len(qids) > _SHOWN else ""
            told += f"; {what} {', '.join(qids[:_SHOWN])}{more}"
    return told
