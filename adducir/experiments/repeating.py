"""Language models' runs repeated offline, from the answers in a study's archive."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adducir.core.errors import AdducirError
from adducir.experiments.experiment import plan_experiment, run_experiment
from adducir.experiments.retrieval.runs import GivenRun
from adducir.experiments.step import ModelStep
from adducir.judges.answers import CACHE, using_shared
from adducir.runs.read import read_run
from adducir.runs.write import part_of, read_metadata

_KEPT = ("task", "topics", "depth", "measures", "negative_grades")


def repeated(
    study: Path, name: str, recipe: Mapping[str, Any], given: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Verdicts on the runs of an experiment's systems that asked a language model.

    They are made again in ``study``, a copy that may change: the index that they need is built, but
    no model is loaded, no code is run, and nobody is asked.

    Args:
        study: The folder.
        name: The experiment, such as experiments/web.
        recipe: Its file's content.
        given: Its systems with their runs, which are others' candidates.
    """
    systems = {system: part_of(recipe, "systems", system) for system in given}
    asked = {
        system: {**entry, "texts": _index(system, systems)} if "rerank" in entry else entry
        for system, entry in systems.items()
        if _asks(entry, study, given[system])
    }
    if not asked:
        return
    kept = {key: recipe[key] for key in _KEPT if key in recipe}
    indexes = {str(_index(system, systems)) for system in asked}
    kept["indexes"] = {key: part_of(recipe, "indexes", key) for key in sorted(indexes)}
    corpora = {str(index.get("corpus")) for index in kept["indexes"].values()}
    kept["corpora"] = {key: part_of(recipe, "corpora", key) for key in sorted(corpora)}
    for key, corpus in kept["corpora"].items():
        source = str(corpus.get("source"))
        if not source.startswith("bundled:") and not (study / source).exists():
            yield ("open", f"{name}: its answers are not repeated: the corpus {key} is not there")
            return
    kept["systems"] = {**given, **asked}
    again = study / "experiments" / f"asked-{Path(name).name}.yaml"
    again.write_text(json.dumps(kept), encoding="utf-8")
    try:
        plan = plan_experiment(again, folder=study)
        if models := [step for step in plan.needed(plan.state()) if isinstance(step, ModelStep)]:
            message = f"{plan.shown(models[0].path)} is not there"
            yield ("open", f"{name}: its answers are not repeated: {message}")
            return
        with using_shared(study, study / "runs" / Path(name).name / CACHE):
            run_experiment(plan)
    except AdducirError as error:
        yield ("open", f"{name}: its answers are not repeated: {error.paragraph()}")
        return
    same = 0
    for trial, step in plan.study.planned.items():
        if trial.system not in asked or isinstance(step, GivenRun):
            continue
        run = given[trial.system]["run"]
        file = run if isinstance(run, str) else run[trial.data]
        old = read_run(study / file.replace("{seed}", str(trial.seed)), allow_empty=True).frame
        new = read_run(step.path, allow_empty=True).frame
        if not old.select("qid", "docno").equals(new.select("qid", "docno")):
            yield ("wrong", f"{name}: the answers kept give another run of {trial.run}")
            return
        same += 1
    yield ("ok", f"{name}: runs that are the same from the answers kept: {same}")


def _asks(entry: Any, study: Path, given: Mapping[str, Any]) -> bool:
    if "query2doc" in entry:
        return True
    run = given["run"]
    file = run if isinstance(run, str) else next(iter(run.values()))
    if "rerank" not in entry or "{seed}" in file:  # trained, and not asked
        return False
    stage = part_of(read_metadata(study / file), "method", "reranking", -1)
    return "language model" in stage


def _index(system: str, systems: Mapping[str, Any]) -> str | None:
    """The index whose texts a system reads or searches."""
    entry = systems.get(system, {})
    for key in ("texts", "index", "query2doc"):
        if key in entry:
            return str(entry[key])
    fused = entry.get("fuse")
    members = fused if isinstance(fused, list) else [entry.get("rerank") or entry.get("oracle")]
    found = (_index(member, systems) for member in members if isinstance(member, str))
    return next(filter(None, found), None)
