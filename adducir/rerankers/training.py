"""The training of a cross-encoder: from a recipe in ``rerankers/`` to a model's folder.

It learns from :mod:`examples <adducir.training.examples>`. By default each pair of query and text
counts by itself, with binary cross-entropy of the logit, or of the difference of two classes'
logits, which is their cross-entropy (Nogueira and Cho, 2019). Other losses see each query's list: a
positive and its negatives.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import InputError
from adducir.core.texts import counted
from adducir.models.folders import network_of
from adducir.models.loading import (
    load_config,
    load_model,
    load_tokenizer,
    longest_input,
    with_padding,
)
from adducir.models.machine import seed_of
from adducir.models.peers import loadable_network, outputs_of
from adducir.rerankers.cross_encoder import KIND, CrossEncoderRecipe, MonoBERTRecipe, pair_reader
from adducir.rerankers.pairs import Encoded, PairReader, padded_pairs
from adducir.training.data import Rows, TrainingData, drawn, in_lists, same_number, stored
from adducir.training.examples import Example, ExampleSource
from adducir.training.losses import LOSSES, BinaryCrossEntropy, Loss, ScoredBatch
from adducir.training.recipe import ModelRecipe
from adducir.training.retrievers import ExampleTraining

if TYPE_CHECKING:
    import torch

_COLUMNS = {
    "ids": "[int32]",  # of all pairs of a query, one after the other: positives, then negatives
    "types": "[int8]",
    "lengths": "[int32]",  # of each pair
    "positives": "int32",
    "scores": "[float32]",  # a teacher's, of each pair; empty without
    "asks": "int64",  # a number shared by equal queries
    "length": "int32",  # padded tokens of a step
}
"""A row is a query's list, or one of its pairs where the loss is of pairs."""


