"""Rerankers by name: a recipe, a model that was trained here, or a pretrained one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adducir.core.config import Document, load, validate
from adducir.core.errors import ArtifactError, InputError, UsageError
from adducir.core.files import study_folder
from adducir.core.registry import Family
from adducir.corpora.references import expanded
from adducir.models.artifacts import as_settings, read_settings
from adducir.models.batches import tokens_for
from adducir.models.machine import choose_device
from adducir.models.sources import RECIPES, ModelSource, model_source
from adducir.rerankers.checkpoints import refuse_other_classes
from adducir.rerankers.passages import parts_of, united
from adducir.rerankers.recipe import SETTINGS_FILE, RerankerRecipe
from adducir.rerankers.scoring import Listwise, Pointwise
from adducir.rerankers.windows import windows
from adducir.training.recipe import listed

_HERE = "adducir.rerankers"

RERANKERS = Family(
    "rerankers",
    RerankerRecipe,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {
        "monobert": f"{_HERE}.monobert:MonoBERTRecipe",
        "cross-encoder": f"{_HERE}.cross_encoder:CrossEncoderRecipe",
        "lit5": f"{_HERE}.lit5:LiT5Recipe",
        "monot5": f"{_HERE}.monot5:MonoT5Recipe",
        "colbert": f"{_HERE}.colbert:ColBERTRecipe",
        "maxsim": f"{_HERE}.colbert:MaxSimRecipe",
    },
    what="reranker",
)
"""Every kind by its name, in the order in which a model without a recipe is tried for them."""

_VERSION = 3
"""Raised when some model's scores become others."""


@dataclass(frozen=True)
class Reranker:
    """A reranker that is loaded when it is first needed."""

    name: str
    recipe: RerankerRecipe
    source: ModelSource
    device: str = "auto"

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process loads the model itself.
        return Reranker, (self.name, self.recipe, self.source, self.device)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that determines the score of a pair."""
        has_weights = bool(self.recipe.base)
        return identity_of(self.recipe, self.source.identity() if has_weights else "")

    @cached_property
    def model(self) -> Pointwise | Listwise:
        """The model, loaded and on its device.

        Raises:
            InputError: It cannot be loaded, or is of another kind.
            MachineError: It cannot be fetched.
        """
        model = self.recipe.load(self.source)
        model.precision = self.recipe.precision
        model.tokens = self.batch_tokens
        model.to(choose_device(self.device))
        return model

    @property
    def batch_tokens(self) -> int:
        """Padded tokens in a batch: as the recipe says, or as suits the device."""
        return self.recipe.batch_tokens or tokens_for(choose_device(self.device))

    def in_batches(self, tokens: int | None) -> "Reranker":
        """The same with so many padded tokens in a batch; None: with its own."""
        if tokens is None:
            return self
        return replace(self, recipe=self.recipe.model_copy(update={"batch_tokens": tokens}))

    @property
    def is_listwise(self) -> bool:
        """Whether it puts lists in order rather than scores pairs."""
        return self.recipe.is_listwise

    @property
    def fields(self) -> tuple[str, ...]:
        """The documents' fields that it reads; none where its recipe does not say."""
        return listed(self.recipe.fields)

    @property
    def scale(self) -> str:
        """What its scores are; the model need not be loaded for that."""
        return self.recipe.scale(self.source)

    def windows(self, count: int) -> list[tuple[int, int]]:
        """The windows of a listwise reranker over so many texts."""
        if not self.is_listwise:
            raise UsageError(f"{self.name} has no windows: it scores pairs.")
        requested = self.recipe.model_dump(include={"window", "stride"})
        return windows(count, requested["window"], requested["stride"])

    def parts(self, text: str) -> list[str]:
        """The passages of a document that are scored."""
        return parts_of(text, self.recipe.passages, self._count_pieces)

    def _count_pieces(self, chunks: list[str]) -> list[int]:
        return self.model.count_pieces(chunks)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """(n,) the scores of documents, the greater the better.

        Raises:
            UsageError: It is listwise.
        """
        if isinstance(self.model, Listwise):
            raise UsageError(f"{self.name} gives no scores: it puts lists in order.")
        parts = [self.parts(text) for text in texts]
        scores = self.model.scores([(query, part) for some in parts for part in some])
        return united(scores, [len(some) for some in parts], self.recipe.passages)

    def order(self, query: str, texts: Sequence[str]) -> NDArray[np.int64]:
        """(n,) the numbers of documents, the best first; equals keep their order."""
        if not isinstance(self.model, Listwise):
            return np.argsort(-self.score(query, texts), kind="stable")
        order = np.arange(len(texts))
        starts = [self.parts(text)[0] for text in texts]
        for first, end in self.windows(len(texts)):
            inside = order[first:end]
            found = self.model.order(query, [starts[number] for number in inside])
            order[first:end] = inside[found]
        return order


def identity_of(recipe: RerankerRecipe, weights: str) -> dict[str, Any]:
    """All that determines the score of a pair.

    Args:
        weights: The identity of its model; of a model that is trained by the recipe, the
            fingerprint of the artifact, which need not be there yet.
    """
    origin = RERANKERS.origin(recipe.model)
    return {
        "weights": weights,
        "settings": recipe.fingerprint_inputs,
        "version": _VERSION,
        **({"origin": origin} if origin else {}),
    }


