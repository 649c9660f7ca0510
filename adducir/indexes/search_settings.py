"""What determines a search, besides its index, topics and depth: stated once, for all doors.

Keys of an experiment file's system, options of ``adducir search`` and arguments of
:func:`adducir.search` are views of :class:`SearchSettings`. Hyperparameters are keys beside
``model`` and ``feedback``, or, of a feedback method, below its name: ``rm3: {fb_docs: 5}``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field, ValidationError

from adducir.core.recipe import KeyPath, Recipe, errors_at, errors_of, no_effect
from adducir.core.registry import Family, keys_of, recipe_of
from adducir.indexes.kinds import FEEDBACK, MODELS
from adducir.runs.kinds import FOLD, FoldName

if TYPE_CHECKING:
    from adducir.indexes.feedback import FeedbackMethod
    from adducir.indexes.models import Model

NO_WORDS = "has no effect on a dense index, which ranks by vectors"


class SearchSettings(Recipe):
    """How an index is searched; ``model`` and ``feedback`` are names, in Python also objects."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    model: Annotated[str | Any | None, MODELS] = Field(
        None, json_schema_extra={"shown": "the index's, such as bm25"}
    )
    """The retrieval model; a dense index has its own."""
    feedback: Annotated[str | Any | None, FEEDBACK] = None
    """Expand queries with their best documents."""
    fold: FoldName | None = FOLD

    def chosen(
        self, more: Mapping[str, Any], default_model: str | None
    ) -> "tuple[Model | None, FeedbackMethod | None]":
        """The model and the feedback method with their hyperparameters, the keys in ``more``.

        Raises:
            ValidationError: With the key of each that is wrong or has no effect.
        """
        if not default_model:
            names = [name for name in ("model", "feedback") if getattr(self, name) is not None]
            if idle := [*names, *more]:
                raise errors_at(*(((key,), NO_WORDS) for key in idle))
            return None, None
        model = default_model if self.model is None else self.model
        of_model = {key: value for key, value in more.items() if key not in FEEDBACK}
        method, place, of_method = self._method(more)
        others = {*type(self).model_fields, *FEEDBACK}
        if not place and isinstance(method, str):
            keys = {*keys_of(FEEDBACK, method)}
            others |= keys
            keys -= {*keys_of(MODELS, model)} if isinstance(model, str) else set()
            of_method = {key: of_model.pop(key) for key in sorted(keys & of_model.keys())}
        feedback = None if method is None else _made(FEEDBACK, method, of_method, others, place)
        return _made(MODELS, model, of_model, others), feedback

    def _method(self, more: Mapping[str, Any]) -> tuple[Any, KeyPath, Mapping[str, Any]]:
        """The feedback method, and the place of its hyperparameters if they are below its name."""
        stated = {name: value for name, value in more.items() if name in FEEDBACK}
        for name, value in stated.items():
            # A row called RM3 must not silently lack it because "rm3:" is empty.
            if value is None:
                message = "is empty; write `{}` for default settings or `false` for no feedback"
                raise errors_at(((name,), message))
        methods = [name for name, value in stated.items() if value is not False]
        if self.feedback is not None:
            methods.append(self.feedback)
        if len(methods) > 1:
            listed = " and ".join(map(str, methods))
            raise errors_at(((), f"a search can have only one feedback method, not {listed}"))
        if not methods or methods[0] not in stated:
            return self.feedback, (), {}
        (name,) = methods
        value = {} if stated[name] is True else stated[name]
        if not isinstance(value, Mapping):
            raise errors_at(((name,), "should be 'key: value' lines, true or false"))
        return name, (name,), value


def _made(
    family: Family[Any],
    kind: Any,
    stated: Mapping[str, Any],
    others: set[str],
    place: KeyPath = (),
) -> Any:
    """A kind with hyperparameters; ``others``: keys that stand beside them."""
    if not isinstance(kind, str):
        return family.chosen(kind, stated)
    unknown = sorted(stated.keys() - {*keys_of(family, kind)})
    if unknown and not place:
        families = (MODELS, FEEDBACK)
        known = {key for each in families for name in each for key in keys_of(each, name)}
        if idle := [key for key in unknown if key in known]:
            raise errors_at(*(((key,), no_effect(f"on the model {kind}")) for key in idle))
    try:
        return recipe_of(family.kind(kind), kind, stated, others)
    except ValidationError as error:
        problems = errors_of(error, stated, family.kind(kind))
        raise errors_at(*(((*place, *each.path), each.what) for each in problems)) from error
