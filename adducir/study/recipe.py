"""Recipes: what a user writes to say what is to be made, validated as a whole."""

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from adducir.study.errors import InputError
from adducir.study.nearest import nearest
from adducir.study.overrides import Override, OverrideError, apply
from adducir.study.recipe_faults import Fault, FaultsAt, faults_of, slips_in
from adducir.study.yaml import Document, KeyPath

__all__ = ["FaultsAt", "Recipe", "nearest", "validate"]

R = TypeVar("R", bound="Recipe")


class Recipe(BaseModel):
    """The base of every recipe: unknown keys are refused, values cannot be changed.

    A subclass's own validators raise ValueError for a fault of the whole model
    they validate, or :class:`FaultsAt` for faults at places below it.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True
    )


def validate(document: Document, model: type[R], overrides: Sequence[str] = ()) -> R:
    """Apply overrides to a recipe file and validate it.

    Args:
        document: The file, from :func:`adducir.study.yaml.load`.
        model: The recipe's model.
        overrides: Changes such as ``systems.bm25.k1=1.2``, carried out in
            order before validation; see :mod:`adducir.study.overrides`.

    Raises:
        InputError: Something is wrong. All faults are in its one message, each
            with its line or, where an override made it, with the override.
    """
    data: dict[str, Any] = document.data
    done: list[Override] = []
    lines: list[tuple[int, str]] = []
    for text in overrides:
        try:
            data, override = apply(data, text)
        except OverrideError as error:
            lines.append(_line_of_override(text, f"{error}"))
        else:
            done.append(override)
    try:
        recipe, faults = model.model_validate(data), []
    except ValidationError as error:
        recipe, faults = None, faults_of(error, model)
    faults += slips_in(data, model)
    if recipe is not None and not faults and not lines:
        return recipe
    raise _error(document, lines + [_line(fault, document, done) for fault in faults])


# Faults of overrides stand last, in the order of the command line.
_AFTER_THE_FILE = 1 << 62


def _line_of_override(text: str, what: str) -> tuple[int, str]:
    return _AFTER_THE_FILE, f"in the override `{text}`: {what}"


def _line(fault: Fault, document: Document, overrides: Sequence[Override]) -> tuple[int, str]:
    """The fault with its place, after a number to sort by."""
    for override in reversed(overrides):
        inside = fault.path[: len(override.path)] == override.path
        made = fault.path == override.path[: len(fault.path)] and not _holds(
            document.data, fault.path
        )
        if inside or made:
            return _line_of_override(override.text, str(fault))
    line = document.line_of(fault.path)
    below = [o.text for o in overrides if o.path[: len(fault.path)] == fault.path]
    note = f" (with the override `{'`, `'.join(below)}`)" if below else ""
    return line, f"{document.path}:{line}: {fault}{note}"


def _holds(data: Any, path: KeyPath) -> bool:
    """Whether the file itself has something at ``path``."""
    for part in path:
        try:
            data = data[part]
        except (TypeError, KeyError, IndexError):
            return False
    return True


def _error(document: Document, lines: list[tuple[int, str]]) -> InputError:
    """One error for all faults; a single one reads as any other error does."""
    told = [text for _, text in sorted(lines, key=lambda item: item[0])]
    if len(told) > 1:
        return InputError(
            "\n  ".join([f"{len(told)} faults in this recipe:", *told]), path=document.path
        )
    line = lines[0][0]
    if line == _AFTER_THE_FILE:
        return InputError(f"{told[0]}.".replace("?.", "?"), path=document.path)
    what = told[0].removeprefix(f"{document.path}:{line}: ")
    return InputError(f"{what}.".replace("?.", "?"), path=document.path, line=line)
