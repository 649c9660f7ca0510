"""How a command states its parameters: alone, or several in a class that commands share.

An option is called as its parameter is: ``docno_field`` is ``--docno-field``, a flag has no
``--no-`` of its own. A parameter whose type is a dataclass stands for the options that are its
fields; the command gets an object of that class.
"""

import inspect
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import typer
from typer.models import ArgumentInfo, OptionInfo

from adducir.cli.outputs import Writes

_PLACEHOLDERS = {bool: "", int: "N", float: "NUMBER", str: "TEXT", Path: "FILE"}


class Several(NamedTuple):
    """The options that one parameter stands for; part of its annotation, or made of a dataclass.

    Attributes:
        parameters: The options.
        build: What makes the parameter's value of theirs, which it takes by name.
    """

    parameters: tuple[inspect.Parameter, ...]
    build: Callable[..., Any]

    @classmethod
    def of(cls, parameter: inspect.Parameter) -> "Several | None":
        """Those of a parameter; None for one that stands for itself."""
        group = parameter.annotation
        if is_dataclass(group) and isinstance(group, type):
            return cls(tuple(keyword(f.name, f.type, f.default) for f in fields(group)), group)
        marks = getattr(group, "__metadata__", ())
        return next((mark for mark in marks if isinstance(mark, cls)), None)


def option(
    meaning: str, *names: str, shown: str | bool = True, panel: str | None = None, **details: Any
) -> Any:
    """What makes a parameter an option; part of its annotation.

    Args:
        names: Further names, such as ``-o``; one with two dashes replaces the parameter's own.
        shown: The default in words, where the value says too little.
    """
    details |= {"show_default": shown, "rich_help_panel": panel}
    return typer.Option(*names, help=meaning, **details)


def argument(meaning: str, metavar: str, shown: str | bool = False, **details: Any) -> Any:
    """What makes a parameter an argument; part of its annotation."""
    return typer.Argument(help=meaning, metavar=metavar, show_default=shown, **details)


def flattened(
    function: Callable[..., Any],
) -> tuple[list[inspect.Parameter], dict[str, Several]]:
    """A command's parameters with the names of their options, and those that stand for several."""
    found: list[inspect.Parameter] = []
    groups: dict[str, Several] = {}
    for one in inspect.signature(function).parameters.values():
        several = Several.of(one)
        if several is not None:
            groups[one.name] = several
        found += several.parameters if several else [one]
    return [_named(one) for one in found], groups


def gathered(values: Mapping[str, Any], groups: Mapping[str, Several]) -> dict[str, Any]:
    """The values of a command's own parameters, from those of the flattened ones."""
    own = dict(values)
    for name, (parameters, build) in groups.items():
        own[name] = build(**{part.name: own.pop(part.name) for part in parameters})
    return own


def keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """A parameter of a command; the default may be lacking, as a dataclass says it."""
    default = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _named(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter with its option's name, and what stands for its value in the help."""
    kept = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    marks = getattr(parameter.annotation, "__metadata__", ())
    if not any(isinstance(mark, OptionInfo) for mark in marks):
        return kept
    writes = next((mark for mark in marks if isinstance(mark, Writes)), None)
    kind = parameter.annotation.__origin__
    whole = [
        _completed(mark, parameter.name, writes, kind) if isinstance(mark, OptionInfo) else mark
        for mark in marks
    ]
    return kept.replace(annotation=Annotated[kind, *whole])


def _completed(info: OptionInfo, name: str, writes: Writes | None, kind: Any) -> OptionInfo:
    found = copy(info)
    # Behind Annotated, the first name stands where a default would.
    names = [*([info.default] if isinstance(info.default, str) else []), *(info.param_decls or ())]
    if not any(one.startswith("--") for one in names):
        names.insert(0, f"--{name.replace('_', '-')}")
    found.default, found.param_decls = names[0], tuple(names[1:])
    if info.metavar is None:
        found.metavar = writes.metavar if writes is not None else _placeholder(kind)
    return found


def _placeholder(kind: Any) -> str | None:
    """What stands for a value of a type in the help: ``N``, ``FILE``; nothing for a flag."""
    if get_origin(kind) is Literal:
        return f"[{'|'.join(map(str, get_args(kind)))}]"
    parts = [one for one in get_args(kind) if one is not NoneType]
    return _placeholder(parts[0]) if len(parts) == 1 else _PLACEHOLDERS.get(kind)


def written(parameter: inspect.Parameter, value: Any) -> str:
    """How a parameter is written on the command line: ``--fb-terms``, ``--no-vectors``, ``RUN``."""
    for mark in getattr(parameter.annotation, "__metadata__", ()):
        if isinstance(mark, OptionInfo):
            names = [str(one) for one in (mark.default, *(mark.param_decls or ()))]
            yes, _, no = next(one for one in names if one.startswith("--")).partition("/")
            return no if no and value is False else yes
        if isinstance(mark, ArgumentInfo):
            return str(mark.metavar or parameter.name.upper())
    return parameter.name
