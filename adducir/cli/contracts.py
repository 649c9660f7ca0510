"""What holds for every command, whatever it does: what its parameters' annotations promise.

Options without effect are refused (:mod:`adducir.cli.effects`), and what a command writes replaces
nothing that Adducir did not make, unless ``--force`` is given (:mod:`adducir.cli.outputs`). ``-``
as a file to write is standard output, which then holds nothing else.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from adducir.cli.effects import Effect, check_effects
from adducir.cli.outputs import (
    Source,
    Writes,
    check_name,
    refuse_one_for_several,
    refuse_overwriting,
    refuse_to_replace,
)
from adducir.cli.parameters import flattened, gathered, option, written
from adducir.core.streams import keeping_pipes

FORCE = Annotated[
    bool, option("Replace what stands there, whoever made it.", "--force", metavar="")
]
Command = Callable[..., Any]
Mark = TypeVar("Mark")


def held(function: Command) -> Command:
    """The function of a command, which keeps what its annotations promise.

    Args:
        function: Its parameters may be marked by :class:`~adducir.cli.effects.Effect`,
            :class:`~adducir.cli.outputs.Writes` and :class:`~adducir.cli.outputs.Source`.

    Returns:
        The function with typer's context, and ``--force`` where it writes, as further parameters.
    """
    own, groups = flattened(function)
    parameters = {one.name: one for one in own}
    writes = {key: marks[0] for key, marks in _marks(own, Writes).items()}
    effects = _marks(own, Effect)
    roles = _marks(own, Source)

    def command(invocation: typer.Context, force: bool = False, **values: Any) -> Any:
        values.pop("set_", None)  # set_as_options has made options of it
        shown = {key: written(parameters[key], value) for key, value in values.items()}
        for key, conditions in effects.items():
            if _is_given(invocation, key):
                check_effects(shown[key], conditions, values)
        with ExitStack() as claims:
            claims.enter_context(keeping_pipes())
            _claim(claims, writes, roles, values, shown, force)
            return function(**gathered(_without_stdout(values, writes), groups))

    kind = inspect.Parameter.KEYWORD_ONLY
    whole = [*own, inspect.Parameter("invocation", kind, annotation=typer.Context)]
    if writes:
        whole.append(inspect.Parameter("force", kind, default=False, annotation=FORCE))
    command.__doc__ = function.__doc__
    vars(command)["__signature__"] = inspect.Signature(whole)
    command.__annotations__ = {one.name: one.annotation for one in whole}
    return command


def _claim(
    claims: ExitStack,
    writes: Mapping[str, Writes],
    roles: Mapping[str, list[Source]],
    values: Mapping[str, Any],
    shown: Mapping[str, str],
    force: bool,
) -> None:
    """Check all that is to be written."""
    from adducir.cli.console import leaving_stdout_to_data
    from adducir.core.artifacts import replacing_anything
    from adducir.core.files import is_standard_output

    claims.enter_context(replacing_anything(force))
    inputs = [key for key in values if key in roles or key not in writes]
    read = [one for key in inputs for one in _read(key, values, roles)]
    # A dry run makes no results.
    made = [key for key in writes if not (writes[key].what == "results" and values.get("dry_run"))]
    named = {key: values[key] for key in made if values.get(key) is not None}
    for key, path in named.items():
        check_name(shown[key], path, writes[key], values)
        if is_standard_output(path) and writes[key].what != "table":
            claims.enter_context(leaving_stdout_to_data())
    refuse_one_for_several({shown[key]: path for key, path in named.items()})
    for key, path in named.items():
        for part in writes[key].paths(path, values):
            refuse_overwriting(shown[key], part, read)
    for key, path in named.items():
        if writes[key].is_file:
            for part in writes[key].paths(path, values):
                refuse_to_replace(part, writes[key].what)


def _without_stdout(values: dict[str, Any], writes: Mapping[str, Writes]) -> dict[str, Any]:
    """The values, where a table for standard output is what it is anyway: not for a file."""
    from adducir.core.files import is_standard_output

    tables = {key for key, one in writes.items() if one.what == "table" and values.get(key)}
    return {
        key: None if key in tables and is_standard_output(value) else value
        for key, value in values.items()
    }


def _marks(parameters: Iterable[inspect.Parameter], kind: type[Mark]) -> dict[str, list[Mark]]:
    """The marks of a kind, by parameter."""
    found = {
        one.name: [
            mark for mark in getattr(one.annotation, "__metadata__", ()) if isinstance(mark, kind)
        ]
        for one in parameters
    }
    return {key: marks for key, marks in found.items() if marks}


def _is_given(context: typer.Context, key: str) -> bool:
    source = context.get_parameter_source(key)
    return source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT")


def _read(
    key: str, values: Mapping[str, Any], roles: Mapping[str, list[Source]]
) -> list[Path | str]:
    """What a parameter names to be read: paths, and what is marked as a source."""
    return [one for one in _listed(values[key]) if key in roles or isinstance(one, Path)]


def _listed(value: Any) -> list[Path | str]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
