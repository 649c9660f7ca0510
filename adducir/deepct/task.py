"""What a term weighter learns: mean squared error between its words' weights and their targets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.core.progress import SILENT, Progress
from adducir.deepct.examples import Counts, Example
from adducir.deepct.model import Encoded, TermWeighter
from adducir.deepct.opened import OpenedRecipe
from adducir.deepct.recovery import by_model, by_tf_idf, constant, recoveries
from adducir.deepct.splitting import Divider
from adducir.deepct.words import words
from adducir.training.card import Card
from adducir.training.recipe import listed
from adducir.training.store import Array, StoreWriter, packed, unpacked
from adducir.training.task import TrainingTask, in_chunks, write_parts

_MEASURED, _KNOWN = 500, 20_000
"""Passages that a model is measured on when it is trained, and that tf-idf has its idf of."""
_SUMMARY = (
    "A DeepCT term weighter (Dai and Callan, 2020): it gives each word of a passage a weight that "
    "says how much the word matters to what the passage is about. A word's weight is {weight} of "
    "its first word piece."
)
_USAGE = """```sh
adducir deepct show --model {name} --text "Nuclear energy is clean and safe."
adducir deepct expand --model {name} --corpus CORPUS --output expanded.jsonl.gz
```

The network is a token classifier with one label:
`transformers.AutoModelForTokenClassification.from_pretrained(FOLDER)`."""
_SHOWN = {"settings", "keys", "activation", "stop_words_in_loss", "passages", "keep_empty"} | {
    "most",
    "held_out",
    "training",
}


class DeepCTTask(TrainingTask):
    """Learns words' weights; the losses are the words' squared errors."""

    unit = "passages"

    def __init__(self, weighter: TermWeighter, opened: OpenedRecipe) -> None:
        self.model: torch.nn.Module = weighter.model
        self.recipe = opened.recipe.training
        self._weighter, self._opened = weighter, opened
        self._folder = Path()

    def write(self, folder: Path, progress: Progress = SILENT) -> dict[str, Any]:
        """Write the passages with their token ids, their targets, and the text to measure with."""
        counts, divider = Counts(), Divider(self._opened.recipe)
        made = self._opened.examples(self._weighter, counts, progress)
        with StoreWriter(folder) as writer:
            for some in in_chunks(made):
                for one, arrays in zip(some, self.encoded(some), strict=True):
                    writer.add(**arrays, **packed_example(one))
                    divider.add(one.docno, one.number, one.group, has_target=any(one.targets))
        parts = divider.divided(_MEASURED, _KNOWN)
        write_parts(
            folder,
            training=parts.training,
            held_out=parts.held_out,
            unseen=parts.measured,
            known=parts.known,
        )
        return counts.record() | {
            "training_examples": len(parts.training),
            "held_out_examples": len(parts.held_out),
            "test_examples": len(parts.test),
        }

    def encoded(self, examples: Sequence[Example]) -> Iterator[dict[str, Array]]:
        """What the network reads of passages, and the places and targets of words in the loss."""
        recipe = self._opened.recipe
        whole = self._weighter.settings.keys == "words"
        texts = [example.text for example in examples]
        inside = [words(text, whole=whole) for text in texts]
        read = self._weighter.encode(texts, inside, recipe.training_length)
        for one, example in zip(read, examples, strict=True):
            counts = one.firsts >= 0
            if not recipe.stop_words_in_loss:
                counts &= ~np.array(example.is_stop, dtype=bool)
            targets = np.array(example.targets, dtype=np.float32)[counts]
            yield {
                "ids": one.ids.astype(np.int32),
                "places": one.firsts[counts].astype(np.int32),
                "targets": targets,
            }

    def read(self, folder: Path) -> None:
        """Open the passages."""
        super().read(folder)
        self._folder = folder

    def losses_of(self, examples: list[dict[str, Array]]) -> tuple[torch.Tensor, int]:
        """The words' squared errors."""
        none = np.zeros(0, dtype=np.int64)
        read = [Encoded(one["ids"].astype(np.int64), none) for one in examples]
        rows = np.repeat(np.arange(len(examples)), [len(one["places"]) for one in examples])
        columns = np.concatenate([one["places"] for one in examples]).astype(np.int64)
        targets = np.concatenate([one["targets"] for one in examples])
        logits = self._weighter.logits(read)
        return squared_errors(self._weighter, logits, rows, columns, targets), len(rows)

    def summary(self, counts: Mapping[str, Any]) -> str:
        """The documents, those left out, and the passages."""
        left_out = counts["excluded"] + counts["copies"]
        copies = f", {counts['copies']:,} of them copies" if counts["copies"] else ""
        return (
            f"{counts['documents']:,} documents, {left_out:,} left out by leak control{copies}; "
            f"{counts['training_examples']:,} passages to learn from, "
            f"{counts['held_out_examples']:,} held out"
        )

    def measure(self, progress: Progress = SILENT) -> dict[str, Any]:
        """The average precision of the model and of what it must beat, on passages held out."""
        some = list(self._examples("unseen"))
        if not some:
            return {"recovery": None}
        part = "test" if self._opened.recipe.held_out.test else "validation"
        progress.note(f"measuring the model on {len(some):,} {part} passages")
        known = by_tf_idf(self._examples("known"))
        ways = {"trained": by_model(self._weighter), "tf-idf": known, "constant": constant}
        ranked = [asdict(one) for one in recoveries(ways, some)]
        return {"recovery": {"part": part, "ways": ranked}}

    def _examples(self, part: str) -> Iterator[Example]:
        numbers = np.fromfile(self._folder / f"{part}.numbers", dtype=np.int64)
        for number in numbers:
            yield unpacked_example(self.training.store.get(number))

    def save(self, folder: Path) -> None:
        """Write weights, tokenizer and settings."""
        self._weighter.save(folder)

    def card(self, counts: Mapping[str, Any]) -> Card:
        """How it weights words, and what it was trained on."""
        opened, recipe = self._opened, self._opened.recipe
        weight = "the sigmoid of the logit" if recipe.activation == "sigmoid" else "the logit"
        target: dict[str, Any] = (
            {"reference field": list(listed(recipe.reference))}
            if recipe.topics is None
            else {"query term recall": recipe.topics.model_dump(exclude_none=True)}
        )
        return Card(
            _SUMMARY.format(weight=weight),
            ("term-weighting", "deepct", "information-retrieval"),
            recipe.base,
            _USAGE,
            {
                "Data": {
                    "corpus": recipe.corpus.source,
                    "text": list(listed(recipe.text)),
                    **target,
                    "stop words": f"{opened.stop_words.name} ({len(opened.stop_words):,} words)",
                },
                "Leak control": {
                    **recipe.without.card(),
                    "documents named": len(opened.without),
                    "of them in the corpus, by source": counts["excluded_by_source"],
                },
            },
            recipe.model_dump(mode="json", include=_SHOWN),
            frozenset({"excluded_by_source", "recovery"}),
        )


