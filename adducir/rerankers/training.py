"""The training of a cross-encoder: from a recipe in ``rerankers/`` to a model's folder."""

from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import torch

from adducir.core.absent import gathering
from adducir.core.errors import InputError
from adducir.rerankers.cross_encoder import CrossEncoder, CrossEncoderRecipe
from adducir.rerankers.monobert import MonoBERTRecipe
from adducir.rerankers.pair_examples import KIND, VERSION, PairExamples
from adducir.rerankers.pair_source import PairSource
from adducir.rerankers.registry import source_of
from adducir.rerankers.task import CrossEncoderTask
from adducir.training.plan import TrainingPlan
from adducir.training.preparation import Preparation
from adducir.training.recipe import ModelRecipe, listed

_SOURCES = ("kind", "examples", "batch_tokens", "passages")


class CrossEncoderPlan(TrainingPlan[CrossEncoderRecipe]):
    """The training of a cross-encoder."""

    recipe_type: ClassVar[type[ModelRecipe]] = CrossEncoderRecipe
    artifact = "reranker"

    def __init__(self, recipe: CrossEncoderRecipe, folder: Path) -> None:
        super().__init__(recipe, folder)
        if recipe.examples is None:
            raise InputError(
                "the recipe has no `examples`, so that there is nothing to train.",
                hint="It can be used as it is: adducir rerank --model RECIPE.",
            )
        self.pairs = PairSource(recipe.examples, recipe.fields, folder)
        with gathering() as each:
            each(lambda: self.pairs.leaks)
            self.base = each(partial(source_of, recipe, folder))
            each(lambda: self.pairs.data_inputs)

    @property
    def settings(self) -> dict[str, Any]:
        """Those parts of the recipe that decide the weights."""
        values = self.recipe.fingerprinted(dict.fromkeys(_SOURCES, True))
        return values | {"examples": self.pairs.settings, "copies": self.pairs.leaks.copies}

    @cached_property
    def inputs(self) -> dict[str, str]:
        """The fingerprints of what the model is made from."""
        return self.pairs.inputs | {"base": self.base.identity()}

    @property
    def preparation(self) -> Preparation:
        """The pairs as token ids."""
        recipe, pairs = self.recipe, self.pairs
        settings = {
            "examples": pairs.settings,
            "copies": pairs.leaks.copies,
            "fields": list(listed(recipe.fields)),
            "length": recipe.length,
            "seed": recipe.held_out.seed,
        }
        return Preparation(
            KIND,
            settings,
            {"tokenizer": self.base.reading_identity(), **pairs.inputs},
            VERSION,
            PairExamples(pairs, self.base, recipe.length, recipe.held_out.seed),
        )

    def task(self, device: torch.device) -> CrossEncoderTask:
        """The model with its own classifier, or a new one."""
        recipe = self.recipe
        model = CrossEncoder.untrained(
            self.base, labels=recipe.labels, length=recipe.length, seed=recipe.training.seed
        )
        model.to(device)
        return CrossEncoderTask(model, recipe, self._card(), self.preparation)

    def _card(self) -> dict[str, dict[str, Any]]:
        """What a model card shows of the data."""
        part, fields, leaks = self.pairs.part, listed(self.recipe.fields), self.pairs.leaks
        without = part.without
        corpus = part.corpus.source if part.corpus else None
        data: dict[str, Any] = {"pairs": part.pairs}
        if part.query_field is not None:
            data = {
                "corpus": corpus,
                "queries": f"the field {part.query_field}",
                "texts": [name for name in fields if name != part.query_field]
                or "the corpus' other fields",
                "positives": "a document's own text",
                "negatives": f"{part.negatives} other documents' for each, at random",
                "documents, at most": part.most or "all",
            }
        elif part.pairs is None:
            data = {
                "topics": part.topics,
                "qrels": list(listed(part.qrels)),
                "corpus": corpus,
                "fields": list(fields) or "the corpus' own",
                "negatives from": list(listed(part.runs)) or "documents judged lower",
                "positives": f"grade {part.grade} or better",
                "negatives": f"{part.negatives} for each positive, at most",
                "unjudged documents": "negatives" if part.unjudged else "not used",
            }
        control = {
            "left out: queries of": list(listed(without.topics)),
            **without.card(),
            "queries named": len(leaks.queries),
            "documents named": len(leaks.documents),
        }
        return {"Data": data, "Leak control": control}


class MonoBERTPlan(CrossEncoderPlan):
    """The training of a monoBERT."""

    recipe_type = MonoBERTRecipe
