"""``adducir train``."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adducir.cli import options
from adducir.study.errors import InputError

if TYPE_CHECKING:
    from adducir.study.yaml import Document

TRAINERS = {
    "dual-encoder": "adducir.encoders.training",
    "reranker": "adducir.rerankers.training",
    "complementary": "adducir.rerankers.complementary.training",
    "drn": "adducir.rerankers.complementary.training",
}
"""The module that trains each kind of model, by a function ``train_recipe``."""
DEFAULTS = {"encoders": "dual-encoder", "rerankers": "reranker"}
"""The kind of a recipe without ``kind``, by the folder that it lies in."""


def train(
    recipe: Annotated[
        Path,
        typer.Argument(
            metavar="RECIPE", help="The recipe, such as encoders/NAME.yaml.", show_default=False
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
    """Train an encoder or a reranker.

    The recipe's key `kind` says what is trained. The weights are those of the lowest validation
    loss. A training that was killed goes on from its last snapshot, at most a minute back; a model
    that is there already and would be trained alike is left as it is.
    """
    from adducir.cli.console import near, note, open_progress
    from adducir.study.folders import study_folder
    from adducir.study.yaml import load

    document = load(recipe)
    trainer = import_module(TRAINERS[kind_of(document, recipe)])
    target = output or recipe.with_suffix("")
    with open_progress() as progress:
        manifest = trainer.train_recipe(
            document,
            study_folder(recipe),
            target,
            changes=options.training_changes(changes, threads),
            device=device.value,
            rebuild=rebuild,
            progress=progress,
        )
    counts = manifest.counts
    loss = counts["validation_loss"]
    told = "" if loss is None else f", validation loss {loss:.5f} at step {counts['best_step']:,}"
    note(f"{near(target)}: {counts['steps']:,} steps{told}")


def kind_of(document: "Document", recipe: Path) -> str:
    """What a recipe file trains.

    Raises:
        InputError: It does not say, or says something unknown.
    """
    kind = document.data.get("kind", DEFAULTS.get(recipe.absolute().parent.name))
    if kind not in TRAINERS:
        what = "the recipe has no `kind`" if kind is None else f"there is no kind {kind!r}"
        raise InputError(
            f"{what}.",
            path=recipe,
            line=document.line_of(("kind",)) if "kind" in document.data else None,
            mend=f"Set `kind` to one of: {', '.join(TRAINERS)}.",
        )
    return str(kind)
