"""Systems that search an index (``index:``), and what tunes systems."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ValidationError, model_serializer, model_validator

from adducir.core.fingerprint import fingerprint
from adducir.core.progress import progress
from adducir.core.recipe import KeyPath, errors_at, errors_of
from adducir.corpora.sources import file_path
from adducir.corpora.topics import Topics
from adducir.evaluation.lists import NegativeGrades
from adducir.evaluation.measures import parse_measure
from adducir.experiments.retrieval.runs import RunOpening, RunStep, System, SystemRun
from adducir.experiments.sections import Name, file_name
from adducir.experiments.step import Context, Step, folders_of
from adducir.experiments.tuning.design import (
    Folds,
    Grid,
    Hyperparameter,
    Setting,
    TopicPool,
    Tunable,
    TuneRecipe,
    hyperparameters_of,
    plain,
)
from adducir.experiments.tuning.tune import Tuning, facts, tune, write_report
from adducir.indexes.building import engine_versions
from adducir.indexes.feedback import FeedbackMethod
from adducir.indexes.index import Index
from adducir.indexes.kinds import FEEDBACK, MODELS
from adducir.indexes.models import Model
from adducir.indexes.search import query_encoder, search_topics
from adducir.indexes.search_settings import SearchSettings
from adducir.models.running import Running
from adducir.runs.kinds import RankingSettings
from adducir.runs.run import Run
from adducir.runs.write import part_of

if TYPE_CHECKING:
    from adducir.experiments.retrieval.task import RetrievalStudy
    from adducir.judges.query2doc import Expanded


class TunableSystem(System):
    """A system with hyperparameters, which ``tune`` chooses by cross-validation."""

    tune: TuneRecipe | None = None
    """Parameters to choose by cross-validation, below."""

    @property
    @abstractmethod
    def hyperparameters(self) -> Mapping[str, Hyperparameter]:
        """The tunable parameters."""

    @property
    @abstractmethod
    def fixed(self) -> dict[str, float]:
        """The hyperparameters that the file sets."""

    @abstractmethod
    def opened(self, steps: Sequence[RunStep], pool: TopicPool, context: Context) -> Tunable:
        """The system with open hyperparameters; ``steps``: its untuned runs per topic set."""

    def costs(self, step: RunStep, context: Context) -> Sequence[Mapping[str, Any]]:
        """What a language model took for each topic of an untuned run, if one was asked."""
        return ()

    @model_validator(mode="after")
    def _tuning(self) -> "TunableSystem":
        if self.tune is None:
            return self
        twice = "is both fixed and tuned by this system"
        errors = [
            *self.tune.errors(self.hyperparameters),
            *((("grid", name), twice) for name in self.fixed if name in self.tune.grid),
        ]
        if errors:
            raise errors_at(*((("tune", *path), message) for path, message in errors))
        return self

    def conflicts(self, study: "RetrievalStudy") -> Iterator[tuple[KeyPath, str]]:
        """A member must not depend on the labels of held-out topics."""
        if self.tune is None:
            if "tune" in self.model_fields_set:
                yield ("tune",), "is empty; name a `grid` and `folds`, or omit it"
            return
        systems = study.recipe.systems
        for link in self.links():
            chain = study.chain(link.name) if link.section == "systems" else ()
            if tuned := [name for name in chain if getattr(systems.get(name), "tune", None)]:
                message = "is tuned itself: its figures depend on topics held out here"
                yield link.place, f"`{tuned[0]}` {message}"


@dataclass(eq=False)
class TunedStep(RunStep):
    """The held-out rankings of one topic set; all sets' topics, of ``pool``, are tuned together."""

    system: TunableSystem
    _: KW_ONLY
    openings: Mapping[str, RunOpening]  # per topic set
    pool: TopicPool
    negative: NegativeGrades

    def __post_init__(self) -> None:
        untuned, opening = self.system.model_copy(update={"tune": None}), self.opening
        every = self.openings.items()
        self.steps: dict[str, Any] = {name: untuned.step(each) for name, each in every}
        tuning: Any = self.system.tune
        with opening.at("tune", "folds"):
            path_of = partial(file_path, folder=opening.folder)
            self.folds: Folds = tuning.make_folds(self.pool, path_of)
        self.tuning: TuneRecipe = tuning
        parts = {
            f"{key}, {name}": part
            for name, step in self.steps.items()
            for key, part in step.parts.items()
        }
        self.opening = replace(opening, links=parts)
        super().__post_init__()
        self.verb = "tune"

    def _fingerprint(self) -> str:
        grid = [[key, [*map(plain, values)]] for key, values in self.tuning.values.items()]
        return fingerprint(
            {
                "runs": {name: step.fingerprint for name, step in self.steps.items()},
                "topics": self.topic_set.identity(),
                "fixed": self.system.fixed,
                "grid": grid,
                "objective": str(parse_measure(self.tuning.objective)),
                "negative grades": self.negative,
                "topic sets": [step.topic_set.identity() for step in self.steps.values()],
                "folds": self.folds.members(self.pool.ids),
            }
        )

    def answer(self, context: Context) -> SystemRun:
        tuning = context.shared(("tuning", self.trial.run), partial(self._tune, context))
        run = tuning.pool.of_set(tuning.run, self.trial.data)
        note = f"{len(run):,} documents, each topic held out"
        judged = self.topic_set.qrels.qids
        # Not the run's own time: that of all settings on all topic sets.
        method = {"tuning": {**facts(tuning), "seconds": round(tuning.seconds, 3)}}
        costs = self.system.costs(self.steps[self.trial.data], context)
        return SystemRun(run, note, method, None, {}, engine_versions(), judged, costs)

    def _tune(self, context: Context) -> Tuning:
        name = self.trial.run
        tuning = tune(
            self.system.opened([*self.steps.values()], self.pool, context),
            Grid.of(self.tuning.values, self.system.hyperparameters),
            self.pool,
            self.folds,
            self.tuning.objective,
            negative=self.negative,
            tag=self.tag,
        )
        folder = self.opening.planner.output / "tuning" / file_name(name)
        write_report(tuning, folder, with_runs=False)
        about = f"tuning of {name}, {context.shown(folder)}"
        progress().note(f"{about}: {len(tuning.grid.settings)} settings in {tuning.seconds:.1f} s")
        for warning in tuning.warnings():
            progress().note(f"tuning of {name}: {warning}")
        return tuning


