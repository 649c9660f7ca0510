"""The options of commands whose work is made in chunks."""

from copy import copy
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, get_args

from typer.models import OptionInfo

from adducir.cli.effects import Effect
from adducir.cli.parameters import Several, keyword, option

if TYPE_CHECKING:
    from adducir.core.executors import Execution


@dataclass(frozen=True)
class WorkerOptions:
    """Who makes chunks; nothing of it determines the result."""

    workers: Annotated[
        int,
        option("Processes that work side by side: one per core, or one per GPU.", min=1),
    ] = 1
    ray: Annotated[
        str | None,
        option("Work on a Ray cluster: 'auto', or its address.", metavar="ADDRESS", rare=True),
    ] = None
    slurm: Annotated[
        str | None,
        option(
            "Work in Slurm jobs, at most --workers at a time; settings of submitit, as in "
            "partition=gpu.",
            metavar="KEY=VALUE",
            rare=True,
        ),
    ] = None

    def execution(self) -> "Execution":
        """Who makes the chunks.

        Raises:
            UsageError: Options exclude each other.
        """
        from adducir.core.executors import Execution

        return Execution(self.workers, self.ray, self.slurm)


@dataclass(frozen=True)
class ShardOptions(WorkerOptions):
    """How chunks are made that a network computes."""

    batch_tokens: Annotated[
        int | None,
        option(
            "Padded tokens in a batch. Figures depend on it in their last digits.",
            min=1,
            shown="2,048 on a CPU, 16,384 on a GPU",
            rare=True,
        ),
    ] = None


def shards_if(effect: Effect, panel: str | None = None) -> Several:
    """The options of :class:`ShardOptions` under a condition; part of a parameter's annotation.

    Args:
        panel: The panel of the help that shows them.
    """

    def marked(annotation: Any) -> Any:
        kind, *marks = get_args(annotation)
        for number, mark in enumerate(marks):
            if isinstance(mark, OptionInfo):
                marks[number] = copy(mark)
                marks[number].rich_help_panel = panel
        return Annotated[kind, *marks, effect]

    parameters = [keyword(one.name, marked(one.type), one.default) for one in fields(ShardOptions)]
    return Several(tuple(parameters), ShardOptions)
