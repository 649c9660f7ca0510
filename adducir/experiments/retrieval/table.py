"""From a retrieval experiment's runs to its table, provenance and report."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import ceil, log10
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, cast

from adducir.core.artifacts import is_current
from adducir.core.errors import ArtifactError
from adducir.core.manifests import read_manifest
from adducir.core.progress import progress
from adducir.core.texts import listed
from adducir.corpora.documents import text_of
from adducir.evaluation.scores import Scores
from adducir.experiments.retrieval.corpora import CorpusStep, OpenedTopics
from adducir.experiments.retrieval.indexes import IndexStep
from adducir.experiments.retrieval.runs import GivenRun, RunStep, run_facts
from adducir.experiments.step import Context, ModelStep, Step, training_log, with_inputs
from adducir.experiments.tasks import StudyTable, Trial
from adducir.indexes.documents import DocumentStore
from adducir.judges.costs import read_costs
from adducir.judges.notes import alone_note, answer_notes, circular_note, titled
from adducir.runs.run import Run
from adducir.runs.write import costs_for, part_of
from adducir.statistics.comparison import Comparison, compare
from adducir.tables.build import Figure, build_table, merged
from adducir.tables.notes import unmatched
from adducir.tables.report_data import Cost, ReportData, Snippets, TopicHits
from adducir.tables.run_facts import RunFacts
from adducir.tables.table import Column, printed_name

if TYPE_CHECKING:
    from adducir.deepct.expansion import ExpandedCorpus
    from adducir.experiments.retrieval.task import RetrievalStudy

MOST_FOLDS_SHOWN = 3
"""With more folds, only the files list the chosen settings."""


def run_table(study: "RetrievalStudy", context: Context) -> StudyTable:
    """The table of a study's runs, with its provenance and what its report shows."""
    recipe, topic_sets, indexes = study.recipe, study.topic_sets, study.indexes
    style, several, order = recipe.table.style, len(topic_sets) > 1, [*recipe.systems]
    names = {name: recipe.table.system_names.get(name, name) for name in recipe.systems}
    rows = dict(sorted(study.steps.items(), key=lambda row: order.index(row[0].system)))
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
    runs: dict[str, dict[str, Any]] = {name: {} for name in topic_sets}
    chosen: dict[str, dict[str, Mapping[str, float]]] = {}  # by run and fold
    steps_of: dict[str, dict[int | None, list[Step]]] = {name: {} for name in recipe.systems}
    for trial, step in rows.items():
        runs[trial.data][trial.run] = _run(step, context)
        steps_of[trial.system].setdefault(trial.seed, []).append(step)
        if hasattr(step, "tuning"):
            folds = part_of(run_facts(step.path), "method", "tuning").get("folds", [])
            chosen.setdefault(trial.run, {fold["fold"]: fold["chosen"] for fold in folds})
    provenance = {
        **({"chosen settings, by fold": chosen} if chosen else {}),
        "runs": runs,
        "indexes": {name: _index(step, context) for name, step in indexes.items()},
        "topics": {name: topics.facts(recipe.topics[name]) for name, topics in topic_sets.items()},
    }
    paths = {step.path: names[trial.system] for trial, step in rows.items()}
    remarks = [system.remark(name, names) for name, system in recipe.systems.items()]
    notes = {
        name: facts_.notes(comparison, style, name * several, names)
        for name, facts_ in facts.items()
    }
    costs: list[str] = [*dict.fromkeys(recipe.costs)]
    hits = {name: facts_.hits for name, facts_ in facts.items()}
    alone = listed(sorted({topics.alone for topics in topic_sets.values()} - {""}))
    layout = study.layout(
        study.provenance(provenance, study.measures),
        notes=[
            *study.seed_notes(),
            *_by_whom(study, paths),
            *filter(None, remarks),
            *study.shallow(names),
            *_tuned(study.steps, chosen, names),
            *merged(notes),
            *([COSTS_NOTE.format(names=", ".join(costs))] if costs else ()),
        ],
        sections={name: system.group for name, system in recipe.systems.items() if system.group},
        measure_names=study.measure_names,
        material=ReportData(
            topics=hits if several else {"": next(iter(hits.values()))},
            snippets=snippets(recipe.table.snippets, hits, [*indexes.values()]),
            costs={name: _cost(by_seed.values()) for name, by_seed in steps_of.items()},
        ),
        powered=[
            figure
            for name, facts_ in facts.items()
            for figure in facts_.powered(comparison, name * several)
        ],
        evaluated=not any(topics.people is not None for topics in topic_sets.values()),
    )
    layout = replace(layout, title=titled(layout.title, alone))
    titles = {name: study.measure_names.get(name, name.replace("_", " ")) for name in costs}
    columns = {
        name: Column(name, "", title, False, descriptive=True) for name, title in titles.items()
    }
    figures = _cost_figures(recipe.costs, study.steps, comparison)
    table = build_table(comparison, layout, columns=columns, figures=figures)
    return StudyTable(table, each="per-topic")


