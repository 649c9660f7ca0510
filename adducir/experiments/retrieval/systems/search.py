"""``index:``: a search of an index, with a retrieval model and feedback where it has words."""

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, ValidationError, model_validator

from adducir.core.recipe import ErrorDetail, errors_at, errors_of
from adducir.core.registry import entry, hyperparameters, keys_of
from adducir.experiments.context import Context
from adducir.experiments.retrieval.indexes import IndexStep
from adducir.experiments.retrieval.runs import Made, RunStep, counted
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.experiments.retrieval.systems.tuned import TunableSystem
from adducir.experiments.sections import Name
from adducir.experiments.tuning.grid import Hyperparameter
from adducir.experiments.tuning.systems import LexicalSearch, lexical_hyperparameters
from adducir.indexes.feedback import FEEDBACK, FeedbackMethod
from adducir.indexes.index import Index
from adducir.indexes.models import MODELS, Model


class Search(TunableSystem):
    """A search; the model's hyperparameters stand beside ``model``, feedback under its name.

    Attributes:
        index: The index.
        model: The retrieval model; a dense index has none.
        fields: Weights of fields that the index keeps by themselves: BM25F.
    """

    model_config = ConfigDict(extra="allow")
    verb: ClassVar[str] = "search"
    references: ClassVar[Mapping[str, str]] = {"index": "indexes"}
    index: Name
    model: str = "bm25"
    fields: dict[str, Annotated[float, Field(ge=1)]] | None = None

    @classmethod
    def more_keys(cls) -> Collection[str]:
        return {*FEEDBACK, *(key for name in MODELS for key in keys_of(MODELS, name))}

    @model_validator(mode="after")
    def _fits(self) -> "Search":
        _ = self.retrieval_model, self.feedback
        return self

    @property
    def given(self) -> dict[str, Any]:
        """The model's hyperparameters that the file gives."""
        return {key: value for key, value in self._extra.items() if key not in FEEDBACK}

    @property
    def _extra(self) -> dict[str, Any]:
        return self.model_extra or {}

    @property
    def retrieval_model(self) -> Model:
        """The model with the hyperparameters that the file gives."""
        if self.model not in MODELS:
            what = f"should be one of {', '.join(MODELS)}, not {self.model!r}"
            raise errors_at((("model",), what))
        known = keys_of(MODELS, self.model)
        strange = (self.given.keys() & set(type(self).more_keys())) - set(known)
        if strange:
            listed = ", ".join(f"`{key}`" for key in sorted(strange))
            raise ValueError(f"{listed} means nothing to the model {self.model}")
        own = type(self).model_fields
        return hyperparameters(MODELS.kind(self.model), self.model, self.given, own)

    @property
    def feedback(self) -> FeedbackMethod | None:
        """The feedback method with its hyperparameters; None for none."""
        stated = {name: self._extra[name] for name in FEEDBACK if name in self._extra}
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

    @property
    def hyperparameters(self) -> Mapping[str, Hyperparameter]:
        feedback = type(self.feedback) if self.feedback else None
        return lexical_hyperparameters(MODELS.kind(self.model), feedback)

    @property
    def fixed(self) -> dict[str, float]:
        model, feedback = self.retrieval_model, self.feedback
        found = {name: getattr(model, name) for name in sorted(self.given)}
        if feedback is not None:
            found |= {name: getattr(feedback, name) for name in sorted(feedback.model_fields_set)}
        return found

    def needs_index(self, name: str, study: RetrievalStudy) -> str | None:
        return self.index

    def check(self, name: str, study: RetrievalStudy) -> Iterator[ErrorDetail]:
        yield from super().check(name, study)
        place = ("systems", name)
        yield from study.names.check((*place, "index"), "indexes", self.index)
        index = study.recipe.indexes.get(self.index)
        if index is not None:
            for path, what in index.unfit(self):
                yield ErrorDetail((*place, *path), what)

    def step(self, name: str, topic_set: str, study: RetrievalStudy) -> "SearchStep":
        return SearchStep(name, self, topic_set, study, [study.index_of(self.index)])

    def untuned_fingerprint_inputs(self, name: str, study: RetrievalStudy) -> dict[str, Any]:
        feedback = FEEDBACK.name_of(type(self.feedback)) if self.feedback else None
        return {
            "index": study.index_of(self.index).fingerprint,
            "model": self.model,
            **MODELS.origin(self.model),
            "feedback": feedback,
            **(FEEDBACK.origin(feedback) if feedback else {}),
            **({"fields": self.fields} if self.fields else {}),
        }

    def tunable(self, name: str, study: RetrievalStudy, context: Context) -> LexicalSearch:
        index = study.index_of(self.index).open(context)
        return self.over(index, study.recipe.most, context.threads)

    def over(self, index: Index, depth: int | None, threads: int | None) -> LexicalSearch:
        """The search of an index, with hyperparameters left open."""
        return LexicalSearch(
            index,
            MODELS.kind(self.model),
            feedback=type(self.feedback) if self.feedback else None,
            fixed=self.fixed,
            fields=self.fields,
            depth=depth,
            threads=threads,
        )


class SearchStep(RunStep):
    """The run of a search."""

    recipe: Search
    inputs: list[IndexStep]

    def fingerprint_inputs(self) -> dict[str, Any]:
        (index,) = self.inputs
        return {
            "index": index.fingerprint,
            "topics": self.topics.identity(),
            **index.search_settings(self.recipe),
        }

    def produce(self, context: Context) -> Made:
        from adducir.indexes.building import engine_versions

        (index,), topics = self.inputs, self.topics
        found = index.search(self.recipe, topics, self.tag, self.study.recipe.most, context)
        counts = f"{counted(found.run, topics)} in {found.seconds:.1f} s"
        note = "; ".join([counts, *found.remarks()])
        data = {"corpus": {"source": index.source, "fields": list(index.fields)}}
        return Made(found.run, note, found.method, found.seconds, data, engine_versions())
