"""What a term weighter learns: mean squared error between its words' weights and their targets."""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.core.progress import progress
from adducir.deepct.examples import Counts, Example
from adducir.deepct.model import TermWeighter
from adducir.deepct.opened import OpenedRecipe
from adducir.deepct.prepared import SHARED, Prepared
from adducir.deepct.reading import Encoded
from adducir.deepct.recovery import by_model, by_tf_idf, constant, recoveries
from adducir.deepct.splitting import Divider
from adducir.training.card import Card
from adducir.training.recipe import listed
from adducir.training.store import Array, Numbers, StoreWriter, packed, share_columns, unpacked
from adducir.training.task import TrainingTask, write_parts

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
        self.preparation = opened.preparation
        self._folder = Path()

    def write(self, folder: Path) -> dict[str, Any]:
        """Lay targets on the passages, which come with token ids and text; see :mod:`.prepared`."""
        counts, divider = Counts(), Divider(self._opened.recipe)
        with self.given(folder) as prepared:
            rows = self._write_targets(folder, prepared, counts, divider)
            share_columns(prepared, folder, SHARED)
        parts = divider.divided(_MEASURED, _KNOWN)
        write_parts(
            folder,
            training=rows[parts.training],
            held_out=rows[parts.held_out],
            unseen=rows[parts.measured],
            known=rows[parts.known],
        )
        return counts.record() | {
            "training_examples": len(parts.training),
            "held_out_examples": len(parts.held_out),
            "test_examples": len(parts.test),
        }

    def _write_targets(
        self, folder: Path, prepared: Path, counts: Counts, divider: Divider
    ) -> Numbers:
        """Write the targets of each passage's words, none for one that is no example.

        Returns:
            The numbers of the passages that are examples.
        """
        kept = array("q")
        with Prepared(prepared) as passages, StoreWriter(folder) as writer:
            for one in self._opened.examples(passages.cuts, counts):
                _skip(writer, one.row)
                writer.add(values=np.array(one.targets, dtype=np.float64))
                divider.add(one.docno, one.number, one.group, has_target=any(one.targets))
                kept.append(one.row)
            _skip(writer, len(passages))
        return np.frombuffer(kept, dtype=np.int64)

    def read(self, folder: Path) -> None:
        """Open the passages."""
        super().read(folder)
        self._folder = folder

    def losses_of(self, examples: list[dict[str, Array]]) -> tuple[torch.Tensor, int]:
        """The words' squared errors."""
        read = [Encoded(one["ids"].astype(np.int64), one["firsts"]) for one in examples]
        counted = [self._counted(one) for one in examples]
        rows = np.repeat(np.arange(len(examples)), [mask.sum() for mask in counted])
        both = list(zip(examples, counted, strict=True))
        columns = np.concatenate([one["firsts"][mask] for one, mask in both]).astype(np.int64)
        targets = np.concatenate([one["values"][mask] for one, mask in both]).astype(np.float32)
        logits = self._weighter.logits(read)
        return squared_errors(self._weighter, logits, rows, columns, targets), len(rows)

    def _counted(self, example: Mapping[str, Array]) -> NDArray[np.bool_]:
        """Which of a passage's words are in the loss."""
        read: NDArray[np.bool_] = example["firsts"] >= 0
        return read if self._opened.recipe.stop_words_in_loss else read & ~example["is_stop"]

    def summary(self, counts: Mapping[str, Any]) -> str:
        """The documents, those left out, and the passages."""
        left_out = counts["excluded"] + counts["copies"]
        copies = f", {counts['copies']:,} of them copies" if counts["copies"] else ""
        return (
            f"{counts['documents']:,} documents, {left_out:,} left out by leak control{copies}; "
            f"{counts['training_examples']:,} passages to learn from, "
            f"{counts['held_out_examples']:,} held out"
        )

    def measure(self) -> dict[str, Any]:
        """The average precision of the model and of what it must beat, on passages held out."""
        some = list(self._examples("unseen"))
        if not some:
            return {"recovery": None}
        part = "test" if self._opened.recipe.held_out.test else "validation"
        progress().note(f"measuring the model on {len(some):,} {part} passages")
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


def _skip(writer: StoreWriter, row: int) -> None:
    """Write passages without targets, up to the one of a number."""
    count = row - len(writer)
    if count:
        none = np.zeros(0, dtype=np.float64)
        writer.extend(count, {"values": (none, np.zeros(count, dtype=np.int64))})


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
