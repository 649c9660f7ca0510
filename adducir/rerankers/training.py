"""The training of a cross-encoder: from a recipe in ``rerankers/`` to a model's folder.

With one label the loss of a pair is binary cross-entropy of the logit, with two it is cross-entropy
of the classes (Nogueira and Cho, 2019).
"""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from adducir.core.errors import InputError, gathering
from adducir.core.texts import same_text
from adducir.models.loading import load_config, load_model, load_tokenizer
from adducir.models.machine import seed_of
from adducir.rerankers.cross_encoder import CLASSIFIER, KIND, CrossEncoderRecipe, MonoBERTRecipe
from adducir.rerankers.inputs import Encoded, PairReader
from adducir.rerankers.pairs import PairSource
from adducir.rerankers.recipe import has_architecture
from adducir.training.card import Card
from adducir.training.data import Rows, TrainingData, stored
from adducir.training.recipe import ModelRecipe, listed
from adducir.training.trainable import Trainable

if TYPE_CHECKING:
    import torch

_COLUMNS = {"ids": "[int32]", "types": "[int8]", "label": "float32", "length": "int32"}
_COUNTED = (
    *("queries", "left_out_queries", "left_out_documents", "without_positive", "missing"),
    *("positives", "negatives"),
)
_TOGETHER = 1024
_SUMMARY = (
    "A cross-encoder: it reads a query and a text in one input and gives the text a score, which "
    "is {scale}. It was trained pair by pair with {loss}."
)
_USAGE = """```sh
adducir rerank --run RUN --topics TOPICS --index INDEX --model {name} --output reranked.trec.gz
```

```python
from sentence_transformers import CrossEncoder

CrossEncoder("{name}").predict([("a query", "a text")])
```"""


class CrossEncoderTraining(Trainable[CrossEncoderRecipe]):
    recipe_type: ClassVar[type[ModelRecipe]] = CrossEncoderRecipe
    artifact = "reranker"
    unit = "pairs"

    def __init__(self, recipe: CrossEncoderRecipe, folder: Path) -> None:
        super().__init__(recipe, folder)
        part = recipe.examples
        if part is None:
            raise InputError(
                "the recipe has no `examples`, so there is nothing to train.",
                hint="It can be used as it is: adducir rerank --model RECIPE.",
            )
        with gathering() as each:
            self.pairs = each(partial(PairSource, part, listed(recipe.fields), folder))
            self.base = each(partial(recipe.source, folder))

    @property
    def settings(self) -> dict[str, Any]:
        sources = ("kind", "examples", "batch_tokens")
        values = self.recipe.fingerprinted(dict.fromkeys(sources, True))
        return values | {"examples": self.pairs.settings}

    @cached_property
    def inputs(self) -> dict[str, str]:
        return self.pairs.inputs | {"base": self.base.identity()}

    @cached_property
    def _reader(self) -> PairReader:
        config = load_config(self.base)
        return PairReader(load_tokenizer(self.base), config, self.recipe.length)

    def dataset(self, folder: Path) -> TrainingData:
        return stored(folder, _COLUMNS, self._rows)

    def _rows(self, counts: dict[str, Any]) -> Rows:
        with TemporaryDirectory() as scratch:
            examples = self.pairs.examples(Path(scratch))
            while some := list(islice(examples, _TOGETHER)):
                read = self._reader.read([(one.query, one.text) for one in some])
                for example, encoded in zip(some, read, strict=True):
                    row = {"label": example.label, "length": len(encoded), **vars(encoded)}
                    yield self.recipe.held_out.part_of(same_text(example.query)), row
        counts.update({name: self.pairs.counts[name] for name in _COUNTED})

    def model(self) -> "torch.nn.Module":
        import torch

        labels = self.recipe.labels
        torch.manual_seed(seed_of(self.recipe.training.seed, "head"))
        if has_architecture(self.base, CLASSIFIER):
            network: Any = load_model(self.base, KIND)
            if network.config.num_labels != labels:
                raise InputError(
                    f"the classifier of {self.base.name} has {network.config.num_labels} outputs, "
                    f"not {labels}.",
                    hint="Train a cross-encoder from one with 1 output, a monoBERT from one with "
                    "2, or begin with an encoder.",
                )
        else:
            network = load_model(self.base, KIND, new_head=True, num_labels=labels)
        # Whatever the base's classes were called: the model that is saved says what it learned.
        network.config.id2label = dict(enumerate(("irrelevant", "relevant")[-labels:]))
        network.config.label2id = {name: key for key, name in network.config.id2label.items()}
        return cast("torch.nn.Module", network)

    def collate(self, rows: Sequence[Mapping[str, Any]]) -> "dict[str, torch.Tensor]":
        import torch

        some = [Encoded(row["ids"].astype(np.int64), row["types"].astype(np.int64)) for row in rows]
        labels = torch.tensor([float(row["label"]) for row in rows])
        return {**self._reader.padded(some, torch.device("cpu")), "labels": labels}

    def loss(self, model: "torch.nn.Module", batch: "dict[str, torch.Tensor]") -> "torch.Tensor":
        from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

        labels = batch["labels"]
        inputs = {name: values for name, values in batch.items() if name != "labels"}
        logits = model(**inputs).logits.float()
        if self.recipe.labels == 1:
            return binary_cross_entropy_with_logits(logits[:, 0], labels)
        return cross_entropy(logits, labels.long())

    def save(self, model: "torch.nn.Module", folder: Path) -> None:
        network: Any = model
        network.save_pretrained(folder)
        load_tokenizer(self.base).save_pretrained(folder)
        self.recipe.save(folder)

    def summary(self, data: TrainingData) -> str:
        counts = data.counts
        return (
            f"{counts['queries']:,} queries, {counts['left_out_queries']:,} queries and "
            f"{counts['left_out_documents']:,} documents left out by leak control; "
            f"{super().summary(data)}"
        )

    def card(self) -> Card:
        is_logit = self.recipe.labels == 1
        scale = "the logit" if is_logit else "the log-probability of the second class"
        loss = "binary cross-entropy" if is_logit else "cross-entropy of two classes"
        return Card(
            _SUMMARY.format(scale=scale, loss=loss),
            ("cross-encoder", "reranking", "information-retrieval"),
            _USAGE,
        )


class MonoBERTTraining(CrossEncoderTraining):
    """The training of a monoBERT."""

    recipe_type = MonoBERTRecipe
