"""Options that come from the hyperparameters of a family's kinds."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, get_args

import typer
from pydantic.fields import FieldInfo

from adducir.study.registry import Family

_PANEL = "Hyperparameters"


def with_hyperparameters(
    family: Family[Any], *, default: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command an option for each hyperparameter of a family's kinds.

    Args:
        family: The family.
        default: What the help calls the defaults; None for those of the kinds.

    The command takes those that were typed as ``hyperparameters``, a dict of texts by name, which
    :meth:`adducir.study.registry.Family.make` converts and checks.
    """
    stated: dict[str, list[tuple[str, FieldInfo]]] = {}
    for kind, found in family.kinds().items():
        for name, field in found.model_fields.items():
            stated.setdefault(name, []).append((kind, field))
    added = [_parameter(name, fields, default) for name, fields in stated.items()]

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(command)
        kept = [each for each in own.parameters.values() if each.name != "hyperparameters"]

        @wraps(command)
        def run(**arguments: Any) -> Any:
            values = {name: arguments.pop(name) for name in stated}
            given = {name: value for name, value in values.items() if value is not None}
            return command(**arguments, hyperparameters=given)

        parameters = [*kept, *added]
        vars(run)["__signature__"] = own.replace(parameters=parameters)
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorated


def _parameter(
    name: str, fields: list[tuple[str, FieldInfo]], default: str | None
) -> inspect.Parameter:
    first = fields[0][1]
    choices = [str(value) for value in get_args(first.annotation)]
    option = typer.Option(
        f"--{name.replace('_', '-')}",
        help=f"{first.description} Of {', '.join(kind for kind, _ in fields)}.",
        metavar="|".join(choices) if choices else "NUMBER",
        show_default=default or _shown(first.default),
        rich_help_panel=_PANEL,
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[str | None, option],
    )


def _shown(default: Any) -> str:
    return f"{default:g}" if isinstance(default, float) else str(default)
