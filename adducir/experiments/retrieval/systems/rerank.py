"""``rerank:``: the best documents of another system's run in a new order."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from adducir.core.recipe import ErrorDetail, KeyPath
from adducir.corpora.references import file_path
from adducir.experiments.context import Context
from adducir.experiments.retrieval.answers import Answer, Made, counted, part_of, run_facts
from adducir.experiments.retrieval.corpora import refuse_unknown_fields
from adducir.experiments.retrieval.index_step import IndexStep
from adducir.experiments.retrieval.runs import RunStep
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.experiments.retrieval.systems.scorer import Scorer, open_scorer
from adducir.experiments.retrieval.systems.system import made_of
from adducir.experiments.retrieval.systems.tuned import TunableSystem
from adducir.experiments.retrieval.trained import is_recipe
from adducir.experiments.sections import Name, Natural
from adducir.experiments.step import Step
from adducir.experiments.tuning.combining import RERANK_DEPTH, RerankDepth, of_topics
from adducir.experiments.tuning.grid import Hyperparameter
from adducir.rerankers.registry import (
    is_trained,
    read_recipe,
)
from adducir.rerankers.rerank import Reranked
from adducir.runs.metadata import reranked_method


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
    is_tuned_at_once: ClassVar[bool] = True
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
        seed = study.seed_of("systems", name)
        named, is_tuned = (self.by, self.deepest, self.fields), self.tune is not None
        open_it = partial(
            open_scorer, named, planner.folder, seed, planner.progress, is_tuned=is_tuned
        )
        found = planner.opening((*place, "by"), open_it)
        if found is None:
            return
        study.details[name] = found
        index = study.recipe.indexes.get(str(self.needs_index(name, study)))
        corpus = study.corpora.get(index.corpus) if index is not None else None
        if corpus is not None and found.fields:
            look = partial(refuse_unknown_fields, corpus.corpus, found.fields)
            planner.opening((*place, "fields" if self.fields else "by"), look)
        self._refuse_unknown_queries(name, study)

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
        index = study.index_of(str(self.needs_index(name, study)))
        base = study.run_of(self.rerank, topic_set)
        return RerankStep(name, self, topic_set, study, base, index)

    def fingerprint_inputs_of_scores(self, index: IndexStep, scorer: Scorer) -> dict[str, Any]:
        """All that determines its rankings, beside its candidates and their queries."""
        return scorer.fingerprint_inputs(index.fields) | {"texts": index.fingerprint}

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


class RerankStep(RunStep):
    """A run whose best documents are reranked."""

    recipe: Rerank

    def __init__(
        self,
        name: str,
        system: Rerank,
        topic_set: str,
        study: RetrievalStudy,
        base: Answer,
        index: IndexStep,
    ) -> None:
        place = ("systems", name)
        self.scorer: Any = study.details.get(name)  # None where a dry run lacks it
        plan, model = (self.scorer.training, self.scorer.path) if self.scorer else (None, None)
        training = [study.training(plan, model, place)] if plan and model else []
        inputs: list[Step] = [*training, index, base]
        super().__init__(name, system, topic_set, study, inputs, [] if training else [place])
        self.base, self.index = base, index

    @property
    def lacks_data(self) -> bool:
        return self.scorer is None or super().lacks_data

    @property
    def shares(self) -> object:
        """The candidates and their queries."""
        return self.base.path, super().shares

    def fingerprint_inputs(self) -> dict[str, Any]:
        return {
            "rerank": self.recipe.fingerprint_inputs_of_scores(self.index, self.scorer),
            "candidates": self.base.fingerprint,
            "topics": self.topics.identity(),
        }

    def rerank(self, context: Context) -> Reranked:
        """The candidates, reranked."""
        candidates = of_topics(self.base.read(), self.topics)
        names = self.system, self.tag
        given = candidates, self.topics, self.index, names, self.path, context
        found: Reranked = self.scorer.run(*given)
        return found

    def produce(self, context: Context) -> Made:
        """See :meth:`RunStep.produce`; how the candidates were found is handed on."""
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
