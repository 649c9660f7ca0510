"""``adducir deepct evaluate``."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from adducir.cli import options
from adducir.cli.parameters import argument, option
from adducir.core.errors import UsageError


def deepct_evaluate(
    recipe: Annotated[Path, argument("The recipe, such as deepct/NAME.yaml.", "RECIPE")],
    model: Annotated[
        Path | None,
        option("The model.", "-m", metavar="FOLDER", shown="the recipe's name without its ending"),
    ] = None,
    changes: options.Changes = None,
    device: options.Device = "auto",
    precision: options.PrecisionOption = "float32",
    threads: options.Threads = None,
) -> None:
    """Measure how well a term weighter recovers the reference terms of passages held out.

    Average precision per passage, with bootstrap intervals over documents: of the model, of the
    same model before training, of tf-idf, and of constant weights. The passages are those of the
    recipe's test part, or, where it has none, those that training was validated with.
    """
    from adducir.cli.console import open_progress, show
    from adducir.deepct.evaluating import evaluate_recovery
    from adducir.deepct.recovery import recovery_lines
    from adducir.deepct.training import DeepCTPlan
    from adducir.models.sources import trained_folder
    from adducir.training.kinds import open_training

    with open_progress() as progress:
        plan = open_training(recipe, changes or (), progress=progress)
        if not isinstance(plan, DeepCTPlan):
            raise UsageError(f"{recipe} is no recipe of a term weighter.")
        if not (plan.recipe.held_out.test or plan.recipe.held_out.share):
            raise UsageError("the recipe holds out nothing: set `held_out.test`.")
        found, part = evaluate_recovery(
            plan.opened,
            model or trained_folder(recipe),
            device=device,
            precision=precision,
            threads=threads,
            progress=progress,
        )
    show("\n".join(recovery_lines(part, [asdict(one) for one in found])))
