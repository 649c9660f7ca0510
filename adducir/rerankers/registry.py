"""Rerankers by name: a recipe, a model that was trained here, or a pretrained one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adducir.corpora.references import expanded
from adducir.models.batches import tokens_for
from adducir.models.machine import choose_device
from adducir.models.settings import as_settings
from adducir.models.sources import ModelSource, model_source
from adducir.rerankers import colbert, lit5, monot5
from adducir.rerankers.checkpoints import config_of, kind_of
from adducir.rerankers.colbert import ColBERTRecipe, LateInteraction, MaxSimRecipe, Reading
from adducir.rerankers.cross_encoder import CrossEncoder, CrossEncoderRecipe, scale_of
from adducir.rerankers.lit5 import LiT5, LiT5Recipe
from adducir.rerankers.monobert import MonoBERTRecipe
from adducir.rerankers.monot5 import MonoT5, MonoT5Recipe
from adducir.rerankers.passages import parts_of, united
from adducir.rerankers.recipe import RerankerRecipe
from adducir.rerankers.scoring import Listwise, Pointwise
from adducir.rerankers.settings import SETTINGS_FILE, load_settings
from adducir.rerankers.windows import windows
from adducir.study.checking import checked
from adducir.study.errors import InputError, ProductError, UsageError
from adducir.study.folders import study_folder
from adducir.study.recipe import validate
from adducir.study.yaml import Document, load
from adducir.training.recipe import listed

KINDS: dict[str, type[RerankerRecipe]] = {
    "monobert": MonoBERTRecipe,
    "monot5": MonoT5Recipe,
    "colbert": ColBERTRecipe,
    "maxsim": MaxSimRecipe,
    "lit5": LiT5Recipe,
    "cross-encoder": CrossEncoderRecipe,
}
"""The recipe of each kind of reranker."""

_RECIPES = (".yaml", ".yml")
_VERSION = 2
"""Raised when some model's scores become others."""


@dataclass(frozen=True)
class Reranker:
    """A reranker that is loaded when it is first needed.

    Attributes:
        name: As the user wrote it.
        recipe: Its settings.
        source: Its weights.
        device: The device that it computes on.
    """

    name: str
    recipe: RerankerRecipe
    source: ModelSource
    device: str = "auto"

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that decides the score of a pair."""
        return identity_of(self.recipe, self.source.identity())

    @cached_property
    def model(self) -> Pointwise | Listwise:
        """The model, loaded and on its device.

        Raises:
            InputError: It cannot be loaded, or is of another kind.
            MachineError: It cannot be fetched.
        """
        model = _load(self.recipe, self.source)
        model.precision = self.recipe.precision
        model.tokens = self.batch_tokens
        model.to(choose_device(self.device))
        return model

    @property
    def batch_tokens(self) -> int:
        """Padded tokens in a batch: as the recipe says, or as suits the device."""
        return self.recipe.batch_tokens or tokens_for(choose_device(self.device))

    @property
    def is_listwise(self) -> bool:
        """Whether it puts lists in order rather than scores pairs."""
        return isinstance(self.recipe, LiT5Recipe)

    @property
    def fields(self) -> tuple[str, ...]:
        """The documents' fields that it reads; none where its recipe does not say."""
        return listed(self.recipe.fields)

    @property
    def scale(self) -> str:
        """What its scores are; the model need not be loaded for that."""
        match self.recipe:
            case CrossEncoderRecipe():
                # A configuration that does not name its classes has two.
                labels = len(config_of(self.source).get("id2label") or (0, 1))
                return scale_of(labels, self.recipe.label)
            case MonoT5Recipe():
                return monot5.SCALE
            case LiT5Recipe():
                return lit5.SCALE
        return colbert.SCALE

    def windows(self, count: int) -> list[tuple[int, int]]:
        """The windows of a listwise reranker over so many texts."""
        recipe = self.recipe
        if not isinstance(recipe, LiT5Recipe):
            raise UsageError(f"{self.name} has no windows: it scores pairs.")
        return windows(count, recipe.window, recipe.stride)

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
    """All that decides the score of a pair.

    Args:
        recipe: The reranker's settings.
        weights: The identity of its model; of a model that is trained by the recipe, the
            fingerprint of the product, which need not be there yet.
    """
    return {
        "weights": weights,
        "settings": recipe.decides,
        "version": _VERSION,
    }


