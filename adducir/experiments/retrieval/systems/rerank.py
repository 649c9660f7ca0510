"""``rerank:``: the best documents of another system's run in a new order."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

from adducir.core.errors import ArtifactError, InputError
from adducir.core.recipe import ErrorDetail, KeyPath
from adducir.corpora.references import expanded, file_path
from adducir.experiments.context import Context
from adducir.experiments.retrieval.corpora import refuse_unknown_fields
from adducir.experiments.retrieval.indexes import IndexStep
from adducir.experiments.retrieval.runs import Made, RunStep, counted, run_facts
from adducir.experiments.retrieval.study import RetrievalStudy, is_recipe
from adducir.experiments.retrieval.systems.system import made_of
from adducir.experiments.retrieval.systems.tuned import TunableSystem
from adducir.experiments.sections import Name, Natural
from adducir.experiments.step import Step
from adducir.experiments.tuning.grid import Hyperparameter
from adducir.experiments.tuning.systems import RERANK_DEPTH, RerankDepth, of_topics
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
from adducir.rerankers.training import CrossEncoderTraining
from adducir.runs.metadata import part_of, reranked_method
from adducir.training.recipe import listed


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

    @property
    def members(self) -> tuple[str, ...]:
        return (self.rerank,)

    def place_of(self, member: int) -> KeyPath:
        return ("rerank",)

    def is_trained(self, folder: Path) -> bool:
        return is_recipe(self.by, folder) and is_trained(read_recipe(file_path(self.by, folder)))

    @property
    def hyperparameters(self) -> Mapping[str, Hyperparameter]:
        return {"depth": RERANK_DEPTH}

    @property
    def fixed(self) -> dict[str, float]:
        return {"depth": self.depth} if "depth" in self.model_fields_set else {}

    @property
    def deepest(self) -> int:
        """How many documents per topic are reranked, at most."""
        return self.depth if self.tune is None else int(max(self.tune.values["depth"]))

    def needs_index(self, name: str, study: RetrievalStudy) -> str | None:
        """The index that it names, or what it reranks, or the only one that is searched."""
        systems = study.recipe.systems
        known = [systems[one] for one in (name, *made_of(study, name)) if one in systems]
        named = [one.texts for one in known if isinstance(one, Rerank) and one.texts is not None]
        if named:
            return named[0]
        searched = {
            index
            for one in known
            if not isinstance(one, Rerank) and (index := one.needs_index(name, study)) is not None
        }
        return searched.pop() if len(searched) == 1 else None

    def check(self, name: str, study: RetrievalStudy) -> Iterator[ErrorDetail]:
        yield from super().check(name, study)
        place, systems = ("systems", name), study.recipe.systems
        of = made_of(study, name)
        if name in of:
            return
        if self.texts is not None:
            yield from study.names.check((*place, "texts"), "indexes", self.texts)
        elif set(of) <= systems.keys() and self.needs_index(name, study) is None:
            what = f"there is not one index that `{self.rerank}` searches; name the one with"
            yield ErrorDetail((*place, "rerank"), f"{what} the texts: `texts: INDEX`")
        if study.recipe.most is not None and self.deepest > study.recipe.most:
            key = ("tune", "grid", "depth") if self.tune else ("depth",)
            what = f"{self.deepest} documents per topic are reranked; `depth` of the file is"
            yield ErrorDetail((*place, *key), f"{what} {study.recipe.most}")

    def open(self, name: str, study: RetrievalStudy) -> None:
        """Open the reranker, or the recipe that makes it; no model is loaded."""
        super().open(name, study)
        place, planner = ("systems", name), study.planner
        found = planner.opening((*place, "by"), partial(self._scorer, place, study))
        if found is None:
            return
        study.details[name] = found
        index = study.recipe.indexes.get(str(self.needs_index(name, study)))
        corpus = study.corpora.get(index.corpus) if index is not None else None
        fields = self.fields or listed(found.recipe.fields)
        if corpus is not None and fields:
            look = partial(refuse_unknown_fields, corpus.corpus, fields)
            planner.opening((*place, "fields" if self.fields else "by"), look)
        self._refuse_unknown_queries(name, study)

    def _scorer(self, own: tuple[str, str], study: RetrievalStudy) -> "Scorer":
        """The reranker, or the recipe that trains it."""
        if self.is_trained(study.folder):
            trained = study.trained_by(self.by, own, CrossEncoderTraining, "a cross-encoder")
            if trained is not None:
                plan, path = trained
                opener = partial(open_trained, study.file(self.by), path)
                return Scorer(plan.recipe, opener, trained)
        found = open_reranker(expanded(self.by), study.folder)
        if found.is_listwise and self.tune is not None:
            raise InputError(
                "this reranker puts lists in order, so that another depth is another run, and its "
                "depth cannot be tuned here.",
                hint="Name a `depth`; or make a system of each.",
            )
        _ = found.identity  # an unreadable model is an error before anything runs
        return Scorer(found.recipe, lambda: found)

    def _refuse_unknown_queries(self, name: str, study: RetrievalStudy) -> None:
        """Refuse given candidates whose query is not known."""
        for topic_set in study.topic_sets.values():
            run = study.given.get((self.rerank, topic_set.name))
            judged = () if run is None else set(run.qids).intersection(topic_set.qrels.qids)
            unknown = sorted(set(judged).difference(topic_set.topics.qids))
            if unknown:
                what = f"{len(unknown)} topics of the run of `{self.rerank}` have no query in"
                what = f"{what} `{topic_set.name}`, such as {unknown[0]!r}"
                study.planner.errors.add(("systems", name, "rerank"), what)

    def step(self, name: str, topic_set: str, study: RetrievalStudy) -> "RerankStep":
        return RerankStep(name, self, topic_set, study)

    def fingerprint_inputs_of_scores(self, index: IndexStep, scorer: "Scorer") -> dict[str, Any]:
        """All that determines its rankings, beside its candidates and their queries."""
        return {
            "reranker": scorer.identity,
            "fields": list(self.fields or listed(scorer.recipe.fields) or index.fields),
            "depth": self.deepest,
            "texts": index.fingerprint,
        }

    def untuned_fingerprint_inputs(self, name: str, study: RetrievalStudy) -> dict[str, Any]:
        index = study.index_of(str(self.needs_index(name, study)))
        return {
            "rerank": self.fingerprint_inputs_of_scores(index, study.details[name]),
            "candidates": [
                study.run_of(self.rerank, one).fingerprint for one in study.recipe.topics
            ],
        }

    def tunable(self, name: str, study: RetrievalStudy, context: Context) -> RerankDepth:
        runs = [self._deepest(name, one, study, context).run for one in study.recipe.topics]
        first, reranked = study.joined(self.rerank), study.pool.joined(runs)
        return RerankDepth(first, reranked, depth=self.deepest, name="depth")

    def tuned_method(
        self, name: str, topic_set: str, study: RetrievalStudy, context: Context
    ) -> dict[str, Any]:
        found = self._deepest(name, topic_set, study, context)
        return {"reranking": [self.step(name, topic_set, study).settings(found, context)]}

    def _deepest(
        self, name: str, topic_set: str, study: RetrievalStudy, context: Context
    ) -> Reranked:
        """The candidates of a topic set, reranked to the greatest depth."""
        step = self.step(name, topic_set, study)
        make = partial(step.rerank, context)
        return context.opened(("reranked", name, topic_set), make, lambda _: None)

    def remark(self, name: str, names: Mapping[str, str]) -> str:
        base = names.get(self.rerank, self.rerank)
        most = " at most" if self.tune else ""
        return (
            f"{names.get(name, name)}: {base}, its best {self.deepest:,} documents{most} reranked "
            f"by {self.by}."
        )


@dataclass(frozen=True)
class Scorer:
    """The reranker of a system: one that is there, or one that is trained first."""

    recipe: RerankerRecipe
    open: Callable[[], Reranker]
    trained: tuple[CrossEncoderTraining, Path] | None = None

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that determines the score of a pair; the model may still have to be trained."""
        if self.trained is not None:
            return identity_of(self.recipe, self.trained[0].fingerprint)
        return self.open().identity


