"""Recipes: what a user writes to say what is to be made, validated as a whole."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from pydantic import ValidationError

from adducir.core.errors import AdducirError, InputError
from adducir.core.overrides import Override, OverrideError, apply
from adducir.core.recipe_errors import ErrorDetail, ErrorsAt, validated
from adducir.core.recipe_model import Recipe
from adducir.core.texts import nearest
from adducir.core.yaml import Document, KeyPath

__all__ = ["ErrorDetail", "ErrorsAt", "Reading", "Recipe", "nearest", "read", "validate"]

R = TypeVar("R", bound=Recipe)


@dataclass(frozen=True)
class Reading(Generic[R]):
    """A recipe file as far as it can be understood.

    Attributes:
        document: The file.
        model: The recipe's model.
        data: What the file says after the overrides, not validated.
        recipe: The recipe, or None where it has errors.
        errors: What is wrong with it.
        overrides: The overrides that were carried out.
        refused: Those that could not be, each with the reason.
    """

    document: Document
    model: type[R]
    data: dict[str, Any]
    recipe: R | None
    errors: tuple[ErrorDetail, ...]
    overrides: tuple[Override, ...]
    refused: tuple[tuple[str, str], ...]

    @property
    def rest(self) -> R | None:
        """The recipe without the entries of its sections that have errors, if that is one.

        With it, a caller can look for the errors that validation does not know of, and report
        all of them together.
        """
        if self.recipe is not None or self.refused:
            return self.recipe
        data = {
            key: dict(value) if isinstance(value, dict) else value
            for key, value in self.data.items()
        }
        for problem in self.errors:
            _remove(data, problem.path[:2])
        try:
            return self.model.model_validate(data)
        except ValidationError:
            return None

    def error(
        self, more: Iterable[ErrorDetail] = (), kind: type[AdducirError] = InputError
    ) -> AdducirError | None:
        """One error for all errors and ``more``, each with its line or override; None for none.

        Of ``more``, an error at, above or below one of the recipe's own is left out, since it
        may only follow from that.
        """
        own = [problem.path for problem in self.errors]
        news = [problem for problem in more if not any(_nested(problem.path, path) for path in own)]
        lines = [
            _line_of_override(len(self.overrides) + number, text, why)
            for number, (text, why) in enumerate(self.refused)
        ]
        lines += [
            _line(problem, self.document, self.overrides) for problem in (*self.errors, *news)
        ]
        return _error(self.document, lines, kind) if lines else None


def read(document: Document, model: type[R], overrides: Sequence[str] = ()) -> Reading[R]:
    """Apply overrides to a recipe file and look for errors, raising none.

    Args:
        document: The file, from :func:`adducir.core.yaml.load`.
        model: The recipe's model.
        overrides: Changes such as ``systems.bm25.k1=1.2``, carried out in
            order before validation; see :mod:`adducir.core.overrides`.
    """
    data: dict[str, Any] = document.data
    done: list[Override] = []
    refused: list[tuple[str, str]] = []
    for text in overrides:
        try:
            data, override = apply(data, text)
        except OverrideError as error:
            refused.append((text, f"{error}"))
        else:
            done.append(override)
    recipe, errors = validated(model, data)
    if refused:
        recipe = None
    return Reading(document, model, data, recipe, tuple(errors), tuple(done), tuple(refused))


def validate(document: Document, model: type[R], overrides: Sequence[str] = ()) -> R:
    """Apply overrides to a recipe file and validate it; see :func:`read` for the arguments.

    Raises:
        InputError: Something is wrong. All errors are in its one message, each
            with its line or, where an override made it, with the override.
    """
    reading = read(document, model, overrides)
    error = reading.error()
    if error is not None:
        raise error
    return cast("R", reading.recipe)  # no error, hence a recipe


# Errors of overrides stand last, in the order of the command line.
_AFTER_THE_FILE = 1 << 62


def _line_of_override(number: int, text: str, what: str) -> tuple[int, str]:
    return _AFTER_THE_FILE + number, f"in the override `{text}`: {what}"


def _line(
    problem: ErrorDetail, document: Document, overrides: Sequence[Override]
) -> tuple[int, str]:
    """The error with its place, after a number to sort by."""
    for number, override in reversed(list(enumerate(overrides))):
        inside = problem.path[: len(override.path)] == override.path
        made = problem.path == override.path[: len(problem.path)] and not _holds(
            document.data, problem.path
        )
        if inside or made:
            return _line_of_override(number, override.text, str(problem))
    line = document.line_of(problem.path)
    below = [o.text for o in overrides if o.path[: len(problem.path)] == problem.path]
    note = f" (with the override `{'`, `'.join(below)}`)" if below else ""
    return line, f"{document.path}:{line}: {problem}{note}"


def _holds(data: Any, path: KeyPath) -> bool:
    """Whether the file itself has something at ``path``."""
    for part in path:
        try:
            data = data[part]
        except (TypeError, KeyError, IndexError):
            return False
    return True


def _nested(one: KeyPath, other: KeyPath) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _remove(data: dict[str, Any], path: KeyPath) -> None:
    """Take away what stands at the first two parts of a path, as far as it is there."""
    inner = data.get(str(path[0])) if len(path) == 2 else None
    if isinstance(inner, dict):
        inner.pop(path[1], None)
    elif path:
        data.pop(str(path[0]), None)


def _error(
    document: Document, lines: list[tuple[int, str]], kind: type[AdducirError]
) -> AdducirError:
    """One error for all errors; a single one reads as any other error does."""
    messages = [text for _, text in sorted(lines, key=lambda item: item[0])]
    if len(messages) > 1:
        return kind(
            "\n  ".join([f"{len(messages)} errors in this recipe:", *messages]), path=document.path
        )
    line = lines[0][0]
    if line >= _AFTER_THE_FILE:
        return kind(_sentence(messages[0]), path=document.path)
    what = messages[0].removeprefix(f"{document.path}:{line}: ")
    return kind(_sentence(what), path=document.path, line=line)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."
