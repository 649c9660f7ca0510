"""What a pointwise cross-encoder learns: to distinguish relevant texts from others, pair by pair.

With one label the loss is binary cross-entropy of the logit, with two it is cross-entropy of the
classes (Nogueira and Cho, 2019); a label between 0 and 1 is a probability of the class "relevant".
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from adducir.core.artifacts import read_manifest
from adducir.rerankers.cross_encoder import CrossEncoder, CrossEncoderRecipe
from adducir.rerankers.examples import Counts, held_out
from adducir.rerankers.inputs import Encoded
from adducir.rerankers.pair_examples import SHARED
from adducir.training.card import Card
from adducir.training.preparation import Preparation
from adducir.training.store import Array, Store, StoreWriter, share_columns
from adducir.training.task import TrainingTask, write_parts

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


class CrossEncoderTask(TrainingTask):
    """Learns pairs' labels; the losses are the pairs'.

    Args:
        data: What the model card shows of that.
    """

    unit = "pairs"

    def __init__(
        self,
        reranker: CrossEncoder,
        recipe: CrossEncoderRecipe,
        data: Mapping[str, Mapping[str, Any]],
        preparation: Preparation,
    ) -> None:
        self.model: torch.nn.Module = reranker.network
        self.recipe = recipe.training
        self.preparation = preparation
        self._reranker, self._stated, self._data = reranker, recipe, data

    def write(self, folder: Path) -> dict[str, Any]:
        """Write which pairs are held out beside their token ids."""
        with self.given(folder) as prepared:
            # In their order, which the manifest does not keep.
            counts = Counts(**read_manifest(prepared).counts["source"]).record()
            with Store(prepared) as pairs:
                is_held = held_out(pairs.column("query"), self._stated.held_out.share)
            with StoreWriter(folder) as writer:
                writer.extend(len(is_held), {})
            share_columns(prepared, folder, SHARED)
        write_parts(folder, training=np.flatnonzero(~is_held), held_out=np.flatnonzero(is_held))
        kept = int(is_held.sum())
        return counts | {"training_pairs": len(is_held) - kept, "held_out_pairs": kept}

    def losses_of(self, examples: list[dict[str, Array]]) -> tuple[torch.Tensor, int]:
        """The pairs' losses."""
        read = [
            Encoded(one["ids"].astype(np.int64), one["types"].astype(np.int64)) for one in examples
        ]
        logits = self._reranker.logits(read)
        labels = np.array([one["label"] for one in examples], dtype=np.float32)
        return pair_losses(logits, torch.from_numpy(labels).to(logits.device)).sum(), len(examples)

    def summary(self, counts: Mapping[str, Any]) -> str:
        """The queries, what is left out, and the pairs."""
        return (
            f"{counts['queries']:,} queries, {counts['left_out_queries']:,} queries and "
            f"{counts['left_out_documents']:,} documents left out by leak control; "
            f"{counts['training_pairs']:,} pairs to learn from, "
            f"{counts['held_out_pairs']:,} held out"
        )

    def save(self, folder: Path) -> None:
        """Write weights, tokenizer and settings."""
        self._reranker.network.save_pretrained(folder)
        self._reranker.tokenizer.save_pretrained(folder)
        self._stated.save(folder)

    def card(self, counts: Mapping[str, Any]) -> Card:
        """What its scores are, and what it learnt from."""
        recipe = self._stated
        is_logit = recipe.labels == 1
        return Card(
            _SUMMARY.format(
                scale="the logit" if is_logit else "the log-probability of the second class",
                loss="binary cross-entropy" if is_logit else "cross-entropy of two classes",
            ),
            ("cross-encoder", "reranking", "information-retrieval"),
            recipe.base,
            _USAGE,
            self._data,
            recipe.model_dump(
                mode="json", include={"model", "length", "labels", "held_out", "training"}
            ),
        )


def pair_losses(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The loss of each pair.

    Args:
        logits: (n, 1) or (n, 2).
        labels: (n,) probabilities that a pair is relevant.
    """
    if logits.shape[1] == 1:
        losses: torch.Tensor = torch.nn.functional.binary_cross_entropy_with_logits(
            logits[:, 0], labels, reduction="none"
        )
        return losses
    chances = torch.stack([1 - labels, labels], dim=1)
    return torch.nn.functional.cross_entropy(logits, chances, reduction="none")
