"""The base of every recipe and of every kind, importable without what reads their files."""

from pydantic import BaseModel, ConfigDict


class Recipe(BaseModel):
    """The base of every recipe: unknown keys are refused, values cannot be changed.

    A subclass's own validators raise ValueError for an error of the whole model they validate, or
    :class:`adducir.core.recipe_errors.ErrorsAt` for errors at places below it.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True
    )
