"""``adducir train``."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from adducir.cli import options
from adducir.cli.outputs import ARTIFACT
from adducir.cli.parameters import argument, option


def train(
    recipe: Annotated[Path, argument("The recipe, such as encoders/NAME.yaml.", "RECIPE")],
    output: Annotated[
        Path | None,
        option("The model's folder.", "-o", shown="the recipe's name without its ending"),
        ARTIFACT,
    ] = None,
    changes: options.Changes = None,
    device: options.Device = "auto",
    threads: options.TrainingThreads = None,
    examples: Annotated[
        Path | None,
        option(
            "Keep the examples there, for trainings that learn from the same ones.",
            metavar="FOLDER",
        ),
    ] = None,
    workers: Annotated[
        int, option("Processes that prepare the examples, where a kind does so in shards.", min=1)
    ] = 1,
    rebuild: options.Rebuild = False,
) -> None:
    """Train a model by its recipe: a term weighter, an encoder, a reranker.

    The recipe's key `kind` says what is trained: deepct, dual-encoder, cross-encoder, monobert,
    complementary or drn. The weights are those of the lowest validation loss. A training that was
    killed goes on from its last snapshot, at most a minute back; a model that is there already and
    would be trained with the same settings is not rebuilt.

    On several GPUs or machines, start it by torchrun: torchrun ... -m adducir train RECIPE.
    """
    from adducir.cli.console import near, note, open_progress, show
    from adducir.core.executors import Execution
    from adducir.training.artifacts import train_model
    from adducir.training.kinds import open_training
    from adducir.training.processes import is_first_launched

    target = output or recipe.with_suffix("")
    changed = options.training_changes(changes, threads)
    is_shown = is_first_launched()
    with open_progress() if is_shown else nullcontext():
        plan = open_training(recipe, changed)
        manifest = train_model(
            plan,
            target,
            device=device,
            examples=examples,
            execution=Execution(workers=workers),
            rebuild=rebuild,
        )
    if not is_shown:
        return
    counts = manifest.counts
    loss = counts["validation_loss"]
    loss_text = (
        "" if loss is None else f", validation loss {loss:.5f} at step {counts['best_step']:,}"
    )
    for line in plan.report(counts):
        show(line)
    note(f"{near(target)}: {counts['steps']:,} steps{loss_text}")
