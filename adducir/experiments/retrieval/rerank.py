"""``rerank:`` reorders the best documents of another system's run, ``oracle:`` by their grades."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from adducir.core.chunks import Chunking
from adducir.core.recipe import as_tuple
from adducir.corpora.sources import expanded, file_path
from adducir.experiments.retrieval.corpora import refuse_unknown_fields
from adducir.experiments.retrieval.runs import Answer, GivenRun, RunStep, System, method_of, named
from adducir.experiments.sections import Name, Natural, is_recipe
from adducir.experiments.step import ModelStep, Step
from adducir.experiments.study import Trial
from adducir.experiments.tuning.tune import of_topics
from adducir.models.machine import using_threads
from adducir.rerankers.recipe import (
    Reranker,
    RerankerRecipe,
    identity_of,
    is_trained,
    open_reranker,
    open_trained,
    read_recipe,
)
from adducir.rerankers.rerank import Texts, rerank
from adducir.runs.folding import FoldName
from adducir.runs.run import Run
from adducir.runs.write import reranked_method

if TYPE_CHECKING:
    from adducir.experiments.retrieval.study import RetrievalStudy
    from adducir.experiments.step import Context


@dataclass(frozen=True)
class Scorer:
    """A system's reranker, which exists or is trained first."""

    recipe: RerankerRecipe
    identity: Mapping[str, Any]  # what determines a pair's score
    open: Callable[[], Reranker]  # once it exists
    models: tuple[ModelStep, ...] = ()  # its training


class Rerank(System):
    """A reranker over the run of another system."""

    verb: ClassVar[str] = "rerank"
    references: ClassVar[Mapping[str, str]] = {"rerank": "systems", "texts": "indexes"}
    rerank: Name  # the other system
    by: str  # the reranker: its recipe, folder or name
    depth: Natural = 100  # documents per topic to rerank
    # fold the passages reranked to documents: firstp, maxp, sump or avgp
    fold: FoldName | None = None
    # the index with the texts; by default the one that was searched
    texts: Name | None = None
    # the fields to read; by default the reranker's recipe's, or the index's
    fields: tuple[str, ...] = ()

    def is_trained(self, folder: Path) -> bool:
        path = file_path(self.by, folder)  # not a file: a kind with its model, or missing
        return is_recipe(self.by, folder) and path.is_file() and is_trained(read_recipe(path))

    def index_name(self, study: "RetrievalStudy") -> str | None:
        """The index named here, by the reranked system, or the only one searched."""
        systems = study.recipe.systems
        names = [self.rerank, *study.made_of(self.rerank)]
        chain = [self, *(systems[name] for name in names if name in systems)]
        for system in chain:
            if isinstance(system, Rerank) and system.texts is not None:
                return system.texts
        searched = {
            system.index_name(study) for system in chain if not isinstance(system, Rerank)
        } - {None}
        return searched.pop() if len(searched) == 1 else None

    def check(self, name: str, study: "RetrievalStudy") -> None:
        place, most = ("systems", name), study.recipe.most
        ancestors = {self.rerank, *study.made_of(self.rerank)}
        if (
            self.texts is None
            and ancestors <= study.recipe.systems.keys()
            and not self.index_name(study)
        ):
            message = f"`{self.rerank}` searches no or several indexes; name the one with the texts"
            study.planner.add((*place, "rerank"), f"{message}: `texts: INDEX`")
        if most is not None and self.depth > most:
            message = f"it reranks {self.depth} documents per topic; the file's `depth` is {most}"
            study.planner.add((*place, "depth"), message)

    def parts(self, trial: Trial, study: "RetrievalStudy") -> dict[str, Any]:
        return {
            "texts": study.index(str(self.index_name(study)), trial.seed),
            "rerank": study.run(trial._replace(system=self.rerank)),
        }

    def step(self, trial: Trial, study: "RetrievalStudy") -> Step:
        place, planner = ("systems", trial.system), study.planner
        with planner.at(*place, "by"):
            if self.is_trained(study.folder):
                from adducir.rerankers.late_training import ColBERTTraining
                from adducir.rerankers.training import CrossEncoderTraining

                path = file_path(self.by, study.folder)
                kinds = CrossEncoderTraining, ColBERTTraining
                model = study.training(self.by, trial.seed, kinds, "a reranker", place)
                recipe: Any = model.plan.recipe
                opener = partial(open_trained, path, model.path)
                identity = identity_of(recipe, model.fingerprint)
                scorer = Scorer(recipe, identity, opener, (model,))
            else:
                reranker = open_reranker(expanded(self.by), study.folder)
                # An unreadable model is an error before anything runs.
                scorer = Scorer(reranker.recipe, reranker.identity, lambda: reranker)
        parts, topic_set = self.parts(trial, study), study.topic_set(trial.data)
        if fields := self.fields or as_tuple(scorer.recipe.fields):
            with planner.at(*place, "fields" if self.fields else "by"):
                refuse_unknown_fields(parts["texts"].corpus, fields)
        if isinstance(base := parts["rerank"], GivenRun):
            judged = set(topic_set.qrels.qids).intersection(base.run.qids)
            if unknown := sorted(judged.difference(topic_set.topics.qids)):
                message = f"{len(unknown)} topics of the run of `{self.rerank}` are missing from"
                message = f"{message} `{trial.data}`, such as {unknown[0]!r}"
                planner.add((*place, "rerank"), message)
        reads = [] if scorer.models else [place]
        return RunStep(self, trial, study, parts, scorer.models, reads, scorer)

    def identity(self, step: RunStep) -> Mapping[str, Any]:
        scorer: Scorer = step.opened
        return {
            "reranker": scorer.identity,
            "fields": list(
                self.fields or as_tuple(scorer.recipe.fields) or step.parts["texts"].fields
            ),
            "depth": self.depth,
            **({"fold": self.fold} if self.fold else {}),
        }

    def answer(self, step: RunStep, context: "Context") -> Answer:
        scorer: Scorer = step.opened

        reranker = context.shared(
            ("reranker", step.trial.run),
            lambda: replace(scorer.open(), running=context.running()),
        )
        index = step.parts["texts"].open(context)
        texts = Texts.stored(index.documents, self.fields or reranker.fields or index.fields)
        with using_threads(context.threads):
            reranked = rerank(
                of_topics(step.parts["rerank"].read(), step.topics),
                step.topics,
                texts,
                reranker,
                depth=self.depth,
                fold=self.fold,
                tag=step.tag,
                chunking=Chunking(step.path, context.execution),
            )
        # Name candidates without the machine's paths.
        candidates = named(step.parts["rerank"], context)
        settings = {**reranked.settings, "name": self.by, "candidates": candidates}
        method = reranked_method(method_of(step.parts["rerank"]), settings)
        note = (
            f"{step.counted(reranked.run)}, the best {reranked.settings['depth']:,} reranked in "
            f"{reranked.seconds:.1f} s ({reranked.pairs:,} pairs)"
        )
        return Answer(reranked.run, note, method, reranked.seconds, costs=reranked.costs)

    def remark(self, name: str, names: Mapping[str, str]) -> str:
        base = names.get(self.rerank, self.rerank)
        text = f"{names.get(name, name)}: {base}, the best {self.depth:,} documents"
        return f"{text} reranked by {self.by}."


