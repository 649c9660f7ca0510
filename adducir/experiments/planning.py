"""From an experiment file to the steps that make its table.

A step makes an index or a run. Its fingerprint covers all that decides its content, so that a step
whose result is there, unchanged and whole, is not done again; nor is an index built that no run to
be made needs.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from adducir.corpora.documents import Corpus
from adducir.corpora.local import LocalCorpus
from adducir.deepct.expanded import WEIGHTED, ExpandedCorpus
from adducir.experiments import tuned
from adducir.experiments.consistency import inconsistencies
from adducir.experiments.currency import ASKED, MISSING, why_index, why_run
from adducir.experiments.faults import Faults
from adducir.experiments.members import in_order, text_index
from adducir.experiments.opening import TopicSet, open_all
from adducir.experiments.recipe import ExperimentRecipe, SystemRecipe, file_name
from adducir.experiments.steps import IndexStep, Plan, RunStep
from adducir.indexes.building import KINDS
from adducir.indexes.feedback import FEEDBACK, FeedbackMethod
from adducir.indexes.models import MODELS, Model
from adducir.runs.fusion import FUSION
from adducir.study.absent import without_downloads
from adducir.study.checking import checked
from adducir.study.errors import InputError
from adducir.study.files import file_digest
from adducir.study.fingerprint import fingerprint
from adducir.study.folders import study_folder
from adducir.study.progress import SILENT, Progress
from adducir.study.recipe import read
from adducir.study.yaml import load

_RUN_VERSION = 1


@checked
def plan_experiment(
    path: Path,
    overrides: tuple[str, ...] = (),
    *,
    rebuild: bool = False,
    dry_run: bool = False,
    folder: Path | None = None,
    progress: Progress = SILENT,
) -> Plan:
    """Read an experiment file, check all of it, and plan it; nothing is built.

    Args:
        path: The file.
        overrides: ``key.key=value`` changes to it.
        rebuild: Plan to make everything, even what is current.
        dry_run: Plan without what is not at hand, and download nothing: such a plan is for
            reading, and :attr:`.Plan.needs` says what it lacks.
        folder: The study's folder, where products go and relative paths start; by default the
            folder that holds ``experiments/``.
        progress: Told what ir_datasets downloads.

    Raises:
        InputError: The file or something that it names is wrong, or is not at hand; all of it in
            one message.
        MachineError: Something cannot be downloaded, and nothing else is wrong.
    """
    reading = read(load(path), ExperimentRecipe, overrides)
    folder = study_folder(path) if folder is None else folder.absolute()
    faults = Faults(reading, dry_run=dry_run)
    recipe = reading.rest
    if recipe is None:
        faults.check()
        raise InputError("the file cannot be understood.", path=path)  # never without a fault
    faults.extend(inconsistencies(recipe, reading.data))
    with without_downloads(dry_run or reading.recipe is None):
        opened = open_all(recipe, faults, folder, progress)
    plan = Plan(path, folder, recipe, overrides, opened, rebuild, {}, {}, {})
    _refuse_files_for_folders(plan, faults)
    _refuse_own_runs(plan, faults)
    _plan_indexes(plan, faults)
    _refuse_unfit_rerankings(plan, faults)
    needs = faults.check()
    for system in in_order(recipe.systems):
        _plan_runs(plan, system)
    return replace(plan, needs=needs)


def model_of(system: SystemRecipe) -> Model:
    """The retrieval model of a search."""
    return MODELS.make(system.model, system.parameters)


def feedback_of(system: SystemRecipe) -> FeedbackMethod | None:
    """The relevance feedback of a search."""
    return FEEDBACK.make("rm3", system.rm3.model_dump()) if system.rm3 else None


def _refuse_files_for_folders(plan: Plan, faults: Faults) -> None:
    """Refuse what would only fail when the table is written."""
    for folder in (plan.output, plan.run_folder):
        for place in (folder.parent, folder):
            if place.exists() and not place.is_dir():
                what = f"{place}: a file stands where a folder is needed"
                if place.samefile(plan.path):
                    what = f"{what}: the experiment file's name needs an ending, such as .yaml"
                faults.add((), what)


def _refuse_own_runs(plan: Plan, faults: Faults) -> None:
    """Refuse a given run that the experiment itself would overwrite."""
    own = {
        _run_path(plan, system, topic_set).resolve(): system
        for system, recipe in plan.recipe.systems.items()
        if recipe.run is None
        for topic_set in plan.recipe.topics
    }
    for (system, _), run in plan.opened.given_runs.items():
        if run.path is not None and run.path.resolve() in own:
            what = f"{run.path} is where the run of `{own[run.path.resolve()]}` is written"
            faults.add(("systems", system, "run"), what)


def _run_path(plan: Plan, system: str, topic_set: str) -> Path:
    said = plan.recipe.systems[system].run
    if said is not None:
        return Path(said if isinstance(said, str) else said[topic_set])
    return plan.run_folder / f"{file_name(system)}.{file_name(topic_set)}.trec.gz"


def _plan_indexes(plan: Plan, faults: Faults) -> None:
    for name, index in plan.opened.indexes.items():
        path = plan.folder / "indexes" / file_name(name)
        corpus = plan.recipe.indexes[name].corpus
        documents, kind = plan.opened.corpora[corpus], KINDS[index.engine]
        check = partial(why_index, path, index.fingerprint, kind, index.settings, documents)
        why = faults.opening(("indexes", name), check)
        if plan.rebuild and why != MISSING:
            why = ASKED
        plan.indexes[name] = IndexStep(
            name, path, corpus, index.engine, index.settings, index.fingerprint, why
        )
        if why is not None:
            look = partial(_refuse_unknown_fields, documents, index.settings.fields)
            faults.opening(("indexes", name, "fields"), look)


def _refuse_unfit_rerankings(plan: Plan, faults: Faults) -> None:
    """Refuse fields that no document has, and given candidates whose query is not known."""
    for name, reranking in plan.opened.rerankings.items():
        system, index = plan.recipe.systems[name], text_index(plan.recipe.systems, name)
        corpus = plan.recipe.indexes[index].corpus if index in plan.recipe.indexes else ""
        documents = plan.opened.corpora.get(corpus)
        if documents is not None and reranking.fields:
            look = partial(_refuse_unknown_fields, documents, reranking.fields)
            faults.opening(("systems", name, "fields" if system.fields else "by"), look)
        for topic_set in plan.opened.topic_sets.values():
            run = plan.opened.given_runs.get((str(system.rerank), topic_set.name))
            judged = () if run is None else set(run.qids).intersection(topic_set.qrels.qids)
            unknown = sorted(set(judged).difference(topic_set.topics.qids))
            if unknown:
                what = f"{len(unknown)} topics of the run of `{system.rerank}` have no query in"
                place = ("systems", name, "rerank")
                faults.add(place, f"{what} `{topic_set.name}`, such as {unknown[0]!r}")


def _plan_runs(plan: Plan, system: str) -> None:
    by_topics: dict[str, RunStep] = {}
    for name in plan.recipe.topics:
        given = plan.opened.given_runs.get((system, name))
        if given is not None and given.path is not None:
            digest = file_digest(given.path)
            plan.runs[system, name] = RunStep(system, name, given.path, digest, is_given=True)
            continue
        lacking = plan.lacking(system, name)
        if lacking:
            plan.unknown[system, name] = _run_path(plan, system, name), lacking
            continue
        topic_set = plan.opened.topic_sets[name]
        wanted = fingerprint(_decides(plan, system, topic_set))
        if wanted not in by_topics:
            path = _run_path(plan, system, name)
            why = why_run(path, wanted)
            if plan.rebuild and why != MISSING:
                why = ASKED
            by_topics[wanted] = RunStep(system, name, path, wanted, why)
        plan.runs[system, name] = by_topics[wanted]


def _decides(plan: Plan, name: str, topic_set: TopicSet) -> dict[str, Any]:
    """All that decides the rankings of a system."""
    system = plan.recipe.systems[name]
    common = {"version": _RUN_VERSION, "depth": plan.recipe.depth}
    if system.tune is not None:
        return common | tuned.decides(plan, name, topic_set)
    if system.fuse:
        members = [plan.runs[member, topic_set.name].fingerprint for member in system.fuse]
        method = {"method": system.method, **FUSION.origin(system.method)}
        settings = {"hyperparameters": system.fusion.model_dump(), "weights": list(system.weights)}
        return common | method | settings | {"members": members}
    if system.rerank is not None:
        made_of = {
            "candidates": plan.runs[system.rerank, topic_set.name].fingerprint,
            "topics": topic_set.topics.identity(),
        }
        return common | {"rerank": plan.reranking_decides(name)} | made_of
    rm3 = feedback_of(system)
    return common | {
        "index": plan.indexes[str(system.index)].fingerprint,
        "topics": topic_set.topics.identity(),
        "model": MODELS.settings(model_of(system), "model"),
        "rm3": rm3.model_dump() if rm3 else None,
    }


def _refuse_unknown_fields(corpus: Corpus, fields: tuple[str, ...]) -> None:
    """Read a local corpus until each field was seen, which nearly always is at once.

    Raises:
        InputError: A field is in no document, or a record is malformed.
    """
    unseen, found = set(fields), set[str]()
    if isinstance(corpus, ExpandedCorpus):
        # Its documents cannot be read before they are weighed.
        corpus, unseen, found = corpus.base, unseen - {WEIGHTED}, {WEIGHTED}
    if not isinstance(corpus, LocalCorpus):
        return
    for document in corpus if unseen else ():
        unseen -= document.fields.keys()
        if not unseen:
            return
        found |= document.fields.keys()
    if not unseen:
        return
    raise InputError(
        f"no document has a field {', '.join(map(repr, sorted(unseen)))}.",
        mend=f"The fields are {', '.join(sorted(found))}.",
    )
