"""``rerank:``: the best documents of another system's run in a new order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import polars as pl

from adducir.core.chunks import Chunking
from adducir.core.errors import InputError, UsageError
from adducir.core.recipe import Recipe
from adducir.corpora.references import expanded, file_path
from adducir.corpora.topics import Topics
from adducir.experiments.retrieval.corpora import refuse_unknown_fields
from adducir.experiments.retrieval.runs import (
    Answer,
    GivenRun,
    RunStep,
    method_of,
    named,
)
from adducir.experiments.retrieval.tuned import TunableSystem
from adducir.experiments.sections import Name, Natural, is_recipe
from adducir.experiments.step import ModelStep, Step
from adducir.experiments.study import Trial
from adducir.experiments.tuning.grid import Hyperparameter, Setting
from adducir.experiments.tuning.tune import Tunable, TuneRecipe, of_topics
from adducir.models.machine import using_threads
from adducir.rerankers.recipe import RerankerRecipe
from adducir.rerankers.registry import (
    Reranker,
    identity_of,
    is_trained,
    open_reranker,
    open_trained,
    read_recipe,
)
from adducir.rerankers.rerank import Reranked, rerank
from adducir.rerankers.texts import StoredTexts
from adducir.runs.metadata import reranked_method
from adducir.runs.run import Run
from adducir.training.recipe import listed

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.experiments.retrieval.study import RetrievalStudy


@dataclass(frozen=True)
class Scorer:
    """The reranker of a system: one that is there, or one that is trained first.

    Attributes:
        recipe: How it reads and scores.
        identity: All that determines the score of a pair; the model may still have to be trained.
        open: Opens it, once it is there.
        models: What trains it.
    """

    recipe: RerankerRecipe
    identity: Mapping[str, Any]
    open: Callable[[], Reranker]
    models: tuple[ModelStep, ...] = ()


class Rerank(TunableSystem):
    """A reranker over the run of another system.

    Attributes:
        rerank: The other system.
        by: The reranker: its recipe, its folder or its name.
        depth: How many documents per topic are reranked.
        texts: The index whose documents are read; by default the one that was searched.
        fields: The fields that are read; by default as the reranker's recipe says, or the index's.
    """

    verb: ClassVar[str] = "rerank"
    references: ClassVar[Mapping[str, str]] = {"rerank": "systems", "texts": "indexes"}
    rerank: Name
    by: str
    depth: Natural = 100
    texts: Name | None = None
    fields: tuple[str, ...] = ()

    def is_trained(self, folder: Path) -> bool:
        return is_recipe(self.by, folder) and is_trained(read_recipe(file_path(self.by, folder)))

    def index_name(self, study: "RetrievalStudy") -> str | None:
        """The index that it names, or what it reranks, or the only one that is searched."""
        systems = study.recipe.systems
        names = [self.rerank, *study.made_of(self.rerank)]
        every = [self, *(systems[name] for name in names if name in systems)]
        for one in every:
            if isinstance(one, Rerank) and one.texts is not None:
                return one.texts
        searched = {one.index_name(study) for one in every if not isinstance(one, Rerank)} - {None}
        return searched.pop() if len(searched) == 1 else None

    def check(self, name: str, study: "RetrievalStudy") -> None:
        super().check(name, study)
        place, most = ("systems", name), study.recipe.most
        of = {self.rerank, *study.made_of(self.rerank)}
        if self.texts is None and of <= study.recipe.systems.keys() and not self.index_name(study):
            what = f"`{self.rerank}` searches none or several indexes; name the one with the texts"
            study.planner.add((*place, "rerank"), f"{what}: `texts: INDEX`")
        if most is not None and self.untuned.depth > most:
            key = ("tune", "grid", "depth") if self.tune else ("depth",)
            what = f"{self.untuned.depth} documents per topic are reranked; `depth` of the file is"
            study.planner.add((*place, *key), f"{what} {most}")

    def parts(self, trial: Trial, study: "RetrievalStudy") -> dict[str, Any]:
        return {
            "texts": study.index(str(self.index_name(study)), trial.seed),
            "rerank": study.run(trial._replace(system=self.rerank)),
        }

    def step(self, trial: Trial, study: "RetrievalStudy") -> Step:
        """Open the reranker, or the recipe that makes it; no model is loaded."""
        if self.tune is not None:
            return super().step(trial, study)
        place, planner = ("systems", trial.system), study.planner
        with planner.at(*place, "by"):
            scorer = self._scorer(trial, study)
        parts, topic_set = self.parts(trial, study), study.topic_set(trial.data)
        if fields := self.fields or listed(scorer.recipe.fields):
            with planner.at(*place, "fields" if self.fields else "by"):
                refuse_unknown_fields(parts["texts"].corpus, fields)
        if isinstance(base := parts["rerank"], GivenRun):
            judged = set(topic_set.qrels.qids).intersection(base.run.qids)
            if unknown := sorted(judged.difference(topic_set.topics.qids)):
                what = f"{len(unknown)} topics of the run of `{self.rerank}` have no query in"
                what = f"{what} `{trial.data}`, such as {unknown[0]!r}"
                planner.add((*place, "rerank"), what)
        reads = [] if scorer.models else [place]
        return RunStep(self, trial, study, parts, scorer.models, reads, scorer)

    def _scorer(self, trial: Trial, study: "RetrievalStudy") -> Scorer:
        """The reranker, or the recipe that trains it."""
        if self.is_trained(study.folder):
            from adducir.rerankers.training import CrossEncoderTraining

            own, path = ("systems", trial.system), file_path(self.by, study.folder)
            model = study.training(
                self.by, trial.seed, CrossEncoderTraining, "a cross-encoder", own
            )
            recipe: Any = model.plan.recipe
            opener = partial(open_trained, path, model.path)
            return Scorer(recipe, identity_of(recipe, model.fingerprint), opener, (model,))
        found = open_reranker(expanded(self.by), study.folder)
        if found.is_listwise and getattr(study.recipe.systems[trial.system], "tune", None):
            raise InputError(
                "this reranker orders whole lists, so that another depth is another run, and its "
                "depth cannot be tuned here.",
                hint="Name a `depth`; or make a system for each.",
            )
        # An unreadable model is an error before anything runs.
        return Scorer(found.recipe, found.identity, lambda: found)

    def identity(self, step: RunStep) -> Mapping[str, Any]:
        scorer: Scorer = step.opened
        return {
            "reranker": scorer.identity,
            "fields": list(
                self.fields or listed(scorer.recipe.fields) or step.parts["texts"].fields
            ),
            "depth": self.depth,
        }

    def answer(self, step: RunStep, context: "Context") -> Answer:
        found, before = self.reranked(step, context), method_of(step.parts["rerank"])
        method = reranked_method(before, self._settings(found, step, context))
        note = (
            f"{step.counted(found.run)}, the best {found.settings['depth']:,} reranked in "
            f"{found.seconds:.1f} s ({found.computed:,} computed, {found.cached:,} known)"
        )
        return Answer(found.run, note, method, found.seconds)

    def reranked(self, step: RunStep, context: "Context") -> Reranked:
        """The candidates, reranked by the planned model; scores are kept in the study."""
        scorer: Scorer = step.opened

        def opener() -> Reranker:
            found = replace(scorer.open(), device=context.device)
            return found.in_batches(context.batch_tokens)

        reranker = context.shared(("reranker", step.trial.run), opener)
        index = step.parts["texts"].open(context)
        texts = StoredTexts(index.documents, self.fields or reranker.fields or index.fields)
        with using_threads(context.threads):
            found = rerank(
                of_topics(step.parts["rerank"].read(), step.topics),
                step.topics,
                texts,
                reranker,
                depth=self.depth,
                tag=step.tag,
                cache=step.study.folder / "rerankers" / ".scores",
                threads=context.threads,
                chunking=Chunking(step.path, context.execution),
            )
        found.settings["name"] = self.by
        return found

    def _settings(self, found: Reranked, step: RunStep, context: "Context") -> dict[str, Any]:
        """How a run was reranked; candidates are named without the machine's paths."""
        return {**found.settings, "candidates": named(step.parts["rerank"], context)}

    def remark(self, name: str, names: Mapping[str, str]) -> str:
        base = names.get(self.rerank, self.rerank)
        most = " at most" if self.tune else ""
        return (
            f"{names.get(name, name)}: {base}, its best {self.untuned.depth:,} documents{most} "
            f"reranked by {self.by}."
        )

    @property
    def hyperparameters(self) -> Mapping[str, Hyperparameter]:
        return {"depth": Hyperparameter(whole=True, low=1)}

    @property
    def fixed(self) -> dict[str, float]:
        return {"depth": self.depth} if "depth" in self.model_fields_set else {}

    @property
    def untuned(self) -> Self:
        """The same with the depth that the file gives, or the greatest of the grid."""
        if self.tune is None:
            return self
        depth = int(max(self.tune.values["depth"]))
        return self.model_copy(update={"depth": depth, "tune": None})

    def opened(self, steps: Mapping[str, RunStep], context: "Context") -> Tunable:
        pool = next(iter(steps.values())).study.pool
        runs = [self._deepest(step, context).run for step in steps.values()]
        first = pool.joined([step.parts["rerank"].read() for step in steps.values()])
        return depth_of(first, pool.joined(runs), depth=self.untuned.depth, name="depth")

    def tuned_method(self, step: RunStep, context: "Context") -> dict[str, Any]:
        settings = self._settings(self._deepest(step, context), step, context)
        return reranked_method(method_of(step.parts["rerank"]), settings)

    def _deepest(self, step: RunStep, context: "Context") -> Reranked:
        """The candidates of a topic set, reranked to the greatest depth."""
        make = partial(self.untuned.reranked, step, context)
        return context.shared(("reranked", step.trial), make)


