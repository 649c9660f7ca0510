"""``rerank:`` reorders the best documents of another system's run, ``oracle:`` by their grades."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from adducir.core.recipe import KeyPath, as_tuple
from adducir.corpora.sources import expanded, file_path
from adducir.experiments.retrieval.corpora import refuse_unknown_fields
from adducir.experiments.retrieval.runs import (
    GivenRun,
    RunOpening,
    RunStep,
    System,
    SystemRun,
    named,
)
from adducir.experiments.sections import Link, Name, Natural, is_recipe
from adducir.experiments.step import Context, ModelStep, Step, folders_of
from adducir.experiments.tuning.tune import of_topics
from adducir.rerankers.recipe import (
    Reranker,
    identity_of,
    is_trained,
    open_reranker,
    open_trained,
    read_recipe,
)
from adducir.rerankers.rerank import Texts, rerank
from adducir.runs.kinds import RerankSettings
from adducir.runs.run import Run
from adducir.runs.write import facts_at, part_of, reranked_method

if TYPE_CHECKING:
    from adducir.experiments.retrieval.task import RetrievalStudy


class Reranking(RerankSettings, System):
    """A reranker over the run of another system."""

    verb: ClassVar[str] = "rerank"
    references: ClassVar[Mapping[str, str]] = {"rerank": "systems", "texts": "indexes"}
    rerank: Name
    """The system whose best documents are reranked."""
    texts: Name | None = None
    """The index with the texts; by default the one that was searched."""

    def is_trained(self, folder: Path) -> bool:
        path = file_path(self.reranker, folder)  # not a file: a kind with its model, or missing
        return is_recipe(self.reranker, folder) and path.is_file() and is_trained(read_recipe(path))

    def conflicts(self, study: "RetrievalStudy") -> Iterator[tuple[KeyPath, str]]:
        if (
            self.texts is None
            and study.recipe.systems.keys() >= {*study.chain(self.rerank)}
            and self._texts(study) is None
        ):
            message = f"`{self.rerank}` searches no or several indexes; name the one with the texts"
            yield ("rerank",), f"{message}: `texts: INDEX`"
        base = study.recipe.systems.get(self.rerank)
        most = study.recipe.most if base is None else base.run_depth(study.recipe.most)
        if most is not None and self.depth > most:
            message = f"it reranks {self.depth} documents per topic"
            yield ("depth",), f"{message}; the `depth` of `{self.rerank}` is {most}"

    def _texts(self, study: "RetrievalStudy") -> str | None:
        """The index named here, by the reranked system, or the only one searched."""
        systems, names = study.recipe.systems, study.chain(self.rerank)
        chain = [self, *(systems[name] for name in names if name in systems)]
        for system in chain:
            if isinstance(system, Reranking) and system.texts is not None:
                return system.texts
        searched = {system.index_name for system in chain if not isinstance(system, Reranking)}
        searched.discard(None)
        return searched.pop() if len(searched) == 1 else None

    def inputs(self, study: "RetrievalStudy") -> list[Link]:
        texts = Link(("texts",), "indexes", self._texts(study) or "")
        return [texts, Link(("rerank",), "systems", self.rerank)]

    def step(self, opening: RunOpening) -> Step:
        place, models, reranker = opening.place, list[ModelStep](), None
        with opening.at("reranker"):
            if self.is_trained(opening.folder):
                from adducir.rerankers.late_training import ColBERTTraining
                from adducir.rerankers.training import CrossEncoderTraining

                kinds = CrossEncoderTraining, ColBERTTraining
                models.append(opening.training(self.reranker, kinds, "a reranker"))
            else:
                reranker = open_reranker(expanded(self.reranker), opening.folder)
                _ = reranker.identity  # an unreadable model is an error before anything runs
        step = RunStep(self, opening, models, [] if models else [place], reranker)
        if reranker is not None:
            step.uses = folders_of(reranker.source)
        if fields := self._fields(step):
            with opening.at("fields" if self.fields else "reranker"):
                refuse_unknown_fields(step.parts["texts"].corpus, fields)
        if isinstance(base := step.parts["rerank"], GivenRun):
            judged = set(step.topic_set.qrels.qids).intersection(base.run.qids)
            if unknown := sorted(judged.difference(step.topics.qids)):
                message = f"{len(unknown)} topics of the run of `{self.rerank}` are missing from"
                message = f"{message} `{step.trial.data}`, such as {unknown[0]!r}"
                opening.planner.add((*place, "rerank"), message)
        return step

    def _fields(self, step: RunStep) -> tuple[str, ...]:
        """The fields that the file or the reranker's recipe names."""
        recipe: Any = step.models[0].plan.recipe if step.models else step.opened.recipe
        return self.fields or as_tuple(recipe.fields)

    def identity(self, step: RunStep) -> Mapping[str, Any]:
        if step.models:
            recipe: Any = step.models[0].plan.recipe
            identity = identity_of(recipe, step.models[0].fingerprint)
        else:
            identity = step.opened.identity
        return {
            "reranker": identity,
            "fields": list(self._fields(step) or step.parts["texts"].fields),
            "depth": self.depth,
            **({"fold": self.fold} if self.fold else {}),
        }

    def answer(self, step: RunStep, context: Context) -> SystemRun:
        def opened() -> Reranker:
            path, running = file_path(self.reranker, step.opening.folder), context.running()
            reranker: Reranker = step.opened or open_trained(path, step.models[0].path)
            return replace(reranker, running=running)

        reranker = context.shared(("reranker", step.trial.run), opened)
        index = step.parts["texts"].open(context)
        texts = Texts.stored(index.documents, self._fields(step) or index.fields)
        reranked = rerank(
            of_topics(step.parts["rerank"].read(), step.topics),
            step.topics,
            texts,
            reranker,
            depth=self.depth,
            fold=self.fold,
            tag=step.tag,
            chunking=context.chunking(step.path),
        )
        # Name candidates without the machine's paths.
        candidates = named(step.parts["rerank"], context)
        settings = {**reranked.settings, "name": self.reranker, "candidates": candidates}
        method = reranked_method(part_of(facts_at(step.parts["rerank"].path), "method"), settings)
        note = (
            f"{step.counted(reranked.run)}, the best {reranked.settings['depth']:,} reranked in "
            f"{reranked.seconds:.1f} s ({reranked.pairs:,} pairs)"
        )
        return SystemRun(reranked.run, note, method, reranked.seconds, costs=reranked.costs)

    def remark(self, name: str, names: Mapping[str, str]) -> str:
        best = f"{names[self.rerank]}, the best {self.depth:,} documents"
        return f"{names[name]}: {best} reranked by {self.reranker}."


class Oracle(System):
    """The ceiling of reranking: another system's best documents in the order of their grades."""

    verb: ClassVar[str] = "oracle"
    references: ClassVar[Mapping[str, str]] = {"oracle": "systems"}
    oracle: Name
    """The system whose best documents are put in the order of their grades: the ceiling of
    rerankers."""
    depth: Natural = 100
    """Documents per topic to reorder."""

    def identity(self, step: RunStep) -> Mapping[str, Any]:
        return {"depth": self.depth, **step.topic_set.qrels.identity()}

    def answer(self, step: RunStep, context: Context) -> SystemRun:
        run = of_topics(step.parts["oracle"].read(), step.topics)
        grades = step.topic_set.qrels.frame
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
        return SystemRun(Run(frame, step.tag), f"{step.counted(run)}, by their grades", method)

    def remark(self, name: str, names: Mapping[str, str]) -> str:
        best = f"{names[self.oracle]}, the best {self.depth:,} documents in the order of their"
        return f"{names[name]}: {best} grades; no system could know them."
