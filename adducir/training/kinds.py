"""The kinds of models that can be trained, by the key ``kind`` of a recipe.

Another package's kind is declared as an entry point of the group ``adducir.training``: a
:class:`~adducir.training.trainable.Trainable`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adducir.core.config import Document, load, validate
from adducir.core.errors import InputError
from adducir.core.files import study_folder
from adducir.core.registry import Family
from adducir.training.trainable import Trainable

KINDS: Family[Trainable[Any]] = Family(
    "training",
    Trainable,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {
        "deepct": "adducir.deepct.training:DeepCT",
        "dual-encoder": "adducir.encoders.training:EncoderTraining",
        "cross-encoder": "adducir.rerankers.training:CrossEncoderTraining",
        "monobert": "adducir.rerankers.training:MonoBERTTraining",
    },
    what="kind of model",
)


def open_training(
    recipe: Path | Document, changes: Sequence[str] = (), *, folder: Path | None = None
) -> Trainable[Any]:
    """Open a recipe's file and the sources that it names; no document is read, no model loaded.

    Args:
        recipe: The file, or what was read of it.
        changes: Overrides such as ``training.epochs=2``.
        folder: The study's, where relative paths start; by default that which holds the file.

    Raises:
        InputError: The recipe has errors, or a source cannot be read; of all that is not at hand
            one error.
        MachineError: Something cannot be downloaded, or is not installed.
    """
    document = recipe if isinstance(recipe, Document) else load(recipe)
    name = kind_of(document)
    kind = KINDS.kind(name)
    wanted = validate(document, kind.recipe_type, changes)
    plan = kind(wanted, folder or study_folder(document.path))
    plan.origin = KINDS.origin(name)
    return plan


def kind_of(document: Document) -> str:
    """What a recipe's file trains.

    Raises:
        InputError: It does not say, or says something unknown.
    """
    kind = document.data.get("kind")
    if kind not in KINDS:
        what = "the recipe has no `kind`" if kind is None else f"there is no kind {kind!r}"
        raise InputError(
            f"{what}.",
            path=document.path,
            line=document.line_of(("kind",)) if "kind" in document.data else None,
            hint=f"Set `kind` to one of: {', '.join(KINDS)}.",
        )
    return str(kind)
