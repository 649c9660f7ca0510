"""What an encoder learns: to put a context nearer to its own span than to others of its batch."""

from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from adducir.core.errors import InputError
from adducir.encoders.contrast import contrast
from adducir.encoders.data import spans_of
from adducir.encoders.examples import divided
from adducir.encoders.model import DualEncoder, Tower
from adducir.encoders.negatives import Negatives, codes_of, negatives_of
from adducir.encoders.pieces import in_pieces
from adducir.encoders.recipe import COSINE_TEMPERATURE, EncoderRecipe
from adducir.encoders.sampling import Batches, filled_batches, grouped_batches, random_batches
from adducir.models.machine import seed_of
from adducir.training.card import Card
from adducir.training.example_work import Order
from adducir.training.gathering import gathered
from adducir.training.preparation import Preparation
from adducir.training.processes import current
from adducir.training.store import Array, Numbers, StoreWriter, share_columns
from adducir.training.task import Examples, TrainingTask, write_parts

_VALIDATION = "validation"
_SUMMARY = (
    "A dual encoder that finds the passage masked in a context: contexts and passages go through "
    "{towers}, and their vectors are compared by {similarity}. It was trained by in-batch contrast "
    "(dense-RELiC, Thai et al., 2022; EGRET, Wang et al., 2022)."
)
_TOWERS = {"separate": "an encoder each", "shared": "one encoder"}
_SIMILARITY = {"dot": "inner product", "cosine": "cosine"}
_USAGE = """```sh
adducir encode --model {name} --spans spans.jsonl.gz --side span --output vectors
adducir literary-evidence ask BOOK.txt "a prompt" --model {name}
```

In Python, `SentenceTransformer(%s)` loads %s."""


