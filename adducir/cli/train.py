"""``adducir train``."""

import os
from contextlib import nullcontext
from pathlib import Path

from adducir.cli import common
from adducir.cli.command import option
from adducir.core.recipe import Recipe


class Train(Recipe):
    recipe: Path = option(
        "The recipe, such as encoders/NAME.yaml.", metavar="RECIPE", argument=True
    )
    output: Path | None = option(
        "The model's folder.",
        "-o",
        default=None,
        shown="the recipe's name without its ending",
        writes=common.FOLDER,
    )
    changes: common.Changes = ()
    device: common.Device = "auto"
    threads: int | None = option(
        "Threads: the same as --set training.threads=N, which determines the weights.",
        default=None,
        ge=1,
        shown="the recipe's, or 1",
    )
    rebuild: common.Rebuild = False


def train(settings: Train) -> None:
    """Train a model by its recipe: a term weighter, an encoder, a reranker.

    The recipe's key `kind` says what is trained: deepct, dual-encoder, cross-encoder, monobert,
    complementary or drn. The weights are those of the lowest validation loss. A training that was
    killed goes on from its last checkpoint, two minutes back at most; a model that is there already
    and would be trained with the same settings is not rebuilt.

    On several GPUs or machines, start it by torchrun: torchrun ... -m adducir train RECIPE.

    Examples:
        adducir train encoders/egret.yaml
        adducir train rerankers/touche-small-ce.yaml --set training.seed=1 -o rerankers/ce-1
    """
    from adducir.cli.console import near, note, open_progress, show
    from adducir.training.kinds import open_training
    from adducir.training.run import train_model

    target = settings.output or settings.recipe.with_suffix("")
    threads = [] if settings.threads is None else [f"training.threads={settings.threads}"]
    is_first = os.environ.get("RANK", "0") == "0"
    with open_progress() if is_first else nullcontext():
        plan = open_training(settings.recipe, [*settings.changes, *threads])
        manifest = train_model(plan, target, device=settings.device, rebuild=settings.rebuild)
    if manifest is not None:
        counts = manifest.counts
        loss, step = counts["validation_loss"], counts["best_step"]
        text = "" if loss is None else f", validation loss {loss:.5f} at step {step:,}"
        for line in plan.report(counts):
            show(line)
        note(f"{near(target)}: {counts['steps']:,} steps{text}")