class CrossEncoderTraining(ExampleTraining[CrossEncoderRecipe]):
    """A cross-encoder that scores a query and a document read together."""

    recipe_type: ClassVar[type[ModelRecipe]] = CrossEncoderRecipe
    artifact = "reranker"
    examples: ExampleSource
    default_loss: ClassVar[Loss] = BinaryCrossEntropy(temperature=None)
    needs_examples = True
    of_use = ("kind", "precision", "label", "batch_tokens")  # read from the current recipe
    card = """A cross-encoder: it reads a query and a text in one input and scores the text.

## Use

```sh
adducir rerank --run RUN --topics TOPICS --index INDEX --reranker {name} --output reranked.trec.gz
```

```python
from sentence_transformers import CrossEncoder

CrossEncoder("{name}").predict([("a query", "a text")])
```"""

    def __init__(self, recipe: CrossEncoderRecipe, folder: Path) -> None:
        super().__init__(recipe, folder)
        if self.criterion.in_batch:
            raise InputError(
                f"a {recipe.kind} cannot have the loss {LOSSES.name_of(type(self.criterion))}: it "
                "reads each query with its own texts only.",
                hint="Set `loss` to another, such as cross-entropy over a query's list.",
            )
        self.unit = "pairs" if self.criterion.of_pairs else "queries"

    @property
    def kept(self) -> Collection[str]:  # type: ignore[override]
        labels, outputs = self.recipe.labels, outputs_of(network_of(self.base), KIND)
        if outputs not in (0, labels):
            number = counted(outputs, "output")
            raise InputError(
                f"the classifier of {self.base.name} has {number}, not {labels}.",
                hint="Train a cross-encoder from one with 1 output, a monoBERT from one with 2, or "
                "start from an encoder.",
            )
        return ("head",) if outputs else ()

    @cached_property
    def _reader(self) -> PairReader:
        network = network_of(self.base)
        return pair_reader(load_tokenizer(network), load_config(network), self.recipe.length)

    def dataset(self, folder: Path) -> TrainingData:
        return stored(folder, _COLUMNS, self._rows)

    def _rows(self, counts: dict[str, Any]) -> Rows:
        for some in in_lists(self.examples.divided(self.recipe.held_out)):
            pairs = ((example.query, text) for example, _ in some for text in _texts(example))
            read = iter(self._reader.read([*pairs]))
            for example, part in some:
                own = [*islice(read, len(_texts(example)))]
                positives = len(example.positives)
                if not self.criterion.of_pairs:
                    yield part, self._row(example, own, positives, example.scores)
                    continue
                for number, pair in enumerate(own):
                    yield part, self._row(example, [pair], int(number < positives))
        counts.update(self.examples.counts)

    def _row(
        self,
        example: Example,
        encoded: Sequence[Encoded],
        positives: int,
        scores: Sequence[float] | NDArray[Any] = (),
    ) -> dict[str, Any]:
        lengths = [len(pair) for pair in encoded]
        types = [pair.types for pair in encoded if pair.types is not None]
        negatives = min(self.examples.part.negatives, len(lengths) - positives)
        return {
            "ids": np.concatenate([pair.ids for pair in encoded]),
            "types": np.concatenate(types) if types else (),
            "lengths": lengths,
            "positives": positives,
            "scores": scores,
            "asks": same_number(example.query),
            "length": max(lengths) * (1 if self.criterion.of_pairs else 1 + negatives),
        }

    def model(self) -> "torch.nn.Module":
        import torch

        labels, source = self.recipe.labels, loadable_network(self.base)
        torch.manual_seed(seed_of(self.recipe.training.seed, "head"))
        changes: Any = {} if self.kept else {"new_head": True, "num_labels": labels}
        network: Any = load_model(source, KIND, **changes)
        # Whatever the base's classes were called, the saved model names what it learned.
        network.config.id2label = dict(enumerate(("irrelevant", "relevant")[-labels:]))
        network.config.label2id = {name: key for key, name in network.config.id2label.items()}
        with_padding(network, load_tokenizer(source))
        return cast("torch.nn.Module", network)

    def save(self, model: Any, folder: Path) -> None:
        super().save(model, folder)
        tokenizer = load_tokenizer(network_of(self.base))  # sentence-transformers cuts as it says
        tokenizer.model_max_length = longest_input(model.config, tokenizer, self.recipe.length)
        with_padding(model, tokenizer)
        tokenizer.chat_template = None  # it was trained on plain pairs, and is read so everywhere
        (folder / "chat_template.jinja").unlink(missing_ok=True)
        tokenizer.save_pretrained(folder)

    def collate(self, rows: Sequence[Mapping[str, Any]]) -> "dict[str, torch.Tensor]":
        import torch

        pairs, sizes, teacher = list[Encoded](), list[int](), list[Any]()
        most, seed = self.examples.part.negatives, self.recipe.training.seed
        for row in rows:
            chosen, scores = np.zeros(1, dtype=np.int64), np.full(1, np.nan)
            if not self.criterion.of_pairs:
                chosen, scores = drawn(row, most, seed, self.epoch)
            ends = np.cumsum(row["lengths"])[:-1]
            ids, types = (np.split(row[name].astype(np.int64), ends) for name in ("ids", "types"))
            has_types = len(row["types"]) > 0
            pairs += [Encoded(ids[n], types[n] if has_types else None) for n in chosen]
            sizes.append(len(chosen))
            teacher.append(scores)
        known = {
            "sizes": torch.tensor(sizes),
            "positive": torch.tensor([0 if row["positives"] else -1 for row in rows]),
            "teacher": torch.from_numpy(np.concatenate(teacher).astype(np.float32)),
        }
        return known | padded_pairs(pairs, self._reader.padding, torch.device("cpu"))

    def loss(self, model: "torch.nn.Module", batch: "dict[str, torch.Tensor]") -> "torch.Tensor":
        import torch

        known = {"sizes", "positive", "teacher"}
        inputs = {name: values for name, values in batch.items() if name not in known}
        logits = model(**inputs).logits.float()
        # The cross-entropy of two classes is the binary one of the difference of their logits.
        scores = logits[:, 0] if self.recipe.labels == 1 else logits[:, 1] - logits[:, 0]
        places = torch.arange(int(batch["sizes"].max()), device=scores.device)
        own = places < batch["sizes"][:, None]
        matrix, teacher = scores.new_zeros(own.shape), scores.new_full(own.shape, torch.nan)
        return self.criterion(
            ScoredBatch(
                scores=matrix.masked_scatter(own, scores),
                positive=batch["positive"],
                own=own,
                false=torch.zeros_like(own),
                teacher=(
                    None
                    if batch["teacher"].isnan().all()
                    else teacher.masked_scatter(own, batch["teacher"])
                ),
            )
        )


def _texts(example: Example) -> tuple[str, ...]:
    return (*example.positives, *example.negatives)


class MonoBERTTraining(CrossEncoderTraining):
    """A monoBERT: a cross-encoder with two classes."""

    recipe_type = MonoBERTRecipe
