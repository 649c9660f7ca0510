"""The training of a dual encoder: from a recipe in ``encoders/`` to a model's folder.

Pretraining and fine-tuning are a chain: the ``base`` of one recipe is the model of another.
"""

from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from adducir.core.absent import gathering
from adducir.core.config import load, validate
from adducir.core.errors import AdducirError, InputError
from adducir.corpora.references import expanded, file_path
from adducir.encoders.examples import KIND, VERSION, SpanExamples, reading_identity
from adducir.encoders.kinds import NETWORK
from adducir.encoders.layout import read_layout
from adducir.encoders.model import DualEncoder
from adducir.encoders.recipe import EncoderRecipe
from adducir.encoders.settings import Settings
from adducir.encoders.sources import EncoderSource, encoder_source, refuse_tokenizer
from adducir.encoders.task import EncoderTask
from adducir.models.sources import RECIPES
from adducir.training.plan import TrainingPlan
from adducir.training.preparation import Preparation

_TRAINED_BY = ("training", "batches", "temperature", "similarity", "pooling", "towers")


def base_training(base: str, folder: Path) -> "tuple[EncoderPlan, Path] | None":
    """What trains a base that is named by its recipe, and its folder; None for any other base.

    None as well where the base is there, and what it was trained with is not.

    Raises:
        InputError: The recipe cannot be read, or its chain of bases leads back to it.
    """
    chain = _recipes(base, folder)
    if not chain:
        return None
    model = chain[0].with_suffix("")
    try:
        return EncoderPlan(validate(load(chain[0]), EncoderRecipe), folder), model
    except AdducirError:
        if not model.is_dir():
            raise
        return None


def _recipes(base: str, folder: Path) -> list[Path]:
    """The recipe that a base is named by, that of its own base, and so on, as far as they exist."""
    named, found = base, list[Path]()
    while "," not in named:
        path = file_path(named.removeprefix(f"{NETWORK}:"), folder)
        if path.suffix not in RECIPES:
            break
        if path in found:
            raise InputError("this encoder's base is made from itself.", path=path)
        found.append(path)
        named = str(load(path).data.get("base", "")) if path.is_file() else ""
    return found


class EncoderPlan(TrainingPlan[EncoderRecipe]):
    """The training of a dual encoder."""

    recipe_type = EncoderRecipe
    artifact = "dual-encoder"

    def __init__(
        self,
        recipe: EncoderRecipe,
        folder: Path,
        before: tuple[TrainingPlan[Any], Path] | None = None,
    ) -> None:
        super().__init__(recipe, folder)
        with gathering() as each:
            self.before = before or each(lambda: base_training(recipe.base, folder))
            if self.before is None:
                each(lambda: self.base)
            else:
                path = self.before[1]
                each(lambda: refuse_tokenizer(recipe.tokenizer, path))
            self._data = each(lambda: recipe.data.identity(folder))

    @cached_property
    def base(self) -> EncoderSource:
        """What it starts from.

        Raises:
            InputError, MachineError: It is not there; where its recipe is named, not trained.
        """
        tokenizer = self.recipe.tokenizer and expanded(self.recipe.tokenizer)
        return encoder_source(expanded(self.recipe.base), self.folder, tokenizer)

    @property
    def settings(self) -> dict[str, Any]:
        """Those parts of the recipe that decide the weights."""
        values = self.recipe.fingerprinted({"data": {"train", "validation", "without"}})
        for key in ("negatives", "equal_texts"):
            if values["batches"][key] == type(self.recipe.batches).model_fields[key].default:
                del values["batches"][key]  # so that models made before it stay current
        return values | {"held_out": bool(self.recipe.data.validation)}

    @property
    def examples_settings(self) -> dict[str, Any]:
        """Those parts of the recipe that decide the examples: not how they are trained on."""
        values = {key: value for key, value in self.settings.items() if key not in _TRAINED_BY}
        return values | {"negatives": self.recipe.batches.negatives}

    @property
    def preparation(self) -> Preparation:
        """The spans as token ids.

        Raises:
            InputError, MachineError: The base is not there.
        """
        recipe = self.recipe
        settings = Settings(context=recipe.context, lengths=recipe.lengths)
        most = recipe.batches.negatives
        return Preparation(
            KIND,
            self.examples_settings,
            {"tokenizers": reading_identity(self.base), **self._data},
            VERSION,
            SpanExamples(recipe.data, self.folder, self.base, settings, most),
        )

    @cached_property
    def inputs(self) -> dict[str, str]:
        """The fingerprints of the base, which may still have to be trained, and of the spans."""
        base = self.before[0].fingerprint if self.before else self.base.identity()
        return {"base": base, **self._data}

    def task(self, device: torch.device) -> EncoderTask:
        """The base, as one tower or two."""
        recipe = self.recipe
        # The first token for a plain transformer, as both papers have it; else what the base says.
        plain = read_layout(self.base.query.local()).pooling is None
        encoder = DualEncoder.load(
            self.base,
            context=recipe.context,
            lengths=recipe.lengths,
            similarity=recipe.similarity,
            pooling=recipe.pooling or ("first" if plain else None),
            towers=recipe.towers,
            seed=recipe.training.seed,
        )
        return EncoderTask(encoder.to(device), recipe, self.folder, self.preparation)