def squared_errors(
    weighter: TermWeighter,
    logits: torch.Tensor,
    rows: NDArray[Any],
    columns: NDArray[Any],
    targets: NDArray[Any],
) -> torch.Tensor:
    """The sum of squared differences between words' weights and targets.

    Args:
        logits: (passages, tokens).
        rows: The passage of each word.
        columns: The place of each word's first piece.
        targets: The target of each word.
    """
    device = logits.device
    found = logits[torch.from_numpy(rows).to(device), torch.from_numpy(columns).to(device)]
    wanted = torch.from_numpy(targets).to(device)
    return ((weighter.activate(found) - wanted) ** 2).sum()


def packed_example(example: Example) -> dict[str, Array | float]:
    """An example as it was made."""
    return {
        "docno": packed(example.docno),
        "text": packed(example.text),
        "values": np.array(example.targets, dtype=np.float64),
        "is_stop": np.array(example.is_stop, dtype=bool),
    }


def unpacked_example(record: Mapping[str, Array]) -> Example:
    """The example of :func:`packed_example`, without what nothing is measured by."""
    docno, values = unpacked(record["docno"]), tuple(record["values"].tolist())
    return Example(
        docno, 0, unpacked(record["text"]), values, tuple(record["is_stop"].tolist()), docno
    )
