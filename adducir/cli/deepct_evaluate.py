"""``adducir deepct evaluate``."""

from pathlib import Path
from typing import Annotated

import typer

from adducir.cli import options
from adducir.study.errors import UsageError


def deepct_evaluate(
    recipe: Annotated[
        Path,
        typer.Argument(
            metavar="RECIPE", help="The recipe, such as deepct/NAME.yaml.", show_default=False
        ),
    ],
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            "-m",
            metavar="FOLDER",
            help="The model.",
            show_default="the recipe's name without its ending",
        ),
    ] = None,
    changes: options.Changes = None,
    device: options.Device = options.DeviceName.AUTO,
    precision: options.PrecisionOption = options.Precision.FLOAT32,
    threads: options.Threads = None,
) -> None:
    """Tell how well a term weighter recovers the reference terms of passages held out.

    Average precision per passage, with bootstrap intervals over documents: of the model, of the
    same model before training, of tf-idf, and of constant weights. The passages are those of the
    recipe's test part, or, where it has none, those that training was validated with.
    """
    from adducir.cli.console import open_progress, show
    from adducir.deepct.evaluating import evaluate_recovery
    from adducir.deepct.folders import model_folder
    from adducir.deepct.recipe import DeepCTRecipe
    from adducir.deepct.training import open_course
    from adducir.study.folders import study_folder
    from adducir.study.recipe import validate
    from adducir.study.yaml import load

    wanted = validate(load(recipe), DeepCTRecipe, changes or ())
    if not (wanted.held_out.test or wanted.held_out.share):
        raise UsageError("the recipe holds out nothing: set `held_out.test`.")
    with open_progress() as progress:
        found, part = evaluate_recovery(
            open_course(wanted, study_folder(recipe), progress=progress),
            model or model_folder(recipe),
            device=device.value,
            precision=precision.value,
            threads=threads,
            progress=progress,
        )
    count = found[0]
    show(
        f"{count.passages:,} {part} passages of {count.documents:,} documents; average precision "
        "with 95% bootstrap intervals over documents"
    )
    for one in found:
        show(f"{one.name:<16} {one.mean:.3f}  [{one.low:.3f}, {one.high:.3f}]")