class Oracle(System):
    """The ceiling of reranking: another system's best documents in the order of their grades."""

    verb: ClassVar[str] = "oracle"
    references: ClassVar[Mapping[str, str]] = {"oracle": "systems"}
    oracle: Name  # the other system
    depth: Natural = 100  # documents per topic to reorder

    def step(self, trial: Trial, study: "RetrievalStudy") -> Step:
        return RunStep(self, trial, study, self.parts(trial, study))

    def identity(self, step: RunStep) -> Mapping[str, Any]:
        qrels = step.study.topic_set(step.trial.data).qrels
        return {"depth": self.depth, **qrels.identity()}

    def answer(self, step: RunStep, context: "Context") -> Answer:
        run = of_topics(step.parts["oracle"].read(), step.topics)
        grades = step.study.topic_set(step.trial.data).qrels.frame
        judged = run.frame.join(grades, on=["qid", "docno"], how="left", maintain_order="left")
        values = judged["grade"].fill_null(0).to_numpy().astype(float)
        values[run.ranks >= self.depth] = -np.inf  # they follow
        order = np.lexsort((run.ranks, -values, run.topics))
        sizes = np.bincount(run.topics, minlength=len(run.qids))
        scores = pl.Series((sizes[run.topics] - run.ranks).astype(float))
        # Ranks of a run count from 0 within its topics, in order: so do those of the new one.
        frame = run.frame[order].with_columns(score=scores)
        candidates = named(step.parts["oracle"], context)
        method = {"oracle": {"depth": self.depth, "candidates": candidates}}
        return Answer(Run(frame, step.tag), f"{step.counted(run)}, by their grades", method)

    def remark(self, name: str, names: Mapping[str, str]) -> str:
        base = names.get(self.oracle, self.oracle)
        text = f"{names.get(name, name)}: {base}, the best {self.depth:,} documents"
        return f"{text} in the order of their grades; no system could know them."
