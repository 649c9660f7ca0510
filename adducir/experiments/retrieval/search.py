"""``index:``: a search of an index, with a retrieval model and feedback where it has words."""

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import polars as pl
from pydantic import ConfigDict, Field, ValidationError, model_validator

from adducir.core.recipe import errors_at, errors_of
from adducir.core.registry import entry, hyperparameters, keys_of
from adducir.corpora.topics import Topics
from adducir.experiments.retrieval.runs import Answer, RunStep
from adducir.experiments.retrieval.tuned import TunableSystem
from adducir.experiments.sections import Name
from adducir.experiments.tuning.grid import Hyperparameter, Setting, hyperparameters_of
from adducir.experiments.tuning.tune import Tunable
from adducir.indexes.feedback import FEEDBACK, FeedbackMethod
from adducir.indexes.index import Index
from adducir.indexes.models import MODELS, Model
from adducir.runs.run import Run

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.experiments.retrieval.study import RetrievalStudy


class Search(TunableSystem):
    """A search; the model's hyperparameters stand beside ``model``, feedback under its name.

    Attributes:
        index: The index.
        model: The retrieval model; a dense index has none.
        fields: Weights of separate fields: BM25F.
    """

    model_config = ConfigDict(extra="allow")
    verb: ClassVar[str] = "search"
    references: ClassVar[Mapping[str, str]] = {"index": "indexes"}
    index: Name
    model: Annotated[str, MODELS.named] = "bm25"
    fields: dict[str, Annotated[float, Field(ge=1)]] | None = None

    @classmethod
    def more_keys(cls) -> Collection[str]:
        return {*FEEDBACK, *(key for name in MODELS for key in keys_of(MODELS, name))}

    @model_validator(mode="after")
    def _fits(self) -> "Search":
        _ = self.retrieval_model, self.feedback
        return self

    @cached_property
    def retrieval_model(self) -> Model:
        """The model with the hyperparameters that the file gives."""
        extra = self.model_extra or {}
        given = {key: value for key, value in extra.items() if key not in FEEDBACK}
        of_others = {*type(self).more_keys()} - {*keys_of(MODELS, self.model)}
        if strange := sorted(given.keys() & of_others):
            listed = ", ".join(f"`{key}`" for key in strange)
            raise ValueError(f"{listed} has no effect on the model {self.model}")
        own = type(self).model_fields
        return hyperparameters(MODELS.kind(self.model), self.model, given, own)

    @cached_property
    def feedback(self) -> FeedbackMethod | None:
        """The feedback method with its hyperparameters; None for none."""
        stated = {name: one for name, one in (self.model_extra or {}).items() if name in FEEDBACK}
        for name, value in stated.items():
            # A row called RM3 must not silently lack it because nothing stands after "rm3:".
            if value is None:
                what = "is empty; write `{}` for the default settings, `false` for none"
                raise errors_at(((name,), what))
        requested = [name for name, value in stated.items() if value is not False]
        if len(requested) > 1:
            raise ValueError(f"a search has one feedback method, not {' and '.join(requested)}")
        if not requested:
            return None
        (name,) = requested
        value = {} if stated[name] is True else stated[name]
        if not isinstance(value, Mapping):
            raise errors_at(((name,), "should be 'key: value' lines, true or false"))
        try:
            return entry(FEEDBACK, name, value)
        except ValidationError as error:
            found = errors_of(error, value)
            raise errors_at(*(((name, *one.path), one.what) for one in found)) from error

    def check(self, name: str, study: "RetrievalStudy") -> None:
        super().check(name, study)
        index = study.recipe.indexes.get(self.index)
        for path, what in () if index is None else index.unfit(self):
            study.planner.add(("systems", name, *path), what)

    def identity(self, step: RunStep) -> Mapping[str, Any]:
        feedback = self.feedback
        return {
            "model": MODELS.settings(self.retrieval_model, "model"),
            "feedback": FEEDBACK.settings(feedback, "method") if feedback else None,
            **({"fields": self.fields} if self.fields else {}),
        }

    def answer(self, step: RunStep, context: "Context") -> Answer:
        from adducir.indexes.building import engine_versions

        index = step.parts["index"]
        found = index.entry.search(step, self, context)
        note = "; ".join([f"{step.counted(found.run)} in {found.seconds:.1f} s", *found.remarks()])
        data = {"corpus": {"source": index.source, "fields": list(index.fields)}}
        return Answer(found.run, note, found.method, found.seconds, data, engine_versions())

    @property
    def _kinds(self) -> list[Any]:
        """Model and feedback, whose numbers can be tuned."""
        return [self.retrieval_model, *([self.feedback] if self.feedback else [])]

    @property
    def hyperparameters(self) -> Mapping[str, Hyperparameter]:
        return {k: v for kind in self._kinds for k, v in hyperparameters_of(type(kind)).items()}

    @property
    def fixed(self) -> dict[str, float]:
        return {
            name: getattr(kind, name)
            for kind in self._kinds
            for name in sorted(kind.model_fields_set)
        }

    def opened(self, steps: Mapping[str, RunStep], context: "Context") -> Tunable:
        (index, *_) = (step.parts["index"] for step in steps.values())
        depth = next(iter(steps.values())).study.recipe.most
        return self.tunable(index.open(context), depth, context.threads)

    def tunable(self, index: Index, depth: int | None, threads: int | None) -> Tunable:
        """The search of an index, with hyperparameters left open.

        All topics are searched in one call, and queries of the same text once.
        """

        def at(setting: Setting) -> list[Any]:
            """Model and feedback with the values of a setting."""
            return [
                type(kind)(**{name: setting.get(name, value) for name, value in kind})
                for kind in self._kinds
            ]

        def tried(setting: Setting, topics: Topics) -> Run:
            model, *feedback = at(setting)
            texts = list(dict.fromkeys(topics.queries))
            hits = index.search(
                texts,
                model,
                feedback=next(iter(feedback), None),
                fields=self.fields,
                depth=depth,
                threads=threads,
            )
            if len(texts) == len(topics):
                return Run(hits.frame(topics.qids), "tuned")
            asked = pl.DataFrame({"topic": topics.qids, "qid": topics.queries})
            frame = asked.join(hits.frame(texts), on="qid", maintain_order="left_right")
            return Run(frame.select(pl.col("topic").alias("qid"), "docno", "score"), "tuned")

        facts = {
            "index": index.identity,
            "model": self.model,
            "feedback": FEEDBACK.name_of(type(self.feedback)) if self.feedback else None,
            **({"fixed": self.fixed} if self.fixed else {}),
            **({"fields": dict(self.fields)} if self.fields else {}),
            "depth": depth or "all",
        }
        return Tunable(tried, facts, check=at)
