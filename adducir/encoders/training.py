"""The training of a dual encoder: from a recipe in ``encoders/`` to a model's folder.

Each context is contrasted with all spans of its batch (in-batch negatives, InfoNCE): loss = mean
over i of -log(exp(c_i . s_i / t) / sum over j of exp(c_i . s_j / t)) (van den Oord et al., 2018;
equation 1 of EGRET; section 3.2 of RELiC, which both sum instead of averaging, with t = 1). Spans
with the same text as s_i are not wrong answers to c_i and are left out of the sum.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from adducir.core.config import load, validate
from adducir.core.errors import AdducirError, InputError, gathering
from adducir.core.recipe import Recipe
from adducir.core.texts import same_words
from adducir.corpora.sources import expanded, file_path
from adducir.corpora.spans import MaskedSpan, read_spans
from adducir.encoders.kinds import SIDES, EncoderSource, encoder_source, refuse_tokenizer
from adducir.encoders.reading import ContextPart, LengthPart, Towers
from adducir.encoders.settings import PoolingMode, Similarity
from adducir.models.machine import seed_of
from adducir.models.sources import RECIPES
from adducir.models.work import padded
from adducir.training.data import DataPart, Rows, TrainingData, divided, same_number, stored
from adducir.training.recipe import ModelRecipe, TrainingRecipe
from adducir.training.trainable import Trainable

if TYPE_CHECKING:
    import torch
    from datasets import Dataset

    from adducir.encoders.model import DualEncoder

COSINE_TEMPERATURE = 0.05
"""Cosines lie between -1 and 1: undivided, they could not separate one span from a hundred."""

_COLUMNS = {"context": "[int32]", "span": "[int32]", "same": "int64", "group": "int32"}
_TOGETHER = 1024


class BatchPart(Recipe):
    """How batches are formed: from one group each (a book), or at random."""

    by: Literal["group", "random"] = "random"
    mini_batch_num_tokens: Annotated[int, Field(ge=1)] | None = None  # GradCache, Gao et al.


class EncoderSettings(TrainingRecipe):
    """The papers' settings if stated; RELiC's batches, because EGRET does not state its own."""

    epochs: Annotated[int, Field(ge=1)] = 10
    batch_size: Annotated[int, Field(ge=2)] = 100
    learning_rate: Annotated[float, Field(gt=0)] = 1e-5
    warmup: Annotated[float, Field(ge=0, lt=1)] = 0.0
    weight_decay: Annotated[float, Field(ge=0)] = 0.0


class EncoderRecipe(ModelRecipe):
    """A whole recipe, ``encoders/NAME.yaml``; see docs/encoders.md for its keys."""

    kind: Literal["dual-encoder"] = "dual-encoder"
    towers: Towers = "separate"
    pooling: PoolingMode | None = None
    similarity: Similarity | None = None
    context: ContextPart = ContextPart()
    lengths: LengthPart = LengthPart()
    data: DataPart
    batches: BatchPart = BatchPart()
    training: EncoderSettings = EncoderSettings()


def spans_of(part: DataPart, folder: Path) -> Iterator[tuple[MaskedSpan, str]]:
    """A recipe's spans with their parts; a group is in one part only."""
    return divided(part, folder, read_spans, group=lambda span: span.group, groups="groups")