def depth_of(
    first: Run, reranked: Run, *, depth: int | None = None, name: str = "rerank_depth"
) -> Tunable:
    """How much of a run is reranked: a hyperparameter called ``name``.

    The first so many documents of the first run are put in the order that the reranked run gives
    them; the rest follows as it was. It takes one reranked run of the greatest depth: what a
    reranker gives a document does not depend on the others. (Of one that looks at whole lists
    it does; make a run for each depth then.) ``depth`` says how deep it was reranked where lists
    may be shorter than that.
    """
    depth = depth or reranked.depth
    places = reranked.frame.select("qid", "docno").with_columns(place=pl.Series(reranked.ranks))
    ranked = first.frame.with_columns(topic=pl.Series(first.topics), rank=pl.Series(first.ranks))
    joined = ranked.join(places, on=["qid", "docno"], how="left", maintain_order="left")
    if joined["place"].count() < len(reranked):
        raise UsageError(
            f"the reranked run {reranked.tag} holds documents that {first.tag} does not.",
            hint="Name the run that was reranked first, then the reranked one.",
        )
    rows = joined.with_columns(pl.col("place").cast(pl.Int64))

    def check(setting: Setting) -> None:
        if setting[name] > depth:
            raise UsageError(
                f"{reranked.tag} holds {depth} documents per topic at most, fewer than a "
                f"{name} of {setting[name]}."
            )

    facts = {"first stage": first.tag, "reranked": reranked.tag}
    return Tunable(partial(_cut, rows, depth, name), facts, check=check)


