"""From a retrieval experiment's runs to its table, provenance and report."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from math import ceil, log10
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
from adducir.experiments.retrieval.corpora import OpenedTopics
from adducir.experiments.retrieval.indexes import IndexStep
from adducir.experiments.retrieval.runs import GivenRun, RunStep, method_of, run_facts
from adducir.experiments.step import ModelStep, Step, training_log
from adducir.experiments.tasks import Trial
from adducir.indexes.documents import DocumentStore
from adducir.judges.costs import read_costs
from adducir.judges.notes import alone_note, answer_notes, circular_note
from adducir.runs.run import Run
from adducir.runs.write import costs_for, part_of
from adducir.statistics.comparison import Comparison, compare
from adducir.tables.build import Figure, merged
from adducir.tables.notes import unmatched
from adducir.tables.report_data import Cost, ReportData, Snippets
from adducir.tables.run_facts import RunFacts
from adducir.tables.table import Column, printed_name

if TYPE_CHECKING:
    from adducir.deepct.expansion import ExpandedCorpus
    from adducir.experiments.retrieval.task import Retrieval
    from adducir.experiments.step import Context

MOST_FOLDS_SHOWN = 3
"""With more folds, only the files list the chosen settings."""


def summarize(
    recipe: "Retrieval",
    topic_sets: Mapping[str, OpenedTopics],
    steps: Mapping[Trial, Any],
    indexes: Mapping[str, IndexStep],
    measure_names: Mapping[str, str],
    context: "Context",
) -> tuple[Comparison, dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The comparison of the runs of ``steps``; facts for provenance, values for the layout.

    The last are the columns and figures of what language models took.
    """
    names, several = recipe.table.system_names, len(topic_sets) > 1
    order = {name: number for number, name in enumerate(recipe.systems)}
    rows = dict(sorted(steps.items(), key=lambda row: order[row[0].system]))
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
        for name, topics in topic_sets.items()
    }
    scores = _evaluate(rows, topic_sets, facts)
    for warning in unmatched(scores.evaluations, names):
        progress().note(warning)
    comparison = compare(scores, recipe.comparison)
    notes = merged(
        {
            name: facts_.notes(comparison, recipe.table.style, name * several, names)
            for name, facts_ in facts.items()
        }
    )
    paths: dict[Path, str] = {
        step.path: names.get(trial.system, trial.system) for trial, step in rows.items()
    }
    is_tested, by_model = recipe.comparison is not None, list[str]()
    for name, topics_ in topic_sets.items():
        if topics_.alone:
            by_model.append(alone_note(topics_.alone, tested=is_tested))
        elif topics_.people is not None:
            said = topics_.people.notes(names, recipe.table.style)
            by_model += [f"{name}: {note}" if several else note for note in said]
        if topics_.judge:
            by_model += circular_note(topics_.judge, topics_.judged_in, paths)
        by_model += answer_notes(topics_.judged_in, {})
    by_model += answer_notes((), paths)
    remarks = [system.remark(name, names) for name, system in recipe.systems.items()]
    chosen: dict[str, dict[str, Mapping[str, float]]] = {}  # by run and fold
    topics = {name: facts_.hits for name, facts_ in facts.items()}
    runs: dict[str, dict[str, Any]] = {name: {} for name in topic_sets}
    costs: dict[str, dict[int | None, list[Step]]] = {name: {} for name in recipe.systems}
    for trial, step in rows.items():
        runs[trial.data][trial.run] = _run(step, context)
        costs[trial.system].setdefault(trial.seed, []).append(step)
        if hasattr(step, "tuning"):
            folds = part_of(method_of(step), "tuning").get("folds", [])
            chosen.setdefault(trial.run, {fold["fold"]: fold["chosen"] for fold in folds})
    facts_of = {
        **({"chosen settings, by fold": chosen} if chosen else {}),
        "runs": runs,
        "indexes": {name: _index(step, context) for name, step in indexes.items()},
        "topics": {
            name: topics_.facts(recipe.topics[name]) for name, topics_ in topic_sets.items()
        },
    }
    hits = {name: topic_hits.runs for name, topic_hits in topics.items()}
    material = ReportData(
        topics=topics if several else {"": next(iter(topics.values()))},
        snippets=snippets(recipe.table.snippets, hits, topic_sets, [*indexes.values()]),
        costs={name: _cost([*by_seed.values()]) for name, by_seed in costs.items()},
    )
    took = [COSTS_NOTE.format(names=", ".join(dict.fromkeys(recipe.costs)))] if recipe.costs else []
    layout = {
        "notes": [*by_model, *filter(None, remarks), *_tuned(steps, chosen, names), *notes, *took],
        "sections": {name: row.group for name, row in recipe.systems.items() if row.group},
        "measure_names": measure_names,
        "material": material,
        "powered": [
            figure
            for name, facts_ in facts.items()
            for figure in facts_.powered(comparison, name * several)
        ],
    }
    titles = {name: measure_names.get(name, name.replace("_", " ")) for name in recipe.costs}
    columns = {
        name: Column(name, "", title, False, descriptive=True) for name, title in titles.items()
    }
    figures = _cost_figures(recipe.costs, steps, comparison)
    return comparison, facts_of, layout, {"columns": columns, "figures": figures}