class EncoderTraining(Trainable[EncoderRecipe]):
    """The training of a dual encoder; ``before`` trains its base, if known."""

    recipe_type = EncoderRecipe
    artifact = "dual-encoder"
    unit = "spans"
    card = """A dual encoder that retrieves the passage masked in a context (as dense-RELiC, Thai et
al., 2022, and EGRET, Wang et al., 2022).

## Use

```sh
adducir encode --model {name} --spans spans.jsonl.gz --set side=span --output vectors
adducir literary-evidence ask BOOK.txt "a prompt" --model {name}
```

In Python, `SentenceTransformer("{name}")` loads it: `encode_query` encodes contexts,
`encode_document` passages."""

    def __init__(
        self,
        recipe: EncoderRecipe,
        folder: Path,
        before: "tuple[Trainable[Any], Path] | None" = None,
        chain: tuple[Path, ...] = (),
    ) -> None:
        super().__init__(recipe, folder)
        with gathering() as opening:
            self.before = before or opening(lambda: self._base_training(chain))
            if self.before is None:
                opening(lambda: self.base)
            else:
                path = self.before[1]
                opening(lambda: refuse_tokenizer(recipe.tokenizer, path))
            self._data = opening(lambda: recipe.data.identity(folder))

    def _base_training(self, chain: tuple[Path, ...]) -> "tuple[Trainable[Any], Path] | None":
        """The training of a base named by its recipe, unless the base exists without its data."""
        path = file_path(self.recipe.base, self.folder)
        if "," in self.recipe.base or path.suffix not in RECIPES:
            return None
        if path in chain:
            raise InputError("this encoder's base depends on itself.", path=path)
        try:
            recipe = validate(load(path), EncoderRecipe)
            training = EncoderTraining(recipe, self.folder, chain=(*chain, path))
        except AdducirError:
            if chain or not path.with_suffix("").is_dir():
                raise
            return None
        return training, path.with_suffix("")

    @cached_property
    def base(self) -> EncoderSource:
        tokenizer = self.recipe.tokenizer and expanded(self.recipe.tokenizer)
        source = encoder_source(expanded(self.recipe.base), self.folder, tokenizer)
        return replace(source, is_base=True)

    @property
    def settings(self) -> dict[str, Any]:
        values = self.recipe.fingerprinted({"data": {"train", "validation", "without"}})
        return values | {"held_out": bool(self.recipe.data.validation)}

    @cached_property
    def inputs(self) -> dict[str, str]:
        base = self.before[0].fingerprint if self.before else self.base.identity()
        return {"base": base, **self._data}

    @cached_property
    def encoder(self) -> "DualEncoder":
        from adducir.encoders.model import DualEncoder

        recipe, keys = self.recipe, ("context", "lengths", "similarity", "towers", "pooling")
        options = {key: getattr(recipe, key) for key in keys}
        return DualEncoder.load(self.base, seed=recipe.training.seed, **options)

    def model(self) -> "torch.nn.Module":
        return self.encoder.model

    def dataset(self, folder: Path) -> TrainingData:
        data = stored(folder, _COLUMNS, self._rows)
        if len(data.train) < 2:
            raise InputError(
                f"only {len(data.train)} spans are left to train on.",
                path=self.recipe.data.files(self.folder)["train"][0],
                hint="Check `data.shares` and `data.without`.",
            )
        return data

    def _rows(self, counts: dict[str, Any]) -> Rows:
        groups: dict[str, set[str]] = {"train": set(), "validation": set()}
        numbers: dict[str, int] = {}
        spans = (
            (span, part) for span, part in spans_of(self.recipe.data, self.folder) if part in groups
        )
        while some := list(islice(spans, _TOGETHER)):
            contexts = self.encoder.inputs.contexts([span for span, _ in some])
            texts = self.encoder.inputs.documents([span.text for span, _ in some])
            for (span, part), context, text in zip(some, contexts, texts, strict=True):
                groups[part].add(span.group)
                number = numbers.setdefault(span.group, len(numbers))
                same = same_number(same_words(span.text))  # as among candidates
                yield part, {"context": context, "span": text, "same": same, "group": number}
        counts.update({f"{part}_groups": len(names) for part, names in groups.items()})

    def batches(self, data: "Dataset", epoch: int | None) -> list[NDArray[np.int64]]:
        recipe = self.recipe
        name = ("validation",) if epoch is None else ("epoch", epoch)
        draw = np.random.default_rng(seed_of(recipe.training.seed, *name))
        if recipe.batches.by == "random":
            return _cut(draw.permutation(len(data)), recipe.training.batch_size)
        groups = np.asarray(data.with_format("numpy")["group"][:])
        return grouped_batches(groups, recipe.training.batch_size, draw)

    def collate(self, rows: Sequence[Mapping[str, Any]]) -> "dict[str, torch.Tensor]":
        import torch

        cpu, readers = torch.device("cpu"), self.encoder.inputs
        batch = {"same": torch.tensor([int(row["same"]) for row in rows])}
        for name, reader in (("context", readers.query), ("span", readers.document)):
            ids = [row[name].astype(np.int64) for row in rows]
            batch[f"{name}_ids"], batch[f"{name}_mask"] = padded(ids, reader.padding, cpu)
        return batch

    def loss(self, model: "torch.nn.Module", batch: "dict[str, torch.Tensor]") -> "torch.Tensor":
        from adducir.encoders.contrast import InBatchNegatives

        features = [
            self.encoder.features(batch[f"{name}_ids"], batch[f"{name}_mask"], side)
            for name, side in zip(("context", "span"), SIDES, strict=True)
        ]
        is_cosine = self.encoder.model.similarity_fn_name == "cosine"
        scale = 1 / COSINE_TEMPERATURE if is_cosine else 1.0
        loss: Any = InBatchNegatives(model, scale, self.recipe.batches.mini_batch_num_tokens)
        return cast("torch.Tensor", loss(features, batch["same"]))

    def save(self, model: "torch.nn.Module", folder: Path) -> None:
        self.encoder.save(folder)

    def summary(self, data: TrainingData) -> str:
        counts = data.counts
        return (
            f"{len(data.train):,} spans of {counts['train_groups']:,} groups to train on, "
            f"{len(data.validation):,} of {counts['validation_groups']:,} held out"
        )


def grouped_batches(
    groups: NDArray[np.integer[Any]], size: int, draw: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Batches of one group each (the quotations of one book), in random order, split evenly.

    Items alone in their group, which would lack negatives, are grouped together.
    """
    _, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    order = np.argsort(codes, kind="stable")
    members = np.split(order, np.cumsum(counts)[:-1])
    alone = np.concatenate([np.zeros(0, dtype=np.int64), *(m for m in members if len(m) == 1)])
    batches = [
        batch
        for some in (*(m for m in members if len(m) > 1), alone)
        for batch in _cut(draw.permutation(some), size)
    ]
    return [batches[number] for number in draw.permutation(len(batches))]


def _cut(items: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    count = -(-len(items) // size)
    return np.array_split(items, count) if count else []
