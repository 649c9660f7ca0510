"""``adducir deepct train``."""

from pathlib import Path
from typing import Annotated

import typer

from adducir.cli import options


def deepct_train(
    recipe: Annotated[
        Path,
        typer.Argument(
            metavar="RECIPE", help="The recipe, such as deepct/NAME.yaml.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="The model's folder.",
            show_default="the recipe's name without its ending",
        ),
    ] = None,
    changes: options.Changes = None,
    device: options.Device = options.DeviceName.AUTO,
    threads: options.TrainingThreads = None,
    rebuild: options.Rebuild = False,
) -> None:
    """Train a DeepCT term weighter.

    The weights are those of the lowest validation loss. A training that was killed goes on from
    its last snapshot, at most a minute back; a model that is there already and would be trained
    alike is left as it is.
    """
    from adducir.cli.console import near, note, open_progress
    from adducir.deepct.recipe import DeepCTRecipe
    from adducir.deepct.training import open_course, train_model
    from adducir.study.folders import study_folder
    from adducir.study.recipe import validate
    from adducir.study.yaml import load

    wanted = validate(load(recipe), DeepCTRecipe, options.training_changes(changes, threads))
    target = output or recipe.with_suffix("")
    with open_progress() as progress:
        course = open_course(wanted, study_folder(recipe), progress=progress)
        manifest = train_model(
            course,
            target,
            device=device.value,
            rebuild=rebuild,
            progress=progress,
        )
    counts = manifest.counts
    loss = counts["validation_loss"]
    told = "" if loss is None else f", validation loss {loss:.5f} at step {counts['best_step']:,}"
    note(f"{near(target)}: {counts['steps']:,} steps{told}")