class SearchedOrFused(RankingSettings, TunableSystem):
    """A system with a depth of its own; the parameters of its kinds are keys beside the others."""

    @model_validator(mode="before")
    @classmethod
    def _with_parameters(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        keys = cls.model_fields.keys() - {"parameters"}
        beside = {key: setting for key, setting in value.items() if key not in keys}
        stated = {key: setting for key, setting in value.items() if key in keys}
        return {**stated, "parameters": beside} if beside else stated

    @model_serializer(mode="wrap")
    def _with_keys_beside(self, handler: Any) -> dict[str, Any]:
        return {**handler(self), **self.parameters}

    def run_depth(self, usual: int | None) -> int | None:
        return self.depth if "depth" in self.model_fields_set else usual


class Searching(SearchSettings, SearchedOrFused):
    """A search."""

    verb: ClassVar[str] = "search"

    @model_validator(mode="after")
    def _fits(self) -> "Searching":
        _ = self.kinds
        return self

    @cached_property
    def kinds(self) -> "tuple[Model, FeedbackMethod | None]":
        """The model, by default bm25, and feedback."""
        kinds: Any = self.chosen("bm25")
        return kinds

    def conflicts(self, study: "RetrievalStudy") -> Iterator[tuple[KeyPath, str]]:
        yield from super().conflicts(study)
        searched = str(self.index_name)
        if (index := study.recipe.indexes.get(searched)) is None:
            return
        if self.encoder is not None and index.settings.default_model != "impact":
            yield ("encoder",), "has no effect without an index of token weights (`weights`)"
        elif self.encoder is not None:
            for key in ("tune", "query2doc"):
                if getattr(self, key, None) is not None:
                    yield ("encoder",), f"cannot be combined with `{key}`"
        if index.settings.default_model is not None:
            yield from index.settings.unfit(searched, *self.kinds)
            return
        try:
            self.chosen(None)
        except ValidationError as error:
            yield from errors_of(error)
        if self.tune is not None:
            yield ("tune",), "a search of a dense index does not have parameters to tune"

    def identity(self, step: RunStep) -> Mapping[str, Any]:
        model, feedback = self.kinds
        return {
            "model": MODELS.settings(model, "model"),
            "feedback": FEEDBACK.settings(feedback, "method") if feedback else None,
            **({"fold": self.fold} if self.fold else {}),
        }

    def longer(self, step: RunStep, index: Index) -> "Expanded | None":
        """The topics of a step with longer queries, if those are searched."""
        return None

    def answer(self, step: RunStep, context: Context) -> SystemRun:
        (index,) = step.parts.values()
        opened = index.open(context)
        longer = self.longer(step, opened)
        result = search_topics(
            opened,
            longer.topics if longer else step.topics,
            self.model_copy(update={"depth": step.depth}),
            tag=step.tag,
            encoder=step.opened if self.encoder else None,
            running=context.running(),
        )
        return SystemRun(
            result.run,
            "; ".join([f"{step.counted(result.run)} in {result.seconds:.1f} s", *result.remarks()]),
            part_of(result.run.metadata, "method")
            | ({"query2doc": longer.facts} if longer else {}),
            result.seconds,
            {"corpus": {"source": index.source, "fields": list(index.fields)}},
            engine_versions(),
            costs=longer.costs if longer else (),
        )

    @property
    def hyperparameters(self) -> Mapping[str, Hyperparameter]:
        return {
            k: v
            for kind in filter(None, self.kinds)
            for k, v in hyperparameters_of(type(kind)).items()
        }

    @property
    def fixed(self) -> dict[str, float]:
        return {
            name: getattr(kind, name)
            for kind in filter(None, self.kinds)
            for name in sorted(kind.model_fields_set)
        }

    def opened(self, steps: Sequence[RunStep], pool: TopicPool, context: Context) -> Tunable:
        (index,), searched = steps[0].parts.values(), dict[str, str]()
        opened = index.open(context)
        for step in steps:
            if longer := self.longer(step, opened):
                searched |= dict(zip(step.topics.queries, longer.topics.queries, strict=True))
        return self.tunable(opened, steps[0].depth, context.threads, searched)

    def tunable(
        self,
        index: Index,
        depth: int | None,
        threads: int | None,
        searched: Mapping[str, str] | None = None,
    ) -> Tunable:
        """A search with open hyperparameters; ``searched``: what is searched for a query."""

        def at(setting: Setting) -> SearchSettings:
            kinds: tuple[Any, ...] = self.kinds
            model, feedback = (
                kind and type(kind)(**{name: setting.get(name, value) for name, value in kind})
                for kind in kinds
            )
            return SearchSettings(model=model, feedback=feedback, fold=self.fold, depth=depth)

        def tried(setting: Setting, topics: Topics) -> Run:
            if searched:
                topics = replace(topics, queries=[searched[query] for query in topics.queries])
            running = Running(threads=threads)
            return search_topics(index, topics, at(setting), tag="tuned", running=running).run

        model, feedback = self.kinds
        about = {
            "index": index.identity,
            "model": MODELS.name_of(type(model)),
            "feedback": FEEDBACK.name_of(type(feedback)) if feedback else None,
            **({"fixed": self.fixed} if self.fixed else {}),
            "depth": depth or "all",
        }
        return Tunable(tried, about, check=at)


class IndexSearch(Searching):
    """A search of an index."""

    references: ClassVar[Mapping[str, str]] = {"index": "indexes"}
    index: Name
    """The index to search: a name under `indexes`."""

    def step(self, opening: RunOpening) -> Step:
        if self.encoder is None:
            return super().step(opening)
        with opening.at("encoder"):
            source = query_encoder(self.encoder, opening.folder)
            step = RunStep(self, opening, reads=[opening.place], opened=source)
        step.uses = folders_of(source)
        if step.topics.vectors:
            message = f"has no effect: the topics of `{step.trial.data}` have weights"
            opening.planner.add((*opening.place, "encoder"), message)
        return step

    def identity(self, step: RunStep) -> Mapping[str, Any]:
        encoder = {"encoder": step.opened.identity(as_read=False)} if step.opened else {}
        return {**super().identity(step), **encoder}
