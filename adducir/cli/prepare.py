"""``adducir prepare``."""

from pathlib import Path
from typing import Annotated

from adducir.cli import options
from adducir.cli.outputs import ARTIFACT
from adducir.cli.parameters import argument, option
from adducir.cli.shards import DeviceOptions
from adducir.core.errors import UsageError


def prepare(
    recipe: Annotated[Path, argument("The recipe, such as deepct/NAME.yaml.", "RECIPE")],
    output: Annotated[
        Path,
        option("The folder, which `adducir train --prepared` takes.", "-o", metavar="FOLDER"),
        ARTIFACT,
    ],
    changes: options.Changes = None,
    device: options.Device = "auto",
    *,
    shards: DeviceOptions,
    rebuild: options.Rebuild = False,
) -> None:
    """Prepare what a recipe's examples are made of, for it and for others that share it.

    That is their texts as token ids, and what frozen layers make of these. Weights, rates, seeds
    and batches of a training do not matter, so that recipes which differ in these share it; what
    else does not matter is on the page about training. It is made in shards, by several processes,
    jobs of an array (--part) or a Ray cluster.
    """
    from adducir.cli.console import near, note, open_progress
    from adducir.training.kinds import open_training

    with open_progress() as progress:
        preparation = open_training(recipe, changes or (), progress=progress).preparation
        if preparation is None:
            raise UsageError(
                f"{recipe}: models of this kind make their examples by themselves.",
                hint="`adducir train --examples FOLDER` keeps its examples for its other seeds.",
            )
        manifest = preparation.make(
            output, device=device, execution=shards.execution(), rebuild=rebuild, progress=progress
        )
    counted = preparation.work.counted_in(manifest.counts)
    note(f"{near(output)}: {', '.join(f'{count:,} {name}' for name, count in counted.items())}")