class RerankStep(RunStep):
    """A run whose best documents are reranked."""

    recipe: Rerank

    def __init__(self, name: str, system: Rerank, topic_set: str, study: RetrievalStudy) -> None:
        place = ("systems", name)
        self.base = study.run_of(system.rerank, topic_set)
        self.index = study.index_of(str(system.needs_index(name, study)))
        self.scorer: Any = study.details.get(name)  # None where a dry run lacks it
        trained: tuple[CrossEncoderTraining, Path] | None = self.scorer and self.scorer.trained
        training = [study.training(*trained, place)] if trained else []
        inputs: list[Step] = [*training, self.index, self.base]
        super().__init__(name, system, topic_set, study, inputs, [] if training else [place])

    @property
    def lacks_data(self) -> bool:
        return self.scorer is None or super().lacks_data

    @property
    def shares(self) -> object:
        return self.base.path, super().shares

    def fingerprint_inputs(self) -> dict[str, Any]:
        return {
            "rerank": self.recipe.fingerprint_inputs_of_scores(self.index, self.scorer),
            "candidates": self.base.fingerprint,
            "topics": self.topics.identity(),
        }

    def rerank(self, context: Context) -> Reranked:
        """The candidates, reranked by the planned model; scores are kept in the study."""

        def opener() -> Reranker:
            found: Reranker = replace(self.scorer.open(), device=context.device)
            return found.in_batches(context.batch_tokens)

        system = self.recipe
        reranker = context.opened(("reranker", self.system), opener, lambda _: None)
        if reranker.identity != self.scorer.identity:
            raise ArtifactError(
                "this is not the model that was planned: its recipe has changed since, or another "
                "experiment has trained its own here.",
                path=reranker.source.folder,
                hint="Run this again.",
            )
        index = self.index.open(context)
        with using_threads(context.threads):
            found = rerank(
                of_topics(self.base.read(), self.topics),
                self.topics,
                StoredTexts(index.documents, system.fields or reranker.fields or index.fields),
                reranker,
                depth=system.deepest,
                tag=self.tag,
                cache=self.study.folder / "rerankers" / ".scores",
                threads=context.threads,
                chunking=context.chunking(self.path, keep=False),
            )
        found.settings["name"] = system.by
        return found

    def produce(self, context: Context) -> Made:
        found = self.rerank(context)
        before = {} if self.base.is_given else part_of(run_facts(self.base.path), "method")
        method = reranked_method(before, self.settings(found, context))
        scored = (
            f"the best {found.settings['depth']:,} reranked in {found.seconds:.1f} s "
            f"({found.computed:,} computed, {found.cached:,} known)"
        )
        return Made(
            found.run, f"{counted(found.run, self.topics)}, {scored}", method, found.seconds
        )

    def settings(self, found: Reranked, context: Context) -> dict[str, Any]:
        """How a run was reranked; candidates are named without the machine's paths."""
        base = self.base
        file = {} if base.is_given else {"file": context.shown(base.path)}
        candidates = {"system": base.system, **file, "fingerprint": base.fingerprint}
        return {**found.settings, "candidates": candidates}
