"""From a retrieval experiment's runs to its table, provenance and report."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from adducir.core.artifacts import is_current
from adducir.core.errors import ArtifactError
from adducir.core.manifests import read_manifest
from adducir.core.progress import progress
from adducir.corpora.documents import Document, text_of
from adducir.evaluation.scores import Scores
from adducir.experiments.retrieval.costs import NOTE, cost_columns, cost_figures
from adducir.experiments.retrieval.indexes import IndexStep
from adducir.experiments.retrieval.runs import GivenRun, method_of, run_facts
from adducir.experiments.step import ModelStep, Step, training_log
from adducir.experiments.study import Trial
from adducir.indexes.documents import DocumentStore
from adducir.runs.run import Run
from adducir.runs.write import part_of
from adducir.statistics.comparison import compare
from adducir.tables.build import build_table, merged
from adducir.tables.notes import unmatched
from adducir.tables.report_data import Cost, ReportData
from adducir.tables.run_facts import RunFacts
from adducir.tables.table import ResultTable, printed_name

if TYPE_CHECKING:
    from adducir.deepct.expansion import ExpandedCorpus
    from adducir.experiments.retrieval.study import RetrievalStudy
    from adducir.experiments.step import Context

MOST_FOLDS_SHOWN = 3
"""With more folds, only the files list the chosen settings."""


def result_table(study: "RetrievalStudy", context: "Context") -> ResultTable:
    recipe, names = study.recipe, study.recipe.table.system_names
    facts = {
        name: RunFacts(
            topics.qrels,
            topics.evaluator.measures,
            systems=len(recipe.systems),
            queries=dict(zip(topics.topics.qids, topics.topics.queries, strict=True)),
            unjudged=recipe.unjudged,
            model=topics.model,
            judge=topics.judge,
        )
        for name, topics in study.topic_sets.items()
    }
    scores = _evaluate(study, facts)
    for warning in unmatched(scores.evaluations, names):
        progress().note(warning)
    comparison = compare(scores, recipe.comparison)
    several = len(facts) > 1
    notes = merged(
        {
            name: facts_.notes(comparison, recipe.table.style, name * several, names)
            for name, facts_ in facts.items()
        }
    )
    remarks = [system.remark(name, names) for name, system in recipe.systems.items()]
    chosen = chosen_settings(study)
    topics = {name: facts_.hits for name, facts_ in facts.items()}
    runs: dict[str, dict[str, Any]] = {name: {} for name in study.topic_sets}
    for trial in _trials(study):
        runs[trial.data][trial.run] = _run(study, trial, context)
    facts_of = {
        **({"chosen settings, by fold": chosen} if chosen else {}),
        "runs": runs,
        "indexes": {name: _index(step, context) for name, step in study.indexes.items()},
        "topics": {
            name: topics_.facts(recipe.topics[name]) for name, topics_ in study.topic_sets.items()
        },
    }
    material = ReportData(
        topics=topics if several else {"": next(iter(topics.values()))},
        snippets=snippets(study, {name: topic_hits.runs for name, topic_hits in topics.items()}),
        costs={name: _cost(study, name) for name in recipe.systems},
    )
    layout = study.layout(
        study.provenance(facts_of, study.measures),
        notes=[
            *study.seed_notes(),
            *filter(None, remarks),
            *_tuned(study, chosen),
            *notes,
            *([NOTE.format(names=", ".join(dict.fromkeys(recipe.costs)))] if recipe.costs else []),
        ],
        measure_names=study.measure_names,
        sections={name: system.group for name, system in recipe.systems.items() if system.group},
        material=material,
        powered=[
            figure
            for name, facts_ in facts.items()
            for figure in facts_.powered(comparison, name * several)
        ],
    )
    costs = cost_figures(study, comparison)
    return build_table(comparison, layout, figures=costs, columns=cost_columns(study))


def _trials(study: "RetrievalStudy") -> list[Trial]:
    rows = [(row, seed) for row in study.recipe.systems for seed in study.seeds(row)]
    return [Trial(row, name, seed) for row, seed in rows for name in study.topic_sets]


def _evaluate(study: "RetrievalStudy", facts: Mapping[str, RunFacts]) -> Scores:
    scores: list[Scores] = []
    several = len(study.topic_sets) > 1
    with progress().doing("evaluating", len(study.steps), "runs"):
        for trial in _trials(study):
            name, run = trial.data, study.run(trial).read()
            topic_set = study.topic_sets[name]
            if set(run.qids).isdisjoint(topic_set.qrels.qids):
                # The evaluator would assume unrelated run and qrels, but the plan has checked them:
                # the search only found documents for other topics.
                run = Run(run.frame.clear(), run.tag, run.path)
            measured = topic_set.evaluator.score(run, system=trial.run, topic_set=name * several)
            scores.append(measured.renamed(trial.system))
            facts[name].add(run, trial.run, trial.system)
            progress().advance(1)
    return Scores.concat(scores)


Chosen = Mapping[str, Mapping[str, Mapping[str, float]]]
"""The setting of each fold, for each run of a tuned system."""


def chosen_settings(study: "RetrievalStudy") -> Chosen:
    chosen = {}
    for trial in _trials(study):
        if getattr(study.recipe.systems[trial.system], "tune", None) and trial.run not in chosen:
            folds = part_of(method_of(study.run(trial)), "tuning").get("folds", [])
            chosen[trial.run] = {fold["fold"]: fold["chosen"] for fold in folds}
    return chosen


def _tuned(study: "RetrievalStudy", chosen: Chosen) -> Iterator[str]:
    """Sentences about tuned systems: how they were tuned, and the chosen settings."""
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


def _index(step: IndexStep, context: "Context") -> dict[str, Any]:
    facts: dict[str, Any] = {
        "folder": context.shown(step.path),
        "corpus": step.source,
        "fingerprint": step.fingerprint,
        "engine": step.settings.engine,
        **step.recipe(),
        **{
            key: context.shown(fact) if isinstance(fact, Path) else fact
            for key, fact in step.facts.items()
        },
    }
    try:
        manifest = read_manifest(step.path)
    except ArtifactError:
        return facts  # missing, because no run needed it
    if manifest.fingerprint == step.fingerprint:
        facts |= {
            "corpus fingerprint": manifest.inputs.get("corpus"),
            "counts": dict(manifest.counts),
            "built": manifest.started,
            "built with": dict(manifest.versions),
        }
    return facts


def _run(study: "RetrievalStudy", trial: Trial, context: "Context") -> dict[str, Any]:
    step = study.run(trial)
    if isinstance(step, GivenRun):
        path = study.recipe.systems[trial.system].path(trial, study)
        fold = {"fold": step.fold} if step.fold else {}
        return {"given": str(path), "sha256": step.digest, **fold}
    facts = run_facts(step.path) or {}
    file, settings = part_of(facts, "run file"), part_of(facts, "method", "fusion")
    settings = settings or part_of(facts, "method", "python")
    settings = settings or part_of(facts, "method", "retrieval", 0)
    settings = part_of(facts, "method", "reranking", -1) or settings
    about = ("sha256", "written", "topics", "documents", "topics without documents")
    return {
        # The recipe's own leave out defaults.
        "settings": {key: settings[key] for key in settings if key not in ("index", "runs")},
        "file": context.shown(step.path),
        "fingerprint": step.fingerprint,
        **{key: file[key] for key in about if file.get(key)},
        **part_of(facts, "platform", "software", "engines"),
    }


def _cost(study: "RetrievalStudy", system: str) -> Cost:
    """Of a topic, the index, training and expanding documents; means over its runs."""
    costs = list[tuple[float | None, ...]]()
    for seed in study.seeds(system):
        steps: list[Step] = [study.run(Trial(system, name, seed)) for name in study.topic_sets]
        made_of, times, topics, size = dict.fromkeys(steps), list[str](), 0, None
        tokens: int | None = None
        for step in made_of:
            facts = run_facts(step.path) or {}
            times.append(str(part_of(facts, "resources", "runtime").get("wallclock", "")))
            topics += part_of(facts, "run file").get("topics") or 0
        is_timed = topics and all(time.endswith(" s") for time in times)
        seconds = sum(float(time.removesuffix(" s")) for time in times) if is_timed else None
        if name := study.recipe.systems[system].index_name(study):
            index = study.index(name, seed)
            files = [file for file in index.path.rglob("*") if file.is_file()]
            is_own = is_current(index.path, index.fingerprint)  # not another experiment's
            if is_own:
                size = sum(file.stat().st_size for file in files)
                tokens = read_manifest(index.path).counts.get("tokens")
        for step in steps:  # which grows by each one's inputs
            steps += [before for before in step.inputs if before not in made_of]
            made_of |= dict.fromkeys(step.inputs)
        models = [training_log(step.path) for step in made_of if isinstance(step, ModelStep)]
        training = sum(log["seconds"] for log in models if log.get("seconds"))
        current = [step for step in made_of if is_current(step.path, step.fingerprint)]
        expansion = sum(read_manifest(s.path).seconds for s in current if s.kind in _EXPANDING)
        per_topic = None if seconds is None else 1000 * seconds / topics
        costs.append((per_topic, size, tokens, training or None, expansion or None))
    time, held, count, *seconds_of = (
        None if None in some else fmean(value or 0 for value in some)
        for some in zip(*costs, strict=True)
    )
    whole = (None if value is None else round(value) for value in (held, count))
    return Cost(time, *whole, *seconds_of)


_EXPANDING = {"term-weights", "generated-queries", "query-scores"}
"""The kinds of steps that expand documents."""


LENGTH = 240
"""Characters of a snippet."""


def snippets(
    study: "RetrievalStudy", hits: Mapping[str, Mapping[str, pl.DataFrame]]
) -> dict[str, str]:
    """The first characters of hits by docno; for weighted words, the original texts."""
    shown, docnos = study.recipe.table.snippets, set[str]()
    for name, runs in hits.items() if shown != "none" else ():
        judged = study.topic_sets[name].qrels.frame.select("qid", "docno")
        for frame in runs.values():
            if shown == "judged":
                frame = frame.join(judged, on=["qid", "docno"], how="semi")
            docnos.update(frame["docno"].unique().to_list())
    texts: dict[str, str] = {}
    indexes = study.indexes.values() if docnos else ()
    for index in sorted(indexes, key=lambda index_: _expanded(index_) is not None):
        fields, corpus = index.fields, _expanded(index)
        if corpus is not None:
            from adducir.deepct.expansion import WEIGHTED

            read = [corpus.settings.text if field == WEIGHTED else (field,) for field in fields]
            fields = tuple(dict.fromkeys(field for names in read for field in names))
        for docno, document in _documents(index, docnos - texts.keys()):
            texts[docno] = " ".join(text_of(document, fields).split())[:LENGTH]
    return texts


def _documents(index: IndexStep, docnos: Collection[str]) -> Iterator[tuple[str, Document]]:
    with suppress(ArtifactError):
        if not is_current(index.path, index.fingerprint):  # another experiment's
            return
        store = DocumentStore(index.path)
        for docno in sorted(docnos):
            if docno in store:
                yield docno, store.get(docno)


def _expanded(index: IndexStep) -> "ExpandedCorpus | None":
    corpus: Any = index.corpus
    return corpus if hasattr(corpus, "rendering") else None