@checked
def open_reranker(
    name: str | Path, folder: Path | None = None, *, device: str = "auto"
) -> Reranker:
    """The reranker of a name; nothing is loaded yet.

    Args:
        name: A recipe (``rerankers/X.yaml``); the folder of a model that ``adducir train`` made; or
            a pretrained model, by folder or name of the Hugging Face Hub, with its kind before it
            where the model does not tell (``maxsim:minilm``, ``colbert:FOLDER``).
        folder: Where relative paths start; by default the current folder.
        device: See :func:`adducir.models.machine.choose_device`.

    Raises:
        InputError: There is no such thing, or the recipe has faults.
        ProductError: The recipe is one to be trained, and no model is there.
        MachineError: A model that does not tell its kind by a recipe cannot be fetched.
    """
    text, start = str(name), folder or Path()
    path = start / Path(text).expanduser()
    if path.suffix in _RECIPES:
        return _of_recipe(text, path, device)
    if (path / SETTINGS_FILE).is_file():
        return _trained(text, path, device)
    kind, colon, rest = text.partition(":")
    if not colon or kind not in KINDS:
        kind, rest = kind_of(model_source(text, start)), text
    recipe = KINDS[kind](model=kind, base=rest)
    return Reranker(text, recipe, source_of(recipe, start), device)


def read_recipe(path: Path, overrides: Sequence[str] = ()) -> RerankerRecipe:
    """Read the recipe of a reranker.

    Raises:
        InputError: Something is wrong with it; with the lines.
    """
    return recipe_of(load(path), overrides)


def recipe_of(document: Document, overrides: Sequence[str] = ()) -> RerankerRecipe:
    """The recipe in a file that was read; errors are those of :func:`read_recipe`."""
    kind = document.data.get("model", document.data.get("kind"))
    if not isinstance(kind, str) or kind not in KINDS:
        told = "there is no key `model`" if kind is None else f"there is no model {kind!r}"
        raise InputError(
            f"{told}.",
            path=document.path,
            line=document.line_of(("model",)) if "model" in document.data else None,
            mend=f"The models are: {', '.join(KINDS)}.",
        )
    return validate(document, KINDS[kind], overrides)


def _of_recipe(name: str, path: Path, device: str) -> Reranker:
    recipe = read_recipe(path)
    folder = study_folder(path)
    if isinstance(recipe, CrossEncoderRecipe) and recipe.examples is not None:
        product = path.with_suffix("")
        if not (product / SETTINGS_FILE).is_file():
            raise ProductError(
                "this reranker has not been trained yet.",
                path=product,
                mend=f"Train it: adducir train {path}",
            )
        return _trained(name, product, device, recipe)
    return Reranker(name, recipe, source_of(recipe, folder), device)


def source_of(recipe: RerankerRecipe, folder: Path) -> ModelSource:
    """The model that a recipe names, with its tokenizer.

    Raises:
        InputError, MachineError: As :func:`adducir.models.sources.model_source`.
    """
    tokenizer = recipe.tokenizer and expanded(recipe.tokenizer)
    return model_source(expanded(recipe.base), folder, tokenizer)


def _trained(
    name: str, folder: Path, device: str, recipe: RerankerRecipe | None = None
) -> Reranker:
    """A model that was trained here; how it is used may be said anew by its recipe."""
    kept = load_settings(folder)
    settings = {**kept, "base": str(folder)}
    if recipe is not None:
        used = {"fields", "passages", "precision", "batch_tokens"}
        settings |= recipe.model_dump(include=used)
    kind = str(settings.get("model"))
    if kind not in KINDS:
        raise InputError(f"there is no model {kind!r}.", path=folder / SETTINGS_FILE)
    own = as_settings(folder / SETTINGS_FILE, settings, KINDS[kind])
    return Reranker(name, own, ModelSource(name, folder), device)


def _load(recipe: RerankerRecipe, source: ModelSource) -> Pointwise | Listwise:
    """Load the model of a recipe."""
    match recipe:
        case CrossEncoderRecipe():
            return CrossEncoder.load(source, length=recipe.length, label=recipe.label)
        case MonoT5Recipe():
            return MonoT5.load(source, length=recipe.length, tokens=recipe.tokens)
        case LiT5Recipe():
            return LiT5.load(
                source,
                length=recipe.length,
                answer_length=recipe.answer_length,
            )
        case ColBERTRecipe():
            keys = {"query_length", "document_length", "markers"}
            keys |= {"attend_to_masks", "skip_punctuation"}
            return LateInteraction.load(source, Reading(**recipe.model_dump(include=keys)))
        case MaxSimRecipe():
            keys = {"query_length", "document_length", "skip_punctuation"}
            plain: dict[str, Any] = {"markers": None, "special": False, "fill": False}
            reading = Reading(**recipe.model_dump(include=keys), **plain)
            return LateInteraction.load(source, reading)
    raise UsageError(f"there is no reranker of the kind {recipe.model!r}.")
