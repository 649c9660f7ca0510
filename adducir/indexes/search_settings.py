"""What determines a search, besides its index and topics: stated once, for all doors.

Hyperparameters are those of the model and of feedback, or, of a feedback method, below its name:
``rm3: {fb_docs: 5}``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, ValidationError

from adducir.core.recipe import KeyPath, errors_at, errors_of, no_effect
from adducir.core.registry import Family, keys_of, recipe_of
from adducir.indexes.kinds import FEEDBACK, MODELS
from adducir.runs.kinds import FOLD, FoldName, RankingSettings

if TYPE_CHECKING:
    from adducir.indexes.feedback import FeedbackMethod
    from adducir.indexes.models import Model

NO_WORDS = "has no effect on a dense index, which ranks by vectors"


class SearchSettings(RankingSettings):
    """How an index is searched; ``model`` and ``feedback`` are names, in Python also objects."""

    model: Annotated[str | Any | None, MODELS] = Field(
        default=None, json_schema_extra={"shown": "the index's, such as bm25"}
    )
    """The retrieval model; a dense index has its own."""
    feedback: Annotated[str | Any | None, FEEDBACK] = None
    """Expand queries with their best documents."""
    fold: FoldName | None = FOLD
    encoder: str | None = Field(default=None, json_schema_extra={"rare": True, "flag": True})
    """The learned sparse encoder of the queries of token weights, or that of a dense index, if it
    has moved."""

    def chosen(self, default_model: str | None) -> "tuple[Model | None, FeedbackMethod | None]":
        """The model and the feedback method with their hyperparameters.

        Raises:
            ValidationError: With the key of each that is wrong or has no effect.
        """
        stated = self.parameters
        if not default_model:
            names = [name for name in ("model", "feedback") if getattr(self, name) is not None]
            if idle := [*names, *stated]:
                raise errors_at(*(((key,), NO_WORDS) for key in idle))
            return None, None
        model = default_model if self.model is None else self.model
        of_model = {key: value for key, value in stated.items() if key not in FEEDBACK}
        method, place, of_method = self._method()
        others = {*type(self).model_fields, *FEEDBACK} - {"parameters"}
        if not place and isinstance(method, str):
            keys = {*keys_of(FEEDBACK, method)}
            others |= keys
            keys -= {*keys_of(MODELS, model)} if isinstance(model, str) else set()
            of_method = {key: of_model.pop(key) for key in sorted(keys & of_model.keys())}
        feedback = None if method is None else _made(FEEDBACK, method, of_method, others, place)
        if self.encoder is not None and feedback is not None:
            raise errors_at((place or ("feedback",), "expands texts, not an encoder's weights"))
        return _made(MODELS, model, of_model, others), feedback

    def _method(self) -> tuple[Any, KeyPath, Mapping[str, Any]]:
        """The feedback method, and the place of its hyperparameters if they are below its name."""
        stated = {name: value for name, value in self.parameters.items() if name in FEEDBACK}
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
    family: Family[Any], kind: Any, stated: Mapping[str, Any], others: set[str], place: KeyPath = ()
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
        problems = errors_of(error, stated)
        raise errors_at(*(((*place, *path), message) for path, message in problems)) from error