def _by_whom(study: "RetrievalStudy", paths: Mapping[Path, str]) -> Iterator[str]:
    """Who judged, if not people alone, and how well language models answered."""
    table, is_tested = study.recipe.table, study.recipe.comparison is not None
    for name, topics in study.topic_sets.items():
        if topics.alone:
            yield alone_note(topics.alone, tested=is_tested)
        elif topics.people is not None:
            for note in topics.people.notes(table.system_names, table.style):
                yield f"{name}: {note}" if len(study.topic_sets) > 1 else note
        if topics.judge:
            yield from circular_note(topics.judge, topics.judged_in, paths)
        yield from answer_notes(topics.judged_in, {})
    yield from answer_notes((), paths)


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
        seed = "" if trial.seed is None else f" (seed {trial.seed})"
        alike.setdefault(how, []).append(f"{names[trial.system]}{seed}")
    count = len({trial.run for trial in steps})
    for how, some in alike.items():
        whose = "All systems" if 1 < len(some) == count else ", ".join(some)
        yield f"{whose}: held-out figures, {how}."


def _index(step: IndexStep, context: Context) -> dict[str, Any]:
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


def _run(step: Step, context: Context) -> dict[str, Any]:
    if isinstance(step, GivenRun):
        fold = {"fold": step.fold} if step.fold else {}
        return {"given": step.name, "sha256": step.digest, **fold}
    facts = run_facts(step.path)
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


def _cost(runs: Iterable[Sequence[Step]]) -> Cost:
    """Of a topic, the index, training and expanding documents; means over a system's runs."""
    time, size, tokens, *seconds = (
        None if None in values else fmean(value or 0 for value in values)
        for values in zip(*map(_costs_of, runs), strict=True)
    )
    whole = (None if value is None else round(value) for value in (size, tokens))
    return Cost(time, *whole, *seconds)


def _costs_of(steps: Sequence[Step]) -> tuple[float | None, ...]:
    """What a run took, whose steps are those of the topic sets; None where it is not known."""
    facts = [run_facts(step.path) for step in dict.fromkeys(steps)]
    times = [str(part_of(fact, "resources", "runtime").get("wallclock", "")) for fact in facts]
    topics = sum(part_of(fact, "run file").get("topics") or 0 for fact in facts)
    milliseconds = size = tokens = None
    if topics and all(time.endswith(" s") for time in times):
        milliseconds = 1000 * sum(float(time.removesuffix(" s")) for time in times) / topics
    parts = getattr(steps[0], "parts", {}).values()
    index = next((part for part in parts if isinstance(part, IndexStep)), None)
    if index is not None and is_current(index.path, index.fingerprint):  # not another experiment's
        size = sum(file.stat().st_size for file in index.path.rglob("*") if file.is_file())
        tokens = read_manifest(index.path).counts.get("tokens")
    training = expansion = 0.0
    for step in with_inputs(steps):
        if isinstance(step, ModelStep):
            training += training_log(step.path).get("seconds") or 0
        elif isinstance(step, CorpusStep) and is_current(step.path, step.fingerprint):
            expansion += read_manifest(step.path).seconds
    return milliseconds, size, tokens, training or None, expansion or None


LENGTH = 240
"""Characters of a snippet."""


def snippets(
    shown: Snippets, hits: Mapping[str, TopicHits], indexes: Sequence[IndexStep]
) -> dict[str, str]:
    """The first characters of hits by docno; for weighted words, the original texts."""
    docnos, texts = set[str](), dict[str, str]()
    for topic_hits in hits.values() if shown != "none" else ():
        for frame in topic_hits.runs.values():
            if shown == "judged" and topic_hits.grades is not None:
                frame = frame.join(topic_hits.grades, on=["qid", "docno"], how="semi")
            docnos.update(frame["docno"].unique().to_list())
    for index in sorted(indexes if docnos else (), key=_is_expanded):
        if not is_current(index.path, index.fingerprint):  # missing, or another experiment's
            continue
        fields = index.fields
        if _is_expanded(index):
            from adducir.deepct.expansion import WEIGHTED

            settings = cast("ExpandedCorpus", index.corpus).settings
            read = [settings.text if field == WEIGHTED else (field,) for field in fields]
            fields = tuple(dict.fromkeys(field for names in read for field in names))
        with suppress(ArtifactError):
            store = DocumentStore(index.path)
            for docno in sorted(docnos - texts.keys()):
                if (document := store.find(docno)) is not None:
                    texts[docno] = " ".join(text_of(document, fields).split())[:LENGTH]
    return texts


def _is_expanded(index: IndexStep) -> bool:
    return hasattr(index.corpus, "rendering")


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
        paths = [dict.fromkeys(_cost_files(step, topic_set)) for step in some]
        files = [list(map(read_costs, of_run)) for of_run in paths]
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
