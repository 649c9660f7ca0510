"""The options of commands whose work is made in shards."""

from copy import copy
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, get_args

from typer.models import OptionInfo

from adducir.cli.effects import Effect
from adducir.cli.parameters import Several, keyword, option

if TYPE_CHECKING:
    from adducir.core.sharding.execution import Execution


@dataclass(frozen=True)
class PartOptions:
    """Who makes shards; nothing of it determines the result."""

    workers: Annotated[
        int,
        option("Processes that make shards side by side: one per core, or one per GPU.", min=1),
    ] = 1
    part: Annotated[
        str | None,
        option(
            "Make only part I of N, and stop: for the jobs of an array. The same command without "
            "it puts the parts together.",
            metavar="I/N",
        ),
    ] = None
    ray: Annotated[
        str | None,
        option("Make shards on a Ray cluster: 'auto', or its address.", metavar="ADDRESS"),
    ] = None

    def execution(self) -> "Execution":
        """Who makes the shards.

        Raises:
            UsageError: ``part`` is none, or options exclude each other.
        """
        from adducir.core.sharding.execution import Execution
        from adducir.core.sharding.executors.part import Part

        part = None if self.part is None else Part.parse(self.part)
        return Execution(self.workers, part, self.ray)


@dataclass(frozen=True)
class DeviceOptions(PartOptions):
    """The same, where a network may take part."""

    mixed_devices: Annotated[
        bool,
        option(
            "Accept shards that unlike kinds of devices made; the manifest says which.",
        ),
    ] = False

    def execution(self) -> "Execution":
        """Who makes the shards; see :meth:`PartOptions.execution`."""
        return replace(super().execution(), mixed_devices=self.mixed_devices)


@dataclass(frozen=True)
class ShardOptions(DeviceOptions):
    """How shards are made that a network computes."""

    batch_tokens: Annotated[
        int | None,
        option(
            "Padded tokens in a batch. Figures depend on it in their last digits.",
            min=1,
            shown="2,048 on a CPU, 16,384 on a GPU",
        ),
    ] = None


def shards_if(effect: Effect, panel: str, **others: Effect) -> Several:
    """The options of :class:`ShardOptions` under a condition; part of a parameter's annotation.

    Args:
        panel: The panel of the help that shows them.
        others: Options with a condition of their own; these stand in the panel of all options.
    """

    def marked(name: str, annotation: Any) -> Any:
        kind, *marks = get_args(annotation)
        for number, mark in enumerate(marks):
            if isinstance(mark, OptionInfo):
                marks[number] = copy(mark)
                marks[number].rich_help_panel = None if name in others else panel
        return Annotated[kind, *marks, others.get(name, effect)]

    parameters = [
        keyword(one.name, marked(one.name, one.type), one.default) for one in fields(ShardOptions)
    ]
    return Several(tuple(parameters), ShardOptions)
