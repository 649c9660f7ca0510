"""One kind of a family: a recipe that Python code makes directly, with checked arguments."""

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from adducir.core.checking import fits, wrong_type
from adducir.core.errors import UsageError
from adducir.core.recipe_model import Recipe


class Kind(Recipe):
    """A kind; its fields are its hyperparameters, each with a description and its bounds.

    Raises:
        UsageError: When it is made: an argument is of another type than its field, or out of
            bounds. (Texts are converted by :meth:`adducir.core.registry.Family.make` alone.)
    """

    if not TYPE_CHECKING:  # type checkers know the arguments from the fields

        def __init__(self, /, **values: Any) -> None:
            for name, value in values.items():
                field = type(self).model_fields.get(name)
                if field is not None and not fits(value, field.annotation):
                    raise wrong_type(type(self).__name__, name, field.annotation, value)
            try:
                super().__init__(**values)
            except ValidationError as error:
                from adducir.core.recipe_errors import errors_of

                errors = "; ".join(str(problem) for problem in errors_of(error, type(self)))
                raise UsageError(f"{type(self).__name__}: {errors}.") from error

        # Otherwise pydantic would call it for what it validates, such as texts of a command line.
        __init__.__pydantic_base_init__ = True