class EncoderTask(TrainingTask):
    """Learns by the contrast within a batch."""

    unit = "spans"
    adds_up = False

    def __init__(
        self,
        encoder: DualEncoder,
        recipe: EncoderRecipe,
        folder: Path,
        preparation: Preparation,
    ) -> None:
        self.model: torch.nn.Module = encoder
        self.preparation = preparation
        self.recipe = recipe.training
        self._encoder, self._stated, self._folder = encoder, recipe, folder

    @property
    def temperature(self) -> float:
        """What inner products are divided by in the loss."""
        if self._stated.temperature is not None:
            return self._stated.temperature
        return COSINE_TEMPERATURE if self._encoder.settings.similarity == "cosine" else 1.0

    def write(self, folder: Path) -> dict[str, Any]:
        """Write the parts of the spans and their groups beside their token ids."""
        found = spans_of(self._stated.data, self._folder)
        parts = {"train": array("q"), "validation": array("q")}
        groups: dict[str, set[int]] = {"train": set(), "validation": set()}
        codes, numbers, order = array("q"), dict[str, int](), Order()
        with self.given(folder) as prepared:
            for row, (span, part) in enumerate(divided(found)):
                order.add(span.id)
                codes.append(numbers.setdefault(span.group, len(numbers)))
                groups[part].add(codes[-1])
                parts[part].append(row)
            self._refuse_too_few(len(parts["train"]), found.files["train"][0])
            order.refuse_other(prepared, self.unit)
            with StoreWriter(folder) as writer:
                writer.extend(len(codes), {"group": (np.array(codes, dtype=np.int64), None)})
            share_columns(prepared, folder)
        write_parts(folder, training=parts["train"], held_out=parts["validation"])
        return {
            "spans_read": found.read,
            "spans_excluded": found.excluded,
            "spans_of_the_test_share": found.read - found.excluded - len(codes),
            "training_spans": len(parts["train"]),
            "training_groups": len(groups["train"]),
            "validation_spans": len(parts["validation"]),
            "validation_groups": len(groups["validation"]),
        }

    @staticmethod
    def _refuse_too_few(count: int, path: Path) -> None:
        if count < 2:
            raise InputError(
                f"{count} spans are left to learn from.",
                path=path,
                hint="Look at `data.shares` and `data.without`.",
            )

    def batches(self, epoch: int) -> Batches:
        """The places of the spans of each step."""
        return self._batches(self.training, seed_of(self.recipe.seed, "epoch", epoch))

    def _batches(self, examples: Examples, seed: int) -> Batches:
        size, by = self.recipe.batch_size, self._stated.batches.by
        if by == "random":
            return random_batches(len(examples), size, seed)
        cut = grouped_batches if by == "group" else filled_batches
        return cut(examples.column("group"), size, seed)

    def losses(self, batch: Numbers) -> tuple[torch.Tensor, int]:
        """The contrast within a batch: its mean, or of several processes the sum of this one's.

        Contexts of this process's share are contrasted with the spans of all shares.
        """
        processes = current()
        examples = self.training[batch]
        if processes.count == 1:
            return self.losses_of(examples)
        contexts, spans, same = self._computed(examples)
        every, first = gathered(spans)
        codes = self._told_apart(np.concatenate(processes.all_of(same)))
        whole = torch.from_numpy(codes).to(every.device)
        if not len(batch):
            contexts = every[:0]
        loss = contrast(contexts, every, whole, self.temperature, first=first, reduction="sum")
        return loss, len(batch)

    def losses_of(self, examples: list[dict[str, Array]]) -> tuple[torch.Tensor, int]:
        """The contrast within the batch, a mean."""
        contexts, spans, same = self._computed(examples)
        codes = torch.from_numpy(self._told_apart(same)).to(spans.device)
        return contrast(contexts, spans, codes, self.temperature), 1

    def _told_apart(self, codes: Numbers) -> Numbers:
        """The numbers of a batch's texts; each has its own where equal texts are negatives."""
        return codes if self._stated.batches.equal_texts == "masked" else np.arange(len(codes))

    def _computed(
        self, examples: list[dict[str, Array]]
    ) -> tuple[torch.Tensor, torch.Tensor, Numbers]:
        """Vectors of contexts, and of their spans and then the negatives, with the latter's texts.

        Returns:
            (n, D), (m, D), and (m,) numbers that texts share which are equal.
        """
        spans = [one["span"] for one in examples]
        spans += [text for one in examples for text in negatives_of(one)]
        contexts = self._vectors(self._encoder.query, [one["context"] for one in examples])
        return contexts, self._vectors(self._encoder.document, spans), codes_of(examples)

    def validate(self) -> float | None:
        """The mean contrast of the held-out spans, in batches that are always the same ones."""
        if not len(self.held_out):
            return None
        total, count, processes = 0.0, 0, current()
        batches = self._batches(self.held_out, seed_of(self.recipe.seed, _VALIDATION))
        for batch in processes.every(batches):
            total += float(self.losses_of(self.held_out[batch])[0]) * len(batch)
            count += len(batch)
        total, contexts = processes.summed(total, count)
        return total / contexts

    def _vectors(self, tower: Tower, inputs: Sequence[Array]) -> torch.Tensor:
        """Vectors of a batch, with gradient; computed in pieces where it is large."""
        if not inputs:
            return torch.zeros((0, 0), device=tower.network.device)
        chosen = [one.astype(np.int64) for one in inputs]
        return in_pieces(tower.forward, chosen, self._stated.batches.at_once)

    def measure(self) -> dict[str, Any]:
        """The negatives of a context, and the copies among them that are left out, in one epoch."""
        found = Negatives()
        for batch in self.batches(0):
            codes = codes_of([self._codes(number) for number in batch])
            found.add(self._told_apart(codes), len(batch))
        return found.record()

    def _codes(self, place: int) -> dict[str, Array]:
        names = ("same", "negative_same") if self._stated.batches.negatives else ("same",)
        return self.training.store.get(self.training.numbers[place], names)

    def summary(self, counts: Mapping[str, Any]) -> str:
        """The spans and their groups."""
        return (
            f"{counts['training_spans']:,} spans of {counts['training_groups']:,} groups to learn "
            f"from, {counts['validation_spans']:,} of {counts['validation_groups']:,} held out"
        )

    def save(self, folder: Path) -> None:
        """Write weights, tokenizers and settings."""
        self._encoder.save(folder)

    def card(self, counts: Mapping[str, Any]) -> Card:
        """How it compares, and what it learnt from."""
        recipe, settings = self._stated, self._encoder.settings
        path, what = "FOLDER", "it"
        if settings.towers != "shared":
            path, what = "FOLDER + '/query'", "the tower of contexts, `/document` that of spans"
        chosen = {
            "pooling": recipe.pooling or self._encoder.query.network.pooling,
            "temperature": self.temperature,
        }
        towers, similarity = _TOWERS[settings.towers], _SIMILARITY[settings.similarity]
        return Card(
            _SUMMARY.format(towers=towers, similarity=similarity),
            ("sentence-transformers", "information-retrieval", "masked-span-retrieval"),
            recipe.base,
            _USAGE % (path, what),
            {"Data": recipe.data.card("groups")},
            settings.model_dump(mode="json")
            | chosen
            | recipe.model_dump(mode="json", include={"batches", "training"}),
        )
