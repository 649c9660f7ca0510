"""``adducir prepare``."""

from pathlib import Path
from typing import Annotated

from adducir.cli import options
from adducir.cli.outputs import ARTIFACT
from adducir.cli.parameters import argument, option
from adducir.cli.shards import PartOptions
from adducir.core.errors import UsageError


def prepare(
    recipe: Annotated[Path, argument("The recipe, such as deepct/NAME.yaml.", "RECIPE")],
    output: Annotated[
        Path,
        option("The folder, which `adducir train --prepared` takes.", "-o", metavar="FOLDER"),
        ARTIFACT,
    ],
    changes: options.Changes = None,
    *,
    shards: PartOptions,
    rebuild: options.Rebuild = False,
) -> None:
    """Prepare what a recipe's examples are made of, for it and for others that share it.

    For `deepct`: the passages of the corpus with their token ids and terms. References, leak
    control, held-out parts and all of `training` do not matter, so that recipes which differ in
    these share them. They are made in shards, by several processes, jobs of an array (--part) or a
    Ray cluster.
    """
    from adducir.cli.console import near, note, open_progress
    from adducir.training.kinds import open_training

    with open_progress() as progress:
        preparation = open_training(recipe, changes or (), progress=progress).preparation
        if preparation is None:
            raise UsageError(
                f"{recipe} shares nothing with other recipes.",
                hint="`adducir train --examples FOLDER` keeps its examples for its other seeds.",
            )
        manifest = preparation.make(
            output, execution=shards.execution(), rebuild=rebuild, progress=progress
        )
    counts = manifest.counts
    note(
        f"{near(output)}: {counts['documents']:,} documents, {counts['passages']:,} passages of "
        f"{counts['tokens']:,} tokens"
    )