def _evaluate(
    rows: Mapping[Trial, Any], topic_sets: Mapping[str, OpenedTopics], facts: Mapping[str, RunFacts]
) -> Scores:
    scores: list[Scores] = []
    several = len(topic_sets) > 1
    with progress().doing("evaluating", len(rows), "runs"):
        for trial, step in rows.items():
            name, run = trial.data, step.read()
            topic_set = topic_sets[name]
            if set(run.qids).isdisjoint(topic_set.qrels.qids):
                # The evaluator would assume unrelated run and qrels, but the plan has checked them:
                # the search only found documents for other topics.
                run = Run(run.frame.clear(), run.tag, run.path)
            measured = topic_set.evaluator.score(run, system=trial.run, topic_set=name * several)
            scores.append(measured.renamed(trial.system))
            facts[name].add(run, trial.run, trial.system)
            progress().advance(1)
    return Scores.concat(scores)


def _tuned(
    steps: Mapping[Trial, Any],
    chosen: Mapping[str, Mapping[str, Mapping[str, float]]],
    names: Mapping[str, str],
) -> Iterator[str]:
    """Sentences about tuned systems: how they were tuned, and the chosen settings."""
    alike: dict[str, list[str]] = {}
    first = next(iter(steps)).data
    for trial, step in steps.items():
        settings = chosen.get(trial.run)
        if settings is None or trial.data != first:
            continue
        how = f"tuned on {printed_name(step.tuning.objective)} ({step.folds.rule})"
        if len(settings) <= MOST_FOLDS_SHOWN:
            how += "; " + "; ".join(
                f"fold {fold}: " + ", ".join(f"{key} = {value:g}" for key, value in values.items())
                for fold, values in settings.items()
            )
        printed = names.get(trial.system, trial.system)
        printed += "" if trial.seed is None else f" (seed {trial.seed})"
        alike.setdefault(how, []).append(printed)
    count = len({trial.run for trial in steps})
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


def _run(step: Step, context: "Context") -> dict[str, Any]:
    if isinstance(step, GivenRun):
        fold = {"fold": step.fold} if step.fold else {}
        return {"given": step.name, "sha256": step.digest, **fold}
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


def _cost(runs: Sequence[list[Step]]) -> Cost:
    """Of a topic, the index, training and expanding documents; means over a system's runs."""
    costs = list[tuple[float | None, ...]]()
    for steps in runs:
        made_of, times, topics, size = dict.fromkeys(steps), list[str](), 0, None
        tokens: int | None = None
        for step in made_of:
            facts = run_facts(step.path) or {}
            times.append(str(part_of(facts, "resources", "runtime").get("wallclock", "")))
            topics += part_of(facts, "run file").get("topics") or 0
        is_timed = topics and all(time.endswith(" s") for time in times)
        seconds = sum(float(time.removesuffix(" s")) for time in times) if is_timed else None
        parts = getattr(steps[0], "parts", {}).values()
        if index := next((part for part in parts if isinstance(part, IndexStep)), None):
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
    shown: Snippets,
    hits: Mapping[str, Mapping[str, pl.DataFrame]],
    topic_sets: Mapping[str, OpenedTopics],
    indexes: Sequence[IndexStep],
) -> dict[str, str]:
    """The first characters of hits by docno; for weighted words, the original texts."""
    docnos = set[str]()
    for name, runs in hits.items() if shown != "none" else ():
        judged = topic_sets[name].qrels.frame.select("qid", "docno")
        for frame in runs.values():
            if shown == "judged":
                frame = frame.join(judged, on=["qid", "docno"], how="semi")
            docnos.update(frame["docno"].unique().to_list())
    texts: dict[str, str] = {}
    for index in sorted(
        indexes if docnos else (), key=lambda index_: _expanded(index_) is not None
    ):
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


_DECIMALS = {"tokens": 0, "tokens_in": 0, "tokens_out": 0, "requests": 1, "seconds": 2}
COSTS_NOTE = (
    "What language models took ({names}): means per topic, from when they answered, of all that a "
    "system is made of; seconds of requests at the same time each count."
)


def _cost_figures(
    costs: Sequence[str], steps: Mapping[Trial, Step], comparison: Comparison
) -> Iterator[Figure]:
    """The costs asked for, of each system and topic set; None if no model was asked."""
    several = len({trial.data for trial in steps}) > 1
    runs: dict[tuple[str, str], list[Step]] = {}
    for trial, step in steps.items() if costs else ():
        runs.setdefault((trial.data, trial.system), []).append(step)
    for (topic_set, system), some in runs.items():
        qids = comparison.matrix(topic_set * several).qids
        files = [
            [read_costs(path) for path in dict.fromkeys(_cost_files(step, topic_set))]
            for step in some
        ]
        for name in costs:
            means = [_mean_cost(rows, name, qids) for rows in files]
            value = None if None in means else fmean(mean or 0 for mean in means)
            decimals = _DECIMALS.get(name, 3)
            if name == "cost" and value:  # often less than .001
                decimals = max(decimals, 1 - ceil(log10(value)) + 1)
            place = topic_set * several, system, name
            yield Figure(*place, value, len(qids), decimals=decimals)


def _mean_cost(files: list[dict[str, dict[str, float]]], name: str, qids: Any) -> float | None:
    rows = [rows[qid] for rows in files for qid in qids if qid in rows]
    if not files or any(name not in row for row in rows):
        return None
    return sum(row[name] for row in rows) / len(qids)


def _cost_files(step: Any, topic_set: str) -> Iterator[Path]:
    """The files of costs beside a run and those that it is made of."""
    if not isinstance(step, RunStep | GivenRun):
        return
    if (path := costs_for(step.path)).is_file():
        yield path
    untuned = getattr(step, "steps", {}).get(topic_set, step)
    for part in getattr(untuned, "parts", {}).values():
        yield from _cost_files(part, topic_set)
