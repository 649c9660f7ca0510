"""Options that come from the hyperparameters of families' kinds."""

import inspect
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple, get_args

from pydantic.fields import FieldInfo

from adducir.cli import options
from adducir.cli.parameters import Several, keyword, option
from adducir.core.errors import UsageError
from adducir.core.registry import Family

Choices = Mapping[str, tuple[Family[Any], str | None]]
"""By option, a family and the name of the kind that was chosen; None where none was."""


USUAL = ("k1", "b")  # options of their own; the others are given by --set


class _Stated(NamedTuple):
    """A hyperparameter as one kind states it."""

    family: Family[Any]
    kind: str
    field: FieldInfo


def hyperparameters_of(*families: Family[Any], default: str | None = None) -> Several:
    """Options for each hyperparameter of families' kinds; part of a parameter's annotation.

    Args:
        default: What the help calls the defaults; None for those of the kinds.

    The parameter gets those that were typed, a dict of texts by name, which :func:`chosen`, or
    :meth:`adducir.core.registry.Family.make` for a single family, converts and checks.
    """
    stated: dict[str, list[_Stated]] = {}
    for family in families:
        for kind, found in family.kinds().items():
            for name, field in found.model_fields.items():
                stated.setdefault(name, []).append(_Stated(family, kind, field))
    parameters = tuple(_parameter(name, kinds, default) for name, kinds in stated.items())
    return Several(parameters, options.given)


def chosen(hyperparameters: Mapping[str, str], choices: Choices) -> list[Any]:
    """The kinds that a user chose, each with those hyperparameters that it has.

    Returns:
        A kind for each choice, None where there is none.

    Raises:
        UsageError: No kind that was chosen has a hyperparameter; there is no kind of a name; a
            value is not allowed.
        MachineError: As :meth:`adducir.core.registry.Family.kind`.
    """
    fields = {
        option: family.kind(name).model_fields if name is not None else {}
        for option, (family, name) in choices.items()
    }
    for one in hyperparameters:
        if not any(one in known for known in fields.values()):
            needed = " or ".join(_needed(one, choices))
            raise UsageError(f"{_option(one)} means nothing without {needed}.")
    return [
        None
        if name is None
        else family.make(name, {k: v for k, v in hyperparameters.items() if k in fields[option]})
        for option, (family, name) in choices.items()
    ]


def kind_option(family: Family[Any], **details: Any) -> Any:
    """The option that chooses a kind of a family."""
    return option(f"One of {', '.join(family)}.", metavar="NAME", **details)


def numbers_of(*families: Family[Any]) -> str:
    """The hyperparameters that are numbers, with the kinds that have them: "mu (of one model)"."""
    kinds: dict[str, list[str]] = {}
    for family in families:
        for kind in family.having(lambda _: True):
            for name, field in family.kind(kind).model_fields.items():
                if field.annotation in (int, float):
                    kinds.setdefault(name, []).append(kind)
    of: dict[str, list[str]] = {}
    for name, those in kinds.items():
        of.setdefault(", ".join(those), []).append(name)
    return "; ".join(f"{', '.join(names)} ({those})" for those, names in of.items())


def _needed(name: str, choices: Choices) -> Iterable[str]:
    for flag, (family, _) in choices.items():
        kinds = family.having(lambda kind: name in kind.model_fields)
        if kinds:
            yield f"{flag} {' or '.join(kinds)}"


def _parameter(name: str, stated: list[_Stated], default: str | None) -> inspect.Parameter:
    first = stated[0].field
    choices = [str(value) for value in get_args(first.annotation)]
    if first.annotation is bool:
        choices = ["true", "false"]
    shown = option(
        f"{first.description} Of {', '.join(one.kind for one in stated)}.",
        metavar="|".join(choices) if choices else "NUMBER",
        shown=default or _defaults(stated),
        panel=f"Hyperparameters of the {stated[0].family.what}",
        rare=name not in USUAL,
    )
    return keyword(name, Annotated[str | None, shown], None)


def _option(name: str) -> str:
    return f"--{name}" if name in USUAL else f"--set {name}"


def _defaults(stated: list[_Stated]) -> str:
    """The default of most kinds, and those of the others: "0.9; of okapi 1.5"."""
    kinds: dict[str, list[str]] = {}
    for one in stated:
        kinds.setdefault(_shown(one.field.default), []).append(one.kind)
    (usual, _), *others = kinds.items()
    return "; ".join([usual, *(f"of {', '.join(names)} {value}" for value, names in others)])


def _shown(default: Any) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, float) else str(default)
