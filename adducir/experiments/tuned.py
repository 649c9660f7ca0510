"""Systems of an experiment file whose parameters are tuned."""

from collections.abc import Mapping, Sequence
from typing import Any

from adducir.experiments.evaluation.measures import parse_measure
from adducir.experiments.opening import TopicSet
from adducir.experiments.recipe import SystemRecipe, file_name
from adducir.experiments.steps import Plan
from adducir.experiments.tuning.combining import Fusion, RerankDepth
from adducir.experiments.tuning.pool import Pool
from adducir.experiments.tuning.recipe import TuneRecipe
from adducir.experiments.tuning.systems import LexicalSearch, Searchable, Tunable
from adducir.experiments.tuning.tune import tune
from adducir.experiments.tuning.tuning import Tuning
from adducir.experiments.tuning.values import plain
from adducir.indexes.feedback import FEEDBACK
from adducir.indexes.models import MODELS
from adducir.runs.fusion import FUSION
from adducir.runs.run import Run
from adducir.study.progress import Progress


def decides(plan: Plan, name: str, topic_set: TopicSet) -> dict[str, Any]:
    """All that decides the held-out rankings of a topic set: all topic sets take part in it."""
    system, pool = plan.recipe.systems[name], _pool(plan)
    asked = _asked(system)
    sets = plan.opened.topic_sets
    if system.fuse:
        members = [[plan.runs[one, each].fingerprint for each in sets] for one in system.fuse]
        what: dict[str, Any] = {
            "method": system.method,
            **FUSION.origin(system.method),
            **system.texts_of_fusion,
            "members": members,
        }
    elif system.rerank is not None:
        candidates = [plan.runs[system.rerank, each].fingerprint for each in sets]
        what = {"rerank": plan.reranking_decides(name), "candidates": candidates}
    else:
        index = plan.indexes[str(system.index)].fingerprint
        what = {
            "index": index,
            "model": system.model,
            **MODELS.origin(system.model),
            "rm3": system.rm3 is not None,
        }
    return {
        **what,
        "topics": _identity(topic_set),
        "fixed": system.fixed,
        "tuning": {
            "grid": [[key, [plain(one) for one in many]] for key, many in asked.values.items()],
            "objective": str(parse_measure(asked.objective)),
            "negative grades": plan.recipe.negative_grades,
            "topics": [_identity(each) for each in sets.values()],
            "folds": plan.opened.folds[name].members(pool.ids),
        },
    }


def tune_system(
    plan: Plan,
    name: str,
    index: Searchable | None,
    members: Mapping[str, Sequence[Run]],
    threads: int | None,
    progress: Progress,
) -> Tuning:
    """Tune a system over all topic sets.

    Args:
        plan: The experiment.
        name: The system.
        index: What it searches; None for a fusion or a rerank.
        members: What it fuses: a run for each topic set, by system. For a rerank, the candidates
            and, under its own name, the same reranked to the greatest depth.
        threads: Threads of the search.
        progress: Told of each setting.

    Raises:
        AdducirError: As :func:`adducir.experiments.tuning.tune.tune`.
    """
    recipe, pool = plan.recipe.systems[name], _pool(plan)
    asked = _asked(recipe)
    system: Tunable
    if index is None:
        runs = {member: pool.joined(own) for member, own in members.items()}
        if recipe.rerank is None:
            system = Fusion(
                runs,
                recipe.method,
                fixed=recipe.fixed,
                settings=recipe.texts_of_fusion,
                depth=plan.recipe.most,
            )
        else:
            first, reranked = runs[recipe.rerank], runs[name]
            system = RerankDepth(first, reranked, depth=recipe.deepest, name="depth")
    else:
        system = LexicalSearch(
            index,
            MODELS.kind(recipe.model),
            feedback=None if recipe.rm3 is None else FEEDBACK.kind("rm3"),
            fixed=recipe.fixed,
            depth=plan.recipe.most,
            threads=threads,
        )
    return tune(
        system,
        asked.values,
        pool,
        plan.opened.folds[name],
        asked.objective,
        negative=plan.recipe.negative_grades,
        tag=file_name(name),
        progress=progress,
    )


def _pool(plan: Plan) -> Pool:
    if plan.opened.pool is None:
        raise ValueError("no system of this experiment is tuned")
    return plan.opened.pool


def _asked(system: SystemRecipe) -> TuneRecipe:
    if system.tune is None:
        raise ValueError("this system is not tuned")
    return system.tune


def _identity(topic_set: TopicSet) -> dict[str, str]:
    return {**topic_set.topics.identity(), **topic_set.qrels.identity()}
