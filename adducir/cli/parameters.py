"""How a command states its parameters: alone, or several in a class that commands share.

An option is called as its parameter is: ``docno_field`` is ``--docno-field``, a flag has no
``--no-`` of its own. A parameter whose type is a dataclass stands for the options that are its
fields; the command gets an object of that class.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import typer
from typer.models import ArgumentInfo, OptionInfo

from adducir.cli.outputs import Writes
from adducir.core.errors import UsageError
from adducir.core.texts import nearest

SET = "--set."
"""What the parser calls a rare option begins so: ``--set seed=1`` is read as ``--set.seed 1``."""
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
    meaning: str,
    *names: str,
    shown: str | bool = True,
    panel: str | None = None,
    rare: bool = False,
    **details: Any,
) -> Any:
    """What makes a parameter an option; part of its annotation.

    Args:
        names: Further names, such as ``-o``; one with two dashes replaces the parameter's own.
        shown: The default in words, where the value says too little.
        rare: It is given as ``--set name=value`` and not shown in the help, except by a command
            whose ``--set`` changes a file (its parameter ``changes``).
    """
    details |= {"show_default": shown, "rich_help_panel": panel, "hidden": rare}
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
    names = {one.name for one in found}
    found = [_named(one, is_set="changes" not in names) for one in found]
    rare = sorted(one.name for one in found if _is_rare(one))
    if rare and "settings" not in names:
        shown = f"What is rarely needed, one of {', '.join(rare)}; can be repeated."
        taken = option(shown, "--set", metavar="KEY=VALUE")
        found.append(keyword("set_", Annotated[list[str] | None, taken], None))
    return found, groups


def _is_rare(parameter: inspect.Parameter) -> bool:
    marks = getattr(parameter.annotation, "__metadata__", ())
    return any(isinstance(mark, OptionInfo) and mark.hidden for mark in marks)


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


def _named(parameter: inspect.Parameter, *, is_set: bool) -> inspect.Parameter:
    """The parameter with its option's name, and what stands for its value in the help."""
    kept = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    marks = getattr(parameter.annotation, "__metadata__", ())
    if not any(isinstance(mark, OptionInfo) for mark in marks):
        return kept
    writes = next((mark for mark in marks if isinstance(mark, Writes)), None)
    kind = parameter.annotation.__origin__
    whole = [
        _completed(mark, parameter.name, writes, kind, is_set)
        if isinstance(mark, OptionInfo)
        else mark
        for mark in marks
    ]
    return kept.replace(annotation=Annotated[kind, *whole])


def _completed(
    info: OptionInfo, name: str, writes: Writes | None, kind: Any, is_set: bool
) -> OptionInfo:
    found = copy(info)
    found.hidden = bool(info.hidden) and is_set
    # Behind Annotated, the first name stands where a default would.
    names = [*([info.default] if isinstance(info.default, str) else []), *(info.param_decls or ())]
    if found.hidden:
        names = [f"{SET}{name}" + (f"/{SET}no_{name}" if kind is bool else "")]
    elif not any(one.startswith("--") for one in names):
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
    """How a parameter is written on the command line: ``--depth``, ``--set fb_terms``, ``RUN``."""
    for mark in getattr(parameter.annotation, "__metadata__", ()):
        if isinstance(mark, OptionInfo):
            names = [str(one) for one in (mark.default, *(mark.param_decls or ()))]
            yes, _, no = next(one for one in names if one.startswith("--")).partition("/")
            if yes.startswith(SET):
                return f"--set {parameter.name}"
            return no if no and value is False else yes
        if isinstance(mark, ArgumentInfo):
            return str(mark.metavar or parameter.name.upper())
    return parameter.name


def set_as_options(params: Sequence[Any], arguments: Sequence[str]) -> list[str]:
    """A command line with each ``--set key=value`` of a rare option as the parser reads it."""
    rare = {one.name: one for one in params if getattr(one, "hidden", False)}
    takes_others = any(one.name == "settings" for one in params)
    found: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, text = word.partition("=")
        if not rare or word == "--":
            return [*found, word, *words]
        old = name.removeprefix("--").replace("-", "_")
        key = old if old in rare else old.removeprefix("no_")
        if key in rare and name.startswith("--"):
            raise UsageError(f"no such option: {name}; give it as --set {key}=...")
        text = text if equals else next(words, "") if name == "--set" else ""
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if name != "--set":
            found.append(word)
        elif not equals:
            raise UsageError(f"--set takes KEY=VALUE, not {text!r}.")
        elif key in rare and rare[key].is_flag:
            if value not in ("true", "false"):
                raise UsageError(f"--set {key}: should be true or false, not {value!r}.")
            found.append(f"{SET}{'' if value == 'true' else 'no_'}{key}")
        elif key in rare:
            found += [f"{SET}{key}={value}"]
        elif takes_others:
            found += ["--set", text]
        else:
            guess = nearest(key, rare) or f"; the keys are {', '.join(sorted(rare))}."
            raise UsageError(f"--set {key}: there is no such key here{guess}")
    return found