def _cut(rows: pl.DataFrame, depth: int, name: str, setting: Setting, topics: Topics) -> Run:
    """The run reranked to the depth of a setting; scores are ranks from the end."""
    wanted = pl.Series(topics.qids, dtype=pl.String)
    rows = rows.filter(pl.col("qid").is_in(wanted.implode()))
    place = pl.when(pl.col("rank") < setting[name]).then(pl.col("place").fill_null(depth))
    # Documents below the depth stand behind all that were reranked.
    final = rows.with_columns(place=place.otherwise(depth + 1)).sort("topic", "place", "rank")
    in_topic = pl.int_range(pl.len(), dtype=pl.Int64).over("qid")
    scored = final.with_columns(score=(pl.len().over("qid") - in_topic).cast(pl.Float64))
    return Run.ranked(scored.select("qid", "docno", "score"), "tuned")


class Pair(Recipe):
    """A run and the same reranked, by ``adducir tune``: all there is to say is what is tried."""

    tune: TuneRecipe
    hyperparameters: ClassVar[Mapping[str, Hyperparameter]] = {
        "rerank_depth": Hyperparameter(whole=True, low=1)
    }

    def tunable(self, runs: Sequence[Run], depth: int | None) -> Tunable:
        """The depth of the first run, of at most that of the second, left open."""
        first, reranked = runs
        return depth_of(first, reranked)
