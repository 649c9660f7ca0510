"""The kinds of models that can be trained, by the key ``kind`` of a recipe."""

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
    Trainable,
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

    ``changes`` are overrides such as ``training.epochs=2``; relative paths start in ``folder``, by
    default the study's that holds the file.
    """
    document = recipe if isinstance(recipe, Document) else load(recipe)
    name = document.data.get("kind")
    if name not in [*KINDS]:
        what = "the recipe has no `kind`" if name is None else f"unknown kind {name!r}"
        raise InputError(
            f"{what}.",
            path=document.path,
            line=document.line_of(("kind",)) if "kind" in document.data else None,
            hint=f"Set `kind` to one of: {', '.join(KINDS)}.",
        )
    kind = KINDS.kind(str(name))
    trainable = kind(
        validate(document, kind.recipe_type, changes), folder or study_folder(document.path)
    )
    trainable.origin = KINDS.origin(str(name))
    return trainable