def open_reranker(
    name: str | Path, folder: Path | None = None, *, device: str = "auto"
) -> Reranker:
    """The reranker of a name; nothing is loaded yet.

    Args:
        name: A recipe (``rerankers/X.yaml``); the folder of a model that ``adducir train`` made; or
            a pretrained model, by folder or name of the Hugging Face Hub, with its kind before it
            if the model does not state it (``maxsim:minilm``, ``colbert:FOLDER``); or a kind
            alone, for its default model.
        folder: Where relative paths start; by default the current folder.
        device: See :func:`adducir.models.machine.choose_device`.

    Raises:
        InputError: There is no such thing, or the recipe has errors.
        ArtifactError: The recipe is one to be trained, and no model is there.
        MachineError: A model that does not state its kind by a recipe cannot be fetched.
    """
    text, start = str(name), folder or Path()
    path = start / Path(text).expanduser()
    if path.suffix in RECIPES:
        return _of_recipe(text, path, device)
    if (path / SETTINGS_FILE).is_file():
        return _trained(text, path, device)
    kind, colon, rest = text.partition(":")
    if text in RERANKERS and not path.exists():
        recipe = RERANKERS.make(text)
    elif colon and kind in RERANKERS:
        recipe = RERANKERS.make(kind, {"base": rest})
    else:
        recipe = RERANKERS.make(_kind_of(model_source(text, start)), {"base": text})
    return Reranker(text, recipe, source_of(recipe, start), device)


def _kind_of(source: ModelSource) -> str:
    """The kind of reranker that a model without a recipe is.

    Raises:
        InputError: It is none that is known.
        MachineError: It cannot be fetched.
    """
    found = next((name for name, kind in RERANKERS.kinds().items() if kind.fits(source)), None)
    if found is None:
        raise InputError(
            f"{source.name} does not say that it is a reranker, or of which kind.",
            path=source.folder,
            hint="If it is one, put its kind before the name, as in "
            f"cross-encoder:{source.name}; the kinds are {', '.join(RERANKERS)}.",
        )
    return found


def read_recipe(path: Path, overrides: Sequence[str] = ()) -> RerankerRecipe:
    """Read the recipe of a reranker.

    Raises:
        InputError: Something is wrong with it; with the lines.
    """
    return recipe_of(load(path), overrides)


def recipe_of(document: Document, overrides: Sequence[str] = ()) -> RerankerRecipe:
    """The recipe in a file that was read; errors are those of :func:`read_recipe`."""
    kind = document.data.get("model", document.data.get("kind"))
    if not isinstance(kind, str) or kind not in RERANKERS:
        problem = "there is no key `model`" if kind is None else f"there is no model {kind!r}"
        raise InputError(
            f"{problem}.",
            path=document.path,
            line=document.line_of(("model",)) if "model" in document.data else None,
            hint=f"The models are: {', '.join(RERANKERS)}.",
        )
    return validate(document, RERANKERS.kind(kind), overrides)


def is_trained(recipe: RerankerRecipe) -> bool:
    """Whether a recipe makes a model, rather than naming one."""
    return getattr(recipe, "examples", None) is not None


def open_trained(path: Path, model: Path, *, device: str = "auto") -> Reranker:
    """The reranker that a recipe has made; how it is used is as the recipe says now.

    Args:
        path: The recipe.
        model: The folder of the model.
        device: See :func:`adducir.models.machine.choose_device`.

    Raises:
        ArtifactError: It is not there.
    """
    return _made(str(path), path, model, device)


def _made(name: str, path: Path, model: Path, device: str) -> Reranker:
    if not (model / SETTINGS_FILE).is_file():
        raise ArtifactError(
            "this reranker has not been trained yet.",
            path=model,
            hint=f"Train it: adducir train {path}",
        )
    return _trained(name, model, device, read_recipe(path))


def _of_recipe(name: str, path: Path, device: str) -> Reranker:
    recipe = read_recipe(path)
    folder = study_folder(path)
    if is_trained(recipe):
        return _made(name, path, path.with_suffix(""), device)
    return Reranker(name, recipe, source_of(recipe, folder), device)


def source_of(recipe: RerankerRecipe, folder: Path) -> ModelSource:
    """The model that a recipe names, with its tokenizer.

    Raises:
        InputError: It is of a class that the kind does not load.
        InputError, MachineError: As :func:`adducir.models.sources.model_source`.
    """
    if not recipe.base:
        return ModelSource(recipe.model)
    tokenizer = recipe.tokenizer and expanded(recipe.tokenizer)
    source = model_source(expanded(recipe.base), folder, tokenizer)
    if not is_trained(recipe):  # a new model may be made of a base of any class
        refuse_other_classes(source, recipe.classes)
    return source


def _trained(
    name: str, folder: Path, device: str, recipe: RerankerRecipe | None = None
) -> Reranker:
    """A model that was trained here; how it is used may be said anew by its recipe."""
    settings = {**read_settings(folder / SETTINGS_FILE), "base": str(folder)}
    if recipe is not None:
        used = {"fields", "passages", "precision", "batch_tokens"}
        settings |= recipe.model_dump(include=used)
    kind = str(settings.get("model"))
    if kind not in RERANKERS:
        raise InputError(f"there is no model {kind!r}.", path=folder / SETTINGS_FILE)
    own = as_settings(folder / SETTINGS_FILE, settings, RERANKERS.kind(kind))
    return Reranker(name, own, ModelSource(name, folder), device)
